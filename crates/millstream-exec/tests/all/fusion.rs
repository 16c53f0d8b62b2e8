//! Stages that one thread runs as one loop: nothing of it shows but the time, and the report that says it.

use millstream_core::{Arrow, FeedbackExt, KeysExt, ModelExt, SequenceNumber, TryMapExt, pipeline};
use millstream_exec::{JobExt, JobRefExt, Report, Rings, RunError, Runner, StageReport};

fn names(report: &Report) -> Vec<&str> {
    report.stages.iter().map(|stage| &*stage.name).collect()
}

fn into(stage: &StageReport) -> Option<&str> {
    stage.fused_into.as_deref()
}

#[test]
fn one_worker_runs_stages_as_one_loop_and_reports_each() {
    let p = pipeline::<u64>()
        .map(|x| x + 1)
        .named("more")
        .filter(|x| x % 3 != 0)
        .named("some")
        .map(|x| x * 2)
        .named("twice")
        .scan(0, |sum: &mut u64, x| {
            *sum += x;
            *sum
        })
        .named("sum");
    let mut outputs = Vec::new();
    for workers in [1, 2] {
        let rings = Rings::new().workers(workers);
        outputs.push(rings.collect_slots((&p).from(0..10_000)).unwrap());
        let (_, report) = rings.run((&p).from(0..10_000).to_each(|_, _| ())).unwrap();
        assert_eq!(names(&report), ["source", "more", "some", "twice", "sum", "sink"]);
        assert!(report.stages[1..5].iter().all(|stage| stage.moved == 10_001), "{workers}: {report:?}");
        let fused: Vec<_> = report.stages.iter().map(into).collect();
        let one = [None, Some("sum"), Some("sum"), Some("sum"), None, None];
        assert_eq!(fused, if workers == 1 { one } else { [None; 6] });
        assert!(report.stages.iter().all(|stage| stage.fused_into.is_none() || stage.ns_per_number.is_none()));
    }
    assert!(outputs.iter().all(|slots| *slots == p.model_slots(0..10_000)));
}

#[test]
fn a_failure_names_the_stage_of_the_loop_and_the_number() {
    let fails = |at: usize| {
        let bad = move |stage: usize, x: u64| {
            assert!(stage != at || x != 700, "seven hundred");
            x
        };
        let p = pipeline::<u64>()
            .map(move |x| bad(0, *x))
            .named("first")
            .filter(move |x| bad(1, *x) < u64::MAX)
            .named("second")
            .filter_map(move |x| Some(bad(2, *x)))
            .named("third")
            .fold(0, move |sum: &mut u64, x| *sum += bad(3, *x), |sum| sum)
            .named("last");
        let rings = Rings::new().workers(1).batch(64);
        match rings.run(p.from(0..10_000).to_each(|_, _| ())) {
            Err(RunError::Stage { stage, number, .. }) => (stage, number),
            other => panic!("{other:?}"),
        }
    };
    for (at, name) in ["first", "second", "third", "last"].into_iter().enumerate() {
        assert_eq!(fails(at), (name.to_owned(), Some(SequenceNumber(700))));
    }
}

#[test]
fn outputs_from_before_a_failure_come_out() {
    let p = pipeline::<u64>().try_map(|x| if *x < 500 { Ok(*x) } else { Err("enough") }).named("part").map(|x| x + 1);
    let mut outputs = Rings::new().workers(1).batch(64).iter(p.from(0..10_000)).unwrap();
    assert!((1..=500).all(|x| outputs.try_next().unwrap() == Some(x)));
    assert_eq!(outputs.try_next().unwrap_err().to_string(), "stage \"part\", number 500: enough");
}

