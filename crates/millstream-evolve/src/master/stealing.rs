//! Who has nothing to do gets states of the one who has the most to spare.

use super::cells::Stage;
use super::roster::Removal;
use super::{Master, Outbox};
use crate::message::{Request, frame};

impl Master {
    /// A worker that has nothing to do, or will soon have nothing, is given states of another one.
    pub(super) fn seek(&mut self, thief: usize, out: &mut impl Outbox) {
        let seat = &mut self.roster.workers[thief];
        if !self.tuning.steal || !seat.here || seat.incoming || seat.listed > 1 {
            return;
        }
        // Who still evolves a state takes one only where more than that is left: so nothing goes to and fro.
        let least = if seat.listed == 0 { 1 } else { 2 };
        match self.roster.load.most() {
            Some((victim, spare)) if spare >= least && victim != thief => self.steal(victim, thief, spare, out),
            _ if self.roster.workers[thief].listed == 0 => self.rest(thief),
            _ => (),
        }
    }

    /// Whether this worker was asked for states that another one waits for.
    pub(crate) fn awaits(&self, worker: usize) -> bool {
        !self.roster.workers[worker].removals.is_empty()
    }

    fn rest(&mut self, worker: usize) {
        let seat = &mut self.roster.workers[worker];
        // There is nothing to wait for.
        seat.answered = None;
        if !seat.idle {
            seat.idle = true;
            self.roster.idle.push_back(worker);
        }
    }

    /// Those who have nothing to do are looked after as far as there is something to give.
    pub(super) fn look_after_idle(&mut self, out: &mut impl Outbox) {
        while self.roster.load.most().is_some() {
            let Some(worker) = self.roster.idle.pop_front() else { return };
            let seat = &mut self.roster.workers[worker];
            let still = std::mem::take(&mut seat.idle);
            if still && seat.listed == 0 {
                self.seek(worker, out);
            }
        }
    }

    /// Asks for half of what can be spared, from the end of the victim's list.
    fn steal(&mut self, victim: usize, thief: usize, spare: usize, out: &mut impl Outbox) {
        let cells = spare.div_ceil(2);
        self.counts.steals += 1;
        self.roster.workers[thief].incoming = true;
        let items = u32::try_from(cells).unwrap_or(u32::MAX);
        let mut message = frame(out.to(victim), &Request::RemoveStates { items, give_back: true });
        for _ in 0..cells {
            let last = self.roster.workers[victim].last().expect("a worker has what it can spare");
            self.roster.unlist(&mut self.cells, victim, last);
            self.cells.at(last).stage = Stage::Leaving;
            self.roster.leaving.push(&mut self.roster.workers[victim].leaving, last);
            message.put(&self.cells.get(last).token);
        }
        message.end();
        self.sends_to(victim).removals.push_back(Removal { thief, cells });
    }
}
