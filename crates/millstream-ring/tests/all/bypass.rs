//! Values that pass two rings without their slots, between values that go through them.

use millstream_core::{Dense, SequenceNumber, Sparse, Val};
use millstream_ring::{IdleRing, MarkKind, Passed, Producer, Reader, bypass, ring};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

type Values = (Producer<Arc<u64>>, Reader<Val<Arc<u64>>>);

/// The values that pass; none if a ring is not idle.
fn pass(input: &mut Values, output: &mut Values, n: usize, values: std::ops::Range<u64>) -> Option<Vec<(u64, u64)>> {
    let (input, output) = (IdleRing::of(&mut input.0, &mut input.1)?, IdleRing::of(&mut output.0, &mut output.1)?);
    let (mut values, mut all) = (values.map(Arc::new), Vec::new());
    let see = |_: &mut (), all: &mut Vec<(u64, u64)>, number: SequenceNumber, x: Arc<u64>| {
        assert!(*x != 13, "thirteen");
        all.push((number.0, *x));
        true
    };
    let mut passed = Passed::default();
    bypass((input, output, n), (&mut values, &mut (), &mut all), &mut passed, see);
    assert_eq!(passed, Passed { numbers: all.len(), filled: all.len() });
    Some(all)
}

fn values(slots: usize) -> Values {
    ring::<Arc<u64>, Dense>(slots).unwrap()
}

/// Through a slot: the number at which it arrives.
fn send((producer, reader): &mut Values, value: &Arc<u64>) -> u64 {
    producer.fill(1, |_| value.clone()).unwrap();
    let batch = reader.batch(9).unwrap();
    assert!(batch.iter().all(|x| x.is_some_and(|x| Arc::ptr_eq(x, value))));
    batch.first().0
}

#[test]
fn values_go_past_the_slots_and_through_them_in_turn() {
    let (mut input, mut output) = (values(4), values(2));
    let kept = Arc::new(7);
    for round in 0..5 {
        let at = round * 4;
        let passed = pass(&mut input, &mut output, 3, 100..200).unwrap();
        assert_eq!(passed, [(at, 100), (at + 1, 101), (at + 2, 102)]);
        assert_eq!((send(&mut input, &kept), send(&mut output, &kept)), (at + 3, at + 3));
        assert_eq!((input.0.next().0, output.1.position().0), (at + 4, at + 4));
        assert_eq!((input.0.probe().published(), output.0.probe().occupied()), (at + 4, 0));
    }
    drop((input, output));
    assert_eq!(Arc::strong_count(&kept), 1, "each slot was dropped once");
}

#[test]
fn fewer_values_than_asked_for_are_the_end_of_the_values() {
    let (mut input, mut output) = (values(4), values(4));
    assert_eq!(pass(&mut input, &mut output, 9, 0..2).unwrap().len(), 2);
    assert_eq!(pass(&mut input, &mut output, 9, 0..0).unwrap(), []);
    assert_eq!(input.0.next(), SequenceNumber(2));
}

#[test]
fn what_passed_before_a_panic_has_passed() {
    let (mut input, mut output) = (values(4), values(4));
    let panicked = catch_unwind(AssertUnwindSafe(|| pass(&mut input, &mut output, 9, 10..20)));
    assert!(panicked.is_err());
    assert_eq!([input.0.next().0, input.1.position().0, output.0.next().0, output.1.position().0], [3; 4]);
    assert_eq!(send(&mut input, &Arc::new(1)), 3);
}

#[test]
fn a_ring_with_something_in_it_is_not_passed() {
    let (mut input, mut output) = (values(4), values(4));
    let (other, late) = (input.1.fork(), output.0.reader::<Arc<u64>, Dense>());
    assert!(pass(&mut input, &mut output, 1, 0..9).is_none(), "others read both rings");
    drop(other);
    assert!(pass(&mut input, &mut output, 1, 0..9).is_none(), "another reads the output");
    drop(late);
    assert!(pass(&mut input, &mut output, 1, 0..9).is_some());
    input.0.fill(1, |_| Arc::new(5)).unwrap();
    assert!(pass(&mut input, &mut output, 1, 0..9).is_none(), "a value was not read");
    drop(input.1.batch(1));
    let (_, mut elsewhere) = values(4);
    assert!(IdleRing::of(&mut output.0, &mut elsewhere).is_none(), "of another ring");
    input.0.try_end(None).unwrap();
    assert!(pass(&mut input, &mut output, 1, 0..9).is_none(), "it has ended");
}

#[test]
fn a_ring_that_is_swept_apart_is_not_passed() {
    let mut input = values(4);
    let _sweeper = input.0.sweep_apart();
    assert!(IdleRing::of(&mut input.0, &mut input.1).is_none());
}

#[test]
fn a_mark_is_not_passed_before_its_reader_has_seen_it() {
    let ((producer, reader), mut output) = (values(4), values(4));
    let mut input = (producer, reader.stops_at_marks());
    pass(&mut input, &mut output, 2, 0..9).unwrap();
    let mark = input.0.mark(1, MarkKind::Cut);
    assert!(pass(&mut input, &mut output, 2, 0..9).is_none());
    assert_eq!(input.1.pass_mark(), Some(mark));
    output.0.copy_mark(millstream_ring::Mark { at: SequenceNumber(4), ..mark });
    let (producer, reader) = output;
    let mut output = (producer, reader.stops_at_marks());
    assert_eq!(pass(&mut input, &mut output, 9, 0..9).unwrap().len(), 2, "up to the output's mark");
    assert!(pass(&mut input, &mut output, 9, 0..9).is_none());
}

#[test]
fn what_is_filled_is_counted_where_someone_looks() {
    let (mut input, mut from) = ring::<u64, Dense>(4).unwrap();
    let (mut output, mut to) = ring::<u64, Sparse>(4).unwrap();
    let probe = output.probe();
    probe.look(true);
    let input = IdleRing::of(&mut input, &mut from).unwrap();
    let to_sink = IdleRing::of(&mut output, &mut to).unwrap();
    let mut passed = Passed::default();
    let odd = |_: &mut (), _: &mut (), _: SequenceNumber, x: u64| x % 2 == 1;
    bypass((input, to_sink, 99), (&mut (0..9), &mut (), &mut ()), &mut passed, odd);
    assert_eq!(passed, Passed { numbers: 9, filled: 4 });
    assert_eq!((probe.empties().looked_at, probe.empties().empty), (9, 5));
}