#[test]
fn failed_calls_are_counted_for_their_own_stage() {
    let odd = |x: &u64| if x % 2 == 1 { Ok(*x) } else { Err("even") };
    let p = pipeline::<u64>()
        .try_map_or_empty(odd)
        .named("odd")
        .try_map_or_empty(|x| if x % 3 == 0 { Err("three") } else { Ok(*x) })
        .named("three")
        .map(|x| *x);
    let (_, report) = Rings::new().workers(1).run(p.from(0..60).to_each(|_, _| ())).unwrap();
    let failures: Vec<_> = report.stages.iter().map(|stage| stage.failures).collect();
    assert_eq!(failures, [0, 30, 10, 0, 0]);
}

#[test]
fn a_value_at_end_passes_through_the_loop() {
    let p = pipeline::<u64>()
        .fold(0, |sum: &mut u64, x| *sum += x, |sum| sum)
        .map(|sum| sum + 1)
        .filter(|sum| sum % 2 == 0)
        .map(|sum| sum * 10);
    let sums = |n: u64| Rings::new().workers(1).collect((&p).from(0..n)).unwrap();
    assert_eq!((sums(3), sums(2)), (p.model(0..3), p.model(0..2)));
    assert_eq!((sums(3), sums(2)), (vec![40], vec![20]));
}

#[test]
fn a_loop_retires_and_another_begins_with_its_state() {
    let version = |times: u64| {
        pipeline::<u64>()
            .map(move |x| x * times)
            .named("times")
            .scan(0, |sum: &mut u64, x| {
                *sum += x;
                *sum
            })
            .named("sum")
    };
    let rings = Rings::new().workers(1).batch(8).upgrade_at(SequenceNumber(50), version(10));
    let sums = rings.collect(version(1).from(0..100)).unwrap();
    let mut sum = 0;
    let expected: Vec<u64> = (0..100)
        .map(|x| {
            sum += if x < 50 { x } else { x * 10 };
            sum
        })
        .collect();
    assert_eq!(sums, expected);
}

#[test]
fn bodies_are_fused_and_shards_are_not() {
    let p = pipeline::<u64>()
        .fanout(|p| p.map(|x| x + 1).named("a").map(|x| x + 1).named("b"), |p| p.map(|x| x * 2).named("c"))
        .map(|(x, y)| x + y)
        .named("d")
        .shard(2, |p| p.map(|x| x + 1).named("e").map(|x| x + 1).named("f"))
        .shard_by(|x| x % 4, 2, |p| p.map(|x| x + 1).named("g").map(|x| x + 1).named("h"));
    let rings = Rings::new().workers(1);
    assert_eq!(rings.collect_slots((&p).from(0..500)).unwrap(), p.model_slots(0..500));
    let (_, report) = rings.run((&p).from(0..500).to_each(|_, _| ())).unwrap();
    let fused: Vec<_> = report.stages.iter().filter_map(|stage| Some((&*stage.name, into(stage)?))).collect();
    assert_eq!(fused, [("a", "b")]);
}

/// One worker steps all of a loop, however many workers there are, so its body is fused in every run.
#[test]
fn the_body_of_a_loop_is_fused_on_many_workers() {
    let p = pipeline::<u64>().map(|x| x + 1).named("a").feedback(0, |p| {
        p.map(|(x, sum)| x * 3 + sum).named("b").filter(|x| x % 5 != 0).named("c").map(|x| (*x, *x / 2)).named("d")
    });
    let slots = p.model_slots(0..500);
    for workers in [1, 2, 3] {
        let rings = Rings::new().workers(workers);
        assert_eq!(rings.collect_slots((&p).from(0..500)).unwrap(), slots);
        let (_, report) = rings.run((&p).from(0..500).to_each(|_, _| ())).unwrap();
        let fused: Vec<_> = report.stages.iter().filter_map(|stage| Some((&*stage.name, into(stage)?))).collect();
        assert_eq!(fused, [("b", "d"), ("c", "d")]);
        assert!(report.stages.iter().filter(|stage| into(stage).is_some()).all(|stage| stage.moved == 501));
    }
}
