//! Whole jobs whose machine crashes: snapshots, journal and source are on the simulated disk, which crashes at an
//! operation, and what the sink got since its last claim is lost in part.

use crate::simulated::{Simulated, World};
use millstream::prelude::*;
use millstream::state::journal::{Fsync, JournalOptions};
use millstream::state::{
    Cadence, ClaimingSink, Claims, Groups, OpenError, Persistent, Position, Retention, StateDir, again,
    journaled_in_groups,
};
use proptest::prelude::{ProptestConfig, any, prop_assert, prop_assert_eq, proptest};
use std::collections::VecDeque;
use std::convert::Infallible;
use std::io;
use std::sync::{Arc, Mutex};

/// A sum, counts by key, values that fail together with their keys, and a stage that renumbers.
fn lines() -> impl Pipeline<u64, String> + Lasting {
    let keep = |x: &u64| if x % 19 == 4 { Err("no") } else { Ok(*x) };
    pipeline::<u64>()
        .scan((0_u64, 0_u64), |(n, sum), x| {
            (*n, *sum) = (*n + 1, *sum + x);
            *sum * 100 + *n
        })
        .named("sum")
        .try_map_or_park("park", |x| x % 5, keep, |_| ())
        .shard_by(|x| x % 7, 2, |p| p.scan(0_u64, |n, x| (*x * 10 + *n, *n += 1).0).named("counts"))
        .named("keys")
        .flat_scan(0_u64, |sent, x| {
            *sent += 1;
            let sent = *sent;
            (0..1 + *x % 2).map(move |i| sent * 10 + i)
        })
        .named("some")
        .map(|x| format!("{x}\n"))
        .any_edge()
}

fn expected(values: impl IntoIterator<Item = u64>) -> Vec<String> {
    lines().model(values)
}

/// A sink that is cut when it is opened, as a file is. It holds what it had at its last claim, whatever crashes.
#[derive(Clone)]
struct Table {
    rows: Arc<Mutex<Vec<String>>>,
    disk: Simulated,
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
        self.disk.note("claimed", claimed as u64);
        Ok(self.clone())
    }

    fn goes_back(&self) -> bool {
        true
    }
}

impl Claims for Table {
    fn claim(&mut self) -> io::Result<Position> {
        let held = self.rows.lock().unwrap().len() as u64;
        self.disk.note("claimed", held);
        Ok(held.into())
    }
}

impl<A: for<'a> Shape<Ref<'a> = &'a String>> Sink<A> for Table {
    type Output = ();
    type Error = Infallible;

    fn put(&mut self, _: SequenceNumber, row: &String) -> Result<(), Infallible> {
        let mut rows = self.rows.lock().unwrap();
        rows.push(row.clone());
        self.disk.note("put", rows.len() as u64);
        Ok(())
    }

    fn finish(self, _: RunOutcome) -> Result<(), Infallible> {
        Ok(())
    }
}

/// The last note of this kind.
fn noted(world: &World, what: &str) -> u64 {
    world.notes.iter().filter(|(of, _)| *of == what).map(|(_, number)| *number).max().unwrap_or(0)
}

/// A machine: its disk, and what its sink has.
struct Machine {
    disk: Simulated,
    rows: Vec<String>,
}

impl Machine {
    fn new() -> Self {
        Machine { disk: Simulated::recording(), rows: Vec::new() }
    }

    /// Runs the job to its end, or to its death; then crashes in the middle of what it did. `pick` says where.
    fn crashed(self, job: impl FnOnce(&Self, Table), pick: u64) -> Self {
        let table = Table { rows: Arc::new(Mutex::new(self.rows.clone())), disk: self.disk.clone() };
        job(&self, table.clone());
        let history = self.disk.history();
        let Some(world) = history.get(pick as usize % history.len().max(1)) else { return self };
        let rows = if world.notes.iter().any(|(of, _)| *of == "claimed") {
            let (claimed, put) = (noted(world, "claimed"), noted(world, "put"));
            // Keeps some of the rows after the last claim.
            let kept = claimed + pick / 7 % (put.max(claimed) - claimed + 1);
            let all = table.rows.lock().unwrap();
            all[..all.len().min(kept as usize)].to_vec()
        } else {
            // The sink was not open yet.
            self.rows
        };
        let mut world = world.crash(pick);
        world.notes.retain(|(of, _)| *of == "acknowledged");
        Machine { disk: Simulated::recording_on(world), rows }
    }

