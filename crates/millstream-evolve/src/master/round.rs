//! The beginning of a population, and the beginning and end of a round.

use super::cells::Stage;
use super::roster::WorkerRecord;
use super::{Batch, Master, Outbox};
use crate::message::{LONGEST_VALUE, MOST_TOKENS, Request, USUAL_MESSAGE, frame};
use crate::{EvolveError, Token};
use std::ops::Range;
use std::time::Duration;

/// A state of the round, and its children with their outputs as bytes.
type StateTask<'a> = (Token, Box<dyn Iterator<Item = (Token, &'a [u8])> + 'a>);

/// A batch that takes fewer nanoseconds is made larger.
const SHORTEST_BATCH: u64 = 1_000_000;
const USUAL_BATCH: u64 = 5;
const LARGEST_BATCH: u64 = 500;

impl Master {
    /// Replaces all states by these, spread evenly over the workers.
    pub(crate) fn reset<'a>(
        &mut self,
        states: impl IntoIterator<Item = (Token, &'a [u8])>,
        now: Duration,
        out: &mut impl Outbox,
    ) -> Result<(), EvolveError> {
        self.now = now;
        self.drop_all(out);
        self.forget_removals();
        self.roster.forget_lists();
        self.cells.clear();
        self.oldest = 0;
        self.alive.clear();
        self.tasks.clear();
        self.stranded.clear();
        self.reserve.clear();
        for (token, state) in states {
            let cell = self.cells.add(token, None).ok_or(EvolveError::Unknown(token))?;
            self.cells.keep_backup(cell, state);
            self.alive.push(cell);
        }
        for (worker, share) in self.shares() {
            self.add_states(worker, share, out);
        }
        Ok(())
    }

    /// Sends a worker its part of the population, in messages of the usual length.
    fn add_states(&mut self, worker: usize, mut share: Range<usize>, out: &mut impl Outbox) {
        while !share.is_empty() {
            let states = self.alive[share.clone()].iter().map(|cell| self.cells.get(*cell).backup.clone());
            let states = in_one_message(states.map(|state| state.map_or(0, |bytes| bytes.len())));
            let (these, rest) = (share.start..share.start + states, share.start + states..share.end);
            let items = u32::try_from(states).unwrap_or(u32::MAX);
            let mut message = frame(out.to(worker), &Request::AddStates { items });
            for cell in &self.alive[these] {
                let cell = self.cells.at(*cell);
                cell.home = Some(worker);
                let state = cell.backup.clone().unwrap_or_default();
                message.put(&cell.token).put_bytes(&self.cells.backups[state]);
            }
            message.end();
            self.sends_to(worker).adding += 1;
            share = rest;
        }
    }

    /// The part of the population for each worker.
    fn shares(&self) -> Vec<(usize, Range<usize>)> {
        let here: Vec<_> = self.roster.workers.iter().enumerate().filter(|(_, record)| record.here).collect();
        let (states, workers) = (self.alive.len(), here.len());
        let cut = |i: usize| (i * states).checked_div(workers).unwrap_or(0);
        here.iter().enumerate().map(|(i, (worker, _))| (*worker, cut(i)..cut(i + 1))).collect()
    }

    fn drop_all(&mut self, out: &mut impl Outbox) {
        for cell in &self.alive {
            if let Some(home) = self.cells.at(*cell).home.take() {
                self.roster.drop_later(home, *cell);
            }
        }
        self.send_drops(out);
    }

    /// Begins to name the states of a round. The children's states are kept if `backup` is set or the round's number
    /// requires it.
    pub(crate) fn begin(&mut self, round: u64, backup: bool) {
        self.tasks.clear();
        self.backup = backup || round.is_multiple_of(self.tuning.backup_every.max(1));
    }

    /// Names a state of the round. `input` appends its input to a buffer.
    pub(crate) fn task(
        &mut self,
        token: Token,
        input: impl FnOnce(&mut Vec<u8>) -> Result<(), postcard::Error>,
    ) -> Result<(), EvolveError> {
        let alive = |cell: &u32| {
            let entry = self.cells.get(*cell);
            *cell >= self.oldest && entry.stage == Stage::Rest && entry.input.is_none()
        };
        let cell = self.cells.find(token).filter(alive).ok_or(EvolveError::Unknown(token))?;
        let start = self.cells.inputs.len();
        input(&mut self.cells.inputs)?;
        check_length("an input", self.cells.inputs.len() - start)?;
        self.cells.at(cell).input = Some(start..self.cells.inputs.len());
        self.tasks.push(cell);
        Ok(())
    }

    /// Begins the round after all its states have been named. States that were not named are forgotten.
    pub(crate) fn go(&mut self, now: Duration, out: &mut impl Outbox) {
        for at in 0..self.alive.len() {
            let cell = self.alive[at];
            let entry = self.cells.at(cell);
            if entry.input.is_none()
                && let Some(home) = entry.home.take()
            {
                self.roster.drop_later(home, cell);
            }
        }
        self.send_drops(out);
        self.alive.clear();
        self.left = self.tasks.len();
        self.oldest = u32::try_from(self.cells.cells.len()).unwrap_or(u32::MAX);
        self.now = now;
        self.roster.reserve(self.tasks.len());
        self.scratch.reserve(self.tasks.len());
        self.reserve.reserve(self.roster.workers.len());
        self.reserve.needed = 0;
        self.roster.idle.clear();
        for record in &mut self.roster.workers {
            (record.heard, record.answered, record.idle) = (now, None, false);
        }
        for at in 0..self.tasks.len() {
            let cell = self.tasks[at];
            match self.cells.get(cell).home {
                Some(home) => self.roster.append(&mut self.cells, home, cell),
                None => self.revive(cell, out),
            }
        }
        for worker in 0..self.roster.workers.len() {
            self.hand_out(worker, out);
        }
        for worker in 0..self.roster.workers.len() {
            self.seek(worker, out);
        }
        self.fill_reserve(out);
    }

