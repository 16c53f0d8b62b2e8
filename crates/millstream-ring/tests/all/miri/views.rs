//! Views of slots through a closure, as `Option`s, and of two edges of which the first comes first.

use millstream_core::{AtEnd, Choice, Dense, Density, Lens, Part, Shape, ShownBy, Shows, Sparse, Val};
use millstream_ring::{Last, Producer, Reader, RingLayout, ring};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Two boxes: a part that is lent for too long would be read after it was freed.
type Whole = (Box<u64>, Arc<u64>);
type Slots = Val<Whole, Sparse>;

fn whole(n: u64) -> Whole {
    (Box::new(n), Arc::new(n * 10))
}

fn publish<S: Send + Sync + 'static>(producer: &mut Producer<S>, slot: S) {
    let mut claim = producer.try_claim(1).unwrap().expect("room");
    claim.write(slot);
    claim.publish();
}

/// The parts of an edge, by a closure that owns something too.
fn tens(edge: Reader<Slots>) -> Reader<Part<Slots, impl Shows<Slots, Arc<u64>>, Arc<u64>>> {
    let kept = Arc::new(String::from("the closure's own"));
    edge.part::<Arc<u64>, _>(Arc::new(ShownBy::new(move |whole: &Whole| {
        assert_eq!(kept.len(), 17);
        &whole.1
    })))
}

#[test]
fn parts_are_lent_while_a_ring_goes_round() {
    let (mut producer, reader) = ring::<Whole, Sparse>(2).unwrap();
    let mut other = reader.fork();
    let mut parts = tens(reader);
    let mut fork = parts.fork();
    let mut all = Vec::new();
    for n in 0..7 {
        publish(&mut producer, (n % 3 > 0).then(|| whole(n)));
        let batch = parts.batch(2).unwrap();
        all.extend(batch.iter().map(|slot| slot.map(|ten| **ten)));
        drop(batch);
        fork.batch(2).unwrap().for_each(&mut (), |(), _, slot| assert_eq!(slot.is_some(), n % 3 > 0));
        drop(other.batch(1));
    }
    assert_eq!(all, [None, Some(10), Some(20), None, Some(40), Some(50), None]);
    // A view that moves keeps its closure.
    let moved = Box::new(parts);
    drop(fork);
    publish(&mut producer, Some(whole(8)));
    let mut parts = *moved;
    assert_eq!(parts.batch(1).unwrap().iter().flatten().count(), 1);
}

#[test]
fn every_slot_is_lent_as_an_option_and_end_where_it_is_filled() {
    let (mut producer, reader) = ring::<Arc<u64>, Sparse>(4).unwrap();
    let mut every = reader.fork().maybe();
    let mut any = reader.any_edge().maybe();
    publish(&mut producer, Some(Arc::new(1)));
    publish(&mut producer, None);
    assert!(producer.try_end(Some(Some(Arc::new(7)))).is_ok());
    let slots: Vec<_> = every.batch(4).unwrap().iter().map(|slot| slot.map(|slot| slot.map(|item| **item))).collect();
    assert_eq!(slots, [Some(Some(1)), Some(None)]);
    assert_eq!(every.end().unwrap().value(), Some(Some(&Arc::new(7))));
    let mut values = Vec::new();
    any.batch(4).unwrap().for_each_value(&mut values, |values, n, item| values.push((n.0, item.map(|item| **item))));
    assert_eq!(values, [(0, Some(1)), (1, None)]);
    assert!(any.end().is_some());

    let (mut producer, reader) = ring::<Arc<u64>, AtEnd>(2).unwrap();
    assert!(producer.try_end_with(Some(Last::of::<Arc<u64>, AtEnd>(Some(Arc::new(3))))).is_ok());
    let mut every = reader.maybe();
    assert!(every.batch(1).is_none());
    assert_eq!(every.end().unwrap().value(), Some(Some(&Arc::new(3))));

    let (mut producer, reader) = ring::<Arc<u64>, Dense>(2).unwrap();
    assert!(producer.try_end(None).is_ok());
    assert_eq!(reader.maybe().end().unwrap().value(), None);
}

