//! The workers, and the list of states that each of them still has to evolve: first those handed out, in the order in
//! which the worker takes them, then the others.

use super::cells::{Cells, Stage};
use super::lines::{Line, Lines};
use super::load::Load;
use crate::message::Spent;
use std::collections::VecDeque;
use std::time::Duration;

#[derive(Debug, Default)]
pub(super) struct Roster {
    pub(super) workers: Vec<WorkerRecord>,
    pub(super) load: Load,
    /// Workers that have nothing to do, and found no worker with states to spare.
    pub(super) idle: VecDeque<usize>,
    /// The number of workers that have at most one state.
    pub(super) hungry: usize,
    /// Workers that must forget states.
    pub(super) dropping: Vec<usize>,
    /// The states that workers are asked to give back.
    pub(super) leaving: Lines<u32>,
    /// Where the search for the next worker begins when a state is to be placed.
    next: usize,
}

/// The master's record of a worker.
#[derive(Debug, Default)]
pub(super) struct WorkerRecord {
    pub(super) here: bool,
    first: Option<u32>,
    last: Option<u32>,
    first_unhanded: Option<u32>,
    pub(super) listed: usize,
    pub(super) handed: usize,
    /// How many of these are known to have begun, since the worker did not give them back.
    begun: usize,
    /// Whether stolen states are on their way to it.
    pub(super) incoming: bool,
    pub(super) idle: bool,
    hungry: bool,
    /// The requests to give states back, oldest first. Their states are in `leaving`.
    pub(super) removals: VecDeque<Removal>,
    pub(super) leaving: Line,
    /// The states that it must forget.
    drops: Vec<u32>,
    /// The number of messages that it has to answer with `StatesAdded`.
    pub(super) adding: u32,
    /// Whether its socket did not take all bytes.
    pub(super) stalled: bool,
    pub(super) heard: Duration,
    /// When something was last written to it, by the real time.
    pub(super) last_sent: Duration,
    /// When the answer arrived that left it without work; `None` once work is handed out.
    pub(super) answered: Option<Duration>,
    /// The time of that answer, from the moment at which work is handed out until the request has been written.
    pub(super) handed_for: Option<Duration>,
    pub(super) spent: Spent,
    pub(super) evolved: u64,
}

/// The initial capacity for requests to give back. Each asks for half of what a worker can spare, so more requests than
/// this are rare.
const REMOVALS: usize = 32;

#[derive(Clone, Copy, Debug)]
pub(super) struct Removal {
    /// The worker that gets the states; `None` for the reserve.
    pub(super) thief: Option<usize>,
    pub(super) cells: usize,
}

impl WorkerRecord {
    /// The number of states that could be taken away. The first of those handed out is being evolved.
    fn spare(&self) -> usize {
        self.listed - self.begun.max(1).min(self.handed)
    }

    /// Whether it owes an answer, or has not taken all that was sent.
    pub(super) fn is_busy(&self) -> bool {
        self.listed > 0 || self.adding > 0 || self.is_asked() || self.stalled
    }

    /// Whether it was asked to give states back, and has not answered.
    pub(super) fn is_asked(&self) -> bool {
        !self.removals.is_empty()
    }

    /// The state that is being evolved, as far as the master knows.
    pub(super) fn under_way(&self) -> Option<u32> {
        self.first.filter(|_| self.handed > 0)
    }

    pub(super) fn last(&self) -> Option<u32> {
        self.last
    }
}

impl Roster {
    /// Adds a state at the end of a worker's list.
    pub(super) fn append(&mut self, cells: &mut Cells, worker: usize, cell: u32) {
        let record = &mut self.workers[worker];
        let entry = cells.at(cell);
        (entry.home, entry.stage, entry.before, entry.after) = (Some(worker), Stage::Queued, record.last, None);
        match record.last.replace(cell) {
            Some(last) => cells.at(last).after = Some(cell),
            None => record.first = Some(cell),
        }
        record.first_unhanded.get_or_insert(cell);
        record.listed += 1;
        self.weigh(worker);
    }

    /// The worker did not give back the state that was handed out last. Therefore all handed-out states have begun, in
    /// the order of the list.
    pub(super) fn has_begun(&mut self, worker: usize) {
        let record = &mut self.workers[worker];
        record.begun = record.handed;
        self.weigh(worker);
    }

    /// Adds a state at the front of a worker's list: it is being evolved.
    pub(super) fn put_back(&mut self, cells: &mut Cells, worker: usize, cell: u32) {
        let record = &mut self.workers[worker];
        let entry = cells.at(cell);
        (entry.stage, entry.before, entry.after) = (Stage::Handed, None, record.first);
        match record.first.replace(cell) {
            Some(first) => cells.at(first).before = Some(cell),
            None => record.last = Some(cell),
        }
        record.listed += 1;
        record.handed += 1;
        self.weigh(worker);
    }

