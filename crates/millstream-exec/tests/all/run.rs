//! Pipelines on rings: output, errors, laziness.

use millstream_core::{Arrow, ModelExt, SequenceNumber, pipeline};
use millstream_exec::{
    Activity, Counters, Inline, JobExt, JobRefExt, ParMapExt, Rings, RunError, Runner, ThroughExt, source,
};
use millstream_testkit::within;
use std::sync::Mutex;
use std::sync::mpsc::channel;
use std::time::Duration;

#[test]
fn small_rings_small_batches_and_any_workers_give_the_models_slots() {
    let p = pipeline::<u64>()
        .filter(|x| x % 3 != 0)
        .fanout(|p| p, |p| p.map(|x| x.count_ones()))
        .both(|p| p.map(|x| x + 1), |p| p.scan(0, |n, c| std::mem::replace(n, *n + c)))
        .map(|(x, c)| x * 100 + u64::from(*c))
        .shard(3, |p| p.map(|x| x + 1).filter_map(|x| (x % 7 != 0).then_some(*x)))
        .fanout(|p| p.delay(5), |p| p.shard(2, |p| p.filter(|x| *x % 2 == 0)))
        .fanout(|p| p.fold(0, |n, _| *n += 1, |n| n), |p| p.fold(0, |s, (a, b)| *s += a * b, |s| s));
    for n in [0, 1, 2, 100] {
        let model = p.model_slots(0..n);
        for slots in [1, 2, 8, 64] {
            for batch in [1, 3, 100] {
                for workers in 1..4 {
                    let rings = Rings::new().ring(slots).batch(batch).workers(workers);
                    assert_eq!(rings.collect_slots((&p).from(source::ready(0..n))).unwrap(), model);
                }
                let rings = Rings::new().ring(slots).batch(batch);
                assert_eq!(rings.collect_slots((&p).from(0..n)).unwrap(), model);
            }
        }
    }
}

