//! Sinks with names that hang on a pipeline: what they get, what they return, and how they fail.

use millstream_core::{
    Arrow, ClockExt, FeedbackExt, Model, ModelExt, PartsExt, Retry, SequenceNumber, Shape, StreamsExt, pipeline,
};
use millstream_exec::sink::{self, Fold, Output, WithOutput};
use millstream_exec::{Inline, JobExt, JobRefExt, Queues, Rings, RunError, RunOutcome, Runner, Sink, Wait, source};
use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

/// The result of a job of a pipeline on every deployment, with what `$after` is after each run.
macro_rules! everywhere {
    ($p:expr, $source:expr, $after:expr) => {{
        let (p, after) = (&$p, $after);
        [
            (Model.collect(p.from($source)), after()),
            (Inline::new(Rings::new().ring(2)).collect(p.from($source)), after()),
            (Rings::new().workers(2).ring(4).collect(p.from($source)), after()),
            (Rings::new().collect(p.from($source)), after()),
            (Queues::new().capacity(1).collect(p.from($source)), after()),
        ]
    }};
}

type Got = Vec<(u64, u64)>;
type Keep = Fold<Got, fn(&mut Got, SequenceNumber, &u64)>;

/// A sink of numbers on an edge of any shape.
fn keeping() -> (WithOutput<Keep, Got>, Output<Got>) {
    sink::with_output(sink::fold(Got::new(), |got: &mut Got, number: SequenceNumber, x: &u64| got.push((number.0, *x))))
}

#[test]
fn sinks_get_every_value_with_its_number_and_return_what_they_have() {
    let ((squares, seen), (sum, answer), (odd, odds)) = (keeping(), keeping(), keeping());
    let p = pipeline::<u64>()
        .map(|x| x * x)
        .tee_to("squares", squares)
        .tee(|p| p.fold(0, |sum, x| *sum += x, |sum| sum).tee_to("sum", sum))
        .filter(|x| x % 2 == 1)
        .tee_to("odd", odd);
    let all = |n| (0..n).map(|x| (x, x * x));
    for (output, taken) in everywhere!(p, 0..100, || (seen.take(), answer.take(), odds.take())) {
        let odd: Got = all(100).filter(|(_, x)| x % 2 == 1).collect();
        assert_eq!(output.unwrap(), odd.iter().map(|(_, x)| *x).collect::<Vec<_>>());
        // The sum is END's value, and END has number 100.
        assert_eq!(taken, (Some(all(100).collect()), Some(vec![(100, 328_350)]), Some(odd)));
    }
    assert_eq!(seen.take(), None, "it was taken");
    // Also where no handle waits: as an iterator, and in the model alone.
    assert_eq!((&p).from(0..4).iter().unwrap().count(), 2);
    assert_eq!(seen.take(), Some(all(4).collect()));
    assert_eq!(p.model(0..3), [1]);
    assert_eq!(seen.take(), Some(all(3).collect()));
}

/// A loop's body runs again and again in the model, and its sink gets every value once.
#[test]
fn a_sink_in_a_loop_and_one_on_a_new_clock_get_every_value_once() {
    let ((looped, seen), (words, new)) = (keeping(), keeping());
    let p = pipeline::<u64>()
        .feedback(0, |p| p.map(|(x, sum)| x + sum).tee_to("sums", looped).map(|sum| (*sum, *sum)))
        .flat_map(|x| vec![*x; 2])
        .tee_to("twice", words);
    for (output, taken) in everywhere!(p, 1..4, || (seen.take(), new.take())) {
        assert_eq!(output.unwrap(), [1, 1, 3, 3, 6, 6]);
        let twice = [1, 1, 3, 3, 6, 6].into_iter().enumerate().map(|(n, x)| (n as u64, x)).collect();
        assert_eq!(taken, (Some(vec![(0, 1), (1, 3), (2, 6)]), Some(twice)));
    }
}

/// A sink that records its outcome, and may refuse a number.
#[derive(Clone, Default)]
struct Told {
    told: Arc<Mutex<Vec<String>>>,
    name: &'static str,
    /// The number that it refuses, or the end.
    refuses: Option<u64>,
}

