//! Runs on the calling thread whose source may wait: it is asked for a value only when the sink has the outputs of all
//! values before, and has paused. As long as values come quickly, one loop passes them from the source to the sink.

use millstream_core::{Arrow, ClockExt, RunOutcome, SequenceNumber, Shape, Sink, pipeline};
use millstream_exec::{Inline, JobExt, Rings, Runner};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex};

const VALUES: u64 = 20_000;

/// What a sink has seen.
#[derive(Clone, Default)]
struct Seen {
    values: Arc<AtomicU64>,
    /// How many values it had at its last pause.
    at_pause: Arc<AtomicU64>,
    marks: Arc<Mutex<Vec<u64>>>,
}

/// A sink that writes down what it sees, and fails to pause once it has this many values.
struct Notes(Seen, u64);

impl<A: for<'a> Shape<Ref<'a> = &'a u64>> Sink<A> for Notes {
    type Output = ();
    type Error = &'static str;

    fn put(&mut self, _: SequenceNumber, _: &u64) -> Result<(), Self::Error> {
        self.0.values.fetch_add(1, Relaxed);
        Ok(())
    }

    fn pause(&mut self) -> Result<(), Self::Error> {
        let values = self.0.values.load(Relaxed);
        self.0.at_pause.store(values, Relaxed);
        if values >= self.1 { Err("the disk is full") } else { Ok(()) }
    }

    fn mark(&mut self, next: SequenceNumber) -> Result<(), Self::Error> {
        assert_eq!([&self.0.values, &self.0.at_pause].map(|seen| seen.load(Relaxed)), [next.0; 2]);
        self.0.marks.lock().unwrap().push(next.0);
        Ok(())
    }

    fn finish(self, _: RunOutcome) -> Result<(), Self::Error> {
        Ok(())
    }
}

/// The numbers from 0 on, each only when the sink has paused after all outputs before.
fn patient(seen: &Seen) -> impl Iterator<Item = u64> + Send + use<> {
    let seen = seen.clone();
    (0..VALUES).inspect(move |value| {
        assert_eq!([&seen.values, &seen.at_pause].map(|seen| seen.load(Relaxed)), [*value; 2]);
    })
}

#[test]
fn a_source_is_asked_only_when_the_sink_has_paused() {
    let p = || pipeline::<u64>().map(|x| x + 1).map(|x| x * 2).named("twice");
    for rings in [Rings::new(), Rings::new().batch(64), Rings::new().ring(4)] {
        let seen = Seen::default();
        let every = rings.snapshot_every(3_000, |_| ());
        let ((), report) = Inline::new(every).run(p().from(patient(&seen)).to(Notes(seen.clone(), u64::MAX))).unwrap();
        assert_eq!((report.outcome, report.values), (RunOutcome::End, VALUES));
        assert!(report.stages.iter().all(|stage| stage.moved == VALUES + 1), "{report:?}");
        assert_eq!(*seen.marks.lock().unwrap(), [3_000, 6_000, 9_000, 12_000, 15_000, 18_000]);
    }
}

/// Also where values go through the slots of rings: a mark takes the stages a round of its own, and a value that
/// becomes many fills small rings more than once.
#[test]
fn a_source_is_asked_only_when_stages_with_rings_have_nothing_left() {
    for rings in [Rings::new(), Rings::new().batch(1), Rings::new().ring(4)] {
        let seen = Seen::default();
        let every = rings.clone().snapshot_every(300, |_| ());
        let p = pipeline::<u64>().shard(2, |p| p.map(|x| x + 1)).map(|x| x * 2);
        let first = patient(&seen).take(1_000);
        Inline::new(every).run(p.from(first).to(Notes(seen.clone(), u64::MAX))).unwrap();
        assert_eq!(*seen.marks.lock().unwrap(), [300, 600, 900]);

        let seen = Seen::default();
        let asked = seen.clone();
        let source = (0..50).inspect(move |value| {
            assert_eq!([&asked.values, &asked.at_pause].map(|seen| seen.load(Relaxed)), [100 * *value; 2]);
        });
        let p = pipeline::<u64>().flat_map(|x| 100 * *x..100 * (*x + 1)).map(|x| x + 1);
        Inline::new(rings).run(p.from(source).to(Notes(seen.clone(), u64::MAX))).unwrap();
        assert_eq!(seen.values.load(Relaxed), 5_000);
    }
}

#[test]
fn no_value_is_kept_while_the_source_is_asked() {
    struct Alive(Arc<AtomicU64>);
    impl Drop for Alive {
        fn drop(&mut self) {
            self.0.fetch_sub(1, Relaxed);
        }
    }
    let alive = Arc::new(AtomicU64::new(0));
    let values = (0..VALUES).map({
        let alive = alive.clone();
        move |_| {
            assert_eq!(alive.fetch_add(1, Relaxed), 0);
            Alive(alive.clone())
        }
    });
    // A stage's values are dropped as early.
    let p = pipeline::<Alive>().map(|value| {
        value.0.fetch_add(1, Relaxed);
        Alive(value.0.clone())
    });
    let report = Inline::default().for_each(p.from(values), |_, _| ()).unwrap();
    assert_eq!((report.values, alive.load(Relaxed)), (VALUES, 0));
}

/// A run `here`, on the calling thread, or on workers, that fails at the value 7000: its error, and how many values its
/// sink had.
fn fails(here: bool, at: &'static str) -> (String, u64) {
    let fail = move |part: &str, x: u64| assert!(part != at || x != 7_000, "seven thousand");
    let p = pipeline::<u64>().map(move |x| {
        fail("first", *x);
        *x
    });
    let p = p.named("first").filter_map(move |x| {
        fail("last", *x);
        (x % 2 == 0).then_some(*x)
    });
    let seen = Seen::default();
    let values = (0..VALUES).inspect(move |x| fail("source", *x));
    let job = p.named("last").from(values).to(Notes(seen.clone(), if at == "sink" { 3_501 } else { u64::MAX }));
    let failed = if here { Inline::default().run(job) } else { Rings::new().workers(1).ring(1).run(job) };
    (failed.unwrap_err().to_string(), seen.values.load(Relaxed))
}

#[test]
fn a_failure_has_the_name_and_the_number_that_it_has_on_workers() {
    for (at, values) in [("source", 3_500), ("first", 3_500), ("last", 3_500), ("sink", 3_501)] {
        let (error, got) = fails(true, at);
        assert_eq!((got, &error), (values, &fails(false, at).0), "at {at}");
        assert!(error.starts_with(&format!("stage \"{at}\"")), "{error}");
    }
}