    /// The states of its list that are not handed out, in order.
    pub(super) fn unhanded(&self, cells: &Cells, worker: usize) -> impl Iterator<Item = u32> {
        std::iter::successors(self.workers[worker].first_unhanded, |cell| cells.get(*cell).after)
    }

    /// Marks the first state that is not handed out as handed out, and returns it.
    pub(super) fn hand_next(&mut self, cells: &mut Cells, worker: usize) -> Option<u32> {
        let record = &mut self.workers[worker];
        let cell = record.first_unhanded?;
        cells.at(cell).stage = Stage::Handed;
        record.first_unhanded = cells.get(cell).after;
        record.handed += 1;
        self.weigh(worker);
        Some(cell)
    }

    /// Removes a state from its worker's list.
    pub(super) fn unlist(&mut self, cells: &mut Cells, worker: usize, cell: u32) {
        let record = &mut self.workers[worker];
        let (before, after, stage) = {
            let entry = cells.at(cell);
            (entry.before.take(), entry.after.take(), entry.stage)
        };
        match before {
            Some(before) => cells.at(before).after = after,
            None => record.first = after,
        }
        match after {
            Some(after) => cells.at(after).before = before,
            None => record.last = before,
        }
        if record.first_unhanded == Some(cell) {
            record.first_unhanded = after;
        }
        record.listed -= 1;
        if stage == Stage::Handed {
            record.handed -= 1;
            record.begun = record.begun.saturating_sub(1);
        }
        self.weigh(worker);
    }

    fn weigh(&mut self, worker: usize) {
        let record = &mut self.workers[worker];
        let hungry = record.here && record.listed <= 1;
        let before = std::mem::replace(&mut record.hungry, hungry);
        self.hungry = self.hungry + usize::from(hungry) - usize::from(before);
        self.load.set(worker, if record.here { record.spare() } else { 0 });
    }

    /// Notes that the worker must forget this state.
    pub(super) fn drop_later(&mut self, worker: usize, cell: u32) {
        let drops = &mut self.workers[worker].drops;
        if drops.is_empty() {
            self.dropping.push(worker);
        }
        drops.push(cell);
    }

    /// A worker that must forget states, and these states. `return_drops` takes the list back, for its memory.
    pub(super) fn next_drops(&mut self) -> Option<(usize, Vec<u32>)> {
        let worker = self.dropping.pop()?;
        Some((worker, std::mem::take(&mut self.workers[worker].drops)))
    }

    pub(super) fn return_drops(&mut self, worker: usize, mut drops: Vec<u32>) {
        drops.clear();
        self.workers[worker].drops = drops;
    }

    /// Reserves room for all that a round of this many states needs, so that its messages allocate nothing.
    pub(super) fn reserve(&mut self, states: usize) {
        let workers = self.workers.len();
        self.load.reserve(workers, states);
        self.leaving.reserve(states);
        self.idle.reserve(workers);
        self.dropping.reserve(workers);
    }

    /// The next worker in turn.
    pub(super) fn in_turn(&mut self) -> Option<usize> {
        let workers = self.workers.len();
        let found = (0..workers).map(|i| (self.next + i) % workers).find(|worker| self.workers[*worker].here)?;
        self.next = found + 1;
        Some(found)
    }

    pub(super) fn here(&self) -> usize {
        self.workers.iter().filter(|record| record.here).count()
    }

    /// A record for a new worker: a free one, if there is one.
    pub(super) fn enter(&mut self, now: Duration) -> usize {
        let free = self.workers.iter().position(|record| !record.here);
        let worker = free.unwrap_or(self.workers.len());
        let removals = VecDeque::with_capacity(REMOVALS);
        let record = WorkerRecord { here: true, heard: now, last_sent: now, removals, ..WorkerRecord::default() };
        if free.is_some() {
            self.workers[worker] = record
        } else {
            self.workers.push(record)
        }
        self.weigh(worker);
        worker
    }

    /// Empties all lists, also those of a round that has not ended.
    pub(super) fn forget_lists(&mut self) {
        self.idle.clear();
        for worker in 0..self.workers.len() {
            let record = &mut self.workers[worker];
            (record.first, record.last, record.first_unhanded) = (None, None, None);
            (record.listed, record.handed, record.begun) = (0, 0, 0);
            (record.incoming, record.idle, record.answered) = (false, false, None);
            self.weigh(worker);
        }
    }

    /// Clears the record of a worker that is gone.
    pub(super) fn leave(&mut self, worker: usize) {
        self.leaving.clear(&mut self.workers[worker].leaving);
        let hungry = self.workers[worker].hungry;
        self.workers[worker] = WorkerRecord { hungry, ..WorkerRecord::default() };
        self.weigh(worker);
    }
}
