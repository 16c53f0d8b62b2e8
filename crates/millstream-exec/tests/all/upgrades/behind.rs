//! The snapshot that an upgrade leaves at its own number.

use super::{number, sums_from};
use millstream_core::{Arrow, KeysExt, SequenceNumber, pipeline};
use millstream_exec::{JobExt, Rings, RunError, Runner, Snapshot, Upgrade, UpgradeError, sink, source};
use millstream_testkit::within;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// The sums of a run that went on from a snapshot.
fn rest(snapshot: Snapshot, n: u64) -> Vec<u64> {
    let at = snapshot.at().0;
    Rings::new().resume(snapshot).collect(sums!(1).from(source::ready(at..n))).unwrap()
}

/// The source is far ahead of the change, or at END.
#[test]
fn the_snapshot_is_at_the_number_of_the_change() {
    for (ring, n) in [(1, 50_000), (16, 50_000), (256, 50_000), (16, 40), (16, 39)] {
        within(Duration::from_secs(60), move || {
            let (sender, receiver) = source::channel(8);
            let got: Arc<Mutex<Vec<u64>>> = Arc::default();
            let gets = got.clone();
            let sink = sink::each(move |_: SequenceNumber, sum: &u64| gets.lock().unwrap().push(*sum));
            let run = Rings::new().ring(ring).start(sums!(0).from(receiver).to(sink)).unwrap();
            let sends = std::thread::spawn(move || sender.send_all(0..n).unwrap());
            while got.lock().unwrap().len() < 30 {
                std::thread::sleep(Duration::from_millis(1));
            }
            let before = run.snapshot().map_or(0, |snapshot| snapshot.mark());
            let (called, had) = (Arc::new(AtomicU64::new(u64::MAX)), got.clone());
            let calls = called.clone();
            let begins = move |SequenceNumber(at)| {
                assert_eq!(had.lock().unwrap().len() as u64, at, "the sink has all that is below");
                calls.store(at, Ordering::Relaxed);
            };
            let changed = run.upgrader().upgrade_and_snapshot(sums!(1), begins);
            sends.join().unwrap();
            run.wait().unwrap();
            let (all, called) = (got.lock().unwrap().clone(), called.load(Ordering::Relaxed));
            match changed {
                Ok((at, snapshot)) => {
                    let snapshot = snapshot.expect("the run has not failed");
                    assert_eq!((snapshot.at(), snapshot.output_at(), called), (at, Some(at), at.0));
                    assert!(snapshot.mark() > before);
                    assert_eq!(snapshot.numbers().filter(|(stage, _)| *stage == "sum").count(), 1);
                    assert_eq!(all, sums_from(at.0, n));
                    assert_eq!(rest(snapshot, n), all[at.0 as usize..]);
                }
                // A short stream may be over.
                Err(error) => assert!(n < 100 && called == u64::MAX, "{error}"),
            }
        })
        .unwrap();
    }
}

#[test]
fn a_change_that_is_refused_leaves_none_and_calls_nothing() {
    let (sender, receiver) = source::channel(8);
    let run = Rings::new().start(sums!(0).from(receiver).to(sink::collect())).unwrap();
    sender.send_all(0..10).unwrap();
    let upgrader = run.upgrader();
    let begins = |_| panic!("it does not begin");
    let panics = Upgrade::to(sums!(1)).migrate("sum", |sum: u64| if sum < 1 << 40 { panic!("no") } else { sum });
    let refused = upgrader.upgrade_and_snapshot(panics, begins).unwrap_err();
    assert!(matches!(refused, UpgradeError::State(_)), "{refused}");
    let lost = upgrader.upgrade_and_snapshot(pipeline::<u64>().map(|x| *x), begins).unwrap_err();
    assert!(matches!(lost, UpgradeError::Check(_)), "{lost}");
    let tried = upgrader.upgrade_and_snapshot(Upgrade::to(sums!(1)).tried(3), begins).unwrap_err();
    assert!(matches!(tried, UpgradeError::NoShadow(_)), "{tried}");
    // Nothing is in the way of what follows.
    assert_eq!(run.snapshot().unwrap().at(), number(10));
    let (at, snapshot) = upgrader.upgrade_and_snapshot(sums!(1), |_| ()).unwrap();
    assert_eq!((at, snapshot.map(|snapshot| snapshot.at())), (number(10), Some(number(10))));
    sender.send_all(10..20).unwrap();
    drop(sender);
    assert_eq!(run.wait().unwrap().0, sums_from(10, 20));
}

#[test]
fn a_function_that_panics_when_the_version_begins_fails_the_run_and_the_version_has_begun() {
    let (sender, receiver) = source::channel(16);
    let run = Rings::new().start(sums!(0).from(receiver).to(sink::collect())).unwrap();
    sender.send_all(0..10).unwrap();
    // The run may have failed by the time at which this thread looks.
    let changed = run.upgrader().upgrade_and_snapshot(sums!(1), |_| panic!("disk"));
    assert!(matches!(changed, Ok((_, None)) | Err(UpgradeError::Ended)), "{changed:?}");
    let ended = run.join();
    let failure = ended.failure.unwrap();
    assert_eq!(failure, RunError::Upgrade(UpgradeError::Begins("panicked: disk".to_owned())));
    let text = "the pipeline was replaced, and the function that is called then panicked: disk";
    assert!(failure.to_string().ends_with(text), "{failure}");
    assert_eq!(ended.report.changes.iter().map(|change| change.at).collect::<Vec<_>>(), [number(10)]);
}

/// A sum that can be cloned until it is `held`, or while it is 0, as that with which a key begins.
struct Sum {
    sum: u64,
    held: Arc<AtomicBool>,
}

impl Clone for Sum {
    fn clone(&self) -> Self {
        assert!(self.sum == 0 || !self.held.load(Ordering::Relaxed), "the sum is held");
        Sum { sum: self.sum, held: self.held.clone() }
    }
}

/// The keys change their lanes while a snapshot has their states, so these are cloned. The old version has lost some
/// of them when that fails.
#[test]
fn a_state_that_cannot_be_cloned_for_the_snapshot_ends_the_run_and_says_why() {
    let held = Arc::new(AtomicBool::new(false));
    let of_keys = held.clone();
    let sums = move |k| {
        let start = Sum { sum: 0, held: of_keys.clone() };
        let add = |sum: &mut Sum, x: &u64| {
            sum.sum += x;
            sum.sum
        };
        pipeline::<u64>().shard_by(|x| x % 16, k, move |p| p.scan(start, add).named("sum")).named("keys")
    };
    let (sender, receiver) = source::channel(64);
    let run = Rings::new().start(sums(1).from(receiver).to(sink::collect())).unwrap();
    sender.send_all(0..64).unwrap();
    let snapshot = run.snapshot().unwrap();
    assert_eq!(snapshot.at(), number(64));
    held.store(true, Ordering::Relaxed);
    let begins = |_| panic!("it does not begin");
    let (changed, failure) = within(Duration::from_secs(60), move || {
        let changed = run.upgrader().upgrade_and_snapshot(sums(4), begins).map(|(at, _)| at);
        (changed, run.join().failure.unwrap())
    })
    .unwrap();
    drop(snapshot);
    let RunError::Upgrade(error) = &failure else { panic!("{failure}") };
    assert!(changed.as_ref().is_err_and(|changed| changed == error || *changed == UpgradeError::Ended), "{changed:?}");
    let text = "stage \"sum\" has states that cannot be cloned: user code panicked: the sum is held";
    assert!(error.to_string().ends_with(text), "{error}");
}
