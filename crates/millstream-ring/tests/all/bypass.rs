//! Values that pass two rings without their slots, between values that go through them.

use millstream_core::fusion::Fill;
use millstream_core::{Dense, SequenceNumber, Sparse, Val};
use millstream_ring::{IdleRings, MarkKind, Passed, Producer, Reader, RingEnd, ring};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

type Values = (Producer<Arc<u64>>, Reader<Val<Arc<u64>>>);

/// The values that pass; none if a ring is not idle.
fn pass(input: &mut Values, output: &mut Values, n: usize, values: std::ops::Range<u64>) -> Option<Vec<(u64, u64)>> {
    let mut ends: [&mut dyn RingEnd; 4] = [&mut input.0, &mut input.1, &mut output.0, &mut output.1];
    let mut rings = IdleRings::of(&mut ends)?;
    let (mut values, mut all) = (values.map(Arc::new), Vec::new());
    let see = |_: &mut (), all: &mut Vec<(u64, u64)>, number: SequenceNumber, x: Arc<u64>| {
        assert!(*x != 13, "thirteen");
        all.push((number.0, *x));
        Fill::of(true)
    };
    let mut passed = Passed::default();
    rings.bypass(n, (&mut values, &mut (), &mut all), &mut passed, see);
    assert_eq!(passed, Passed { numbers: all.len(), filled: all.len(), ..passed });
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
fn numbers_from_before_a_panic_have_passed() {
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
    let (_producer, mut elsewhere) = values(4);
    let (mut lone, of_lone) = values(4);
    assert!(IdleRings::of(&mut [&mut lone]).is_none(), "its reader is not there");
    drop(of_lone);
    assert!(IdleRings::of(&mut [&mut lone]).is_some(), "no reader holds it back");
    assert!(IdleRings::of(&mut [&mut lone, &mut elsewhere]).is_none(), "of another ring");
    assert!(IdleRings::of(&mut [&mut elsewhere]).is_none(), "its producer is not there");
    assert!(IdleRings::of(&mut []).is_none());
    input.0.try_end(None).unwrap();
    assert!(pass(&mut input, &mut output, 1, 0..9).is_none(), "it has ended");
}

#[test]
fn a_ring_that_is_swept_apart_is_not_passed() {
    let mut input = values(4);
    let _sweeper = input.0.sweep_apart();
    assert!(IdleRings::of(&mut [&mut input.0, &mut input.1]).is_none());
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
fn filled_slots_are_counted_where_a_probe_looks() {
    let (mut input, mut from) = ring::<u64, Dense>(4).unwrap();
    let (mut output, mut to) = ring::<u64, Sparse>(4).unwrap();
    let probe = output.probe();
    probe.look(true);
    let mut ends: [&mut dyn RingEnd; 4] = [&mut input, &mut from, &mut output, &mut to];
    let mut rings = IdleRings::of(&mut ends).unwrap();
    let mut passed = Passed::default();
    let odd = |_: &mut (), _: &mut (), _: SequenceNumber, x: u64| Fill::of(x % 2 == 1);
    rings.bypass(99, (&mut (0..9), &mut (), &mut ()), &mut passed, odd);
    assert_eq!(passed, Passed { numbers: 9, filled: 4, ..Passed::default() });
    assert_eq!((probe.empties().looked_at, probe.empties().empty), (9, 5));
}

#[test]
fn an_edge_of_two_rings_is_passed_with_both() {
    let (mut input, to_filter) = values(4);
    let (mut mask, from_mask) = ring::<bool, Dense>(4).unwrap();
    let (mut output, mut to_sink) = values(4);
    let (mut judged, mut kept) = (to_filter.fork(), to_filter.masked(from_mask));
    let sent = Arc::new(3);
    for at in [0, 6] {
        let mut without: [&mut dyn RingEnd; 4] = [&mut input, &mut kept, &mut output, &mut to_sink];
        assert!(IdleRings::of(&mut without).is_none(), "the filter reads the input, too");
        let mut without: [&mut dyn RingEnd; 5] = [&mut input, &mut judged, &mut kept, &mut output, &mut to_sink];
        assert!(IdleRings::of(&mut without).is_none(), "the mask is not among them");
        let mut ends: [&mut dyn RingEnd; 6] =
            [&mut input, &mut judged, &mut mask, &mut kept, &mut output, &mut to_sink];
        let mut rings = IdleRings::of(&mut ends).unwrap();
        rings.bypass(5, (&mut (0..9), &mut (), &mut ()), &mut Passed::default(), |(), (), _, x| Fill::of(x % 2 == 0));
        assert_eq!(rings.next(), SequenceNumber(at + 5));
        input.fill(1, |_| sent.clone()).unwrap();
        drop(judged.batch(9));
        mask.fill(1, |_| true).unwrap();
        let batch = kept.batch(9).unwrap();
        assert_eq!((batch.first().0, batch.iter().collect::<Vec<_>>()), (at + 5, vec![Some(&sent)]));
        drop(batch);
        output.fill(1, |_| sent.clone()).unwrap();
        drop(to_sink.batch(9));
    }
    drop((input, output));
    drop((judged, kept, to_sink));
    assert_eq!(Arc::strong_count(&sent), 1);
}

/// The ends of a stage that starts a clock, after its reader: `clocks` is where its clock begins.
fn behind(middle: &mut Values, output: &mut Values, at: u64, clocks: &[usize]) -> Option<(u64, u64)> {
    let mut ends: [&mut dyn RingEnd; 4] = [&mut middle.0, &mut middle.1, &mut output.0, &mut output.1];
    let mut rings = IdleRings::behind(SequenceNumber(at), &mut ends, clocks)?;
    let mut passed = Passed::default();
    let held = |(): &mut (), count: &mut usize, _: SequenceNumber, x: usize| {
        *count += x;
        if *count < 9 { Fill::of(true) } else { Fill::EMPTY.held() }
    };
    let mut count = 0;
    rings.bypass(9, (&mut [2, 0, 3, 4, 5].into_iter(), &mut (), &mut count), &mut passed, held);
    assert_eq!(
        passed,
        Passed { numbers: 3, filled: 3, stopped: false, held: true },
        "the slot that was held comes again"
    );
    rings.pass_clock(0, count, count);
    rings.pass_clock(1, count, count);
    Some((rings.next().0, rings.next_of(0).0))
}

#[test]
fn a_later_clock_passes_by_its_own_numbers() {
    let (mut middle, mut output) = (values(4), values(2));
    output.0.fill(1, |_| Arc::new(1)).unwrap();
    assert!(behind(&mut middle, &mut output, 0, &[2]).is_none(), "something is in the output");
    drop(output.1.batch(1));
    assert!(behind(&mut middle, &mut output, 1, &[2]).is_none(), "the ends are not where the reader is");
    assert!(behind(&mut middle, &mut output, 0, &[]).is_none(), "the output has another clock");
    assert_eq!(behind(&mut middle, &mut output, 0, &[2]), Some((3, 10)));
    assert_eq!((middle.0.next().0, middle.1.position().0), (3, 3));
    assert_eq!((output.0.next().0, output.1.position().0), (10, 10));
    let kept = Arc::new(7);
    assert_eq!((send(&mut middle, &kept), send(&mut output, &kept)), (3, 10));
    output.0.mark(1, MarkKind::Cut);
    let (producer, reader) = output;
    assert!(behind(&mut middle, &mut (producer, reader.stops_at_marks()), 4, &[2]).is_none(), "a mark lies there");
}

#[test]
fn the_ends_of_a_ring_have_one_clock() {
    let (mut middle, mut output) = (values(4), values(4));
    for clocks in [&[1][..], &[3], &[1, 2], &[2, 3], &[2, 2], &[2, 0], &[0, 4]] {
        assert!(behind(&mut middle, &mut output, 0, clocks).is_none(), "{clocks:?}");
    }
    assert!(behind(&mut middle, &mut output, 5, &[0, 2]).is_some());
}

#[test]
fn more_numbers_than_there_can_be_do_not_pass() {
    let (mut middle, mut output) = (values(4), values(2));
    let kept = Arc::new(7);
    assert_eq!((send(&mut middle, &kept), send(&mut output, &kept)), (0, 0));
    let mut ends: [&mut dyn RingEnd; 4] = [&mut middle.0, &mut middle.1, &mut output.0, &mut output.1];
    let mut rings = IdleRings::behind(SequenceNumber(1), &mut ends, &[2]).unwrap();
    for numbers in [usize::MAX, usize::MAX / 2 + 1] {
        assert!(catch_unwind(AssertUnwindSafe(|| rings.pass_clock(0, numbers, 0))).is_err());
        assert_eq!(rings.next_of(0), SequenceNumber(1), "none has passed");
    }
    assert_eq!((send(&mut middle, &kept), send(&mut output, &kept)), (1, 1));
    drop((middle, output));
    assert_eq!(Arc::strong_count(&kept), 1);
}

#[test]
#[should_panic(expected = "beyond 2^63")]
fn no_ring_begins_where_its_numbers_would_wrap_around() {
    let _ = millstream_ring::ring_from::<u64, Dense>(SequenceNumber(u64::MAX - 1), 2);
}
