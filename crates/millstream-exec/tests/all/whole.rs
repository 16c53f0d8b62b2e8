//! Runs that are one loop from the source to the sink: values go past the slots of the rings, and nothing else of it
//! shows. With one worker the stages are one tasklet; where the run chooses how many it has, each has its own.

use crate::alone::{alone, at_last, counted};
use millstream_core::{
    Arrow, ChoiceExt, Either, ModelExt, PartsExt, RunOutcome, SequenceNumber, Sink, StreamsExt, TryMapExt, Val,
    pipeline,
};
use millstream_exec::{JobExt, JobRefExt, Rings, RunError, Runner, Upgrade, source};
use millstream_testkit::within;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// One worker, and as many as the run chooses.
fn one_and_chosen() -> [Rings; 2] {
    [Rings::new().workers(1), Rings::new()]
}

#[test]
fn each_value_takes_its_way_before_the_next_one_is_taken() {
    let p = pipeline::<u64>().map(|x| x + 1).map(|x| x * 2).named("twice");
    for workers in [1, 2] {
        let (values, taken) = counted(0..100_000);
        let rings = Rings::new().workers(workers).batch(64);
        let ((alone, all), report) = rings.run((&p).from(source::ready(values)).to_fold((0, 0), alone(taken))).unwrap();
        assert_eq!(all, 100_000);
        // Other tests may have the core so often that the loop takes its values for dear.
        let most = alone * 2 > all;
        assert_eq!(most, workers == 1, "{alone} of {all} on {workers}");
        assert!(alone < all, "some go through the slots, which shows what a stage costs");
        assert!(report.stages.iter().all(|stage| stage.moved == 100_001), "{report:?}");
        assert_eq!((report.numbers, report.values), (SequenceNumber(100_000), 100_000));
    }
}

#[test]
fn stages_that_are_apart_are_one_loop_as_long_as_there_is_one_worker() {
    let p = pipeline::<u64>().filter(|x| x % 8 != 0).map(|x| x + 1).filter(|x| x % 8 != 0);
    let p = p.try_map_or_empty(|x| if x % 8 == 7 { Err("seven") } else { Ok(x * 2) }).scan(0, |sum: &mut u64, x| {
        *sum += x;
        *sum
    });
    let is_alone = || {
        let (values, taken) = counted(0..8_000);
        let job = (&p).from(source::ready(values)).to_fold((0, 0), alone(taken));
        let ((alone, all), report) = Rings::new().batch(64).run(job).unwrap();
        assert_eq!(all, 5_000);
        assert!(report.stages.iter().all(|stage| stage.moved == 8_001 && stage.fused_into.is_none()), "{report:?}");
        assert_eq!(report.stages.iter().map(|stage| stage.failures).sum::<u64>(), 1_000);
        // Another worker is tried after some milliseconds.
        alone > 0
    };
    assert!(at_last(is_alone), "no value is alone");
    for rings in [Rings::new().batch(64), Rings::new()] {
        assert_eq!(rings.collect_slots((&p).from(source::ready(0..8_000))).unwrap(), p.model_slots(0..8_000));
    }
}

#[test]
fn a_run_that_chooses_its_workers_sees_what_each_stage_costs() {
    let p = pipeline::<u64>().map(|x| x + 1).map(|x| x * 2);
    let report = Rings::new().for_each(p.from(source::ready(0..100_000)), |_, _| ()).unwrap();
    assert!(report.stages.iter().all(|stage| stage.ns_per_number.is_some()), "{report:?}");
    let busy: f64 = report.loads.stages.iter().flat_map(|load| &load.busy).sum();
    assert!(busy <= report.loads.seconds * 1.01 * report.loads.workers as f64, "{report:?}");
}

#[test]
fn a_stage_with_dear_values_has_its_own_cost() {
    let p = pipeline::<u64>().map(|x| x + 1).map(|x| x * 2);
    let nap = |_: SequenceNumber, _: &u64| std::thread::sleep(Duration::from_millis(1));
    let report = Rings::new().workers(1).for_each(p.from(source::ready(0..100)), nap).unwrap();
    let costs: Vec<_> = report.stages.iter().map(|stage| stage.ns_per_number).collect();
    assert!(costs[3].is_some_and(|sink| sink > 1e6), "{costs:?}");
    assert!(costs[2].is_some_and(|last| last < 0.5e6), "{costs:?}");
}