impl Told {
    fn tell(&self, what: String) {
        self.told.lock().unwrap().push(what);
    }
}

impl<A: Shape> Sink<A> for Told {
    type Output = ();
    type Error = io::Error;

    fn put(&mut self, number: SequenceNumber, _: A::Ref<'_>) -> io::Result<()> {
        if self.refuses == Some(number.0) { Err(io::Error::other("the disk is full")) } else { Ok(()) }
    }

    fn finish(self, outcome: RunOutcome) -> io::Result<()> {
        self.tell(format!("{} {outcome:?}", self.name));
        if self.refuses == Some(u64::MAX) { Err(io::Error::other("the disk is full at the end")) } else { Ok(()) }
    }
}

#[test]
fn a_sink_that_fails_ends_the_run_with_its_name_number_and_cause() {
    let full = Told { refuses: Some(7), ..Told::default() };
    let p = pipeline::<u64>().map(|x| x + 1).tee_to("archive", full).map(|x| x * 2);
    for (output, ()) in everywhere!(p, 0..100, || ()) {
        let failed = output.unwrap_err();
        assert_eq!(failed.to_string(), "stage \"archive\", number 7: the disk is full");
        let source = std::error::Error::source(&failed).unwrap();
        assert!(source.is::<io::Error>());
    }
    let panics = sink::each(|_: SequenceNumber, x: &u64| assert!(*x < 3, "too large"));
    let p = pipeline::<u64>().tee_to("small", panics);
    for (output, ()) in everywhere!(p, 0..100, || ()) {
        assert_eq!(output.unwrap_err().to_string(), "stage \"small\", number 3: panicked: too large");
    }
}

#[test]
fn a_sink_that_cannot_finish_is_a_failure_of_which_later_ones_know() {
    let told = Arc::new(Mutex::new(Vec::new()));
    let of = |name, refuses| Told { told: told.clone(), name, refuses };
    let p = pipeline::<u64>().tee_to("first", of("first", None)).tee_to("bad", of("bad", Some(u64::MAX)));
    let p = p.tee_to("last", of("last", None));
    let failed = "stage \"bad\", number 9: the disk is full at the end";
    let ended = Rings::new().start((&p).from(source::ready(0..9)).to(of("job", None))).unwrap().join();
    assert_eq!(ended.failure.unwrap().to_string(), failed);
    assert_eq!(ended.report.outcome, RunOutcome::Failed);
    assert_eq!(std::mem::take(&mut *told.lock().unwrap()), ["first End", "bad End", "last Failed", "job Failed"]);
    let ended = Queues::new().start((&p).from(source::ready(0..9)).to(of("job", None))).unwrap().join();
    assert_eq!(ended.failure.unwrap().to_string(), failed);
    assert_eq!(std::mem::take(&mut *told.lock().unwrap()), ["first End", "bad End", "last Failed", "job Failed"]);
    let ended = Model.start((&p).from(0..9).to(of("job", None))).unwrap();
    assert_eq!((ended.failure.unwrap().to_string(), ended.report.outcome), (failed.to_owned(), RunOutcome::Failed));
    assert_eq!(std::mem::take(&mut *told.lock().unwrap()), ["first End", "bad End", "last Failed", "job Failed"]);
}

#[test]
fn sinks_get_the_outcome_of_the_run() {
    let told = Told { name: "kept", ..Told::default() };
    let p = pipeline::<u64>().tee_to("kept", told.clone()).map(|x| 100 / (5 - x)).named("divide");
    assert!(Rings::new().collect((&p).from(0..9)).is_err());
    assert!(Queues::new().collect((&p).from(0..9)).is_err());
    assert!(Inline::default().collect((&p).from(0..9)).is_err());
    assert!(Model.collect((&p).from(0..9)).is_err());
    let run = Rings::new().start((&p).from(std::iter::repeat(1)).to_each(|_, _| ())).unwrap();
    run.stop_now().unwrap();
    let failed = ["kept Failed"; 4];
    assert_eq!(*told.told.lock().unwrap(), [&failed[..], &["kept Stopped"]].concat());
    // The job's own sink, which is finished last, can be what fails.
    let told = Told { name: "kept", ..Told::default() };
    let p = pipeline::<u64>().tee_to("kept", told.clone());
    let full = || Told { told: told.told.clone(), name: "job", refuses: Some(3) };
    let ended = [
        Model.start((&p).from(0..9).to(full())).unwrap(),
        Inline::default().start((&p).from(0..9).to(full())).unwrap().join(),
    ];
    for ended in ended {
        assert_eq!(ended.failure.unwrap().to_string(), "stage \"sink\", number 3: the disk is full");
    }
    assert_eq!(*told.told.lock().unwrap(), ["kept Failed", "job Failed"].repeat(2));
}

