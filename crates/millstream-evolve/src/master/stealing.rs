//! A worker that has nothing to do gets states of the worker that has the most to spare.
//!
//! Workers are in lists by what they can spare (`load.rs`), so a decision takes the same time for 2 workers as for 450.
//! States are taken from the end of the fullest list, half of what it can spare. The first state of a list is being
//! evolved and stays. States that a worker does not return have begun. A worker that is asked for states and has no
//! other gets none before it answers, since it may have begun those.
//!
//! If workers are at their last states, the master takes a few from others before any worker has none, and holds them
//! (`reserve.rs`). A worker that runs dry is then sent one at once, and waits for no other worker's answer. The reserve
//! begins with four states, and grows only as workers run dry: if all workers end at the same time, moving a state only
//! delays it.

use super::cells::Stage;
use super::roster::Removal;
use super::{Master, Outbox};
use crate::Token;
use crate::message::{MOST_TOKENS, Request, frame};

/// The reserve holds at most one state for this many workers.
const RESERVE: usize = 8;

/// The reserve's size before any worker needed it.
const AT_FIRST: usize = 4;

/// The most workers that are asked for the reserve at one event. The next event is near.
const ASKED_AT_ONCE: usize = 4;

impl Master {
    /// Gets states of another worker for a worker that has at most one.
    pub(super) fn seek(&mut self, thief: usize, out: &mut impl Outbox) {
        let record = &self.roster.workers[thief];
        if !self.tuning.steal || !record.here || record.listed > 1 {
            return;
        }
        if record.listed == 0 {
            if self.awaits(thief) {
                // The worker may have begun the states that it is asked for. Its answer shows this.
                return;
            }
            self.reserve.needed += 1;
            self.send_reserved(thief, out);
        }
        let record = &self.roster.workers[thief];
        if record.incoming {
            return;
        }
        let is_idle = record.listed == 0;
        if is_idle && self.reserve.promised > self.roster.idle.len() {
            return self.rest(thief);
        }
        // A worker that still evolves a state takes one only from a worker with two to spare, so that states do not go
        // to and fro.
        let least = if is_idle { 1 } else { 2 };
        match self.roster.load.most() {
            Some((victim, spare)) if spare >= least && victim != thief => {
                self.roster.workers[thief].incoming = true;
                self.steal(victim, Some(thief), spare.div_ceil(2).min(MOST_TOKENS), out);
            }
            _ if is_idle => self.rest(thief),
            _ => (),
        }
    }

    /// Sends a state of the reserve, if there is one.
    fn send_reserved(&mut self, worker: usize, out: &mut impl Outbox) {
        let Some((cell, state)) = self.reserve.take() else { return };
        let mut message = frame(out.to(worker), &Request::AddStates { items: 1 });
        message.put(&self.cells.get(cell).token).put_bytes(self.reserve.state(state)).end();
        self.sends_to(worker).adding += 1;
        self.counts.stolen += 1;
        self.roster.append(&mut self.cells, worker, cell);
        self.hand_out(worker, out);
    }

    /// Adds states that a worker gave back to the reserve. They were checked before. Returns their number.
    pub(super) fn add_to_reserve<'a>(&mut self, from: usize, states: impl Iterator<Item = (Token, &'a [u8])>) -> usize {
        let mut added = 0;
        for (token, state) in states {
            if let Some(cell) = self.leaving(from, token) {
                let entry = self.cells.at(cell);
                (entry.stage, entry.home) = (Stage::Reserved, None);
                self.reserve.put(cell, state);
                self.reserve.promised -= 1;
                added += 1;
            }
        }
        added
    }

    /// Fills the reserve up to the number of workers that will soon run dry, but at most up to one state for every
    /// `RESERVE` workers. It begins small, and grows only as workers run dry: see the head of this file.
    pub(super) fn fill_reserve(&mut self, out: &mut impl Outbox) {
        if !self.tuning.steal {
            return;
        }
        let most = self.roster.workers.len().div_ceil(RESERVE);
        let wanted = self.roster.hungry.min(most).min(AT_FIRST + self.reserve.needed);
        for _ in 0..ASKED_AT_ONCE {
            let there = self.reserve.len() + self.reserve.promised;
            let Some((victim, spare)) = self.roster.load.most().filter(|_| there < wanted) else { return };
            let cells = spare.div_ceil(2).min(wanted - there);
            self.reserve.promised += cells;
            self.steal(victim, None, cells, out);
        }
    }

    /// Whether this worker was asked for states, for another worker or the reserve.
    pub(crate) fn awaits(&self, worker: usize) -> bool {
        self.roster.workers[worker].is_asked()
    }

    /// Puts a worker in the queue for the reserve's next state.
    fn rest(&mut self, worker: usize) {
        let record = &mut self.roster.workers[worker];
        let is_new = !std::mem::replace(&mut record.idle, true);
        if is_new {
            self.roster.idle.push_back(worker);
        }
        let promised = self.reserve.promised;
        if promised == 0 || (is_new && self.roster.idle.len() > promised) {
            // The states on their way to the reserve are for the workers before it, so it does not wait for the master.
            self.roster.workers[worker].answered = None;
        }
    }

    /// Looks for states for the idle workers, as long as there are any.
    pub(super) fn look_after_idle(&mut self, out: &mut impl Outbox) {
        loop {
            let worker = if !self.reserve.is_empty() {
                self.roster.idle.pop_front()
            } else if self.roster.idle.len() > self.reserve.promised && self.roster.load.most().is_some() {
                // The states on their way to the reserve are for the workers before it.
                self.roster.idle.pop_back()
            } else {
                break;
            };
            let Some(worker) = worker else { break };
            let record = &mut self.roster.workers[worker];
            let still = std::mem::take(&mut record.idle);
            if still && record.listed == 0 {
                self.seek(worker, out);
            }
        }
        self.fill_reserve(out);
    }

    /// This number of states will not reach the reserve after all, so the last workers in its queue get none of them.
    pub(super) fn forget_promise(&mut self, cells: usize) {
        let before = self.reserve.len() + self.reserve.promised;
        self.reserve.promised -= cells;
        for at in before - cells..before.min(self.roster.idle.len()) {
            let worker = self.roster.idle[at];
            self.roster.workers[worker].answered = None;
        }
    }

    /// Asks a worker for the last states of its list.
    fn steal(&mut self, victim: usize, thief: Option<usize>, cells: usize, out: &mut impl Outbox) {
        self.counts.steals += 1;
        let items = u32::try_from(cells).unwrap_or(u32::MAX);
        let mut message = frame(out.to(victim), &Request::RemoveStates { items, give_back: true });
        for _ in 0..cells {
            let last = self.roster.workers[victim].last().expect("a worker has what it can spare");
            self.roster.unlist(&mut self.cells, victim, last);
            let entry = self.cells.at(last);
            entry.stage = Stage::Leaving { handed: entry.stage == Stage::Handed };
            self.roster.leaving.push(&mut self.roster.workers[victim].leaving, last);
            message.put(&self.cells.get(last).token);
        }
        message.end();
        self.sends_to(victim).removals.push_back(Removal { thief, cells });
    }
}