#[test]
fn branches_pairs_and_states_are_part_of_the_loop() {
    let sum = |sum: &mut u64, x: &u64| {
        *sum += x;
        *sum
    };
    let side = |x: &u64| if x.is_multiple_of(3) { Either::Left(*x) } else { Either::Right(*x) };
    let p = pipeline::<u64>().scan(0, sum).map(side).choose(|l| l.map(|x| x + 1).scan(0, sum), |r| r);
    let p = p.merge(|l| l.filter(|x| x % 2 == 0).map(|x| x + 1), |r| r.scan(5, sum));
    let p = p.fanout(|p| p.map(|x| x ^ 1), |p| p.scan(7, sum)).both(|p| p, |q| q.filter(|x| x % 5 != 0));
    let p = p.map(|(a, b)| a + b).fanout3(|p| p, |p| p.map(|x| x ^ 3), |p| p.scan(1, sum)).map(|(a, b, c)| a ^ b ^ c);
    let p = p.partition(|x| x % 2 == 0).merge(|l| l.map(|x| x + 1), |r| r.map(|x| *x));
    let p = p.filter(|x| x % 7 != 0).delay(3).dedup().skip_while(|x| *x < 9).filter(|x| x % 3 != 0);
    let expected = p.model_slots(0..10_000);
    for rings in [Rings::new().workers(1), Rings::new().workers(1).batch(64), Rings::new().batch(64), Rings::new()] {
        assert_eq!(rings.collect_slots((&p).from(source::ready(0..10_000))).unwrap(), expected, "{rings:?}");
        let is_alone = || {
            let (values, taken) = counted(0..10_000);
            let job = (&p).from(source::ready(values)).to_fold((0, 0), alone(taken));
            let ((alone, _), report) = rings.run(job).unwrap();
            assert!(report.stages.iter().all(|stage| stage.moved == 10_001), "{report:?}");
            alone > 0
        };
        assert!(at_last(is_alone), "no value is alone on {rings:?}");
    }
}

/// Its type names no stage twice, or this would not compile.
#[test]
fn a_chain_of_thirty_two_stages_is_one_loop() {
    let p = pipeline::<u64>()
        .map(|x| x + 1)
        .filter(|x| *x != 9)
        .map(|x| x * 3)
        .filter_map(|x| (x % 5 != 0).then_some(*x))
        .map(|x| x + 1)
        .filter(|x| *x != 9)
        .map(|x| x * 3)
        .filter_map(|x| (x % 5 != 0).then_some(*x))
        .map(|x| x + 1)
        .filter(|x| *x != 9)
        .map(|x| x * 3)
        .filter_map(|x| (x % 5 != 0).then_some(*x))
        .map(|x| x + 1)
        .filter(|x| *x != 9)
        .map(|x| x * 3)
        .filter_map(|x| (x % 5 != 0).then_some(*x))
        .map(|x| x + 1)
        .filter(|x| *x != 9)
        .map(|x| x * 3)
        .filter_map(|x| (x % 5 != 0).then_some(*x))
        .map(|x| x + 1)
        .filter(|x| *x != 9)
        .map(|x| x * 3)
        .filter_map(|x| (x % 5 != 0).then_some(*x))
        .map(|x| x + 1)
        .filter(|x| *x != 9)
        .map(|x| x * 3)
        .filter_map(|x| (x % 5 != 0).then_some(*x))
        .scan(0, |sum: &mut u64, x| *sum ^ x)
        .map(|x| x ^ 7)
        .delay(2)
        .map(|x| x ^ 5);
    let values = || (0..500).map(|x| x % 40);
    assert_eq!(
        Rings::new().batch(64).collect_slots((&p).from(source::ready(values()))).unwrap(),
        p.model_slots(values())
    );
}

#[test]
fn a_stage_that_needs_its_ring_leaves_the_source_alone() {
    let p = pipeline::<u64>().shard(2, |p| p.map(|x| x + 1));
    let (values, taken) = counted(0..10_000);
    let rings = Rings::new().workers(1).batch(64);
    let ((alone, all), report) = rings.run((&p).from(source::ready(values)).to_fold((0, 0), alone(taken))).unwrap();
    assert!(alone < all, "{alone} of {all}");
    assert!(
        report.stages.iter().all(|stage| stage.steps <= 300),
        "each step but the first ones moves a batch: {report:?}"
    );
    assert_eq!(rings.collect((&p).from(source::ready(0..500))).unwrap(), p.model(0..500));
}

#[test]
fn a_stage_with_a_state_speaks_at_end() {
    let sum = pipeline::<u64>().filter_map(|x| (x % 3 != 0).then_some(*x)).fold(0, |sum, x| *sum += x, |sum| sum);
    for n in [0, 1, 5_000] {
        for rings in one_and_chosen() {
            let sums = rings.collect_slots((&sum).from(source::ready(0..n))).unwrap();
            assert_eq!(sums, sum.model_slots(0..n));
        }
    }
}

