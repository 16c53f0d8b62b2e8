//! What is left of a shadow that is over: nothing that the run, its next change or its report has to do with.

use super::{number, sums_from};
use millstream_core::{Arrow, Retry, SequenceNumber, TryMapExt, pipeline};
use millstream_exec::{JobExt, Rings, Runner, Shadow, ShadowEnd, Upgrade, UpgradeError, sink, source};
use millstream_testkit::within;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

fn soon<T: Send + 'static>(f: impl FnOnce() -> T + Send + 'static) -> T {
    within(Duration::from_secs(60), f).unwrap()
}

/// A closure that tells that it was called, and returns only when the other end of `go_on` is dropped.
fn hangs(called: Sender<()>, go_on: Receiver<()>) -> impl Fn(&u64) -> u64 + Send + Sync {
    let go_on = Mutex::new(go_on);
    move |x: &u64| {
        let _ = called.send(());
        let _ = go_on.lock().unwrap().recv();
        *x
    }
}

/// The program drops a shadow whose closure does not return.
#[test]
fn a_run_is_upgraded_whatever_the_closures_of_a_dropped_shadow_do() {
    soon(|| {
        let (calls, called) = channel();
        let (returns, go_on) = channel();
        // The closure has a value of the source's ring, which has room for all that comes meanwhile.
        let (sender, receiver) = source::channel(64);
        let run = Rings::new().workers(2).start(sums!(0).from(receiver).to(sink::collect())).unwrap();
        sender.send_all(0..10).unwrap();
        let stuck = pipeline::<u64>().map_blocking(hangs(calls, go_on));
        let shadow = run.shadow(stuck.named("hangs").then(sums!(0))).unwrap();
        sender.send(10).unwrap();
        called.recv().unwrap();
        drop(shadow);
        sender.send_all(11..20).unwrap();
        assert_eq!(run.upgrade(sums!(1)), Ok(number(20)));
        sender.send_all(20..25).unwrap();
        // A change that is refused when its version is wired, and a next shadow.
        let refused = run.upgrade(Upgrade::to(sums!(1)).migrate("sum", |_: u64| -> u64 { panic!() }));
        assert!(matches!(refused, Err(UpgradeError::State(_))), "{refused:?}");
        let next = run.shadow(sums!(1)).unwrap();
        sender.send_all(25..30).unwrap();
        assert_eq!(next.wait(5), Ok(5));
        assert_eq!(next.cut_over(), Ok(number(30)));
        sender.send_all(30..32).unwrap();
        drop(returns);
        drop(sender);
        let (all, report) = run.wait().unwrap();
        assert_eq!(all, sums_from(20, 32));
        assert!(report.stages.iter().all(|stage| stage.name != "hangs"), "{:?}", report.stages);
    });
}

/// In whatever way they end: their tasklets leave the run, with what they have worked.
#[test]
fn shadows_that_are_over_leave_the_run() {
    soon(|| {
        let (sender, receiver) = source::channel(16);
        let run = Rings::new().workers(2).start(sums!(0).from(receiver).to(sink::collect())).unwrap();
        let mut sent = 0..;
        for _ in 0..10 {
            let blocking = pipeline::<u64>().map_blocking(|x: &u64| *x).named("apart");
            let dropped = run.shadow(blocking.then(sums!(0))).unwrap();
            sender.send_all(sent.by_ref().take(5)).unwrap();
            assert_eq!(dropped.wait(5), Ok(5));
            drop(dropped);
            let differs = run.shadow(sums!(1)).unwrap();
            sender.send_all(sent.by_ref().take(5)).unwrap();
            assert!(matches!(differs.wait(5), Err(ShadowEnd::Differs { .. })));
            let fails = pipeline::<u64>().map(|x: &u64| if *x > 0 { panic!("{x}") } else { *x }).named("fails");
            let fails = run.shadow(fails.then(sums!(0))).unwrap();
            sender.send_all(sent.by_ref().take(5)).unwrap();
            assert!(matches!(fails.wait(5), Err(ShadowEnd::Failed { .. })));
        }
        let stopper = run.stopper();
        let since = Instant::now();
        let stages = || stopper.unfinished().into_iter().map(|stage| stage.stage).collect::<Vec<_>>();
        while stages().iter().any(|stage| ["apart", "fails", "compare"].contains(&&**stage)) {
            assert!(since.elapsed() < Duration::from_secs(30), "{:?} go on", stages());
            std::thread::yield_now();
        }
        drop(sender);
        let (all, report) = run.wait().unwrap();
        assert_eq!(all, sums_from(u64::MAX, 150));
        let rows: Vec<_> = report.stages.iter().map(|stage| (&*stage.name, stage.moved)).collect();
        assert_eq!(rows, [("source", 151), ("map-1", 151), ("sum", 151), ("sink", 151)]);
        assert_eq!(report.tasklets, 3);
    });
}