/// Every try of `run_again` has a clone of its own; the output is the last one's.
#[test]
fn a_run_that_begins_again_has_a_new_sink() {
    let (numbers, seen) = keeping();
    let broken = AtomicBool::new(true);
    let p = pipeline::<u64>().tee_to("numbers", numbers).map(move |x| {
        assert!(*x != 5 || !broken.swap(false, Ordering::Relaxed), "broken");
        *x
    });
    let job = (&p).from(source::again(|| 0..8)).to(sink::collect());
    assert_eq!(Rings::new().run_again(job, Retry::times(1)).unwrap().0, [0, 1, 2, 3, 4, 5, 6, 7]);
    assert_eq!(seen.take(), Some((0..8).map(|x| (x, x)).collect()));
}

/// Before an outer `take` a sink gets at least what is taken.
#[test]
fn a_sink_before_a_take_gets_what_is_taken() {
    let (numbers, seen) = keeping();
    let p = pipeline::<u64>().tee_to("numbers", numbers).take(10);
    for (output, seen) in everywhere!(p, source::ready(0..1000), || seen.take().unwrap()) {
        assert_eq!(output.unwrap().len(), 10);
        assert!((10..=1000).contains(&seen.len()));
        assert_eq!(seen, (0..seen.len() as u64).map(|x| (x, x)).collect::<Vec<_>>());
    }
}

/// The thread of the sink may look for the end while the stages before it are not dropped yet, and no number comes
/// after that: what ends there has to wake it.
#[test]
fn a_sink_before_a_take_hears_of_the_end_whenever_it_looks() {
    let p = pipeline::<u64>().tee_to("numbers", sink::each(|_, _: &u64| ())).take(10);
    for round in 0..400 {
        let rings = Rings::new().workers(1 + round % 2).ring(4).wait(Wait::Blocking);
        assert_eq!(rings.collect((&p).from(source::ready(0..1000))).map(|all| all.len()), Ok(10));
    }
}

#[test]
fn again_makes_a_sink_for_every_run() {
    let made = Arc::new(AtomicU64::new(0));
    let count = made.clone();
    let (each, seen) = sink::with_output(sink::again(move || {
        if count.fetch_add(1, Ordering::Relaxed) == 5 {
            return Err("no more sinks");
        }
        Ok(sink::collect())
    }));
    let p = pipeline::<u64>().tee_to("each", each);
    for (output, seen) in everywhere!(p, 0..3, || seen.take()) {
        assert_eq!((output.unwrap(), seen), (vec![0, 1, 2], Some(vec![0, 1, 2])));
    }
    let failed = |output: Result<Vec<u64>, RunError>| output.unwrap_err().to_string();
    assert_eq!(failed(p.collect(3..6)), "stage \"each\", number 0: no more sinks");
    assert_eq!((seen.take(), p.collect(0..0).unwrap(), seen.take()), (None, vec![], Some(vec![])));
    assert_eq!(made.load(Ordering::Relaxed), 7);
}

#[test]
fn two_sinks_of_one_name_are_a_warning_of_the_plan() {
    let p = pipeline::<u64>().tee_to("same", sink::collect()).tee_to("same", sink::last());
    let warning = millstream_core::plan::Warning::SameName { name: "same".to_owned() };
    assert_eq!(p.plan().warnings, [warning]);
}
