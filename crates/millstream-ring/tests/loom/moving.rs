//! Rings that move values.

use super::{Alive, Value};
use loom::thread::{spawn, yield_now};
use millstream_ring::{mpsc, spsc};
use std::collections::VecDeque;

#[test]
fn a_sender_and_a_receiver_of_one_slot() {
    loom::model(|| {
        let alive = Alive::new();
        let (mut sender, mut receiver) = spsc::ring::<Value>(1).unwrap();
        let thread = {
            let alive = alive.clone();
            spawn(move || {
                let mut values = (0..2).map(|n| alive.value(n));
                while !matches!(sender.give(&mut values, 1), spsc::Sent::All(_)) {
                    yield_now();
                }
                sender.end();
            })
        };
        let mut next = 0;
        while !receiver.ended() {
            for value in receiver.take(1) {
                assert_eq!(*value.number, next);
                next += 1;
            }
            yield_now();
        }
        assert_eq!(next, 2);
        thread.join().unwrap();
        drop(receiver);
        alive.none();
    });
}

#[test]
fn values_left_in_a_ring_are_dropped_once() {
    loom::model(|| {
        let alive = Alive::new();
        let (mut sender, mut receiver) = spsc::ring::<Value>(2).unwrap();
        let thread = {
            let alive = alive.clone();
            spawn(move || {
                sender.give(&mut (0..2).map(|n| alive.value(n)), 2);
            })
        };
        drop(receiver.take(1).next());
        drop(receiver);
        thread.join().unwrap();
        alive.none();
    });
}

fn give(sender: &mut mpsc::Sender<Value>, alive: &Alive, numbers: &[u64]) {
    for n in numbers {
        let mut value = VecDeque::from([alive.value(*n)]);
        while sender.give(&mut value) == Some(0) {
            yield_now();
        }
    }
}

#[test]
fn two_fill_one_ring() {
    loom::model(|| {
        let alive = Alive::new();
        let (first, mut receiver) = mpsc::ring::<Value>(2).unwrap();
        let threads = [1, 2].map(|id| {
            let (mut sender, alive) = (first.another(id), alive.clone());
            spawn(move || give(&mut sender, &alive, &[u64::from(id)]))
        });
        let mut seen = [false; 3];
        while !(seen[1] && seen[2]) {
            let (id, values) = receiver.take_run(2);
            for value in values {
                assert_eq!(*value.number, u64::from(id));
                assert!(!std::mem::replace(&mut seen[id as usize], true));
            }
            yield_now();
        }
        for thread in threads {
            thread.join().unwrap();
        }
        first.close();
        assert!(receiver.ended());
        drop((first, receiver));
        alive.none();
    });
}

/// A slot is filled again only after it is emptied.
#[test]
fn two_fill_one_slot_by_turns() {
    loom::model(|| {
        let alive = Alive::new();
        let (mut first, mut receiver) = mpsc::ring::<Value>(1).unwrap();
        give(&mut first, &alive, &[0]);
        let thread = {
            let (mut sender, alive) = (first.another(1), alive.clone());
            spawn(move || give(&mut sender, &alive, &[1]))
        };
        for id in 0..2 {
            while !receiver.is_ready() {
                yield_now();
            }
            let (sender, mut values) = receiver.take_run(1);
            let value = values.next().unwrap();
            assert_eq!((sender, *value.number), (id, u64::from(id)));
        }
        thread.join().unwrap();
        drop((first, receiver));
        alive.none();
    });
}

/// Numbers that were claimed before the ring was closed are received, and no others.
#[test]
fn a_ring_is_closed_while_a_sender_sends() {
    loom::model(|| {
        let alive = Alive::new();
        let (first, mut receiver) = mpsc::ring::<Value>(2).unwrap();
        let thread = {
            let (mut sender, alive) = (first.another(1), alive.clone());
            spawn(move || sender.give(&mut VecDeque::from([alive.value(7)])).is_some())
        };
        first.close();
        let mut received = 0;
        while !receiver.ended() {
            received += receiver.take(2).count();
            yield_now();
        }
        assert_eq!(received, usize::from(thread.join().unwrap()));
        drop((first, receiver));
        alive.none();
    });
}
