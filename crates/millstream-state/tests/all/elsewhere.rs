//! Jobs whose snapshots are in an object store, and the rest in a directory.

use crate::jobs::{lines, numbers};
use millstream::io::FileSink;
use millstream::prelude::*;
use millstream::state::dead_letters::KeptLetters;
use millstream::state::journal::JournalOptions;
use millstream::state::store::{MemoryStore, Store};
use millstream::state::{
    Cadence, JobError, Persistent, Retention, Span, StateDir, StateError, Stored, again, journaled, replay,
};
use proptest::prelude::{ProptestConfig, any, prop, prop_assert_eq, proptest};
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use std::{fs, io, thread};

/// Half of its puts fail, before or after they are done.
#[derive(Debug)]
struct Fails {
    store: MemoryStore,
    seed: u64,
    puts: AtomicU64,
}

impl Store for Fails {
    fn put(&self, name: &str, pieces: &[&[u8]]) -> io::Result<()> {
        let put = self.puts.fetch_add(1, Ordering::Relaxed);
        // The object of an epoch is put, or no job would ever start.
        match (self.seed ^ put).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 62 {
            0 if !name.starts_with("job/") => Err(io::ErrorKind::ConnectionReset.into()),
            1 if !name.starts_with("job/") => {
                self.store.put(name, pieces)?;
                Err(io::ErrorKind::TimedOut.into())
            }
            _ => self.store.put(name, pieces),
        }
    }

    fn get(&self, name: &str, range: Range<u64>) -> io::Result<Vec<u8>> {
        self.store.get(name, range)
    }

    fn list(&self, prefix: &str) -> io::Result<Vec<(String, u64)>> {
        self.store.list(prefix)
    }

    fn delete(&self, name: &str) -> io::Result<()> {
        self.store.delete(name)
    }
}

fn job(dir: impl AsRef<Path>, store: Arc<dyn Store>, every: Cadence) -> Result<Persistent, JobError> {
    let state = StateDir::open(dir.as_ref(), "lines")?.snapshots_in(store)?;
    let keep = Retention { count: Some(2), ..Retention::default() };
    Ok(Persistent::new(Rings::new().batch(3), state).snapshot_every(every).keep(keep))
}

fn expected(n: u64) -> String {
    lines().model(0..n).concat()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    /// The output is on a disk that all machines see.
    #[test]
    fn a_job_goes_on_on_another_machine_although_the_store_fails_half_of_the_time(
        n in 1_u64..200,
        every in 1_u64..30,
        seed in any::<u64>(),
        deaths in prop::collection::vec(any::<prop::sample::Index>(), 0..5),
    ) {
        let home = tempfile::tempdir().unwrap();
        let out = home.path().join("out");
        let store = Arc::new(Fails { store: MemoryStore::default(), seed, puts: AtomicU64::new(0) });
        for (machine, death) in deaths.into_iter().enumerate() {
            let dies = Some(death.index(n as usize) as u64);
            let dir = home.path().join(machine.to_string());
            let run = || {
                let values = again(numbers(n, dies));
                job(dir, store.clone(), Cadence::Numbers(every))?.run(&lines(), values, FileSink::append(&out))
            };
            // It dies there; or the store refuses the first snapshot, before anything runs.
            let died = catch_unwind(AssertUnwindSafe(run));
            assert!(!matches!(died, Ok(Ok(_))), "it did not come to number {dies:?} of {n}");
        }
        for machine in 100.. {
            let job = job(home.path().join(machine.to_string()), store.clone(), Cadence::Numbers(every)).unwrap();
            match job.run(&lines(), again(numbers(n, None)), FileSink::append(&out)) {
                Ok(_) => break,
                Err(JobError::State(_)) => assert!(machine < 150, "no start succeeds"),
                Err(other) => panic!("{other}"),
            }
        }
        prop_assert_eq!(fs::read_to_string(&out).unwrap(), expected(n));
    }
}

