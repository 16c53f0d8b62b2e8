//! What replicas ask of a log, and how often.

use crate::schedules::edges;
use crate::sums::{self, RIGHT, Sums};
use bytes::Bytes;
use millstream::prelude::*;
use millstream_cluster::{
    Batch, BatchError, Entry, Ingress, Log, LogError, MemoryLog, OnRings, Options, Record, Replica, ReplicaError,
    Segment, Sent, Step, cut,
};
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// A log whose output edge has some room, whose server lags behind for some reads of that edge, and which counts the
/// calls of one replica.
#[derive(Clone)]
struct Counted {
    log: MemoryLog,
    room: Arc<AtomicU64>,
    appends: Arc<AtomicU64>,
    stored: Arc<AtomicU64>,
    lags: Arc<AtomicU64>,
}

impl Counted {
    fn new(log: &MemoryLog, room: u64) -> Self {
        let (room, appends, stored, lags) = (Arc::new(room.into()), Arc::default(), Arc::default(), Arc::default());
        Counted { log: log.clone(), room, appends, stored, lags }
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
        let lags = |lags: u64| lags.checked_sub(1).filter(|_| edge == "out");
        if self.lags.fetch_update(Ordering::Relaxed, Ordering::Relaxed, lags).is_ok() {
            return Ok(Vec::new());
        }
        self.log.read_from(edge, first, most)
    }

    fn last(&self, edge: &str) -> Result<u64, LogError> {
        self.log.last(edge)
    }

    fn kept(&self, edge: &str) -> Result<Range<u64>, LogError> {
        self.log.kept(edge)
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

fn steps<S: Segment>(replica: &mut Replica<S, Counted>, count: u32) {
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
fn a_full_edge_is_asked_less_and_less_often() {
    let log = Counted::new(&fed(40), 3);
    let options = Options { pace: Duration::from_millis(1), window: 1, ..Options::default() };
    let mut replica = replica(&log, options);
    let begun = Instant::now();
    while log.appends.load(Ordering::Relaxed) < 3 + 10 {
        replica.step().unwrap();
    }
    // Each of nine pauses is twice as long as the one before.
    assert!(begun.elapsed() >= Duration::from_millis((1 << 9) - 1), "{:?}", begun.elapsed());
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
    let stored = logs.map(|log| log.stored.load(Ordering::Relaxed));
    // The first may append faster than the second follows, for a moment.
    assert!(stored[0] <= 2 && stored[1] > 10 && stored[2] == 0, "they have stored {stored:?} times");
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

fn fails<S: Segment>(replica: &mut Replica<S, Counted>) -> ReplicaError {
    (0..1_000_000).find_map(|_| replica.step().err()).expect("it fails")
}

/// It divides by zero at the first value of batch 7.
#[test]
fn what_comes_before_a_failure_is_appended_once_there_is_room_and_by_any_rank() {
    // The edge is full at first; another replica would have to append for a long time.
    for (rank, patience, room) in [(0, 3, 3), (1, 50, u64::MAX), (1, 50, 3)] {
        let log = Counted::new(&fed(40), room);
        let segment = OnRings::new(pipeline::<u64>().map(|x| 100 / (12 - x)).named("divide"), Rings::new().workers(1));
        let options = Options { rank, patience, window: 16, ..Options::default() };
        let mut replica = Replica::new(segment, log.clone(), edges(), options);
        if room < 6 {
            steps(&mut replica, 2000);
            assert_eq!(log.last("out"), Ok(room));
            log.room.store(u64::MAX, Ordering::Relaxed);
        }
        let error = fails(&mut replica);
        assert!(error.to_string().starts_with("stage \"divide\", number 12: "), "rank {rank}: {error}");
        assert_eq!(log.last("out"), Ok(6), "rank {rank}");
        assert_eq!(replica.step().unwrap(), Step::Idle);
    }
}

#[test]
fn what_comes_before_a_damaged_batch_is_in_the_edge() {
    let (batches, log) = (cut(0..40_u64, 2).unwrap(), MemoryLog::default());
    for (last, batch) in (0..).zip(&batches) {
        let mut batch = batch.clone();
        *batch.last_mut().unwrap() ^= u8::from(last == 6);
        log.append_if("in", last, &batch).unwrap();
    }
    let log = Counted::new(&log, 3);
    // Several batches are under way.
    let segment = OnRings::new(pipeline::<u64>().map(|x| x + 1), Rings::new().workers(1));
    let mut replica = Replica::new(segment, log.clone(), edges(), Options::default());
    steps(&mut replica, 2000);
    assert_eq!(log.last("out"), Ok(3));
    log.room.store(u64::MAX, Ordering::Relaxed);
    let error = fails(&mut replica);
    assert!(matches!(error, ReplicaError::Batch { number: 7, cause: BatchError::Damaged, .. }), "{error}");
    assert_eq!(log.last("out"), Ok(6));
}

/// The log `log` with the output of a replica that is right, up to this batch, and the bytes of the batch after it.
fn appended(log: &MemoryLog, last: u64) -> Bytes {
    let right = Counted::new(&fed(40), last + 1);
    let mut replica = replica(&right, Options::default());
    steps(&mut replica, 2000);
    let mut entries = right.log.read_from("out", 1, 100).unwrap();
    let next = entries.pop().unwrap();
    entries.iter().for_each(|entry| log.append_if("out", entry.number - 1, &entry.bytes).unwrap());
    assert_eq!((log.last("out"), next.number), (Ok(last), last + 1));
    next.bytes
}

#[test]
fn a_replica_that_differs_appends_nothing_behind_a_server_that_lags() {
    let log = fed(40);
    appended(&log, 10);
    let log = Counted::new(&log, u64::MAX);
    log.lags.store(30, Ordering::Relaxed);
    let options = Options { patience: 3, ..Options::default() };
    let error = fails(&mut Replica::new(Sums { wrong_from: 5 }, log.clone(), edges(), options));
    assert!(matches!(error, ReplicaError::Diverged { number: 5, .. }), "{error}");
    assert_eq!((log.last("out"), log.lags.load(Ordering::Relaxed)), (Ok(10), 0));
}

#[test]
fn a_replica_that_differs_appends_nothing_behind_another_one_that_went_on_while_it_was_paused() {
    let (batches, log) = (cut(0..40_u64, 2).unwrap(), Counted::new(&MemoryLog::default(), u64::MAX));
    let feed = |range: std::ops::Range<usize>| {
        range.for_each(|last| log.log.append_if("in", last as u64, &batches[last]).unwrap());
    };
    let options = Options { patience: 3, pace: Duration::from_millis(1), window: 8, ..Options::default() };
    let mut paused = Replica::new(Sums { wrong_from: 5 }, log.clone(), edges(), options);
    feed(0..4);
    while paused.durable() < 4 {
        paused.step().unwrap();
    }
    feed(4..8);
    thread::sleep(Duration::from_millis(5));
    log.log.append_if("out", 4, &appended(&MemoryLog::default(), 4)).unwrap();
    let error = fails(&mut paused);
    assert!(matches!(error, ReplicaError::Diverged { number: 5, .. }), "{error}");
    assert_eq!(log.last("out"), Ok(5));
}
