//! The version that a shadow replaces goes on as the shadow: to cut over again is to roll back.

use super::{number, sums_from};
use millstream_core::{Arrow, KeysExt, ModelExt, PartsExt, pipeline};
use millstream_exec::{JobExt, Pipeline, Rings, Runner, ShadowEnd, Upgrade, UpgradeError, sink, source};
use millstream_testkit::within;
use std::time::Duration;

fn soon<T: Send + 'static>(f: impl FnOnce() -> T + Send + 'static) -> T {
    within(Duration::from_secs(60), f).unwrap()
}

/// Two states of other types than those of the first version.
fn counted() -> impl Pipeline<u64, u64> {
    let add = |(sum, _): &mut (u64, String), x: &u64| {
        *sum += x;
        *sum
    };
    let count = |n: &mut u8, x: &u64| {
        *n = n.wrapping_add(1);
        *x
    };
    pipeline::<u64>().scan((0, String::new()), add).named("sum").scan(0_u8, count).named("count")
}

/// Forth and back, several times, on several workers and in small rings.
#[test]
fn a_run_goes_back_to_the_version_that_was_kept_with_its_own_states() {
    for (workers, ring) in [(1, 256), (2, 4)] {
        soon(move || {
            let (sender, receiver) = source::channel(64);
            let rings = Rings::new().workers(workers).ring(ring);
            let run = rings.start(sums!(0).from(receiver).to(sink::collect())).unwrap();
            sender.send_all(0..10).unwrap();
            let next = Upgrade::to(counted()).migrate("sum", |sum: u64| (sum, "text".to_owned()));
            let mut shadow = run.shadow(next).unwrap();
            for times in 1..=4 {
                let from = times * 10;
                sender.send_all(from..from + 5).unwrap();
                // The first one begins here. The others have agreed on five numbers before.
                let agreed = if times == 1 { 5 } else { 10 };
                assert_eq!(shadow.wait(agreed), Ok(agreed));
                shadow = shadow.cut_over_keeping().unwrap();
                assert_eq!((shadow.at(), shadow.agreed(), shadow.end()), (number(from + 5), 0, None));
                if times % 2 == 0 {
                    assert_eq!(run.upgrade(sums!(1)), Err(UpgradeError::UnderWay), "a shadow runs");
                }
                sender.send_all(from + 5..from + 10).unwrap();
                assert_eq!(shadow.wait(5), Ok(5));
            }
            assert_eq!(shadow.cut_over(), Ok(number(50)));
            assert_eq!(run.snapshot().unwrap().stages().collect::<Vec<_>>(), ["count", "sum"]);
            sender.send_all(50..60).unwrap();
            drop(sender);
            let (all, report) = run.wait().unwrap();
            assert_eq!(all, sums_from(60, 60));
            let changes: Vec<_> = report.changes.iter().map(|change| (change.version, change.at.0)).collect();
            assert_eq!(changes, [(2, 15), (3, 25), (4, 35), (5, 45), (6, 50)]);
            let back = report.changes[1].stages.to_string();
            assert!(back.contains("kept     sum, with its state") && back.ends_with("0 refused\n"), "{back}");
        });
    }
}

/// The shadow that a version is after its own retirement is compared like any other one.
#[test]
fn a_new_version_that_differs_after_a_while_is_found_out() {
    soon(|| {
        let (sender, receiver) = source::channel(16);
        let run = Rings::new().start(sums!(0).from(receiver).to(sink::collect())).unwrap();
        sender.send_all(0..10).unwrap();
        let wrong = pipeline::<u64>().map(|x| *x.min(&15)).then(sums!(0));
        let new = run.shadow(wrong).unwrap();
        sender.send_all(10..13).unwrap();
        let old = new.cut_over_keeping().unwrap();
        sender.send_all(13..17).unwrap();
        let sums = sums_from(17, 17);
        let end = ShadowEnd::Differs {
            stage: "sum".to_owned(),
            number: number(16),
            running: format!("Some({})", sums[16] - 1),
            shadow: format!("Some({})", sums[16]),
        };
        assert_eq!(old.wait(5), Err(end.clone()));
        assert_eq!(old.cut_over(), Err(UpgradeError::Shadow(end)));
        drop(sender);
        assert_eq!(run.wait().unwrap().0.len(), 17);
    });
}

/// Keys, a panic in the version that was kept, and its end by the program: the new one goes on.
#[test]
fn a_version_that_is_kept_may_fail_or_be_dropped() {
    let keyed = |k: usize, fails: u64| {
        let of_key = move |sum: &mut u64, x: &u64| {
            assert!(*x != fails, "fails at {x}");
            *sum += x;
            *sum
        };
        pipeline::<u64>().shard_by(|x| x % 5, k, move |p| p.scan(0_u64, of_key).named("sum")).named("keys")
    };
    for k in [1, 3] {
        soon(move || {
            let (sender, receiver) = source::channel(128);
            let run = Rings::new().workers(2).start(keyed(2, 70).from(receiver).to(sink::collect())).unwrap();
            sender.send_all(0..20).unwrap();
            let new = run.shadow(keyed(k, u64::MAX)).unwrap();
            sender.send_all(20..40).unwrap();
            let old = new.cut_over_keeping().unwrap();
            sender.send_all(40..60).unwrap();
            let again = old.cut_over_keeping().unwrap().cut_over_keeping().unwrap();
            sender.send_all(60..80).unwrap();
            let Err(ShadowEnd::Failed { number: at, .. }) = again.wait(20) else { panic!("{again:?}") };
            assert_eq!(at, Some(number(70)));
            drop(again);
            drop(run.shadow(keyed(2, u64::MAX)).unwrap().cut_over_keeping().unwrap());
            sender.send_all(80..100).unwrap();
            drop(sender);
            assert_eq!(run.wait().unwrap().0, keyed(1, u64::MAX).model(0..100));
        });
    }
}

#[test]
fn a_version_that_writes_outputs_is_not_kept() {
    soon(|| {
        let (sender, receiver) = source::channel(16);
        let writes = sums!(0).tee_to("rows", sink::each(|_, _: &u64| ()));
        let run = Rings::new().start(writes.from(receiver).to(sink::collect())).unwrap();
        sender.send_all(0..10).unwrap();
        let refused = run.shadow(sums!(0)).unwrap().cut_over_keeping().unwrap_err();
        assert!(matches!(refused, UpgradeError::NoShadow(_)), "{refused}");
        assert_eq!(run.refused_changes().len(), 1);
        sender.send_all(10..20).unwrap();
        assert_eq!(run.upgrade(sums!(1)), Ok(number(20)), "the shadow is dropped");
        sender.send_all(20..30).unwrap();
        drop(sender);
        assert_eq!(run.wait().unwrap().0, sums_from(20, 30));
    });
}