/// The last values of a shadow are dropped while the run goes on, and the shadow is still there.
#[test]
fn a_shadow_that_is_over_keeps_no_values() {
    soon(|| {
        let alive = Arc::new(());
        let held = alive.clone();
        let (sender, receiver) = source::channel(16);
        let run = Rings::new().workers(2).start(sums!(0).from(receiver).to(sink::collect())).unwrap();
        let keeps = pipeline::<u64>().map(move |x: &u64| x + Arc::strong_count(&held) as u64);
        let differs = run.shadow(keeps.then(sums!(0))).unwrap();
        sender.send_all(0..5).unwrap();
        assert!(differs.wait(5).is_err());
        let since = Instant::now();
        while Arc::strong_count(&alive) > 1 {
            assert!(since.elapsed() < Duration::from_secs(30), "it is still held");
            std::thread::yield_now();
        }
        drop((differs, sender));
        assert_eq!(run.wait().unwrap().0, sums_from(u64::MAX, 5));
    });
}

/// Its drop panics.
struct Bomb;

impl Drop for Bomb {
    fn drop(&mut self) {
        resume_unwind(Box::new("boom"));
    }
}

#[test]
fn a_shadow_whose_closure_panics_in_its_drop_leaves_the_run_alone() {
    for fails in [false, true] {
        soon(move || {
            let (sender, receiver) = source::channel(16);
            let run = Rings::new().workers(2).start(sums!(0).from(receiver).to(sink::collect())).unwrap();
            sender.send_all(0..10).unwrap();
            let bomb = Bomb;
            let holds = pipeline::<u64>().map(move |x: &u64| {
                let _held = &bomb;
                assert!(!fails || *x < 12, "no room for {x}");
                *x
            });
            let shadow = run.shadow(holds.named("holds").then(sums!(0))).unwrap();
            sender.send_all(10..15).unwrap();
            match shadow.wait(5) {
                Ok(agreed) => assert!(!fails && agreed == 5),
                Err(end) => assert!(fails && matches!(end, ShadowEnd::Failed { .. }), "{end}"),
            }
            drop(shadow);
            let stopper = run.stopper();
            while stopper.unfinished().iter().any(|stage| stage.stage == "holds") {
                std::thread::yield_now();
            }
            sender.send_all(15..20).unwrap();
            assert_eq!(run.upgrade(sums!(1)), Ok(number(20)));
            sender.send_all(20..25).unwrap();
            drop(sender);
            assert_eq!(run.wait().unwrap().0, sums_from(20, 25));
        });
    }
}

/// A stage of it waits an hour before it tries again.
#[test]
fn a_shadow_that_is_over_ends_its_pause_and_a_pause_that_is_given_up_is_no_failure() {
    for stops in [false, true] {
        soon(move || {
            let (calls, called) = channel();
            let retry = Retry::times(1).backoff(Duration::from_secs(3600));
            let busy = pipeline::<u64>().try_map_retry(retry, move |_| {
                let _ = calls.send(());
                Err::<u64, _>("busy")
            });
            let (sender, receiver) = source::channel(16);
            let run = Rings::new().workers(2).start(sums!(0).from(receiver).to(sink::collect())).unwrap();
            let shadow = run.shadow(busy.then(sums!(0))).unwrap();
            sender.send(0).unwrap();
            called.recv().unwrap();
            if stops {
                run.stop_now().unwrap();
                assert_eq!(shadow.end(), None);
                return;
            }
            drop(shadow);
            // More than the source's ring has room for.
            sender.send_all(1..40).unwrap();
            drop(sender);
            assert_eq!(run.wait().unwrap().0, sums_from(u64::MAX, 40));
        });
    }
}

#[test]
fn a_closure_of_the_run_cannot_wait_for_a_shadow() {
    soon(|| {
        let slot: Arc<Mutex<Option<Shadow>>> = Arc::default();
        let inner = slot.clone();
        let waits = sink::each(move |_: SequenceNumber, _: &u64| {
            let shadow = loop {
                if let Some(shadow) = inner.lock().unwrap().take() {
                    break shadow;
                }
                std::thread::yield_now();
            };
            assert!(catch_unwind(AssertUnwindSafe(|| shadow.wait(1))).is_err());
        });
        let (sender, receiver) = source::channel(16);
        let run = Rings::new().workers(1).start(sums!(0).from(receiver).to(waits)).unwrap();
        *slot.lock().unwrap() = Some(run.shadow(sums!(0)).unwrap());
        sender.send(0).unwrap();
        drop(sender);
        run.wait().unwrap();
    });
}