/// What fails at number 700: the error, and how many values the sink got.
fn fails(rings: &Rings, at: &'static str) -> (String, u64) {
    let fail = move |here: &str, x: u64| assert!(here != at || x != 700, "seven hundred");
    let got = Arc::new(AtomicU64::new(0));
    let p = pipeline::<u64>().map(move |x| {
        fail("first", *x);
        *x
    });
    let p = p.named("first").filter_map(move |x| {
        fail("last", *x);
        (x % 2 == 0).then_some(*x)
    });
    let (p, seen) = (p.named("last"), got.clone());
    let values = (0..10_000).inspect(move |x| fail("source", *x));
    let end = rings.start(p.from(source::ready(values)).to_each(move |_, x: &u64| {
        fail("sink", *x);
        seen.fetch_add(1, Relaxed);
    }));
    let end = end.unwrap().join();
    assert_eq!((end.report.outcome, end.report.values), (RunOutcome::Failed, got.load(Relaxed)));
    (end.failure.unwrap().to_string(), got.load(Relaxed))
}

#[test]
fn a_failure_names_the_end_or_the_stage_and_its_number() {
    for (rings, begins_past_the_rings) in
        [(Rings::new().workers(1), true), (Rings::new().batch(64), true), (Rings::new(), false)]
    {
        let mut all_came = false;
        for at in ["source", "first", "last", "sink"] {
            let (failed, got) = fails(&rings, at);
            assert_eq!(failed, format!("stage \"{at}\", number 700: panicked: seven hundred"), "{rings:?}");
            // Through the slots, what comes before a failure need not have reached the sink.
            assert!(got <= 350, "{got} before {at} on {rings:?}");
            all_came |= got == 350;
        }
        assert!(all_came || !begins_past_the_rings, "{rings:?}");
    }
}

#[test]
fn an_error_of_the_sink_is_the_failure_of_the_run() {
    let p = pipeline::<u64>().map(|x| x + 1);
    let full = |_: SequenceNumber, x: &u64| if *x < 300 { Ok(()) } else { Err("no room") };
    let failed = Rings::new().workers(1).for_each(p.from(source::ready(0..)), full).unwrap_err();
    let RunError::Stage { ref stage, number, .. } = failed else { panic!("{failed:?}") };
    assert_eq!((stage.as_str(), number), ("sink", Some(SequenceNumber(299))));
}

/// Values go past the slots again after an upgrade that was refused, as they did before it.
#[test]
fn a_refused_upgrade_leaves_the_loop() {
    let sums = || {
        pipeline::<u64>().map(|x| x + 1).scan(0, |sum: &mut u64, x| {
            *sum += x;
            *sum
        })
    };
    let (values, taken) = counted(0..);
    let counts: Arc<[AtomicU64; 2]> = Arc::default();
    let counted = counts.clone();
    let count = move |number: SequenceNumber, _: &u64| {
        counted[0].fetch_add(u64::from(taken.load(Relaxed) == number.0 + 1), Relaxed);
        counted[1].fetch_add(1, Relaxed);
    };
    let rings = Rings::new().workers(1).batch(64);
    let run = rings.start(sums().named("sum").from(source::ready(values)).to_each(count)).unwrap();
    let next = Upgrade::to(sums().named("sum")).migrate("sum", |_: u64| -> u64 { panic!("no") });
    run.upgrade(next).unwrap_err();
    let read = move || [&counts[0], &counts[1]].map(|count| count.load(Relaxed));
    let most_are_alone = move || loop {
        let before = read();
        while read()[1] < before[1] + 10_000 {
            std::thread::yield_now();
        }
        // Other threads may have the core so often that the loop takes its values for dear.
        let now = read();
        if (now[0] - before[0]) * 2 > now[1] - before[1] {
            return;
        }
    };
    within(Duration::from_secs(60), most_are_alone).unwrap();
    run.stop_now().unwrap();
}

/// A sink that records the number of each mark, and `None` for a pause.
struct Told {
    told: Arc<Mutex<Vec<Option<u64>>>>,
    /// Whether a value, or the end, has come since the last pause.
    something: bool,
}

impl Sink<Val<u64>> for Told {
    type Output = ();
    type Error = std::convert::Infallible;

    fn put(&mut self, _: SequenceNumber, _: &u64) -> Result<(), Self::Error> {
        self.something = true;
        Ok(())
    }

    fn end(&mut self, _: SequenceNumber) -> Result<(), Self::Error> {
        self.something = true;
        Ok(())
    }

    fn pause(&mut self) -> Result<(), Self::Error> {
        assert!(std::mem::take(&mut self.something), "a pause follows a value");
        self.told.lock().unwrap().push(None);
        Ok(())
    }

