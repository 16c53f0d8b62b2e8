//! A machine that crashes in the middle of a job: its disk, and what its sinks have.

use crate::simulated::{Simulated, World};
use millstream::prelude::*;
use millstream::state::{
    Cadence, ClaimingSink, Claims, Groups, OpenError, Persistent, Position, Retention, SideSink, StateDir, StateError,
};
use std::collections::VecDeque;
use std::convert::Infallible;
use std::io;
use std::sync::{Arc, Mutex};

/// A sink that is cut when it is opened, as a file is. It holds what it had at its last claim, whatever crashes.
#[derive(Clone)]
pub(crate) struct Table {
    rows: Arc<Mutex<Vec<String>>>,
    disk: Simulated,
    notes: Notes,
}

/// The notes that a table makes on the disk: how many rows it has claimed, and how many it was given.
#[derive(Clone, Copy)]
struct Notes {
    claimed: &'static str,
    put: &'static str,
}

const OF_JOB: Notes = Notes { claimed: "claimed", put: "put" };
const OF_SIDE: Notes = Notes { claimed: "side claimed", put: "side put" };

/// The side sink of a job, whose rows are a table as well.
pub(crate) type Side = SideSink<AnyEdge<String>, Table>;

impl Table {
    fn of(rows: Vec<String>, disk: &Simulated, notes: Notes) -> Self {
        Table { rows: Arc::new(Mutex::new(rows)), disk: disk.clone(), notes }
    }

    /// Of no machine.
    pub(crate) fn empty() -> Self {
        Table::of(Vec::new(), &Simulated::default(), OF_JOB)
    }

    /// What it has after a crash in this world; `before` is what it had when its job began.
    fn kept(&self, before: Vec<String>, world: &World, pick: Option<u64>) -> Vec<String> {
        let Notes { claimed, put } = self.notes;
        if world.notes.iter().all(|(of, _)| *of != claimed) {
            // The sink was not open yet.
            return before;
        }
        let (claimed, put) = (noted(world, claimed), noted(world, put));
        // A crash keeps some of the rows after the last claim.
        let after = put.max(claimed) - claimed;
        let kept = claimed + pick.map_or(after, |pick| pick % (after + 1));
        let all = self.rows.lock().unwrap();
        all[..all.len().min(kept as usize)].to_vec()
    }

    pub(crate) fn rows(&self) -> Arc<Mutex<Vec<String>>> {
        self.rows.clone()
    }
}

impl<A: for<'a> Shape<Ref<'a> = &'a String>> ClaimingSink<A> for Table {
    type Open = Table;

    fn open(&self, claim: Option<(SequenceNumber, &Position)>) -> Result<Table, OpenError> {
        let mut rows = self.rows.lock().unwrap();
        let claimed = claim.map_or(0, |(_, claim)| claim.as_u64().unwrap() as usize);
        if rows.len() < claimed {
            return Err(OpenError::HoldsLess(format!("it has {} rows instead of {claimed}", rows.len())));
        }
        rows.truncate(claimed);
        self.disk.note(self.notes.claimed, claimed as u64);
        Ok(self.clone())
    }

    fn goes_back(&self) -> bool {
        true
    }
}

impl Claims for Table {
    fn claim(&mut self) -> io::Result<Position> {
        let held = self.rows.lock().unwrap().len() as u64;
        self.disk.note(self.notes.claimed, held);
        Ok(held.into())
    }
}

impl<A: for<'a> Shape<Ref<'a> = &'a String>> Sink<A> for Table {
    type Output = ();
    type Error = Infallible;

    fn put(&mut self, _: SequenceNumber, row: &String) -> Result<(), Infallible> {
        let mut rows = self.rows.lock().unwrap();
        rows.push(row.clone());
        self.disk.note(self.notes.put, rows.len() as u64);
        Ok(())
    }

    fn finish(self, _: RunOutcome) -> Result<(), Infallible> {
        Ok(())
    }
}

/// The last note of this kind.
pub(crate) fn noted(world: &World, what: &str) -> u64 {
    world.notes.iter().filter(|(of, _)| *of == what).map(|(_, number)| *number).max().unwrap_or(0)
}

/// A machine: its disk, and what its sinks have.
pub(crate) struct Machine {
    pub(crate) disk: Simulated,
    pub(crate) rows: Vec<String>,
    side: Table,
}

