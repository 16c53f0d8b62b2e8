//! Applications that are removed while workers run for them, and made again.

use crate::line::Line;
use crate::schedules::edges;
use crate::sums::RIGHT;
use crate::until::until;
use millstream_cluster::{
    App, Applied, Log, MemoryLog, News, Options, Place, Replica, ReplicaError, Step, Worked, cut, newest_snapshot, work,
};
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

fn app(program: &str) -> App {
    let (program, stages) = (program.to_owned(), vec![]);
    App { program, stages, replicas: 1, copies: 1, capacity: 1000, snapshot_every: 4 }
}

/// A log with an application.
pub(crate) fn made(program: &str) -> MemoryLog {
    let log = MemoryLog::default();
    assert_eq!(app(program).apply(&log), Ok(Applied::Made));
    log
}

/// Appends these values, two a batch, and no end.
pub(crate) fn feed(log: &MemoryLog, values: Range<u64>) {
    let mut batches = cut(values, 2).unwrap();
    batches.pop();
    (0..).zip(&batches).for_each(|(last, batch)| log.append_if(App::INPUT, last, batch).unwrap());
}

/// A worker of the program `sums`, and what it has told. It stops after a while, in a test that fails.
struct Worker {
    line: Line,
    told: Mutex<Vec<News>>,
}

impl Worker {
    fn of(log: &MemoryLog) -> Self {
        Worker { line: Line::to(log), told: Mutex::default() }
    }

    fn works(&self) -> Result<Worked, ReplicaError> {
        let begun = Instant::now();
        let stops = || begun.elapsed() > Duration::from_secs(30);
        work(&RIGHT, &self.line, &app("sums"), stops, |news| self.told.lock().unwrap().push(news))
    }

    fn has_told(&self, news: News) -> bool {
        self.told.lock().unwrap().contains(&news)
    }
}

#[test]
fn the_workers_of_an_application_that_is_removed_end() {
    let log = made("sums");
    feed(&log, 0..8);
    let (works, waits) = (Worker::of(&log), Worker::of(&log));
    thread::scope(|scope| {
        let first = scope.spawn(|| works.works());
        until("it has a place", || works.has_told(News::Took(0)));
        let second = scope.spawn(|| waits.works());
        until("it waits", || waits.has_told(News::Waits));
        until("the output", || log.last(App::OUTPUT) == Ok(3));
        for worker in [&works, &waits] {
            worker.line.leads_to(&MemoryLog::default());
        }
        for ended in [first, second] {
            let error = ended.join().unwrap().unwrap_err();
            assert!(matches!(error, ReplicaError::Removed), "{error}");
        }
    });
    // No other worker had its place, and there was none to wait for.
    assert_eq!(*works.told.lock().unwrap(), [News::Took(0)]);
}

/// The other application has no snapshot, and as many batches.
#[test]
fn what_another_application_of_the_name_has_to_compute_is_not_trimmed() {
    let (ours, theirs) = (MemoryLog::default(), MemoryLog::default());
    feed(&ours, 0..16);
    feed(&theirs, 100..116);
    let line = Line::to(&ours);
    let options = Options { snapshot_every: 2, ..Options::default() };
    let mut replica = Replica::new(RIGHT, line.clone(), edges(), options);
    while replica.durable() < 7 || ours.kept(App::INPUT).unwrap().start == 1 {
        replica.step().unwrap();
    }
    // It learns of its own record.
    (0..12).for_each(|_| _ = replica.step().unwrap());
    line.leads_to(&theirs);
    // It has nothing to do, and looks whether there is something to trim.
    for _ in 0..1000 {
        replica.step().unwrap();
    }
    assert_eq!(theirs.kept(App::INPUT), Ok(1..8));
    assert_eq!(newest_snapshot(&theirs, App::OUTPUT), Ok(None));
}

#[test]
fn the_first_snapshot_of_a_worker_is_not_one_of_another_application_of_the_name() {
    let (ours, theirs) = (made("sums"), made("sums"));
    feed(&ours, 0..8);
    feed(&theirs, 100..120);
    let worker = Worker::of(&ours);
    // Its application is removed while it stores the states.
    let (tries, stores) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicBool::new(false)));
    worker.line.refuses({
        let (tries, stores) = (tries.clone(), stores.clone());
        move |key, _| {
            let is_blob = key.starts_with("out.");
            tries.fetch_add(u64::from(is_blob), Ordering::Relaxed);
            is_blob && !stores.load(Ordering::Relaxed)
        }
    });
    thread::scope(|scope| {
        let ended = scope.spawn(|| worker.works());
        until("it stores the states", || tries.load(Ordering::Relaxed) > 0);
        worker.line.leads_to(&theirs);
        stores.store(true, Ordering::Relaxed);
        let error = ended.join().unwrap().unwrap_err();
        assert!(matches!(error, ReplicaError::Removed), "{error}");
    });
    assert_eq!(newest_snapshot(&theirs, App::OUTPUT), Ok(None));
    assert_eq!(theirs.kept(App::INPUT), Ok(1..10));
}

#[test]
fn a_worker_appends_nothing_to_another_application_of_the_name_of_its_own() {
    for program in ["sums", "others"] {
        let (ours, theirs) = (made("sums"), made(program));
        feed(&theirs, 0..8);
        let worker = Worker::of(&ours);
        thread::scope(|scope| {
            let ended = scope.spawn(|| worker.works());
            until("it has a place", || worker.has_told(News::Took(0)));
            worker.line.leads_to(&theirs);
            let error = ended.join().unwrap().unwrap_err();
            assert!(matches!(error, ReplicaError::Removed), "{error}");
        });
        assert_eq!(theirs.last(App::OUTPUT), Ok(0));
        assert!(Place::all(&theirs, 1).unwrap().is_empty());
    }
}

#[test]
fn the_output_of_another_application_raises_no_alarm() {
    let (ours, theirs) = (made("sums"), made("sums"));
    feed(&ours, 0..8);
    feed(&theirs, 100..120);
    let mut other = Replica::new(RIGHT, theirs.clone(), edges(), Options::default());
    while theirs.last(App::OUTPUT) != Ok(9) {
        assert_ne!(other.step().unwrap(), Step::Ended);
    }
    let worker = Worker::of(&ours);
    thread::scope(|scope| {
        let ended = scope.spawn(|| worker.works());
        until("the output", || ours.last(App::OUTPUT) == Ok(3));
        // Its states are those of three other batches.
        worker.line.leads_to(&theirs);
        let error = ended.join().unwrap().unwrap_err();
        assert!(matches!(error, ReplicaError::Removed), "{error}");
    });
    assert!(Place::all(&theirs, 1).unwrap().is_empty());
}

#[test]
fn a_worker_of_another_pipeline_gets_no_place() {
    let log = made("others");
    let error = Worker::of(&log).works().unwrap_err();
    assert!(matches!(error, ReplicaError::Other(_)), "{error}");
    assert!(error.to_string().contains("its program is \"others\", and this one is \"sums\""), "{error}");
    assert!(Place::all(&log, 1).unwrap().is_empty());
}