    fn mark(&mut self, next: SequenceNumber) -> Result<(), Self::Error> {
        self.told.lock().unwrap().push(Some(next.0));
        Ok(())
    }

    fn finish(self, _: RunOutcome) -> Result<(), Self::Error> {
        Ok(())
    }
}

#[test]
fn the_sink_pauses_before_marks_and_at_end_and_seldom_else() {
    let p = pipeline::<u64>().map(|x| x + 1).scan(0, |sum: &mut u64, x| {
        *sum += x;
        *sum
    });
    for rings in [Rings::new().workers(1), Rings::new().batch(64)] {
        let (told, rings) = (Arc::new(Mutex::new(Vec::new())), rings.snapshot_every(4_000, |_| ()));
        rings.run((&p).from(source::ready(0..10_000)).to(Told { told: told.clone(), something: false })).unwrap();
        let told = told.lock().unwrap();
        let marks: Vec<usize> = (0..told.len()).filter(|i| told[*i].is_some()).collect();
        assert_eq!(marks.iter().map(|i| told[*i]).collect::<Vec<_>>(), [Some(4_000), Some(8_000)]);
        assert!(marks.iter().all(|i| told[i - 1].is_none()) && told.last() == Some(&None), "{told:?}");
        // Where a thread is held up, its numbers seem dear, and a few steps go through the slots.
        assert!(told.len() < 30, "it has more than a hundred batches: {told:?}");
    }
}

#[test]
fn a_run_without_an_end_is_snapshotted_upgraded_observed_and_drained() {
    one_and_chosen().into_iter().for_each(changes);
}

fn changes(rings: Rings) {
    let version = |times: u64| {
        let p = pipeline::<u64>().map(move |x| x * times).named("times");
        p.scan(0_u64, |count, x| {
            *count += 1;
            (*count, *x)
        })
    };
    let check = |next: &mut u64, number: SequenceNumber, (count, x): &(u64, u64)| {
        assert_eq!((number.0, *count), (*next, *next + 1), "no number is lost or comes twice");
        assert!(*x == *next || *x == *next * 10);
        *next += 1;
    };
    let (values, taken) = counted(0..);
    let run = rings.start(version(1).from(source::ready(values)).to_fold(0_u64, check)).unwrap();
    let snapshot = run.snapshot().unwrap();
    assert!(snapshot.at() <= SequenceNumber(taken.load(Relaxed)));
    run.upgrade(version(10)).unwrap();
    run.observe(true);
    run.upgrade(version(1)).unwrap();
    assert!(run.snapshot().unwrap().at() > snapshot.at());
    run.observe(false);
    let (next, report) = run.drain(Duration::from_secs(60)).unwrap();
    assert_eq!((report.outcome, report.numbers.0, report.values), (RunOutcome::Drained, next, next));
    assert_eq!(taken.load(Relaxed), next, "each value that was taken came out");
}

#[test]
fn a_run_that_gets_more_workers_goes_on() {
    one_and_chosen().into_iter().for_each(gets_more_workers);
}

fn gets_more_workers(rings: Rings) {
    let p = pipeline::<u64>().map(|x| x + 1).map(|x| x * 2);
    let count = |next: &mut u64, number: SequenceNumber, x: &u64| {
        assert_eq!((number.0, *x), (*next, (*next + 1) * 2));
        *next += 1;
    };
    let run = rings.start(p.from(source::ready(0..)).to_fold(0_u64, count)).unwrap();
    for workers in (1..=3).cycle().take(60) {
        run.set_workers(workers).unwrap();
        run.snapshot().unwrap();
    }
    let (next, report) = run.drain(Duration::from_secs(60)).unwrap();
    assert_eq!((report.numbers.0, report.values), (next, next));
}

/// A value that is dropped once.
#[derive(Clone)]
struct Held(#[expect(dead_code, reason = "it is counted")] Arc<()>);

#[test]
fn values_are_dropped_once_however_the_run_ends() {
    let all = Arc::new(());
    let made = all.clone();
    let p = pipeline::<Held>().map(Held::clone).map(move |x| {
        let Held(_) = x;
        Held(made.clone())
    });
    for ends in [usize::MAX, 0, 77] {
        for rings in [Rings::new().workers(1), Rings::new().batch(64), Rings::new()] {
            let values = std::iter::repeat_n(Held(all.clone()), 1_000);
            let mut left = ends;
            let ended = rings.for_each((&p).from(source::ready(values)), move |_, _: &Held| {
                left = left.checked_sub(1).ok_or("enough")?;
                Ok::<_, &str>(())
            });
            assert_eq!(ended.is_ok(), ends == usize::MAX);
            assert_eq!(Arc::strong_count(&all), 2, "the pipeline's own, and this");
        }
    }
}
