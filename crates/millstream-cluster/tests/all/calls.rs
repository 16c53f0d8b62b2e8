//! What replicas ask of a log, and how often.

use crate::schedules::edges;
use crate::sums::{self, RIGHT, Sums};
use bytes::Bytes;
use millstream_cluster::{Batch, Entry, Ingress, Log, LogError, MemoryLog, Options, Record, Replica, Sent, Step, cut};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// A log whose output edge has some room, and which counts the calls of one replica.
#[derive(Clone)]
struct Counted {
    log: MemoryLog,
    room: Arc<AtomicU64>,
    appends: Arc<AtomicU64>,
    stored: Arc<AtomicU64>,
}

impl Counted {
    fn new(log: &MemoryLog, room: u64) -> Self {
        let (room, appends, stored) = (Arc::new(room.into()), Arc::default(), Arc::default());
        Counted { log: log.clone(), room, appends, stored }
    }
}

impl Log for Counted {
    fn append_if(&self, edge: &str, last: u64, bytes: &[u8]) -> Result<(), LogError> {
        self.appends.fetch_add(1, Ordering::Relaxed);
        if last >= self.room.load(Ordering::Relaxed) {
            return Err(LogError::Full);
        }
        self.log.append_if(edge, last, bytes)
    }

    fn send_if(&self, edge: &str, last: u64, bytes: Bytes) -> Box<dyn Sent> {
        Box::new(Later { answer: Some(self.append_if(edge, last, &bytes)), looks: 2 })
    }

    fn read_from(&self, edge: &str, first: u64, most: usize) -> Result<Vec<Entry>, LogError> {
        self.log.read_from(edge, first, most)
    }

    fn last(&self, edge: &str) -> Result<u64, LogError> {
        self.log.last(edge)
    }

    fn trim(&self, edge: &str, below: u64) -> Result<(), LogError> {
        self.log.trim(edge, below)
    }

    fn get(&self, key: &str) -> Result<Option<Record>, LogError> {
        self.log.get(key)
    }

    fn compare_and_set(&self, key: &str, revision: u64, value: &[u8]) -> Result<(), LogError> {
        self.log.compare_and_set(key, revision, value)
    }

    fn put_blob(&self, name: &str, bytes: &[u8]) -> Result<(), LogError> {
        self.stored.fetch_add(1, Ordering::Relaxed);
        self.log.put_blob(name, bytes)
    }

    fn blob(&self, name: &str) -> Result<Option<Vec<u8>>, LogError> {
        self.log.blob(name)
    }

    fn remove_blob(&self, name: &str) -> Result<(), LogError> {
        self.log.remove_blob(name)
    }

    fn blob_names(&self) -> Result<Vec<String>, LogError> {
        self.log.blob_names()
    }
}

/// An answer that comes after some looks, so that several appends are under way.
struct Later {
    answer: Option<Result<(), LogError>>,
    looks: u32,
}

impl Sent for Later {
    fn answer(&mut self) -> Option<Result<(), LogError>> {
        match self.looks {
            0 => self.answer.take(),
            _ => {
                self.looks -= 1;
                None
            }
        }
    }
}

/// A log with the values below this one in batches of 2.
fn fed(values: u64) -> MemoryLog {
    let log = MemoryLog::default();
    let mut ingress = Ingress::new(log.clone(), "in", cut(0..values, 2).unwrap());
    while ingress.step().unwrap() != Step::Ended {}
    log
}

fn replica(log: &Counted, options: Options) -> Replica<Sums, Counted> {
    Replica::new(RIGHT, log.clone(), edges(), options)
}

fn steps(replica: &mut Replica<Sums, Counted>, count: u32) {
    (0..count).for_each(|_| _ = replica.step().unwrap());
}

#[test]
fn a_full_edge_is_not_flooded() {
    let (hour, none) = (Duration::from_secs(3600), Duration::ZERO);
    // A pace that does not end, the replica that appends, and one that does not, which asks after three silent looks.
    for (rank, pace, room, most) in [(0, hour, 3, 8), (0, none, 3, 300), (1, none, 0, 150)] {
        let log = Counted::new(&fed(40), room);
        let mut replica = replica(&log, Options { rank, pace, patience: 3, window: 8, ..Options::default() });
        steps(&mut replica, 2000);
        let appends = log.appends.load(Ordering::Relaxed);
        assert!(appends > room && appends <= most, "rank {rank}: {appends} appends");
        if pace == none {
            // Once there is room, it goes on.
            log.room.store(u64::MAX, Ordering::Relaxed);
            while replica.step().unwrap() != Step::Ended {}
            let entries = log.log.read_from("out", 1, 100).unwrap();
            let values = entries.iter().flat_map(|entry| Batch::<u64>::from_bytes(&entry.bytes).unwrap().values);
            assert_eq!(values.collect::<Vec<_>>(), sums::model(&(0..40).collect::<Vec<_>>()));
        }
    }
}

#[test]
fn one_of_the_replicas_that_do_not_append_stores_the_snapshot() {
    let log = fed(400);
    let logs = [(); 3].map(|()| Counted::new(&log, u64::MAX));
    let options = |rank| Options { rank, patience: 3, snapshot_every: 8, window: 4, ..Options::default() };
    let mut replicas: Vec<_> = (0..).zip(&logs).map(|(rank, log)| replica(log, options(rank))).collect();
    let mut ended = [false; 3];
    while ended != [true; 3] {
        for (replica, ended) in replicas.iter_mut().zip(&mut ended) {
            *ended |= replica.step().unwrap() == Step::Ended;
        }
    }
    let [_, second, third] = logs.map(|log| log.stored.load(Ordering::Relaxed));
    assert!(second > 10 && third == 0, "the second has stored {second} times, and the third {third} times");
}

#[test]
fn what_dead_replicas_have_left_of_snapshots_is_dropped() {
    let log = fed(400);
    // Stored before a record named it; of a snapshot to come; of another segment.
    let (left, to_come) = ("out.2.00000000000000aa", "out.1000.00000000000000bb");
    let others = ["last.2.00000000000000aa", "out.last.2.00000000000000aa", "out.2"];
    for name in others.into_iter().chain([left, to_come]) {
        log.put_blob(name, b"states").unwrap();
    }
    let log = Counted::new(&log, u64::MAX);
    let mut replica = replica(&log, Options { snapshot_every: 3, window: 4, ..Options::default() });
    while replica.step().unwrap() != Step::Ended {}
    let names = log.blob_names().unwrap();
    assert!(!names.iter().any(|name| name == left), "{names:?}");
    assert!(others.iter().chain([&to_come]).all(|kept| names.iter().any(|name| name == kept)), "{names:?}");
    assert_eq!(names.len(), others.len() + 1 + 2, "{names:?}");
}

#[test]
fn a_full_input_edge_is_trimmed_once_snapshots_are_due_more_often() {
    let log = MemoryLog::with_capacity(16);
    let batches = cut(0..80_u64, 2).unwrap();
    (0..16).for_each(|last| log.append_if("in", last, &batches[last as usize]).unwrap());
    let log = Counted::new(&log, u64::MAX);
    let mut replica = replica(&log, Options { snapshot_every: 256, ..Options::default() });
    steps(&mut replica, 1000);
    assert_eq!(log.append_if("in", 16, &batches[16]), Err(LogError::Full));
    replica.set_snapshot_every(4);
    steps(&mut replica, 1000);
    assert_eq!(log.append_if("in", 16, &batches[16]), Ok(()));
}
