//! States that are lost with a worker are recomputed, from the last states that were kept.
//!
//! A state is a function of an ancestor's state and of the inputs since, all of which the master has. A lost state that
//! must evolve therefore makes its parent evolve again, and so on up to the nearest ancestor that survives. A lost
//! state that the next round does not name is not computed again. A state over which ten workers in turn are lost ends
//! the round with an error.

use super::cells::Stage;
use super::{Master, Outbox};
use crate::EvolveError;
use crate::message::{Request, frame};
use std::time::Duration;

/// The most workers that may be lost over one state.
const DEADLY: u8 = 10;

impl Master {
    /// Hands the states of a worker that is gone to other workers. Their time for an answer begins at `now`.
    pub(crate) fn lost(&mut self, worker: usize, now: Duration, out: &mut impl Outbox) {
        self.now = now;
        self.counts.lost += 1;
        if let Some(cell) = self.roster.workers[worker].under_way() {
            let cell = self.cells.at(cell);
            cell.deaths = cell.deaths.saturating_add(1);
            if cell.deaths >= DEADLY {
                self.failed = Some(EvolveError::Deadly { token: cell.token, deaths: cell.deaths });
            }
        }
        let removals = std::mem::take(&mut self.roster.workers[worker].removals);
        self.roster.leave(worker);
        let mut lost = std::mem::take(&mut self.scratch);
        lost.clear();
        for (at, cell) in (0..).zip(&mut self.cells.cells) {
            if cell.home == Some(worker) {
                (cell.home, cell.before, cell.after) = (None, None, None);
                if matches!(cell.stage, Stage::Queued | Stage::Handed | Stage::Leaving { .. }) {
                    cell.stage = Stage::Rest;
                    lost.push(at);
                }
            }
        }
        for cell in lost.drain(..) {
            self.revive(cell, out);
        }
        self.scratch = lost;
        for removal in removals {
            match removal.thief {
                Some(thief) => {
                    self.roster.workers[thief].incoming = false;
                    self.seek(thief, out);
                }
                None => self.forget_promise(removal.cells),
            }
        }
        self.look_after_idle(out);
    }

    /// Arranges that a state that no worker has evolves again.
    pub(super) fn revive(&mut self, mut cell: u32, out: &mut impl Outbox) {
        loop {
            self.cells.at(cell).stage = Stage::Wanted;
            let entry = self.cells.get(cell);
            if entry.backup.is_some() {
                return self.place(cell, out);
            }
            let parent = entry.parent.expect("a state without parent was kept");
            let above = self.cells.at(parent);
            if above.stage != Stage::Evolved {
                return; // It evolves anyway; its wanted children are taken when they arrive.
            }
            above.again = true;
            cell = parent;
        }
    }

    /// Sends a state that the master has to a worker, or keeps it until there is a worker.
    fn place(&mut self, cell: u32, out: &mut impl Outbox) {
        let Some(worker) = self.roster.in_turn() else {
            self.stranded.push(cell);
            return;
        };
        let entry = self.cells.get(cell);
        let state = entry.backup.clone().unwrap_or_default();
        let mut message = frame(out.to(worker), &Request::AddStates { items: 1 });
        message.put(&entry.token).put_bytes(&self.cells.backups[state]).end();
        self.sends_to(worker).adding += 1;
        self.roster.append(&mut self.cells, worker, cell);
        self.hand_out(worker, out);
    }

    pub(super) fn place_stranded(&mut self, out: &mut impl Outbox) {
        let mut stranded = std::mem::take(&mut self.stranded);
        for cell in stranded.drain(..) {
            self.place(cell, out);
        }
        if self.stranded.is_empty() {
            self.stranded = stranded;
        }
    }

    /// Bytes of this worker have arrived, or it took bytes after others had waited.
    pub(crate) fn heard(&mut self, worker: usize, now: Duration) {
        self.roster.workers[worker].heard = now;
    }

    /// Not all bytes for this worker could be written to its socket.
    pub(crate) fn stalled(&mut self, worker: usize, now: Duration) {
        self.now = now;
        self.sends_to(worker).stalled = true;
    }

    /// A worker that owes an answer, or does not take what is sent, and has made no progress for too long.
    pub(crate) fn overdue(&self, now: Duration) -> Option<usize> {
        self.roster.workers.iter().position(|record| {
            record.here && record.is_busy() && now.saturating_sub(record.heard) > self.tuning.patience
        })
    }
}