impl Machine {
    pub(crate) fn new() -> Self {
        Machine::with(Simulated::recording(), Vec::new(), Vec::new())
    }

    fn with(disk: Simulated, rows: Vec<String>, side: Vec<String>) -> Self {
        let side = Table::of(side, &disk, OF_SIDE);
        Machine { disk, rows, side }
    }

    fn table(&self) -> Table {
        Table::of(self.rows.clone(), &self.disk, OF_JOB)
    }

    /// The sink of `tee_to("side", ..)`. Its rows stay from one run of a job to the next.
    pub(crate) fn side(&self) -> Side {
        SideSink::new("side", self.side.clone())
    }

    pub(crate) fn side_rows(&self) -> Vec<String> {
        self.side.rows.lock().unwrap().clone()
    }

    /// Runs the job to its end, or to its death; then crashes in the middle of what it did. `pick` says where.
    pub(crate) fn crashed(self, job: impl FnOnce(&Self, Table), pick: u64) -> Self {
        self.interrupted(job, pick, true)
    }

    /// As that; or the process alone is killed there, and nothing is lost that it did before.
    pub(crate) fn interrupted(self, job: impl FnOnce(&Self, Table), pick: u64, loses: bool) -> Self {
        let (table, side) = (self.table(), self.side_rows());
        job(&self, table.clone());
        let history = self.disk.history();
        // It may have been refused before it did anything.
        let before = self.disk.world();
        let world = history.get(pick as usize % history.len().max(1)).unwrap_or(&before);
        let rows = table.kept(self.rows, world, loses.then_some(pick / 7));
        let side = self.side.kept(side, world, loses.then_some(pick / 11));
        let mut world = if loses { world.crash(pick) } else { world.clone() };
        world.notes.retain(|(of, _)| *of == "acknowledged");
        Machine::with(Simulated::recording_on(world), rows, side)
    }

    pub(crate) fn state(&self) -> StateDir {
        self.open().unwrap()
    }

    /// Its state directory, which may be refused if its disk fails.
    pub(crate) fn open(&self) -> Result<StateDir, StateError> {
        StateDir::open_on(self.disk.disk(), "/state", "lines")
    }

    /// What the sink has when the job has come to its end.
    pub(crate) fn ended(&self, job: impl FnOnce(&Self, Table)) -> Vec<String> {
        let table = self.table();
        job(self, table.clone());
        table.rows.lock().unwrap().clone()
    }
}

pub(crate) fn persistent(state: StateDir, every: u64) -> Persistent {
    let keep = Retention { count: Some(2), ..Retention::default() };
    Persistent::new(Rings::new().batch(3), state).snapshot_every(Cadence::Numbers(every)).keep(keep)
}

/// A client: it sends numbers, and sends again what was not acknowledged.
pub(crate) struct Client {
    pub(crate) next: u64,
    pub(crate) end: u64,
    pub(crate) together: u64,
    pub(crate) disk: Simulated,
}

impl Groups for Client {
    type Item = String;

    fn next_group(&mut self, group: &mut VecDeque<String>) -> bool {
        let to = self.end.min(self.next + self.together);
        group.extend((self.next..to).map(|value| value.to_string()));
        self.next = to;
        !group.is_empty()
    }

    fn committed(&mut self, _: u64) {
        self.disk.note("acknowledged", self.next);
    }
}

/// Whether these are the rows of a journal with what the lives of a job have sent, from these values on: of each life a
/// run of those that it sent, to its acknowledged end or some groups further.
pub(crate) fn of_a_journal(
    lives: &[u64],
    (n, together): (u64, u64),
    rows: &[String],
    expected: impl Fn(Vec<u64>) -> Vec<String>,
) -> bool {
    let mut fits = vec![Vec::new()];
    for (life, from) in lives.iter().enumerate() {
        let least = lives.get(life + 1).copied().unwrap_or(n);
        let most = if life + 1 == lives.len() { n } else { n.min(least + together) };
        let longer = |before: &Vec<u64>| -> Vec<Vec<u64>> {
            (least..=most).map(|to| before.iter().copied().chain(*from..to).collect()).collect()
        };
        fits = fits.iter().flat_map(longer).collect();
    }
    fits.into_iter().any(|values| expected(values) == rows)
}
