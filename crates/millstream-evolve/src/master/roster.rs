//! The workers, and the list of states that each has still to evolve: those handed out first, in the order in which the
//! worker takes them, then the others.

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
    /// Who has nothing to do, and found nobody who could give it something.
    pub(super) idle: VecDeque<usize>,
    /// How many workers have one state or none.
    pub(super) hungry: usize,
    /// Who is to forget something.
    pub(super) dropping: Vec<usize>,
    /// What workers are asked to give away.
    pub(super) leaving: Lines<u32>,
    /// Where to look for the next worker when there is something to place.
    next: usize,
}

/// What the master knows of a worker.
#[derive(Debug, Default)]
pub(super) struct WorkerRecord {
    pub(super) here: bool,
    first: Option<u32>,
    last: Option<u32>,
    first_unhanded: Option<u32>,
    pub(super) listed: usize,
    pub(super) handed: usize,
    /// How many of these are known to have begun, as it would not give them back.
    begun: usize,
    /// Something was stolen for it and is under way.
    pub(super) incoming: bool,
    pub(super) idle: bool,
    hungry: bool,
    /// What it is asked to give away, oldest first: so many of `leaving`.
    pub(super) removals: VecDeque<Removal>,
    pub(super) leaving: Line,
    /// What it is to forget.
    drops: Vec<u32>,
    /// How many messages it was sent that it has to answer with states added.
    pub(super) adding: u32,
    /// Some of what is for it waits until it takes what was sent before.
    pub(super) stalled: bool,
    pub(super) heard: Duration,
    /// When something was last written to it.
    pub(super) told: Duration,
    /// When the answer came that nothing has been handed out for yet.
    pub(super) answered: Option<Duration>,
    /// And when it came, once something is in the buffer that is sent.
    pub(super) handed_for: Option<Duration>,
    pub(super) spent: Spent,
    pub(super) evolved: u64,
}

/// A worker is seldom asked more often before it answers: each time for half of what it can spare.
const REMOVALS: usize = 32;

#[derive(Clone, Copy, Debug)]
pub(super) struct Removal {
    /// For whom; or for the reserve.
    pub(super) thief: Option<usize>,
    pub(super) cells: usize,
}

impl WorkerRecord {
    /// How many states could be taken away: the first of those handed out is being evolved.
    fn spare(&self) -> usize {
        self.listed - self.begun.max(1).min(self.handed)
    }

    /// Whether it owes an answer, or is to take what is sent.
    pub(super) fn is_busy(&self) -> bool {
        self.listed > 0 || self.adding > 0 || self.is_asked() || self.stalled
    }

    /// Whether it was asked for states, and has not answered.
    pub(super) fn is_asked(&self) -> bool {
        !self.removals.is_empty()
    }

    /// The state that is being evolved, as far as is known.
    pub(super) fn under_way(&self) -> Option<u32> {
        self.first.filter(|_| self.handed > 0)
    }

    pub(super) fn last(&self) -> Option<u32> {
        self.last
    }
}

impl Roster {
    /// Behind all others of a worker.
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

    /// It would not give back what was handed out last: so all of that has begun, in the order of the list.
    pub(super) fn has_begun(&mut self, worker: usize) {
        let record = &mut self.workers[worker];
        record.begun = record.handed;
        self.weigh(worker);
    }

    /// In front of all others: it turned out to be under way.
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

    /// What is in its list and not handed out, in its order.
    pub(super) fn unhanded(&self, cells: &Cells, worker: usize) -> impl Iterator<Item = u32> {
        std::iter::successors(self.workers[worker].first_unhanded, |cell| cells.get(*cell).after)
    }

    /// The first one that is not handed out, is from now on.
    pub(super) fn hand_next(&mut self, cells: &mut Cells, worker: usize) -> Option<u32> {
        let record = &mut self.workers[worker];
        let cell = record.first_unhanded?;
        cells.at(cell).stage = Stage::Handed;
        record.first_unhanded = cells.get(cell).after;
        record.handed += 1;
        self.weigh(worker);
        Some(cell)
    }

    /// Out of its worker's list.
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

    /// The worker is to forget this state.
    pub(super) fn drop_later(&mut self, worker: usize, cell: u32) {
        let drops = &mut self.workers[worker].drops;
        if drops.is_empty() {
            self.dropping.push(worker);
        }
        drops.push(cell);
    }

    /// A worker that is to forget something, and what; to be given back, for its memory.
    pub(super) fn next_drops(&mut self) -> Option<(usize, Vec<u32>)> {
        let worker = self.dropping.pop()?;
        Some((worker, std::mem::take(&mut self.workers[worker].drops)))
    }

    pub(super) fn return_drops(&mut self, worker: usize, mut drops: Vec<u32>) {
        drops.clear();
        self.workers[worker].drops = drops;
    }

    /// Room for all that a round of so many states brings, so that its messages need none.
    pub(super) fn reserve(&mut self, states: usize) {
        let workers = self.workers.len();
        self.load.reserve(workers, states);
        self.leaving.reserve(states);
        self.idle.reserve(workers);
        self.dropping.reserve(workers);
    }

    /// Each worker in turn.
    pub(super) fn in_turn(&mut self) -> Option<usize> {
        let workers = self.workers.len();
        let found = (0..workers).map(|i| (self.next + i) % workers).find(|worker| self.workers[*worker].here)?;
        self.next = found + 1;
        Some(found)
    }

    pub(super) fn here(&self) -> usize {
        self.workers.iter().filter(|record| record.here).count()
    }

    /// A record for a new worker: one that was left, if there is one.
    pub(super) fn sit(&mut self, now: Duration) -> usize {
        let free = self.workers.iter().position(|record| !record.here);
        let worker = free.unwrap_or(self.workers.len());
        let removals = VecDeque::with_capacity(REMOVALS);
        let record = WorkerRecord { here: true, heard: now, told: now, removals, ..WorkerRecord::default() };
        if free.is_some() {
            self.workers[worker] = record
        } else {
            self.workers.push(record)
        }
        self.weigh(worker);
        worker
    }

    /// All lists are empty from now on, also those of a round that has not ended.
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

    /// Its list is empty from now on.
    pub(super) fn leave(&mut self, worker: usize) {
        self.leaving.clear(&mut self.workers[worker].leaving);
        let hungry = self.workers[worker].hungry;
        self.workers[worker] = WorkerRecord { hungry, ..WorkerRecord::default() };
        self.weigh(worker);
    }
}
