//! Panics that a job with snapshots survives, or does not have.

use crate::jobs::{job, lines, numbers};
use crate::trimmed::SMALL;
use millstream::io::FileSink;
use millstream::prelude::*;
use millstream::state::{Cadence, Persistent, StateDir, StateError, again, journaled};
use serde::{Deserialize, Serialize, Serializer};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel, sync_channel};

static IS_BROKEN: AtomicBool = AtomicBool::new(false);

/// A state that cannot be written for a while.
#[derive(Clone, Deserialize)]
struct Count(u64);

impl Serialize for Count {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        assert!(!IS_BROKEN.load(Ordering::SeqCst), "no count");
        serializer.serialize_newtype_struct("Count", &self.0)
    }
}

#[test]
fn a_state_that_panics_as_it_is_written_costs_one_snapshot() {
    let home = tempfile::tempdir().unwrap();
    let open = || StateDir::open(home.path().join("state"), "count");
    let count = || {
        let count = |count: &mut Count, line: &String| {
            count.0 += 1;
            format!("{} {line}\n", count.0)
        };
        pipeline::<String>().scan(Count(0), count).named("count")
    };
    let (says, said) = channel();
    let start = |lines: Receiver<String>, says: Sender<Result<u64, String>>| {
        let state = open().unwrap();
        let live = journaled(&state, SMALL, || lines);
        let job = Persistent::new(Rings::new(), state).snapshot_every(Cadence::OnCall).on_storing(move |outcome| {
            says.send(outcome.map_err(str::to_owned)).unwrap();
            panic!("it is said");
        });
        job.start(&count(), live, FileSink::append(home.path().join("out"))).unwrap()
    };
    let (sender, lines) = sync_channel(10);
    let running = start(lines, says.clone());
    let send = |line: &str| sender.send(line.to_owned()).unwrap();
    send("a");
    while running.snapshot().unwrap().unwrap() < 1 {}
    for (at, line) in [(2, "b"), (4, "c")] {
        IS_BROKEN.store(true, Ordering::SeqCst);
        send(line);
        // At the number before, one is stored already.
        let why = std::iter::repeat_with(|| running.snapshot()).find_map(Result::err).unwrap();
        assert!(why.ends_with("panicked: no count"), "{why}");
        assert_eq!(said.recv().unwrap(), Err(format!("the snapshot at number {at}: {why}")));
        assert!(matches!(open(), Err(StateError::InUse { .. })));
        IS_BROKEN.store(false, Ordering::SeqCst);
        send("more");
        while running.snapshot().unwrap().unwrap() < at + 1 {}
        assert!(matches!(said.recv().unwrap(), Ok(stored) if stored >= at));
    }
    drop(sender);
    let (_, stored) = running.wait().unwrap();
    assert_eq!((stored.last, stored.failed), (Some(5), 2), "{stored:?}");
    let running = start(sync_channel(1).1, says);
    assert_eq!(running.began(), 5);
    running.wait().unwrap();
    assert_eq!(std::fs::read_to_string(home.path().join("out")).unwrap(), "1 a\n2 b\n3 more\n4 c\n5 more\n");
}

#[test]
fn a_snapshot_after_no_number_is_one_after_each() {
    let home = tempfile::tempdir().unwrap();
    let job = job(home.path(), Cadence::Numbers(0));
    let out = FileSink::append(home.path().join("out"));
    let (_, stored) = job.run(&lines(), again(numbers(50, None)), out).unwrap();
    assert!(stored.snapshots > 0 && stored.failed == 0, "{stored:?}");
}
