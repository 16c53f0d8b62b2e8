//! What comes before a failure out of pipelines with side outputs, lanes and keys.

use crate::through::{come_first, fails_at, taken};
use millstream_core::Either::{Left, Right};
use millstream_core::pipe::Id;
use millstream_core::{
    Arrow, ChoiceExt, ClockExt, DeadLetter, KeysExt, PartsExt, SequenceNumber, TryMapExt, Val, pipeline,
};
use millstream_exec::{JobExt, Rings, sink, source};
use millstream_testkit::within;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::sleep;
use std::time::Duration;

const LONG: Duration = Duration::from_secs(60);

/// Longer than the other threads take for what they have.
const A_WHILE: Duration = Duration::from_millis(100);

fn small() -> Rings {
    Rings::new().workers(1).ring(4).batch(1)
}

#[test]
fn a_side_sink_takes_what_is_before_the_failure_of_another_one() {
    static BROKEN: AtomicBool = AtomicBool::new(false);
    let (all, error) = within(LONG, || {
        let breaks = |_: DeadLetter<'_, u64, &str>| {
            BROKEN.store(true, Ordering::SeqCst);
            std::panic::resume_unwind(Box::new("broken"))
        };
        let is_behind = |_: DeadLetter<'_, u64, &str>| {
            while !BROKEN.load(Ordering::SeqCst) {
                std::thread::yield_now();
            }
            sleep(A_WHILE);
        };
        let p = pipeline::<u64>()
            .try_map_or_dead_letter("a", |x| if *x == 6 { Err("a") } else { Ok(*x) }, breaks)
            .try_map_or_dead_letter("b", |x| if *x == 0 { Err("b") } else { Ok(*x) }, is_behind);
        taken(small().iter(p.from(source::ready(0..100))).unwrap())
    })
    .unwrap();
    assert_eq!(all, [1, 2, 3, 4, 5]);
    assert_eq!(error.unwrap(), r#"stage "a.dead-letters", number 6: panicked: broken"#);
}

#[test]
fn a_side_sink_on_a_new_clock_fails_at_a_number_of_that_clock() {
    let (all, error) = within(LONG, || {
        let full = sink::each(|number: SequenceNumber, _: &u64| {
            if number.0 == 1 {
                sleep(A_WHILE);
                return Err("full");
            }
            Ok(())
        });
        let p = pipeline::<u64>().flat_map(|x| [*x]).tee_to("file", full).map(|x| *x);
        taken(small().iter(p.from(source::ready(0..100))).unwrap())
    })
    .unwrap();
    assert!((0..100).take(all.len().max(1)).eq(all.iter().copied()), "{all:?}");
    let error = error.unwrap();
    assert!(error.contains(r#""file", number 1"#) && error.contains("full"), "{error}");
}

#[test]
fn a_side_sink_on_a_new_clock_takes_what_comes_of_the_numbers_before_a_failure() {
    let slow = || sink::each(|_, _: &u64| sleep(Duration::from_micros(50)));
    let p = move || {
        let beside = move |p: Id<Val<u64>>| p.flat_map(|x| [*x; 9]).tee_to("slow", slow());
        pipeline::<u64>().tee(beside).map(fails_at(7))
    };
    come_first("a tee", p, (0..7).collect());
    let (all, error) = within(LONG, move || {
        let p = pipeline::<u64>().flat_map(|x| [*x; 9]).tee_to("slow", slow());
        taken(small().iter(p.from(source::ready((0..100).map(|x| fails_at(7)(&x))))).unwrap())
    })
    .unwrap();
    assert_eq!(all, (0..7).flat_map(|x| [x; 9]).collect::<Vec<_>>());
    assert_eq!(error.unwrap(), r#"stage "source", number 7: panicked: broken"#);
}

#[test]
fn lanes_of_a_merge_yield_the_values_before_a_failure() {
    let side = |x: &u64| if x % 3 == 1 { Left(*x) } else { Right(*x) };
    let left = move || pipeline::<u64>().map(side).merge(|l| l.map(fails_at(7)), |r| r.map(|x| *x));
    come_first("the left lane", left, (0..7).collect());
    let other_side = |x: &u64| if x % 3 == 1 { Right(*x) } else { Left(*x) };
    let right = move || pipeline::<u64>().map(other_side).merge(|l| l.map(|x| *x), |r| r.map(fails_at(7))).map(|x| *x);
    come_first("the right lane", right, (0..7).collect());
}

#[test]
fn keyed_stages_yield_the_values_before_a_failure() {
    for lanes in [1, 2, 3] {
        let p = move || {
            let fails = fails_at(7);
            pipeline::<u64>().map(|x| *x).shard_by(
                |x| x % 5,
                lanes,
                move |p| {
                    p.scan(0, move |sum, x| {
                        *sum += 1;
                        fails(x)
                    })
                },
            )
        };
        come_first("keys", p, (0..7).collect());
    }
}