    fn state(&self) -> StateDir {
        StateDir::open_on(self.disk.disk(), "/state", "lines").unwrap()
    }

    /// What the sink has when the job has come to its end.
    fn ended(&self, job: impl FnOnce(&Self, Table)) -> Vec<String> {
        let table = Table { rows: Arc::new(Mutex::new(self.rows.clone())), disk: self.disk.clone() };
        job(self, table.clone());
        table.rows.lock().unwrap().clone()
    }
}

fn persistent(state: StateDir, every: u64) -> Persistent {
    let keep = Retention { count: Some(2), ..Retention::default() };
    Persistent::new(Rings::new().batch(3), state).snapshot_every(Cadence::Numbers(every)).keep(keep)
}

/// A client: it sends numbers, and sends again what was not acknowledged.
struct Client {
    next: u64,
    end: u64,
    together: u64,
    disk: Simulated,
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

proptest! {
    #![proptest_config(ProptestConfig { cases: ProptestConfig::default().cases / 2, ..ProptestConfig::default() })]

    #[test]
    fn a_job_whose_machine_crashes_again_and_again_writes_what_an_undisturbed_one_does(
        n in 1_u64..80,
        every in 1_u64..20,
        crashes in proptest::collection::vec(any::<u64>(), 0..4),
    ) {
        let job = |machine: &Machine, table: Table| {
            let ran = persistent(machine.state(), every).run(&lines(), again(move || 0..n), table);
            assert_eq!(ran.unwrap().1.failed, 0);
        };
        let machine = crashes.iter().fold(Machine::new(), |machine, pick| machine.crashed(job, *pick));
        prop_assert_eq!(machine.ended(job), expected(0..n));
    }

    /// What was acknowledged is in the output once; what was sent and not acknowledged may be there, before it is sent
    /// again.
    #[test]
    fn what_a_journal_has_acknowledged_survives_every_crash(
        n in 1_u64..60,
        every in 1_u64..20,
        together in 1_u64..4,
        crashes in proptest::collection::vec(any::<u64>(), 0..4),
    ) {
        // What each life of the job sent, from where on.
        let lives = Mutex::new(Vec::new());
        let job = |machine: &Machine, table: Table| {
            let (state, disk) = (machine.state(), machine.disk.clone());
            let next = noted(&disk.world(), "acknowledged");
            lives.lock().unwrap().push(next);
            let (fsync, compress) = (Fsync::Every, together > 1);
            let options = JournalOptions { fsync, compress, segment_bytes: 400, ..JournalOptions::default() };
            let client = move || Client { next, end: n, together, disk };
            let live = journaled_in_groups(&state, options, client);
            let sent = pipeline::<String>().map(|value| value.parse().unwrap()).then(lines());
            assert_eq!(persistent(state, every).run(&sent, live, table).unwrap().1.failed, 0);
        };
        let machine = crashes.iter().fold(Machine::new(), |machine, pick| machine.crashed(job, *pick));
        let held = machine.rows.clone();
        let rows = machine.ended(job);
        let lives = lives.into_inner().unwrap();
        prop_assert!(rows.starts_with(&held), "what has left was taken back");
        // The values that are in the journal: of each life a run of those that it sent, to its acknowledged end or some
        // groups further.
        let mut fits = vec![Vec::new()];
        for (life, from) in lives.iter().enumerate() {
            let least = lives.get(life + 1).copied().unwrap_or(n);
            let most = if life + 1 == lives.len() { n } else { n.min(least + together) };
            fits = fits.iter().flat_map(|before: &Vec<u64>| {
                (least..=most).map(|to| before.iter().copied().chain(*from..to).collect::<Vec<_>>())
            }).collect();
        }
        prop_assert!(fits.into_iter().any(|values| expected(values) == rows), "{:?}: {:?}", lives, rows);
    }
}
