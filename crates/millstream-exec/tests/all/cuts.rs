//! Cuts that are under way at once.

use millstream_core::{Arrow, ClockExt, KeysExt, ModelExt, SequenceNumber, pipeline};
use millstream_exec::{JobRefExt, LaidCut, Rings, Runner, Stopper, sink, source};
use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

/// The numbers of a cut after the first `at` values of [`each_has_its_own_numbers`].
fn numbers(at: u64) -> (SequenceNumber, SequenceNumber) {
    (SequenceNumber(at), SequenceNumber((0..at).map(|x| x % 3).sum()))
}

#[test]
fn each_has_its_own_numbers() {
    let p = pipeline::<u64>().flat_map(|x: &u64| vec![*x; (*x % 3) as usize]).shard_by(
        |x: &u64| x % 5,
        2,
        |p| {
            p.scan(0, |sum, x| {
                *sum += x;
                *sum
            })
        },
    );
    for (workers, ring, most) in [(1, 64, 3), (2, 16, 12), (3, 256, 9)] {
        let (sender, receiver) = source::channel(32);
        let rings = Rings::new().workers(workers).ring(ring);
        let run = rings.start((&p).from(receiver).to(sink::collect())).unwrap();
        let (mut next, mut under_way) = (0_u64, VecDeque::<(u64, LaidCut)>::new());
        for turn in 0..200_u64 {
            // Some are empty, and some are larger than the rings.
            let size = [3, 0, 5, 90, 0, 0, 1, 17][(turn * turn % 8) as usize];
            sender.send_all(next..next + size).unwrap();
            next += size;
            under_way.push_back((next, run.lay_cut().unwrap()));
            if turn % 11 == 0 {
                assert_eq!(run.snapshot().unwrap().at(), SequenceNumber(next), "behind the cuts");
                assert_eq!(run.cut().unwrap(), numbers(next));
            }
            while under_way.len() > most {
                let (at, cut) = under_way.pop_front().unwrap();
                assert_eq!(cut.passed(), Some(numbers(at)), "turn {turn}");
            }
        }
        for (at, cut) in under_way {
            assert_eq!(cut.passed(), Some(numbers(at)));
        }
        drop(sender);
        assert_eq!(run.wait().unwrap().0, p.model(0..next));
    }
}

#[test]
fn eight_do_not_wait_for_a_stage_that_is_at_work() {
    let gate: Arc<Mutex<()>> = Arc::default();
    let (shut, behind) = (gate.lock().unwrap(), gate.clone());
    let stuck = pipeline::<u64>().map_blocking(move |x: &u64| {
        drop(behind.lock());
        *x
    });
    let (sender, receiver) = source::channel(16);
    let run = Rings::new().start(stuck.from(receiver).to(sink::collect())).unwrap();
    let cuts: Vec<LaidCut> = (0..8)
        .map(|x| {
            sender.send(x).unwrap();
            run.lay_cut().unwrap()
        })
        .collect();
    // None of them is passed before this.
    drop(shut);
    let ninth = run.lay_cut().unwrap();
    for (at, cut) in (1..).map(SequenceNumber).zip(cuts) {
        assert_eq!(cut.passed(), Some((at, at)));
    }
    assert_eq!(ninth.passed(), Some((SequenceNumber(8), SequenceNumber(8))));
    drop(sender);
    assert_eq!(run.wait().unwrap().0, (0..8).collect::<Vec<_>>());
}

#[test]
fn a_run_that_is_stopped_passes_none() {
    let gate: Arc<Mutex<()>> = Arc::default();
    let (shut, behind) = (gate.lock().unwrap(), gate.clone());
    let stuck = pipeline::<u64>().map_blocking(move |_| drop(behind.lock()));
    let (sender, receiver) = source::channel(16);
    let run = Rings::new().start(stuck.from(receiver).to_each(|_, ()| ())).unwrap();
    sender.send(1).unwrap();
    let cut = run.lay_cut().unwrap();
    let stopper: Stopper = run.stopper();
    let stops = std::thread::spawn(move || stopper.stop_now());
    assert_eq!(cut.passed(), None);
    stops.join().unwrap();
    drop(shut);
}
