//! Views of slots through a closure, as `Option`s, and of two edges, while the rings are written.

use super::{end, publish, read_to_end};
use loom::thread::{spawn, yield_now};
use millstream_core::{Dense, ShownBy, Sparse};
use millstream_ring::ring;

/// A part of one ring, and where it is empty another one: each is read while it is written, and released.
#[test]
fn a_part_and_otherwise_another_ring() {
    loom::model(|| {
        let (mut p, a) = ring::<(u64, u64), Sparse>(1).unwrap();
        let (mut q, b) = ring::<u64, Dense>(2).unwrap();
        let first = spawn(move || {
            (0..2).for_each(|_| publish(&mut p, |n| (n == 0).then_some((9, n))));
            end(&mut p);
        });
        let part = a.part::<u64, _>(std::sync::Arc::new(ShownBy::new(|pair: &(u64, u64)| &pair.1)));
        let mut either = part.otherwise(b);
        (0..2).for_each(|_| publish(&mut q, |n| n));
        end(&mut q);
        read_to_end(&mut either, 2, |n| *n);
        first.join().unwrap();
    });
}

#[test]
fn every_slot_as_an_option() {
    loom::model(|| {
        let (mut producer, reader) = ring::<u64, Sparse>(1).unwrap();
        let mut every = reader.maybe();
        let writing = spawn(move || {
            (0..2).for_each(|_| publish(&mut producer, |n| (n == 1).then_some(n)));
            end(&mut producer);
        });
        let mut number = 0;
        while number < 2 {
            match every.batch(2) {
                Some(batch) => batch.iter().for_each(|slot| {
                    assert_eq!(slot, Some((number == 1).then_some(&1)));
                    number += 1;
                }),
                None => yield_now(),
            }
        }
        writing.join().unwrap();
    });
}