#[test]
fn a_process_whose_store_another_machine_has_opened_stores_no_more() {
    let home = tempfile::tempdir().unwrap();
    let store = Arc::new(MemoryStore::default());
    let start = |machine: &str| {
        let slow = || (0..1_000_000_u64).inspect(|_| thread::sleep(Duration::from_millis(1)));
        let out = FileSink::append(home.path().join(format!("{machine}.out")));
        job(home.path().join(machine), store.clone(), Cadence::OnCall).unwrap().start(&lines(), again(slow), out)
    };
    let first = start("first").unwrap();
    first.snapshot().unwrap().unwrap();
    // Its output is that of the first one, as on a disk that both see.
    fs::copy(home.path().join("first.out"), home.path().join("second.out")).unwrap();
    let second = start("second").unwrap();
    let refused = first.snapshot().unwrap_err();
    assert!(refused.contains("belongs to a process of epoch 2, and this one has epoch 1: it must stop"), "{refused}");
    second.snapshot().unwrap().unwrap();
    first.close();
    let (_, stored, _) = first.join();
    assert_eq!((stored.snapshots, stored.failed), (1, 1));
}

#[test]
fn a_directory_with_snapshots_and_a_journal_that_is_elsewhere_are_refused() {
    let home = tempfile::tempdir().unwrap();
    let dir = |name: &str| home.path().join(name);
    let run = |store: Option<Arc<dyn Store>>, dir: &Path| -> Result<Stored, JobError> {
        let state = StateDir::open(dir, "lines")?;
        let state = if let Some(store) = store { state.snapshots_in(store)? } else { state };
        let live = journaled(&state, JournalOptions::default(), || (0..20_u64).map(|x| x.to_string()));
        let parsed = pipeline::<String>().map(|x: &String| x.parse().unwrap()).then(lines());
        let job = Persistent::new(Rings::new(), state).snapshot_every(Cadence::Numbers(5));
        job.run(&parsed, live, FileSink::append(home.path().join("out"))).map(|(_, stored)| stored)
    };
    let store: Arc<dyn Store> = Arc::new(MemoryStore::default());
    run(Some(store.clone()), &dir("one")).unwrap();
    let went = run(Some(store.clone()), &dir("other")).unwrap_err();
    assert!(went.to_string().contains("ends at number 0, and numbers below "), "{went}");
    assert!(run(Some(store.clone()), &dir("one")).unwrap().began > 0, "it goes on where its journal is");

    fs::remove_file(home.path().join("out")).unwrap();
    run(None, &dir("plain")).unwrap();
    let own = run(Some(store), &dir("plain")).unwrap_err();
    assert!(matches!(&own, JobError::State(StateError::Refused { .. })), "{own}");
    assert!(own.to_string().contains("it has snapshots of its own, such as 00000"), "{own}");
}

#[test]
fn dead_letters_are_done_again_and_a_replay_begins_in_the_store() {
    let home = tempfile::tempdir().unwrap();
    let store = Arc::new(MemoryStore::default());
    let sums = |letters: &KeptLetters, fixed: bool| {
        let check = move |x: &u64| if fixed || x % 40 != 33 { Ok(*x) } else { Err("no") };
        pipeline::<u64>()
            .try_map_or_dead_letter("check", check, letters.taking())
            .scan(0_u64, |sum, x| (*sum += x, *sum).1)
            .named("sum")
            .map(|sum| format!("{sum}\n"))
            .any_edge()
    };
    let run = |fixed: bool| {
        let state = StateDir::open(home.path().join("state"), "sums").unwrap().snapshots_in(store.clone()).unwrap();
        let letters = KeptLetters::open(&state, JournalOptions::default()).unwrap();
        let job = Persistent::new(Rings::new().batch(3), state).snapshot_every(Cadence::Numbers(5)).letters(&letters);
        let job = if fixed { job.redo() } else { job };
        let out = FileSink::append(home.path().join("out"));
        let (_, stored) = job.run(&sums(&letters, fixed), again(|| 0..100), out).unwrap();
        (stored.began, letters.list().len())
    };
    assert_eq!(run(false), (0, 2));
    let (began, letters) = run(true);
    assert!(began <= 33 && letters == 0, "{began} {letters}");
    let whole: String = (0..100_u64).map(|x| format!("{}\n", x * (x + 1) / 2)).collect();
    assert_eq!(fs::read_to_string(home.path().join("out")).unwrap(), whole);

    let state = StateDir::read(home.path().join("state")).unwrap().snapshots_in(store.clone()).unwrap();
    let letters = KeptLetters::open(&state, JournalOptions::default()).unwrap();
    let span = Span { from: None, to: Some(95) };
    let looked =
        replay(&state, &Rings::new(), &sums(&letters, true), &again(|| 0..100_u64), span, sink::collect()).unwrap();
    assert_eq!(looked.snapshot.json("sum").unwrap()[0], 94 * 95 / 2);
    assert!(looked.began > 0, "it begins in the store");
}
