//! Workers that come, go and are lost, as the log has it, while the states of keys stay whole.

use crate::line::Line;
use crate::until::until;
use crate::words::{words, words_in};
use millstream::prelude::*;
use millstream_cluster::{
    App, Applied, Batch, Log, MemoryLog, News, OnRings, Place, PlaceState, Worked, cut, newest_snapshot, work,
};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

/// A worker, the number of its threads, and what it has told.
struct Worker {
    line: Line,
    threads: usize,
    told: Mutex<Vec<News>>,
}

impl Worker {
    fn new(log: &MemoryLog, threads: usize) -> Self {
        Worker { line: Line::to(log), threads, told: Mutex::default() }
    }

    /// Works until the end, by a plan that may be old. There are more parts of the keys than workers or threads.
    fn works(&self) -> Worked {
        let segment = OnRings::new(words_in(16), Rings::new().workers(self.threads));
        work(&segment, &self.line, &app(1), || false, |news| self.told.lock().unwrap().push(news)).unwrap()
    }

    fn told(&self) -> Vec<News> {
        self.told.lock().unwrap().clone()
    }
}

fn app(replicas: u32) -> App {
    App { program: "words".to_owned(), stages: vec![], replicas, copies: 1, capacity: 1000, snapshot_every: 4 }
}

#[test]
fn workers_come_and_go_and_are_lost_and_every_key_has_its_count() {
    let lines: Vec<String> = (0..120_u64).map(|n| format!("w{} w{} w{}", n % 17, n * n % 11, n % 3)).collect();
    let batches = cut(lines.clone(), 4).unwrap();
    let third = batches.len() / 3;
    let log = MemoryLog::default();
    let feed = |range: std::ops::Range<usize>| {
        range.for_each(|number| log.append_if(App::INPUT, number as u64, &batches[number]).unwrap());
    };
    let comes_out = |batch: usize| until("the output", || log.last(App::OUTPUT) == Ok(batch as u64));
    let (first, second, third_one) = (Worker::new(&log, 1), Worker::new(&log, 3), Worker::new(&log, 2));
    assert_eq!(app(1).apply(&log), Ok(Applied::Made));
    thread::scope(|scope| {
        let started = |worker| scope.spawn(move || Worker::works(worker));
        // One worker has all keys.
        let mut works = vec![started(&first)];
        feed(0..third);
        comes_out(third);
        until("a snapshot", || newest_snapshot(&log, App::OUTPUT).unwrap().is_some());
        // Another one waits, until the application has a place for it. It begins with the first one's snapshot.
        works.push(started(&second));
        until("it waits", || second.told() == [News::Waits]);
        assert_eq!(app(2).apply(&log), Ok(Applied::Changed));
        until("it has a place", || second.told() == [News::Waits, News::Took(1)]);
        feed(third..2 * third);
        comes_out(2 * third);
        // The first is lost: it says nothing, and a spare worker notices that, and says so.
        works.push(started(&third_one));
        until("it waits", || third_one.told() == [News::Waits]);
        first.line.cut(true);
        until("it has a place", || third_one.told() == [News::Waits, News::Silent(0), News::Took(0)]);
        // Fewer again: one of them leaves its place, and a report.
        assert_eq!(app(1).apply(&log), Ok(Applied::Changed));
        until("it is spare", || second.told()[2..] == [News::Spare(1), News::Waits]);
        assert_eq!(Place::all(&log, 2).unwrap()[&1].0.state, PlaceState::Left);
        // The lost one comes back, and learns that it has lost its place.
        first.line.cut(false);
        until("it knows", || first.told() == [News::Took(0), News::Lost(0), News::Waits]);
        feed(2 * third..batches.len());
        assert!(works.into_iter().all(|works| works.join().unwrap() == Worked::Ended));
    });
    let entries = log.read_from(App::OUTPUT, 1, 1000).unwrap();
    assert!(entries.iter().map(|entry| entry.number).eq(1..=batches.len() as u64));
    let values = entries.iter().flat_map(|entry| Batch::<(String, u64)>::from_bytes(&entry.bytes).unwrap().values);
    assert_eq!(values.map(|(_, value)| value).collect::<Vec<_>>(), words().model(lines));
}

