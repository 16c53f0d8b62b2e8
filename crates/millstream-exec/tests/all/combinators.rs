//! Combinators that are made of others, on every deployment as in the model.

use crate::as_the_model::as_the_model;
use millstream_core::{
    Arrow, ChoiceExt, ClockExt, FoldExt, KeysExt, ModelExt, PartsExt, StreamsExt, TryScanExt, Window, WindowsExt,
    pipeline,
};
use millstream_exec::{JobRefExt, Queues, Rings, Runner, source};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

#[test]
fn a_fan_out_without_a_map_collects_flat_tuples() {
    as_the_model!(pipeline::<u64>().fanout3(|p| p, |p| p.map(|x| x * x), |p| p.filter(|x| x % 3 == 0)));
    as_the_model!(pipeline::<u64>().fanout4(|p| p.count(), |p| p.sum(), |p| p.min(), |p| p.max()));
    as_the_model!(pipeline::<u64>().shard(3, |p| p.fanout3(|p| p, |p| p.map(|x| x + 1), |p| p.cloned())));
    as_the_model!(pipeline::<u64>().shard_by(
        |x| x % 3,
        2,
        |p| p.fanout3(
            |p| p,
            |p| p.scan(0, |n, _| {
                *n += 1;
                *n
            }),
            |p| p
        )
    ));
}

#[test]
fn lanes_of_a_partition_are_worked_on_and_merged() {
    let halves = || pipeline::<u64>().partition(|x| x % 3 == 0);
    as_the_model!(halves());
    as_the_model!(halves().merge(|third| third.map(|x| x / 3), |other| other.cloned()));
    as_the_model!(halves().choose(|third| third.filter(|x| x % 2 == 0), |other| other.map(|x| x.to_string())));
    as_the_model!(halves().lefts());
    as_the_model!(pipeline::<u64>().shard(3, |p| p.partition(|x| x % 3 == 0).right(|p| p.map_owned(|x| x + 1))));
    as_the_model!(pipeline::<u64>().filter(|x| x % 2 == 0).partition(|x| x % 3 == 0).merge(|p| p, |p| p));
    as_the_model!(pipeline::<u64>().sum().partition(|x| x % 2 == 0));
    as_the_model!(pipeline::<u64>().shard_by(|x| x % 4, 2, |p| p.partition(|x| x % 3 == 0)));
}

#[test]
fn folds_after_anything() {
    as_the_model!(pipeline::<u64>().filter(|x| x % 2 == 1).fanout3(|p| p.any(|x| *x > 8), |p| p.last(), |p| p.count()));
    as_the_model!(pipeline::<u64>().fanout(|p| p, |p| p.map(|x| 9 - x % 10)).max());
    as_the_model!(pipeline::<u64>().sum().max());
    as_the_model!(pipeline::<u64>().count_by(|x| x % 4));
    as_the_model!(pipeline::<u64>().map(|x| x.to_string()).group_by(|x| x.len()));
}

/// States that have outputs at END, also where END has a value of its own, and where the input is a pair of rings.
#[test]
fn states_that_finish() {
    fn add(sum: &mut u64, x: &u64) -> u64 {
        *sum += x;
        *sum
    }
    as_the_model!(pipeline::<u64>().scan_finish(1, add, |sum| (sum % 2 == 0).then_some(sum * 10)));
    as_the_model!(pipeline::<u64>().sum().scan_finish(1, add, |_| None));
    as_the_model!(pipeline::<u64>().filter(|x| x % 3 == 0).scan_finish(1, add, Some));
    let pairs = || pipeline::<u64>().fanout(|p| p, |p| p.filter(|x| x % 3 != 1));
    as_the_model!(pairs().scan_finish(
        0,
        |sum, (x, y)| {
            *sum += x * y;
            *sum
        },
        Some
    ));
    as_the_model!(pipeline::<u64>().flat_scan(0, |sum, x| {
        *sum += x;
        vec![*x; (*sum % 4) as usize]
    }));
    as_the_model!(pairs().flat_scan_finish(
        0,
        |sum, (x, _)| {
            *sum += x;
            0..*sum % 5
        },
        |sum| 0..sum % 7
    ));
    as_the_model!(pipeline::<u64>().shard(2, |p| p.map(|x| x * 7 % 31)).top_n(4));
}

/// The results of two stages with windows are joined by number.
#[test]
fn folded_windows_are_joined() {
    let count = |n: &mut u64, _: &u64| *n += 1;
    let hours = Window::tumbling(6);
    as_the_model!(pipeline::<u64>().fanout(
        move |p| p.fold_windows(hours, |x| *x, 0, count),
        move |p| p.fold_windows_by(|x| x % 3, hours, |x| *x, 0, count)
    ));
    let sessions = Window::session(3).early_every(2).refine_within(5);
    as_the_model!(
        pipeline::<u64>()
            .map(|x| x * 5 % 23)
            .fold_sessions_by(|x| x % 2, sessions, |x| *x, 0, count, |n, later| *n += later)
            .flatten()
    );
}

#[test]
fn a_scan_fails_with_its_number_and_cause() {
    let spend = |left: &mut u64, cost: &u64| {
        *left = left.checked_sub(*cost).ok_or("not enough")?;
        Ok::<_, &str>(*left)
    };
    let p = pipeline::<u64>().try_scan(10, spend).named("spend");
    let on_rings = Rings::new().collect_slots((&p).from(source::ready(0..10))).unwrap_err().to_string();
    assert!(on_rings.contains("spend") && on_rings.contains('5') && on_rings.contains("not enough"), "{on_rings}");
    assert_eq!(Queues::new().collect_slots((&p).from(source::ready(0..10))).unwrap_err().to_string(), on_rings);
    as_the_model!(pipeline::<u64>().try_scan_or_empty(100, spend));
    as_the_model!(pipeline::<u64>().shard_by(|x| x % 3, 2, move |p| p.try_scan_or_empty(30, spend)));
}

/// A value that counts its clones.
#[derive(Debug)]
struct Counted(Arc<AtomicUsize>);

impl Clone for Counted {
    fn clone(&self) -> Self {
        self.0.fetch_add(1, Ordering::Relaxed);
        Counted(self.0.clone())
    }
}

/// What the docs of `map_owned` say of clones.
#[test]
fn an_owned_value_is_cloned_on_rings_and_moved_on_queues() {
    let clones = Arc::new(AtomicUsize::new(0));
    let values = || vec![Counted(clones.clone()), Counted(clones.clone())].into_iter();
    let p = pipeline::<Counted>().map_owned(drop);
    Rings::new().collect_slots((&p).from(values())).unwrap();
    assert_eq!(clones.swap(0, Ordering::Relaxed), 2);
    Queues::new().collect_slots((&p).from(values())).unwrap();
    assert_eq!(clones.swap(0, Ordering::Relaxed), 0);
    p.model(values());
    assert_eq!(clones.load(Ordering::Relaxed), 2);
}
