//! Upgrades beside ends, other marks, silent sources and other threads.

use super::{AT, number, sums_from};
use millstream_core::{Arrow, ClockExt, PartsExt, StreamsExt, pipeline};
use millstream_exec::{BoxExt, BoxPipeline, Handle, JobExt, Rings, Runner, UpgradeError, Wait, fan_in, sink, source};
use millstream_testkit::within;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// The stream may end at the number, or before it, while the stages upstream have come to the mark.
#[test]
fn a_take_that_is_done_before_the_mark_ends_the_run() {
    for end in [5, 36, 37, 38] {
        for at in [5, 6, 37] {
            let version = move || {
                pipeline::<u64>()
                    .tee(|p| p.map(|x| *x))
                    .shard(2, |p| p.map(|x| *x))
                    .map_blocking(|x| {
                        std::thread::sleep(Duration::from_micros(50));
                        *x
                    })
                    .take(end)
                    .named("take")
                    .shard(2, |p| p.map(|x| *x))
            };
            let rings = Rings::new().ring(64).batch(64).workers(2).upgrade_at(number(at), version());
            let run = move || rings.collect(version().from(source::ready(0..)));
            assert_eq!(within(Duration::from_secs(30), run), Ok(Ok((0..end as u64).collect())), "take({end}), at {at}");
        }
    }
}

#[test]
fn a_snapshot_and_an_upgrade_at_one_number() {
    let (sender, receiver) = source::channel(16);
    let run = Rings::new().start(sums!(0).from(receiver).to(sink::collect())).unwrap();
    sender.send_all(0..10).unwrap();
    for _ in 0..2 {
        assert_eq!(run.snapshot().unwrap().at(), number(10));
        assert_eq!(run.upgrade(sums!(1)), Ok(number(10)));
    }
    sender.send_all(10..20).unwrap();
    drop(sender);
    let ended = within(Duration::from_secs(30), move || run.wait().unwrap().0);
    assert_eq!(ended, Ok(sums_from(10, 20)));
}

#[test]
fn several_threads_may_upgrade_a_run_whose_source_is_silent() {
    for wait in [Wait::Blocking, Wait::Phased] {
        let (sender, receiver) = source::channel(16);
        let run = Rings::new().wait(wait).start(sums!(0).from(receiver).to(sink::collect())).unwrap();
        sender.send_all(0..10).unwrap();
        let run = Arc::new(run);
        let asks = |snapshots: bool| {
            let run = run.clone();
            std::thread::spawn(move || {
                for _ in 0..50 {
                    let at = if snapshots { Ok(run.snapshot().unwrap().at()) } else { run.upgrade(sums!(0)) };
                    // That of the other thread may be under way.
                    assert!(at == Ok(number(10)) || !snapshots && at == Err(UpgradeError::UnderWay), "{at:?}");
                }
            })
        };
        let threads = [asks(false), asks(true), asks(false)];
        let all = move || threads.into_iter().for_each(|thread| thread.join().unwrap());
        within(Duration::from_secs(60), all).unwrap();
        drop(sender);
        let run = Arc::into_inner(run).unwrap();
        assert_eq!(run.wait().unwrap().0, sums_from(10, 10));
    }
}

#[test]
fn values_sent_before_the_run_have_their_numbers() {
    let (sender, receiver) = source::channel(64);
    sender.send_all(0..50).unwrap();
    drop(sender);
    let rings = Rings::new().upgrade_at(AT, sums!(1));
    assert_eq!(rings.collect(sums!(0).from(receiver)), Ok(sums_from(AT.0, 50)));
}

/// With an upgrade at END the new pipeline yields END's value, whatever the source is. An upgrade after END does not
/// take place, so the old one does.
#[test]
fn an_upgrade_at_end_lets_the_new_pipeline_speak() {
    let last = |plus: u64| pipeline::<u64>().fold(0, |sum, x| *sum += x, move |sum| sum + plus).named("sum");
    for (at, plus) in [(9, 1), (10, 1), (11, 0)] {
        let rings = Rings::new().batch(4).upgrade_at(number(at), last(1));
        assert_eq!(rings.last(last(0).from(source::ready(0..10))), Ok(Some(45 + plus)), "at {at}");
        assert_eq!(rings.last(last(0).from(0..10)), Ok(Some(45 + plus)), "at {at}, by a thread");
        let (mut senders, poller) = fan_in::<u64>(1).open(&Rings::new()).unwrap();
        let sender = senders.remove(0);
        let feeding = std::thread::spawn(move || sender.send_all(0..10).unwrap());
        assert_eq!(rings.last(last(0).from(poller)), Ok(Some(45 + plus)), "at {at}, by a producer");
        feeding.join().unwrap();
    }
}

