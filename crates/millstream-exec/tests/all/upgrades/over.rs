//! Upgrades that come too late.

use millstream_core::{Arrow, pipeline};
use millstream_exec::{Counters, JobExt, Rings, Runner, Source, State, UpgradeError, fan_in, sink, source};
use millstream_testkit::within;
use std::sync::{Arc, Mutex};
use std::time::Duration;

#[test]
fn an_upgrade_of_a_run_that_is_over_or_stopped_is_none() {
    let run = Rings::new().start(sums!(0).from(source::ready(0..10)).to(sink::collect())).unwrap();
    while !run.is_finished() {
        std::thread::yield_now();
    }
    let upgrader = run.upgrader();
    for _ in 0..2 {
        assert_eq!(upgrader.upgrade(sums!(1)), Err(UpgradeError::Ended));
    }
    // It keeps nothing of what was asked for.
    let kept: Arc<()> = Arc::default();
    let asks = |when: &str| {
        let add = kept.clone();
        let next = pipeline::<u64>().map(move |x| x + Arc::strong_count(&add) as u64).scan(0_u64, |sum, x| *sum + x);
        assert_eq!(upgrader.upgrade(next.named("sum")), Err(UpgradeError::Ended));
        assert_eq!(Arc::strong_count(&kept), 1, "{when}");
    };
    asks("ended");
    run.wait().unwrap();
    asks("waited for");
    // A stage that does not come to the mark.
    let gate: Arc<Mutex<()>> = Arc::default();
    let (shut, behind) = (gate.lock().unwrap(), gate.clone());
    let (sender, receiver) = source::channel::<u64>(4);
    let stuck = || {
        let behind = behind.clone();
        pipeline::<u64>().map_blocking(move |_| drop(behind.lock()))
    };
    let run = Rings::new().start(stuck().from(receiver).to_each(|_, ()| ())).unwrap();
    sender.send(1).unwrap();
    let stopper = run.stopper();
    let stops = std::thread::spawn(move || stopper.stop_now());
    assert_eq!(run.upgrade(stuck()), Err(UpgradeError::Ended));
    stops.join().unwrap();
    drop(shut);
}

/// It does not wait for what the stages have left to do.
#[test]
fn an_upgrade_after_the_end_of_the_source_is_none() {
    let (sender, receiver) = source::channel::<u64>(4);
    none_after_the_end(receiver, move || {
        sender.send(1).unwrap();
        drop(sender);
    });
    let (senders, poller) = fan_in::<u64>(1).open(&Rings::new()).unwrap();
    none_after_the_end(poller, move || {
        senders[0].send(1).unwrap();
        drop(senders);
    });
}

/// `ends` sends 1, and ends the source.
fn none_after_the_end(source: impl Source<u64> + Send + 'static, ends: impl FnOnce() + Send + 'static) {
    within(Duration::from_secs(60), || {
        let gate: Arc<Mutex<()>> = Arc::default();
        let (shut, behind) = (gate.lock().unwrap(), gate.clone());
        let stuck = pipeline::<u64>().map_blocking(move |x| {
            drop(behind.lock());
            *x
        });
        let run = Rings::new().start(stuck.from(source).to(sink::collect())).unwrap();
        ends();
        let mut counters = Counters::default();
        run.observer().read(&mut counters);
        while counters.source != State::Starved {
            std::thread::yield_now();
            run.observer().read(&mut counters);
        }
        assert_eq!(run.upgrade(pipeline::<u64>().map(|x| *x)), Err(UpgradeError::Ended));
        assert_eq!(run.upgrade(pipeline::<u64>().map(|x| *x)), Err(UpgradeError::Ended), "none is under way");
        drop(shut);
        assert_eq!(run.wait().unwrap().0, [1]);
    })
    .unwrap();
}