#[test]
fn a_worker_at_work_takes_the_numbers_of_a_plan_that_changes() {
    let log = MemoryLog::with_capacity(16);
    let plan = |snapshot_every| App { snapshot_every, ..app(1) };
    assert_eq!(plan(256).apply(&log), Ok(Applied::Made));
    let batches = cut((0..80_u64).map(|n| format!("w{}", n % 7)), 2).unwrap();
    let appended = |last: usize| log.append_if(App::INPUT, last as u64, &batches[last]) == Ok(());
    let stops = AtomicBool::new(false);
    thread::scope(|scope| {
        let ends = Ends(&stops);
        let segment = OnRings::new(words(), Rings::new().workers(1));
        let works = scope.spawn({
            let (log, stops) = (&log, &stops);
            move || work(&segment, log, &plan(256), || stops.load(Ordering::Relaxed), |_| ()).unwrap()
        });
        assert!((0..16).all(appended));
        until("the output", || log.last(App::OUTPUT) == Ok(16));
        // The input edge is full, and a snapshot is not due for long.
        assert!(!appended(16));
        assert_eq!(plan(4).apply(&log), Ok(Applied::Changed));
        for last in 16..batches.len() {
            until("room", || {
                let read = log.last(App::OUTPUT).unwrap();
                log.trim(App::OUTPUT, read).unwrap();
                appended(last)
            });
        }
        std::mem::forget(ends);
        assert_eq!(works.join().unwrap(), Worked::Ended);
    });
}

/// It does not take itself for another worker, which would have to be silent first.
#[test]
fn a_worker_whose_claim_had_no_answer_has_the_place() {
    let log = MemoryLog::default();
    assert_eq!(app(2).apply(&log), Ok(Applied::Made));
    let worker = Worker::new(&log, 1);
    worker.line.loses_an_answer();
    thread::scope(|scope| {
        let works = scope.spawn(|| worker.works());
        until("it has a place", || worker.told().iter().any(|news| matches!(news, News::Took(_))));
        for (last, batch) in (0..).zip(cut(["a b".to_owned()], 1).unwrap()) {
            log.append_if(App::INPUT, last, &batch).unwrap();
        }
        assert_eq!(works.join().unwrap(), Worked::Ended);
    });
    assert_eq!(worker.told(), [News::Took(0)]);
}

/// The workers at work cannot give a sign of life while the log takes nothing.
#[test]
fn a_worker_waits_as_long_as_at_first_when_the_log_did_not_take_its_claim() {
    let log = MemoryLog::default();
    assert_eq!(app(1).apply(&log), Ok(Applied::Made));
    let silent = Place {
        worker: "silent".to_owned(),
        host: "other".to_owned(),
        process: 1,
        beat: 1,
        position: 0,
        durable: 0,
        appends: false,
        state: PlaceState::Works,
        waits: None,
    };
    log.compare_and_set("place.0", 0, &serde_json::to_vec(&silent).unwrap()).unwrap();
    let worker = Worker::new(&log, 1);
    let claims = Arc::<Mutex<Vec<Instant>>>::default();
    let its = claims.clone();
    worker.line.refuses(move |key, _| {
        let mut claims = its.lock().unwrap();
        claims.extend((key == "place.0").then(Instant::now));
        claims.len() == 1
    });
    for (last, batch) in (0..).zip(cut(["a b".to_owned()], 1).unwrap()) {
        log.append_if(App::INPUT, last, &batch).unwrap();
    }
    assert_eq!(worker.works(), Worked::Ended);
    let claims = claims.lock().unwrap();
    assert!(claims[1] - claims[0] >= Duration::from_secs(2), "after {:?}", claims[1] - claims[0]);
}

/// Ends the worker of a test that fails, which would wait for ever.
struct Ends<'a>(&'a AtomicBool);

impl Drop for Ends<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}