/// The running sums, which every consumer of the list gets, too.
fn with_consumers(consumers: &[(&'static str, Arc<Mutex<Vec<u64>>>)]) -> BoxPipeline<u64, u64> {
    let mut p: BoxPipeline<u64, u64> = sums!(0).boxed();
    for (name, got) in consumers {
        let got = got.clone();
        p = p.tee_to(*name, sink::each(move |_, x: &u64| got.lock().unwrap().push(*x))).boxed();
    }
    p
}

/// What a program learns from its configuration is no part of a type.
#[test]
fn consumers_chosen_at_run_time_join_and_leave_a_run_at_a_number() {
    let all = ["log", "alarm", "copy"].map(|name| (name, Arc::<Mutex<Vec<u64>>>::default()));
    let (sender, receiver) = source::channel(16);
    let run = Rings::new().start(with_consumers(&all[..1]).from(receiver).to(sink::collect())).unwrap();
    sender.send_all(0..10).unwrap();
    assert_eq!(run.upgrade(with_consumers(&all)), Ok(number(10)));
    sender.send_all(10..20).unwrap();
    assert_eq!(run.upgrade(with_consumers(&all[1..])), Ok(number(20)));
    sender.send_all(20..30).unwrap();
    drop(sender);
    let sums = run.wait().unwrap().0;
    assert_eq!(sums, sums_from(30, 30));
    for ((name, got), range) in all.iter().zip([0..20, 10..30, 10..30]) {
        assert_eq!(*got.lock().unwrap(), sums[range], "{name}");
    }
}

#[test]
fn an_output_that_would_skip_numbers_is_refused() {
    let twice = |x: &u64| [*x, *x];
    let thrice = |x: &u64| [*x, *x, *x];
    let (sender, receiver) = source::channel(16);
    let old = pipeline::<u64>().flat_map(twice).named("a").flat_map(thrice).named("b");
    let run = Rings::new().start(old.from(receiver).to(sink::collect())).unwrap();
    sender.send_all(0..3).unwrap();
    let swapped = pipeline::<u64>().flat_map(twice).named("b").flat_map(thrice).named("a");
    let refused = run.upgrade(swapped).unwrap_err().to_string();
    assert!(
        refused.contains("the sink gets number 18 next, and the output of the new pipeline would begin at 6"),
        "{refused}"
    );
    sender.send(3).unwrap();
    drop(sender);
    assert_eq!(run.wait().unwrap().0.len(), 24);
}

#[test]
fn a_closure_of_the_run_cannot_wait_for_its_upgrade() {
    type Slot = Arc<Mutex<Option<Handle<()>>>>;
    let slot: Slot = Arc::default();
    let inner = slot.clone();
    let p = pipeline::<u64>().map(move |_| {
        let handle = loop {
            if let Some(handle) = inner.lock().unwrap().take() {
                break handle;
            }
            std::thread::yield_now();
        };
        let upgraded = catch_unwind(AssertUnwindSafe(|| handle.upgrade(pipeline::<u64>().map(|_| ()))));
        assert!(upgraded.is_err());
        *inner.lock().unwrap() = Some(handle);
    });
    let run = Rings::new().start(p.from(source::ready(0..1)).to_each(|_, ()| ())).unwrap();
    let stopper = run.observer();
    *slot.lock().unwrap() = Some(run);
    within(Duration::from_secs(30), move || {
        while !stopper.is_finished() {
            std::thread::yield_now()
        }
    })
    .unwrap();
    drop(slot.lock().unwrap().take());
}

/// A run may go on for months, and change every minute.
#[test]
fn the_last_64_changes_are_kept() {
    let (sender, receiver) = source::channel(4);
    let run = Rings::new().start(sums!(0).from(receiver).to(sink::collect())).unwrap();
    for _ in 0..70 {
        run.upgrade(sums!(0)).unwrap();
    }
    let versions: Vec<_> = run.changes().iter().map(|change| change.version).collect();
    assert_eq!(versions, (8..=71).collect::<Vec<_>>());
    sender.send(1).unwrap();
    drop(sender);
    assert_eq!(run.wait().unwrap().0, [1]);
}
