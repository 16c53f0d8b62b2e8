//! Runs that are repeated after a failure.

use millstream_core::{Arrow, Retry, SequenceNumber, TryMapExt, Val, pipeline};
use millstream_exec::{JobExt, Rings, RunError, RunOutcome, Runner, Sink, source};
use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

const NUMBERS: u64 = 1000;

/// Fails once at each of these numbers, when it reaches it.
fn failing_once(at: &'static [u64]) -> (Arc<AtomicU64>, impl Fn(&u64) -> Result<u64, String> + Send + Sync + 'static) {
    let failures = Arc::new(AtomicU64::new(0));
    let counted = failures.clone();
    let f = move |x: &u64| {
        let next = failures.load(Ordering::Relaxed) as usize;
        if at.get(next) == Some(x) {
            failures.fetch_add(1, Ordering::Relaxed);
            return Err(format!("failure {next}"));
        }
        Ok(x * 2)
    };
    (counted, f)
}

#[test]
fn the_sink_gets_every_number_once_however_often_the_run_fails() {
    for workers in [1, 2] {
        let (failures, f) = failing_once(&[0, 3, 400, 999]);
        let sum = |sum: &mut u64, x: &u64| {
            *sum += x;
            *sum
        };
        let p = pipeline::<u64>().try_map(f).scan(0, sum);
        let rings = Rings::new().ring(8).batch(3).workers(workers);
        let job = p.from(source::again(|| source::ready(0..NUMBERS))).to_fold(Vec::new(), |all, number, x| {
            all.push((number.0, *x));
        });
        let (all, report) = rings.run_again(job, Retry::times(4)).unwrap();
        let expected: Vec<_> = (0..NUMBERS).map(|n| (n, n * (n + 1))).collect();
        assert_eq!((all, failures.load(Ordering::Relaxed)), (expected, 4));
        assert_eq!(report.numbers.0, NUMBERS);
    }
}

#[test]
fn a_lasting_failure_ends_the_run() {
    let tries = Arc::new(AtomicU64::new(0));
    let counted = tries.clone();
    let p = pipeline::<u64>().try_map(move |x| match *x {
        7 => Err(format!("try {}", tries.fetch_add(1, Ordering::Relaxed))),
        x => Ok(x),
    });
    let retry = Retry::times(2).backoff(Duration::from_millis(1));
    // New output comes the first time, so the tries are counted from then on.
    let rings = Rings::new().workers(1).batch(1);
    let job = p.from(source::again(|| 0..NUMBERS)).to_fold(0, |n, _, _| *n += 1);
    let outcome = rings.run_again(job, retry);
    let Err(RunError::Stage { number, cause, .. }) = outcome else { panic!("it cannot succeed") };
    let tried = counted.load(Ordering::Relaxed);
    assert_eq!((number.map(|n| n.0), cause), (Some(7), format!("try {}", tried - 1).into()));
    assert!((3..=4).contains(&tried), "{tried} tries");
}

#[test]
fn a_failing_sink_is_final() {
    let job = |fails: fn(u64) -> Result<(), &'static str>| {
        let source = source::again(|| 0..NUMBERS);
        pipeline::<u64>().from(source).to_fold(0, move |n, _, x| {
            *n += 1;
            fails(*x)
        })
    };
    let panics = |x| {
        assert_ne!(x, 5_u64);
        Ok(())
    };
    let refuses = |x| if x == 5 { Err("no five") } else { Ok(()) };
    for fails in [panics as fn(u64) -> _, refuses] {
        let outcome = Rings::new().run_again(job(fails), Retry::times(9));
        let Err(RunError::Stage { stage, number, .. }) = outcome else { panic!("the sink fails") };
        assert_eq!((&*stage, number.map(|n| n.0)), ("sink", Some(5)));
    }
}

/// Checks what it is told about the numbers that it has.
#[derive(Default)]
struct Checks {
    next: u64,
    /// Whether it has got something since its last pause.
    got: bool,
    marks: Vec<u64>,
}

impl Sink<Val<u64>> for Checks {
    type Output = Vec<u64>;
    type Error = Infallible;

    fn put(&mut self, number: SequenceNumber, _: &u64) -> Result<(), Infallible> {
        assert_eq!(number.0, self.next);
        (self.next, self.got) = (self.next + 1, true);
        Ok(())
    }

    fn pause(&mut self) -> Result<(), Infallible> {
        assert!(std::mem::take(&mut self.got), "a pause without a value");
        Ok(())
    }

    fn mark(&mut self, next: SequenceNumber) -> Result<(), Infallible> {
        assert_eq!(next.0, self.next, "all below it was put, and nothing from it on");
        self.marks.push(next.0);
        Ok(())
    }

    fn end(&mut self, number: SequenceNumber) -> Result<(), Infallible> {
        assert_eq!(number.0, self.next);
        self.got = true;
        Ok(())
    }

    fn finish(self, _: RunOutcome) -> Result<Vec<u64>, Infallible> {
        Ok(self.marks)
    }
}

#[test]
fn a_sink_gets_no_marks_and_pauses_of_what_is_repeated() {
    let (failures, f) = failing_once(&[50, 70]);
    let job = pipeline::<u64>().try_map(f).from(source::again(|| source::ready(0..100))).to(Checks::default());
    let rings = Rings::new().ring(8).batch(3).workers(1).snapshot_every(20, |_| ());
    let mut marks = rings.run_again(job, Retry::times(2)).unwrap().0;
    // A try may begin where the last one was at a mark.
    marks.dedup();
    assert_eq!(failures.load(Ordering::Relaxed), 2);
    assert!(marks.starts_with(&[20, 40, 60, 80]), "{marks:?}");
}
