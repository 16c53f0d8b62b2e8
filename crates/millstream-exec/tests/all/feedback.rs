//! Loops on rings: one number at a time, on any deployment.

use millstream_core::{Arrow, FeedbackExt, ModelExt, PartsExt, pipeline};
use millstream_exec::{JobExt, JobRefExt, Rings, RunError, Runner, source};

fn deployments() -> impl Iterator<Item = Rings> {
    let options = [(1, 1, 1), (1, 5, 3), (2, 1, 2), (8, 3, 2), (64, 100, 1), (4096, 2048, 2)];
    options.into_iter().map(|(ring, batch, workers)| Rings::new().ring(ring).batch(batch).workers(workers))
}

#[test]
fn a_counter_counts() {
    let p = pipeline::<u64>().feedback(0, |p| p.map(|(x, n)| (x + n, n + 1)));
    assert_eq!(p.model([10, 10, 10]), [10, 11, 12]);
    for rings in deployments() {
        let expected: Vec<u64> = (0..500).map(|n| 7 + n).collect();
        assert_eq!(rings.collect((&p).from(source::ready(std::iter::repeat_n(7, 500)))).unwrap(), expected);
        assert_eq!(rings.collect((&p).from(std::iter::repeat_n(7, 500))).unwrap(), expected);
    }
}

#[test]
fn loops_of_several_stages_and_loops_in_loops_are_their_models() {
    let p = pipeline::<i64>()
        .filter(|x| x % 7 != 0)
        .feedback(1, |p| {
            p.fanout(|p| p.map(|(x, s)| x ^ s), |p| p.seconds().map(|s| s * 3 % 101).delay(5))
                .map(|(x, s)| (*x, *s))
                .feedback(2, |p| p.filter(|((x, _), _)| x % 5 != 0).map(|((x, s), t)| ((x + t, s + t), t + 1)))
        })
        .scan(0, |sum, x| {
            *sum += x;
            *sum
        });
    let model = p.model_slots(0..200);
    for rings in deployments() {
        assert_eq!(rings.collect_slots((&p).from(source::ready(0..200))).unwrap(), model);
    }
}

/// A value at END passes through the loop as well, with the last state.
#[test]
fn the_value_of_end_meets_the_last_state() {
    let p = pipeline::<u64>().fold(0, |n, x| *n += x, |n| n).feedback(5, |p| p.map(|(x, s)| (x + s, s + 1)));
    assert_eq!(p.model_slots([1, 2]), [None, None, Some(8)]);
    for rings in deployments() {
        assert_eq!(rings.collect_slots((&p).from([1, 2])).unwrap(), [None, None, Some(8)]);
    }
}

#[test]
fn a_body_that_waits_and_a_body_that_fails() {
    let p = pipeline::<u64>().feedback(0, |p| p.map_blocking(|(x, s)| x + s).map(|s| (*s, *s)));
    assert_eq!(p.collect(1..=100).unwrap().last(), Some(&5050));
    let p = pipeline::<u64>().feedback(0, |p| p.map(|(x, s)| (assert_ne!(*x, 50), s + x)).named("spend"));
    let Err(RunError::Stage { stage, number, .. }) = Rings::new().workers(2).collect(p.from(0..100)) else {
        panic!("it fails")
    };
    assert_eq!((&*stage, number.map(|n| n.0)), ("spend", Some(50)));
}

#[test]
fn the_plan_says_that_a_loop_is_serial() {
    let p = pipeline::<u64>().map(|x| x + 1).feedback(0, |p| p.map(|(x, s)| (x + s, s + 1)));
    let plan = p.plan().with_capacity(1);
    let serial: Vec<_> = plan.stages.iter().map(|stage| (&*stage.name, stage.serial)).collect();
    assert_eq!(serial, [("map-1", false), ("feedback-1.map-1", true), ("feedback-1.state-1", true)]);
    assert_eq!(plan.rings.iter().map(|ring| ring.capacity.unwrap()).collect::<Vec<_>>(), [1, 1, 2, 1]);
    assert!(plan.to_string().contains("map (serial)"));
}

/// A loop takes many turns at once if it has few tasks, and otherwise one by one: numbers and the report are the same.
#[test]
fn loops_of_few_and_of_many_stages_count_every_number() {
    let few = pipeline::<u64>().feedback(1, |p| p.map(|(x, s)| (x ^ s, s * 3 % 101)).named("turn"));
    let many = pipeline::<u64>().feedback(1, |p| {
        let p = p.map(|(x, s)| (x ^ s, s * 3 % 101)).named("turn");
        let p = p.map(|y| *y).map(|y| *y).map(|y| *y).map(|y| *y).map(|y| *y);
        p.map(|y| *y).map(|y| *y).map(|y| *y).map(|y| *y).map(|y| *y)
    });
    let model = few.model_slots(0..700);
    assert_eq!(many.model_slots(0..700), model);
    for rings in deployments() {
        assert_eq!(rings.collect_slots((&few).from(source::ready(0..700))).unwrap(), model);
        assert_eq!(rings.collect_slots((&many).from(source::ready(0..700))).unwrap(), model);
        let reports = [rings.for_each((&few).from(0..700), |_, _| ()), rings.for_each((&many).from(0..700), |_, _| ())];
        for report in reports {
            let report = report.unwrap();
            let turn = report.stages.iter().find(|stage| stage.name == "turn").unwrap();
            // END counts.
            assert_eq!((turn.moved, turn.steps, turn.left), (701, 701, 0));
        }
    }
}