#[test]
fn the_first_of_two_edges_comes_first() {
    let (mut p, first) = ring::<Arc<u64>, Sparse>(4).unwrap();
    let (mut q, second) = ring::<Arc<u64>, Dense>(2).unwrap();
    let mut either = first.otherwise(second);
    let mut fork = either.fork();
    let (mut all, mut values) = (Vec::new(), Vec::new());
    for n in 0..5 {
        publish(&mut q, Arc::new(n));
        publish(&mut p, (n % 2 == 1).then(|| Arc::new(n + 100)));
        let batch = either.batch(4).unwrap();
        all.extend(batch.iter().map(|slot| slot.map(|item| **item)));
        drop(batch);
        fork.batch(4).unwrap().for_each_value(&mut values, |values, _, item| values.push(**item));
    }
    assert_eq!(all, [Some(0), Some(101), Some(2), Some(103), Some(4)]);
    assert_eq!(values, [0, 101, 2, 103, 4]);
    assert!(p.try_end(Some(Some(Arc::new(9)))).is_ok());
    assert!(either.end().is_none(), "the other edge goes on");
    assert!(q.try_end(None).is_ok());
    assert_eq!(either.end().unwrap().value(), Some(&Arc::new(9)));
}

/// A closure that panics ends the batch, and what it looked at is dropped once.
#[test]
fn a_part_that_panics_leaves_its_slot() {
    let (mut producer, reader) = ring::<Whole, Dense>(2).unwrap();
    let shows = ShownBy::new(|whole: &Whole| {
        assert!(*whole.0 != 1, "no part");
        &whole.1
    });
    let mut parts = reader.part::<Arc<u64>, _>(Arc::new(shows));
    publish(&mut producer, whole(0));
    publish(&mut producer, whole(1));
    let mut seen = 0;
    let looked = catch_unwind(AssertUnwindSafe(|| {
        parts.batch(2).unwrap().for_each_value(&mut seen, |seen, _, _| *seen += 1);
    }));
    assert!(looked.is_err());
    assert_eq!((seen, parts.visited().map(|n| n.0)), (1, Some(1)));
}

/// A lens that sees every value at every other look only.
enum Fickle {}

static LOOKS: AtomicUsize = AtomicUsize::new(0);

impl Lens<Slots> for Fickle {
    type Target = Val<Arc<u64>>;
    type Part<D: Density> = D::OneLane;

    fn focus<'a>(whole: <Slots as Shape>::Ref<'a>) -> Option<<Self::Target as Shape>::Ref<'a>> {
        LOOKS.fetch_add(1, Ordering::Relaxed).is_multiple_of(2).then_some(&whole.1)
    }
}

/// A ring with one slot, and its reader.
fn of_one<T: Send + Sync + 'static>(slot: Option<T>) -> (Producer<Option<T>>, Reader<Val<T, Sparse>>) {
    let (mut producer, reader) = ring::<T, Sparse>(1).unwrap();
    publish(&mut producer, slot);
    (producer, reader)
}

/// The lens sees the value when the slot is asked whether it is filled, and not when the value is wanted. Then the
/// other edge's slot, which is empty, is not read as if it were filled.
#[test]
fn a_lens_that_changes_its_mind_shows_no_empty_slot() {
    fn value<F: RingLayout>(mut edge: Reader<F>) {
        let looked = catch_unwind(AssertUnwindSafe(|| {
            edge.batch(1).unwrap().for_each_value(&mut (), |(), n, _| panic!("number {} was lent", n.0));
        }));
        assert!(looked.is_err(), "no value is there");
        assert_eq!(LOOKS.load(Ordering::Relaxed), 2);
    }
    let edges = || {
        LOOKS.store(0, Ordering::Relaxed);
        let ((p, first), (q, second)) = (of_one(Some(whole(1))), of_one::<Arc<u64>>(None));
        ((p, q), first.seen::<Fickle>(), second)
    };
    let (_producers, first, second) = edges();
    value(first.otherwise(second));
    let (_producers, first, second) = edges();
    value(first.or(second));
    let (_producers, first, second) = edges();
    value(first.beside::<Choice<_, _>, _>(second));
}