    pub(super) fn send_drops(&mut self, out: &mut impl Outbox) {
        while let Some((worker, drops)) = self.roster.next_drops() {
            // A worker that was lost meanwhile has nothing to forget.
            for drops in drops.chunks(MOST_TOKENS) {
                let items = u32::try_from(drops.len()).unwrap_or(u32::MAX);
                let mut message = frame(out.to(worker), &Request::RemoveStates { items, give_back: false });
                for cell in drops {
                    message.put(&self.cells.get(*cell).token);
                }
                message.end();
            }
            self.roster.return_drops(worker, drops);
        }
    }

    pub(crate) fn is_done(&self) -> bool {
        self.left == 0 && self.stranded.is_empty() && self.reserve.is_empty()
    }

    /// The number of states of the round that have not evolved.
    pub(crate) fn left(&self) -> usize {
        self.left
    }

    /// Whether every worker has reported the states that were sent to it.
    pub(crate) fn has_settled(&self) -> bool {
        self.roster.workers.iter().all(|record| !record.here || record.adding == 0)
    }

    /// The results of the round, in the order in which its states were named.
    pub(crate) fn results(&self) -> impl Iterator<Item = StateTask<'_>> {
        self.tasks.iter().map(|task| {
            let parent = self.cells.get(*task);
            let children = parent.children.clone().map(|child| {
                let child = self.cells.get(child);
                (child.token, &self.cells.outputs[child.output.clone()])
            });
            (parent.token, Box::new(children) as Box<dyn Iterator<Item = (Token, &[u8])>>)
        })
    }

    /// Makes the children the population, after the results have been read.
    pub(crate) fn settle(&mut self) {
        self.alive.clear();
        for task in &self.tasks {
            self.alive.extend(self.cells.get(*task).children.clone());
        }
        self.cells.outputs.clear();
        if self.backup {
            self.forget_removals();
            self.cells.keep_only(&mut self.alive);
            self.oldest = 0;
            self.tasks.clear();
        }
    }

    /// Forgets the requests to give states back, since cells get other numbers. Their answers return nothing, since
    /// every state has evolved.
    fn forget_removals(&mut self) {
        self.reserve.promised = 0;
        for record in &mut self.roster.workers {
            self.roster.leaving.clear(&mut record.leaving);
            record.removals.iter_mut().for_each(|removal| removal.cells = 0);
        }
    }

    /// Prepares a request. If the worker owed nothing, its time for an answer begins now.
    pub(super) fn sends_to(&mut self, worker: usize) -> &mut WorkerRecord {
        let record = &mut self.roster.workers[worker];
        if !record.is_busy() {
            record.heard = self.now;
        }
        record
    }

    /// Hands states out until the worker has enough.
    pub(super) fn hand_out(&mut self, worker: usize, out: &mut impl Outbox) {
        let batch = self.batch();
        loop {
            let record = &mut self.roster.workers[worker];
            if !record.here || record.handed > batch || record.handed == record.listed {
                return;
            }
            if record.handed == 0 {
                record.heard = self.now;
            }
            record.handed_for = record.answered.take().or(record.handed_for);
            self.counts.batches += 1;
            let inputs = self.roster.unhanded(&self.cells, worker).map(|cell| self.cells.get(cell).input.clone());
            let items = in_one_message(inputs.take(batch).map(|input| input.map_or(0, |bytes| bytes.len())));
            let items = u32::try_from(items).unwrap_or(u32::MAX);
            let mut message = frame(out.to(worker), &Request::EvolveStates { items, backup: self.backup });
            for _ in 0..items {
                let Some(cell) = self.roster.hand_next(&mut self.cells, worker) else { break };
                let cell = self.cells.get(cell);
                message.put(&cell.token).put_bytes(&self.cells.inputs[cell.input.clone().unwrap_or_default()]);
            }
            message.end();
        }
    }

    fn batch(&self) -> usize {
        match self.tuning.batch {
            Batch::Fixed(states) => states.max(1),
            Batch::Adaptive => {
                let short = SHORTEST_BATCH.checked_div(self.cost).unwrap_or(USUAL_BATCH);
                usize::try_from(short.clamp(USUAL_BATCH, LARGEST_BATCH)).unwrap_or(1)
            }
        }
    }
}

/// The number of values that begin within a usual message, each after its token, given their lengths. The first one
/// always does.
fn in_one_message(lengths: impl Iterator<Item = usize>) -> usize {
    let begins = |begin: &mut usize, length| {
        let here = *begin;
        *begin += size_of::<Token>() + length;
        (here < USUAL_MESSAGE).then_some(())
    };
    lengths.scan(0, begins).count()
}

/// Fails if this many bytes cannot be sent as one value.
pub(crate) fn check_length(what: &'static str, bytes: usize) -> Result<(), EvolveError> {
    if bytes > LONGEST_VALUE { Err(EvolveError::TooLong { what, bytes, most: LONGEST_VALUE }) } else { Ok(()) }
}
