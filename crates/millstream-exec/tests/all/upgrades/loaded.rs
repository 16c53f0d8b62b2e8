//! A run is replaced again and again while its source always has something.

use millstream_core::{Arrow, Bound, KeysExt, ModelExt, SequenceNumber, pipeline};
use millstream_exec::{ChangeReport, JobExt, Pipeline, Rings, Runner, source};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::{spawn, yield_now};
use std::time::Duration;

/// The sum of each of these keys, in this number of lanes, and the version.
fn sums(keys: u64, lanes: usize, version: u64) -> impl Pipeline<u64, (u64, u64)> {
    let add = |sum: &mut u64, x: &u64| {
        *sum += x;
        *sum
    };
    let sums = pipeline::<u64>().shard_by_within(
        Bound::refuse(100),
        move |x| x % keys,
        lanes,
        move |p| p.scan(0, add).named("sums"),
    );
    sums.named("keys").map(move |sum| (*sum, version)).named("versions")
}

/// An output: its number, the sum, and the version.
type Output = (u64, u64, u64);

/// All outputs, the numbers at which the versions began, and the report of each change. The first version has
/// `lanes[0]`. The others begin one after the other, each after some more outputs.
fn replaced(keys: u64, lanes: &[usize]) -> (Vec<Output>, Vec<u64>, Vec<ChangeReport>) {
    let (sender, receiver) = source::channel(64);
    let (seen, over) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(u64::MAX)));
    let sees = seen.clone();
    let collect = move |all: &mut Vec<_>, SequenceNumber(number): SequenceNumber, (sum, version): &(u64, u64)| {
        all.push((number, *sum, *version));
        sees.fetch_add(1, Ordering::Relaxed);
    };
    let run =
        Rings::new().ring(64).batch(16).start(sums(keys, lanes[0], 0).from(receiver).to_fold(Vec::new(), collect));
    let (run, ends) = (run.unwrap(), over.clone());
    let load = spawn(move || {
        (0..).take_while(|x| *x < ends.load(Ordering::Relaxed)).for_each(|x| sender.send(x).unwrap());
    });
    let mut began = Vec::new();
    for (lanes, version) in lanes[1..].iter().zip(1..) {
        let more = seen.load(Ordering::Relaxed) + 200;
        while seen.load(Ordering::Relaxed) < more {
            yield_now();
        }
        began.push(run.upgrade(sums(keys, *lanes, version)).unwrap().0);
    }
    over.store(0, Ordering::Relaxed);
    load.join().unwrap();
    let (all, report) = run.wait().unwrap();
    (all, began, report.changes)
}

/// Each number is in the output once, with the output of one run and the version that has it.
fn assert_whole(keys: u64, (all, began): (&[Output], &[u64])) {
    let model = sums(keys, 1, 0).model(0..all.len() as u64);
    for (((number, sum, version), (expected, _)), at) in all.iter().zip(model).zip(0..) {
        let of = began.iter().filter(|began| **began <= at).count() as u64;
        assert_eq!((*number, *sum, *version), (at, expected, of));
    }
    assert!(began.is_sorted() && began.last().is_some_and(|last| *last <= all.len() as u64), "{began:?}");
}

#[test]
fn no_number_is_lost_or_doubled_and_each_pause_is_reported() {
    let (all, began, changes) = replaced(7, &[2; 21]);
    assert_whole(7, (&all, &began));
    assert!(began[0] >= 200 && began.windows(2).all(|two| two[0] < two[1]), "{began:?}");
    assert_eq!(changes.iter().map(|change| change.at.0).collect::<Vec<_>>(), began);
    for (change, version) in changes.iter().zip(2..) {
        let stages: Vec<_> = change.pauses.iter().map(|pause| &*pause.stage).collect();
        assert_eq!((stages, change.states_moved), (vec!["keys.key-1", "sums", "versions", "sink"], 3));
        let longest = change.longest_pause();
        assert!(longest > Duration::ZERO && longest >= change.switched_in, "{change:?}");
        assert!(change.pauses.iter().all(|pause| pause.pause <= longest), "{change:?}");
        let (at, ms) = (change.at, longest.as_secs_f64() * 1e3);
        let said = format!("version {version} from number {at} on, longest pause {ms:.3} ms, 3 states moved");
        assert_eq!(change.to_string(), said);
    }
}

#[test]
fn a_live_run_goes_to_more_lanes_and_to_fewer() {
    let (all, began, _) = replaced(50, &[1, 4, 2, 7, 1]);
    assert_whole(50, (&all, &began));
}

/// Lanes without a key are idle.
#[test]
fn there_may_be_more_lanes_than_keys() {
    for keys in [1, 3] {
        let (all, began, _) = replaced(keys, &[8, 1, 16, 5]);
        assert_whole(keys, (&all, &began));
    }
}
