//! Rings whose values are handed over.

use super::{Alive, Value};
use loom::thread::{spawn, yield_now};
use millstream_ring::{Given, SharedGiver, moving_ring, shared_ring};
use std::collections::VecDeque;

#[test]
fn a_giver_and_a_taker_of_one_slot() {
    loom::model(|| {
        let alive = Alive::new();
        let (mut giver, mut taker) = moving_ring::<Value>(1).unwrap();
        let thread = {
            let alive = alive.clone();
            spawn(move || {
                let mut values = (0..2).map(|n| alive.value(n));
                while !matches!(giver.give(&mut values, 1), Given::All(_)) {
                    yield_now();
                }
                giver.end();
            })
        };
        let mut next = 0;
        while !taker.ended() {
            for value in taker.take(1) {
                assert_eq!(*value.number, next);
                next += 1;
            }
            yield_now();
        }
        assert_eq!(next, 2);
        thread.join().unwrap();
        drop(taker);
        alive.none();
    });
}

#[test]
fn what_nobody_takes_is_dropped_once() {
    loom::model(|| {
        let alive = Alive::new();
        let (mut giver, mut taker) = moving_ring::<Value>(2).unwrap();
        let thread = {
            let alive = alive.clone();
            spawn(move || {
                giver.give(&mut (0..2).map(|n| alive.value(n)), 2);
            })
        };
        drop(taker.take(1).next());
        drop(taker);
        thread.join().unwrap();
        alive.none();
    });
}

fn give(giver: &mut SharedGiver<Value>, alive: &Alive, numbers: &[u64]) {
    for n in numbers {
        let mut value = VecDeque::from([alive.value(*n)]);
        while giver.give(&mut value) == Some(0) {
            yield_now();
        }
    }
}

#[test]
fn two_fill_one_ring() {
    loom::model(|| {
        let alive = Alive::new();
        let (first, mut taker) = shared_ring::<Value>(2).unwrap();
        let threads = [1, 2].map(|who| {
            let (mut giver, alive) = (first.another(who), alive.clone());
            spawn(move || give(&mut giver, &alive, &[u64::from(who)]))
        });
        let mut seen = [false; 3];
        while !(seen[1] && seen[2]) {
            let (who, values) = taker.take_run(2);
            for value in values {
                assert_eq!(*value.number, u64::from(who));
                assert!(!std::mem::replace(&mut seen[who as usize], true));
            }
            yield_now();
        }
        for thread in threads {
            thread.join().unwrap();
        }
        first.close();
        assert!(taker.ended());
        drop((first, taker));
        alive.none();
    });
}

/// A slot that is filled anew is one that was emptied.
#[test]
fn two_fill_one_slot_by_turns() {
    loom::model(|| {
        let alive = Alive::new();
        let (mut first, mut taker) = shared_ring::<Value>(1).unwrap();
        give(&mut first, &alive, &[0]);
        let thread = {
            let (mut giver, alive) = (first.another(1), alive.clone());
            spawn(move || give(&mut giver, &alive, &[1]))
        };
        for who in 0..2 {
            while !taker.is_ready() {
                yield_now();
            }
            let (giver, mut values) = taker.take_run(1);
            let value = values.next().unwrap();
            assert_eq!((giver, *value.number), (who, u64::from(who)));
        }
        thread.join().unwrap();
        drop((first, taker));
        alive.none();
    });
}

/// What was claimed before the ring was closed comes, and nothing else.
#[test]
fn a_ring_is_closed_while_somebody_gives() {
    loom::model(|| {
        let alive = Alive::new();
        let (first, mut taker) = shared_ring::<Value>(2).unwrap();
        let thread = {
            let (mut giver, alive) = (first.another(1), alive.clone());
            spawn(move || giver.give(&mut VecDeque::from([alive.value(7)])).is_some())
        };
        first.close();
        let mut came = 0;
        while !taker.ended() {
            came += taker.take(2).count();
            yield_now();
        }
        assert_eq!(came, usize::from(thread.join().unwrap()));
        drop((first, taker));
        alive.none();
    });
}
