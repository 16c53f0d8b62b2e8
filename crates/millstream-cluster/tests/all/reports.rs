//! The records that workers leave in their places.

use crate::line::Line;
use crate::removed::{feed, made};
use crate::schedules::edges;
use crate::sums::{self, RIGHT, Sums};
use crate::until::until;
use millstream_cluster::{
    App, Batch, Log, MemoryLog, News, Options, Place, PlaceState, Replica, ReplicaError, Segment, SegmentError,
    SegmentRun, work,
};
use millstream_exec::{OptionsError, RunError};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;

fn works<S: Segment + Clone>(segment: &S, line: &Line) -> ReplicaError {
    let app = App::read(line).unwrap().unwrap();
    work(segment, line, &app, || false, |_| ()).unwrap_err()
}

fn state(log: &MemoryLog) -> PlaceState {
    Place::all(log, 1).unwrap().remove(&0).unwrap().0.state
}

#[test]
fn an_alarm_is_written_once_a_server_answers() {
    let log = made("sums");
    feed(&log, 0..8);
    let mut right = Replica::new(RIGHT, log.clone(), edges(), Options::default());
    while log.last("out") != Ok(3) {
        right.step().unwrap();
    }
    let (line, lost) = (Line::to(&log), Arc::new(AtomicU64::new(0)));
    line.refuses({
        let lost = lost.clone();
        move |_, value| {
            let is_alarm = value.windows(8).any(|part| part == b"diverged");
            is_alarm && lost.fetch_add(1, Ordering::Relaxed) < 3
        }
    });
    let error = works(&Sums { wrong_from: 2 }, &line);
    assert!(matches!(error, ReplicaError::Diverged { number: 2, .. }), "{error}");
    assert_eq!((state(&log), lost.load(Ordering::Relaxed)), (PlaceState::Diverged(error.to_string()), 4));
}

/// A segment whose values cannot be printed from 4 on.
#[derive(Clone)]
struct Prints;

struct Printing(sums::Running);

impl Segment for Prints {
    type In = u64;
    type Out = u64;
    type Run = Printing;

    fn start(&self, state: Option<&[u8]>) -> Result<Printing, SegmentError> {
        RIGHT.start(state).map(Printing)
    }
}

impl SegmentRun for Printing {
    type In = u64;
    type Out = u64;

    fn batch(&mut self, values: Vec<u64>, end: bool) -> Result<Batch<u64>, SegmentError> {
        assert!(!values.contains(&4), "four has no digits");
        self.0.batch(values, end)
    }

    fn state(&mut self) -> Result<Option<Vec<u8>>, SegmentError> {
        self.0.state()
    }
}

#[test]
fn a_panic_outside_the_stages_is_a_failure_with_an_alarm() {
    let log = made("sums");
    feed(&log, 0..8);
    let error = works(&Prints, &Line::to(&log));
    assert!(matches!(error, ReplicaError::Segment(_)), "{error}");
    assert_eq!(error.to_string(), "edge \"in\", batch 3: panicked: four has no digits");
    assert_eq!(state(&log), PlaceState::Failed(error.to_string()));
    assert_eq!(log.last("out"), Ok(2));
}

/// A segment whose state cannot be written after some batch, or which cannot be started.
#[derive(Clone)]
struct Writes {
    starts: bool,
}

struct Writing(sums::Running);

impl Segment for Writes {
    type In = u64;
    type Out = u64;
    type Run = Writing;

    fn start(&self, state: Option<&[u8]>) -> Result<Writing, SegmentError> {
        assert!(self.starts, "nothing to begin with");
        RIGHT.start(state).map(Writing)
    }
}

impl SegmentRun for Writing {
    type In = u64;
    type Out = u64;

    fn batch(&mut self, values: Vec<u64>, end: bool) -> Result<Batch<u64>, SegmentError> {
        self.0.batch(values, end)
    }

    fn state(&mut self) -> Result<Option<Vec<u8>>, SegmentError> {
        panic!("an empty book has no best price")
    }
}

#[test]
fn a_panic_while_a_state_is_written_is_a_failure_after_the_output_before_it() {
    let log = made("sums");
    feed(&log, 0..8);
    let options = Options { snapshot_every: 3, ..Options::default() };
    let mut replica = Replica::new(Writes { starts: true }, log.clone(), edges(), options);
    let error = (0..1000).find_map(|_| replica.step().err()).unwrap();
    assert!(matches!(error, ReplicaError::Segment(_)), "{error}");
    assert_eq!(error.to_string(), "edge \"in\", batch 3: panicked: an empty book has no best price");
    assert_eq!(log.last("out"), Ok(3));
}

#[test]
fn a_panic_at_the_start_of_a_segment_is_a_failure_with_an_alarm() {
    let log = made("sums");
    feed(&log, 0..8);
    let error = works(&Writes { starts: false }, &Line::to(&log));
    assert!(matches!(error, ReplicaError::Segment(_)), "{error}");
    assert_eq!(error.to_string(), "edge \"in\", batch 1: panicked: nothing to begin with");
    assert_eq!(state(&log), PlaceState::Failed(error.to_string()));
}

/// A segment that cannot start.
#[derive(Clone)]
struct Lacks(RunError);

impl Segment for Lacks {
    type In = u64;
    type Out = u64;
    type Run = sums::Running;

    fn start(&self, _: Option<&[u8]>) -> Result<sums::Running, SegmentError> {
        Err(self.0.clone().into())
    }
}

#[test]
fn a_machine_that_lacks_what_the_rings_need_leaves_its_place_to_another_without_an_alarm() {
    for lack in [RunError::Options(OptionsError::Workers), RunError::Spawn("no thread".to_owned())] {
        let log = made("sums");
        feed(&log, 0..8);
        let error = works(&Lacks(lack.clone()), &Line::to(&log));
        assert_eq!((error.to_string(), state(&log)), (lack.to_string(), PlaceState::Left));
    }
}

/// Ends the worker, also that of a test that fails, which would wait for ever.
struct Ends<'a>(&'a AtomicBool);

impl Drop for Ends<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

#[test]
fn a_worker_says_what_it_tries_in_vain_and_its_place_has_it() {
    let log = made("sums");
    let line = Line::to(&log);
    let is_refused = Arc::new(AtomicBool::new(true));
    let its = is_refused.clone();
    line.refuses(move |key, _| key.starts_with("out.") && its.load(Ordering::Relaxed));
    let (stops, told) = (AtomicBool::new(false), Mutex::new(Vec::new()));
    let says = "a snapshot is not stored: the request was lost";
    let app = App::read(&log).unwrap().unwrap();
    let tell = |news| told.lock().unwrap().push(news);
    thread::scope(|scope| {
        let works = scope.spawn(|| work(&RIGHT, &line, &app, || stops.load(Ordering::Relaxed), tell).unwrap());
        let ends = Ends(&stops);
        feed(&log, 0..20);
        let waits = || Place::all(&log, 1).unwrap().remove(&0).and_then(|(place, _)| place.waits);
        until("it is said", || waits().is_some_and(|waits| waits == says));
        is_refused.store(false, Ordering::Relaxed);
        until("it is over", || waits().is_none());
        drop(ends);
        works.join().unwrap();
    });
    let waiting = News::Waiting(says.to_owned());
    assert_eq!(told.into_inner().unwrap(), [News::Took(0), waiting]);
}
