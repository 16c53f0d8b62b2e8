//! Edges whose shape is known only at run time.

use millstream_core::{AnyEdge, AtEnd, Dense, Density, ItemShape, Sparse, Val, lens};
use millstream_ring::{Last, Producer, Reader, RingLayout, ring};
use std::sync::Arc;

type Item = Arc<u64>;

fn publish<S: Send + Sync + 'static>(producer: &mut Producer<S>, slots: impl IntoIterator<Item = S>) {
    for slot in slots {
        let mut claim = producer.try_claim(1).unwrap().unwrap();
        claim.write(slot);
        claim.publish();
    }
}

fn of<D: Density>(slots: impl IntoIterator<Item = Option<u64>>) -> Reader<Val<Item, D>> {
    let (mut producer, reader) = ring::<Item, D>(8).unwrap();
    publish(&mut producer, slots.into_iter().map(|slot| D::pack(slot.map(Arc::new))));
    assert!(producer.try_end(None).is_ok());
    reader
}

fn mask(kept: [bool; 6]) -> Reader<Val<bool, Dense>> {
    let (mut producer, reader) = ring::<bool, Dense>(8).unwrap();
    publish(&mut producer, kept);
    assert!(producer.try_end(None).is_ok());
    reader
}

/// The same slots, one by one, in batches and in each kind of loop, also by a fork and by a reader that has lost its
/// shape twice.
#[track_caller]
fn lends<F: RingLayout + ItemShape<Item = Item>>(edge: Reader<F>, expected: [Option<u64>; 6]) {
    fn each(edge: &mut Reader<AnyEdge<Item>>, max: usize) -> Vec<Option<u64>> {
        let mut all = Vec::new();
        while let Some(batch) = edge.batch(max) {
            all.extend(batch.iter().map(|slot| slot.map(|item| **item)));
        }
        assert!(edge.end().unwrap().value().is_none());
        all
    }
    let mut edge = edge.any_edge();
    let (mut fork, mut values) = (edge.fork(), edge.fork().any_edge());
    let (mut slots, mut mapped) = (edge.fork(), edge.fork());
    assert_eq!(each(&mut edge, 4), expected);
    drop(edge);
    assert_eq!(each(&mut fork, 1), expected);
    let mut all = Vec::new();
    values.batch(8).unwrap().for_each_value(&mut all, |all, number, item| all.push((number.0, **item)));
    let filled = (0..).zip(expected).filter_map(|(number, slot)| Some((number, slot?)));
    assert_eq!(all, filled.collect::<Vec<_>>());
    let mut all = Vec::new();
    slots.batch(8).unwrap().for_each(&mut all, |all, _, slot| all.push(slot.map(|item| **item)));
    assert_eq!(all, expected);
    let (mut producer, mut copies) = ring::<u64, Sparse>(8).unwrap();
    let mut claim = producer.try_claim(6).unwrap().unwrap();
    mapped.batch(8).unwrap().map_into(&mut claim, &mut (), |(), _, slot| slot.map(|item| **item));
    claim.publish();
    assert_eq!(copies.batch(8).unwrap().iter().map(Option::<&u64>::copied).collect::<Vec<_>>(), expected);
}

const ALL: [Option<u64>; 6] = [Some(0), Some(1), Some(2), Some(3), Some(4), Some(5)];
const SOME: [Option<u64>; 6] = [Some(0), None, Some(2), None, None, Some(5)];
const KEPT: [bool; 6] = [true, true, false, false, true, true];

/// `slots` with a mask.
fn masked(slots: [Option<u64>; 6], kept: [bool; 6]) -> [Option<u64>; 6] {
    std::array::from_fn(|n| slots[n].filter(|_| kept[n]))
}

#[test]
fn an_edge_of_any_shape_lends_what_the_edge_does() {
    lends(of::<Dense>(ALL), ALL);
    lends(of::<Sparse>(SOME), SOME);
    lends(of::<AtEnd>([None; 6]), [None; 6]);
    lends(of::<Dense>(ALL).masked(mask(KEPT)), masked(ALL, KEPT));
    lends(of::<Sparse>(SOME).masked(mask(KEPT)), masked(SOME, KEPT));
    let twice = [false, true, true, true, true, false];
    lends(of::<Dense>(ALL).masked(mask(KEPT)).masked(mask(twice)), masked(masked(ALL, KEPT), twice));
    lends(of::<Dense>(ALL).masked(mask(KEPT)).any_edge().masked(mask(twice)), masked(masked(ALL, KEPT), twice));
    // Each slot of these is asked for.
    lends(of::<Sparse>(SOME).or(of::<Sparse>(ALL.map(|n| n.filter(|n| *n == 3)))), {
        let mut both = SOME;
        both[3] = Some(3);
        both
    });
    lends(of::<Dense>(ALL).zip(of::<Sparse>(SOME)).seen::<lens::First>(), SOME);
}

/// A chunk names up to four masks. With five, each slot is asked for.
#[test]
fn an_edge_of_any_shape_has_any_number_of_masks() {
    let without = |n: usize| std::array::from_fn(|slot| slot != n);
    for masks in 1..=5 {
        let of_masks = |slots| (0..masks).fold(slots, |slots, n| masked(slots, without(n)));
        let dense = (0..masks).fold(of::<Dense>(ALL).any_edge(), |edge, n| edge.masked(mask(without(n))).any_edge());
        lends(dense, of_masks(ALL));
        let sparse = (0..masks).fold(of::<Sparse>(SOME).any_edge(), |edge, n| edge.masked(mask(without(n))).any_edge());
        lends(sparse, of_masks(SOME));
    }
}

/// END's value is lent too, by the mask's leave.
#[test]
fn an_edge_of_any_shape_lends_the_value_of_end() {
    let (mut producer, reader) = ring::<Item, AtEnd>(2).unwrap();
    assert!(producer.try_end_with(Some(Last::of::<Item, AtEnd>(Some(Arc::new(7_u64))))).is_ok());
    let mut edge = reader.any_edge();
    assert!(edge.batch(1).is_none());
    assert_eq!(edge.end().unwrap().value(), Some(&Arc::new(7)));
    assert!(edge.ended());

    let (mut producer, reader) = ring::<Item, Sparse>(2).unwrap();
    assert!(producer.try_end(Some(Some(Arc::new(8_u64)))).is_ok());
    assert_eq!(reader.any_edge().end().unwrap().value(), Some(&Arc::new(8)));
}