#[test]
fn a_panic_names_the_stage_the_number_and_the_message() {
    let p = pipeline::<u64>()
        .map(|x| *x)
        .map(|x| {
            assert!(*x != 1000, "boom {x}");
            *x
        })
        .named("third")
        .map(|x| *x);
    for workers in 1..4 {
        for error in [
            Rings::new().workers(workers).collect((&p).from(0..)).unwrap_err(),
            Rings::new().workers(workers).ring(4).batch(1).collect((&p).from(source::ready(0..))).unwrap_err(),
        ] {
            let expected = RunError::Stage {
                stage: "third".into(),
                number: Some(SequenceNumber(1000)),
                cause: "panicked: boom 1000".into(),
            };
            assert_eq!(error, expected);
        }
    }
    let message = p.collect(0..).unwrap_err().to_string();
    assert_eq!(message, r#"stage "third", number 1000: panicked: boom 1000"#);
}

#[test]
fn panics_in_a_shard_a_fold_a_source_and_a_sink_are_failures_too() {
    let number = |error: RunError| match error {
        RunError::Stage { stage, number, .. } => (stage, number.map(|n| n.0)),
        other => panic!("{other}"),
    };
    let rings = Rings::new().workers(2).batch(10);
    let shard = pipeline::<u64>().shard(3, |p| {
        p.map(|x| {
            assert!(*x != 77);
            *x
        })
    });
    assert_eq!(number(rings.collect((&shard).from(0..)).unwrap_err()), ("shard-1.map-1".into(), Some(77)));
    let finish = pipeline::<u64>().fold(0_u64, |_, _| (), |_| -> u64 { panic!("finish") });
    assert_eq!(number(rings.collect((&finish).from(0..5)).unwrap_err()), ("fold-1".into(), Some(5)));
    let id = pipeline::<u64>();
    let source = || (0..10).inspect(|x| assert!(*x != 7));
    assert_eq!(number(rings.collect((&id).from(source())).unwrap_err()), ("source".into(), Some(7)));
    assert_eq!(number(rings.collect((&id).from(source::ready(source()))).unwrap_err()), ("source".into(), Some(7)));
    let sink = rings.for_each((&id).from(0..), |_, x: &u64| assert!(*x != 9));
    assert_eq!(number(sink.unwrap_err()), ("sink".into(), Some(9)));
}

#[test]
fn a_report_counts() {
    let p = pipeline::<u64>().filter(|x| x % 2 == 0);
    let report = Rings::new().workers(2).ring(8).for_each((&p).from(0..10), |_, _| ()).unwrap();
    assert_eq!((report.numbers, report.values, report.workers, report.ring_bytes), (SequenceNumber(10), 5, 2, 72));
    let ((), report) = Inline::new(Rings::new()).run((&p).from(0..10).to_each(|_, _| ())).unwrap();
    assert_eq!((report.numbers, report.workers), (SequenceNumber(10), 0));
}

#[test]
fn a_report_shows_the_batches() {
    let p = pipeline::<u64>().map(|x| x + 1);
    for (batch, steps) in [(1, 1000), (100, 10), (300, 4)] {
        let report =
            Rings::new().workers(1).batch(batch).for_each((&p).from(source::ready(0..1000)), |_, _| ()).unwrap();
        // And one for END.
        let map = &report.stages[1];
        assert_eq!((map.moved, map.steps), (1001, steps + 1));
        assert_eq!(map.mean_batch(), 1001.0 / (steps + 1) as f64);
    }
}

#[test]
#[should_panic(expected = "a channel has at least one slot")]
fn a_channel_without_slots_is_refused_when_it_is_built() {
    drop(source::channel::<u64>(0));
}

#[test]
fn invalid_options_are_refused() {
    let refused = |rings: Rings| rings.collect(pipeline::<u64>().from(0..5)).unwrap_err().to_string();
    for slots in [0, 3] {
        assert!(refused(Rings::new().ring(slots)).contains("power of two"));
    }
    assert!(refused(Rings::new().batch(0)).contains("at least 1"));
    assert!(refused(Rings::new().workers(0)).contains("0 workers: at least 1"));
}

#[test]
fn iterators_go_through_lazily_and_endless_ones_too() {
    let p = pipeline::<u64>().map(|x| x * 2).filter(|x| x % 3 == 0);
    let first: Vec<u64> = (0..).through(p).take(4).collect();
    assert_eq!(first, [0, 6, 12, 18]);
    let untouched = std::iter::from_fn(|| -> Option<u64> { panic!("pulled") });
    drop(untouched.through(pipeline::<u64>()));
}

/// A batch in which every slot is empty yields no value, and there can be any number of them.
#[test]
fn an_iterator_over_nothing_but_empty_slots_ends() {
    let mut none = (0..2_000_000).through_on(Rings::new().batch(8), pipeline::<u64>().filter(|_| false));
    assert_eq!(none.next(), None);
}

#[test]
fn par_map_keeps_order_and_takes_values_that_are_not_clone() {
    struct Once(u64);
    let n = 10_000;
    let mapped: Vec<u64> = (0..n).map(Once).ordered_par_map(3, |Once(x)| x * x).collect();
    assert_eq!(mapped, (0..n).map(|x| x * x).collect::<Vec<_>>());
}

#[test]
fn a_failure_comes_out_of_the_iterator_once() {
    let mut through = (0..).through(pipeline::<u64>().map(|x| 10 / (5 - x)));
    let error = loop {
        match through.try_next() {
            Ok(next) => assert!(next.is_some()),
            Err(error) => break error,
        }
    };
    assert!(error.to_string().contains("number 5: panicked: attempt to divide by zero"), "{error}");
    assert_eq!(through.try_next(), Ok(None));
}

/// The source waits between two values for the sink to receive the one before: it can go on only if a value that
/// arrives alone comes out at once.
#[test]
fn a_value_that_arrives_alone_comes_out_at_once() {
    for workers in 1..3 {
        let (seen, sees) = std::sync::mpsc::channel();
        let source = (0..100_u64).inspect(move |n| {
            if *n > 0 {
                assert_eq!(sees.recv().unwrap(), n - 1);
            }
        });
        let p = pipeline::<u64>().map(|x| *x).shard(2, |p| p.map(|x| *x)).filter(|_| true);
        let sink = move |_: SequenceNumber, x: &u64| seen.send(*x).unwrap_or(());
        Rings::new().workers(workers).for_each(p.from(source), sink).unwrap();
    }
}

#[test]
fn a_woken_worker_is_busy_in_its_first_round() {
    let (let_go, held) = channel::<()>();
    let held = Mutex::new(held);
    let p = pipeline::<u64>().map(move |x| {
        let _ = held.lock().unwrap().recv();
        *x
    });
    let observed = move || {
        let (sender, receiver) = source::channel(8);
        let run = Rings::new().workers(1).start(p.from(receiver).to_each(|_, _| ())).unwrap();
        let (observer, mut counters) = (run.observer(), Counters::default());
        let mut until = |activity| {
            while counters.workers != [activity] {
                std::thread::yield_now();
                observer.read(&mut counters);
            }
        };
        for value in 0..3 {
            until(Activity::Parked);
            sender.send(value).unwrap();
            until(Activity::Busy);
            let_go.send(()).unwrap();
        }
        drop(sender);
        run.wait().unwrap();
    };
    within(Duration::from_secs(120), observed).unwrap();
}
