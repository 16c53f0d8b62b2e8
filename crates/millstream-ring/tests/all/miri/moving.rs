//! Rings that move values.

use super::{CASES, NUMBERS, none_left, random_ops};
use crate::support::{Counted, Tally, moving};
use millstream_ring::{mpsc, spsc};
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Mutex;
use std::thread::{scope, yield_now};

#[test]
fn random_operations_on_rings_that_move_values() {
    for seed in 0..CASES {
        let ops = random_ops(seed, 60);
        moving::run(1 << (seed % 4), &ops, seed % 2 == 0);
        moving::run_shared(1 << (seed % 4), 1 + seed as usize % 3, &ops);
    }
}

#[test]
fn a_forgotten_iterator_returns_no_value_twice() {
    static DROPPED: Mutex<Vec<u64>> = Mutex::new(Vec::new());
    // Its leaks are not reported.
    struct Value(u64);
    impl Drop for Value {
        fn drop(&mut self) {
            DROPPED.lock().unwrap().push(self.0);
        }
    }
    let (mut sender, mut receiver) = spsc::ring::<Value>(4).unwrap();
    sender.give(&mut (0..4).map(Value), 4);
    let mut taken = receiver.take(3);
    assert_eq!(taken.next().map(|value| value.0), Some(0));
    // Of the three values lent, two leak, and there is no room yet.
    std::mem::forget(taken);
    assert_eq!((sender.free(), receiver.ready()), (0, 1));
    assert_eq!(receiver.take(3).map(|value| value.0).collect::<Vec<_>>(), [3]);
    assert_eq!(sender.free(), 4);
    drop((sender, receiver));
    assert_eq!(*DROPPED.lock().unwrap(), [0, 3]);
}

/// Values that may not show are returned, around the storage's end, and are dropped once; also if the iterator panics.
#[test]
fn refused_values_are_returned_once() {
    let tally = Tally::default();
    let (mut sender, mut receiver) = spsc::ring::<Counted>(4).unwrap();
    sender.give(&mut (0..3).map(|n| tally.value(n)), 3);
    assert_eq!(receiver.take(3).map(|value| value.number).collect::<Vec<_>>(), [0, 1, 2]);
    let refused = sender.give_if(&mut (3..6).map(|n| tally.value(n)), 4, || false).unwrap_err();
    assert_eq!(refused.iter().map(|value| value.number).collect::<Vec<_>>(), [3, 4, 5]);
    assert_eq!((sender.given(), sender.free(), receiver.ready()), (3, 4, 0));
    let mut panicking = (6..9).map(|n| if n == 8 { resume_unwind(Box::new("meant to panic")) } else { tally.value(n) });
    let give = || sender.give_if(&mut panicking, 4, || false).map(drop).map_err(drop);
    assert!(catch_unwind(AssertUnwindSafe(give)).is_err());
    assert_eq!(sender.give_if(&mut refused.into_iter(), 4, || true).map_err(drop), Ok(spsc::Sent::All(3)));
    assert_eq!(receiver.take(4).chain([]).map(|value| value.number).collect::<Vec<_>>(), [3]);
    drop((sender, receiver));
    none_left(&tally);
}

#[test]
fn values_move_to_another_thread() {
    let tally = Tally::default();
    let (mut sender, mut receiver) = spsc::ring::<Counted>(4).unwrap();
    scope(|scope| {
        scope.spawn(|| {
            let mut values = (0..NUMBERS).map(|n| tally.value(n));
            while !matches!(sender.give(&mut values, 3), spsc::Sent::All(_)) {
                yield_now();
            }
            sender.end();
        });
        let mut next = 0;
        while !receiver.ended() {
            for value in receiver.take(3) {
                assert_eq!(value.number, next);
                next += 1;
            }
            yield_now();
        }
        assert_eq!(next, NUMBERS);
    });
    none_left(&tally);
}

#[test]
fn three_fill_one_ring_on_threads() {
    let tally = Tally::default();
    let (first, mut receiver) = mpsc::ring::<Counted>(4).unwrap();
    scope(|scope| {
        let threads: Vec<_> = (0..3).map(|id| (id, first.another(id), tally.clone())).collect();
        let threads: Vec<_> = threads
            .into_iter()
            .map(|(_, mut sender, tally)| {
                scope.spawn(move || {
                    let mut numbers = 0..NUMBERS;
                    let mut values = VecDeque::new();
                    while !(numbers.is_empty() && values.is_empty()) {
                        values.extend(numbers.by_ref().take(2).map(|n| tally.value(n)));
                        sender.give(&mut values).unwrap();
                        yield_now();
                    }
                })
            })
            .collect();
        let mut next = [0; 3];
        let mut left = Some(threads);
        while !receiver.ended() {
            let (id, run) = receiver.take_run(3);
            for value in run {
                assert_eq!(value.number, next[id as usize]);
                next[id as usize] += 1;
            }
            if left.as_ref().is_some_and(|threads| threads.iter().all(|thread| thread.is_finished())) {
                left = None;
                first.close();
            }
            yield_now();
        }
        assert_eq!(next, [NUMBERS; 3]);
    });
    none_left(&tally);
}

#[test]
fn slices_are_copied_around_the_end_of_the_ring() {
    let (mut sender, mut receiver) = spsc::ring(8).unwrap();
    let values: Vec<(u64, u8)> = (0..40).map(|n| (n, n as u8)).collect();
    let (mut left, mut taken) = (&values[..], Vec::new());
    while taken.len() < values.len() {
        match sender.give_slice(&left[..left.len().min(5)]) {
            spsc::Sent::Some(n) | spsc::Sent::All(n) => left = &left[n..],
            spsc::Sent::Full => (),
            spsc::Sent::Ended => unreachable!("it has not ended"),
        }
        taken.extend(receiver.take(3));
    }
    assert_eq!(taken, values);
    sender.end();
    assert_eq!(sender.give_slice(&values), spsc::Sent::Ended);
}
