//! Edge cases: groups that begin late, drops that panic, marks that lay marks.

use millstream_core::keys::KeySlot;
use millstream_core::{Dense, Either, SequenceNumber, Sparse, lens};
use millstream_ring::{Mark, MarkKind, Producer, keyed_writers, lane, ring, run_writers};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// Counts its drops. One with the fuse panics in its drop, after it is counted.
struct Fused {
    dropped: Arc<AtomicUsize>,
    fuse: bool,
}

impl Drop for Fused {
    fn drop(&mut self) {
        self.dropped.fetch_add(1, Ordering::Relaxed);
        assert!(!self.fuse, "the fuse blows");
    }
}

fn publish<S: Send + Sync + 'static>(producer: &mut Producer<S>, values: impl IntoIterator<Item = S>) {
    for value in values {
        let mut claim = producer.try_claim(1).unwrap().unwrap();
        claim.write(value);
        claim.publish();
    }
}

fn panics(f: impl FnOnce()) -> bool {
    catch_unwind(AssertUnwindSafe(f)).is_err()
}

#[test]
fn a_group_begins_where_its_input_is() {
    let (mut producer, mut input) = ring::<u64, Dense>(4).unwrap();
    publish(&mut producer, 0..3);
    drop(input.batch(2));
    let (mut writers, mut output) = run_writers::<_, String, Dense>(input, 2, 4).unwrap();
    assert_eq!(output.position().0, 2);
    assert!(output.batch(9).is_none(), "no slot is filled");
    assert_eq!(writers[0].fill(9, |x| x.unwrap().to_string()), 1);
    assert_eq!(output.batch(9).unwrap().iter().flatten().collect::<Vec<_>>(), ["2"]);
    writers[1].sweep();
}

#[test]
fn a_group_that_begins_after_end_has_ended() {
    let (mut producer, mut input) = ring::<u64, Dense>(4).unwrap();
    publish(&mut producer, 0..1);
    producer.try_end(None).unwrap();
    drop(input.batch(2));
    drop(input.end());
    let (mut writers, mut output) = run_writers::<_, u64, Dense>(input, 2, 4).unwrap();
    assert!(writers[0].end(|_| None) && writers[1].end(|_| None));
    assert!(output.ended() && output.batch(1).is_none() && output.end().is_none());
}

#[test]
fn a_drop_that_panics_leaks_nothing() {
    let dropped = Arc::new(AtomicUsize::new(0));
    let value = |fuse| Fused { dropped: dropped.clone(), fuse };
    let (mut producer, mut reader) = ring::<Fused, Dense>(4).unwrap();
    let mut claim = producer.try_claim(3).unwrap().unwrap();
    claim.fill(3, |i| value(i == 0));
    assert!(panics(|| drop(claim)));
    assert_eq!(dropped.load(Ordering::Relaxed), 3, "the values of a claim that was given up");
    publish(&mut producer, [value(false), value(true), value(false)]);
    drop(reader.batch(3));
    assert!(panics(|| producer.sweep()));
    assert_eq!(dropped.load(Ordering::Relaxed), 6, "the released values");
    assert_eq!(producer.free(), 4);
    publish(&mut producer, [value(true), value(false)]);
    drop(producer);
    assert!(panics(|| drop(reader)));
    assert_eq!(dropped.load(Ordering::Relaxed), 8, "the remaining values");
}

#[test]
fn a_drop_that_panics_does_not_stop_a_group() {
    let dropped = Arc::new(AtomicUsize::new(0));
    let (mut producer, input) = ring::<u64, Dense>(8).unwrap();
    let (mut writers, mut output) = run_writers::<_, Fused, Dense>(input, 2, 1).unwrap();
    publish(&mut producer, 0..3);
    let fuse = AtomicBool::new(true);
    let make = |_: Option<&u64>| Fused { dropped: dropped.clone(), fuse: fuse.swap(false, Ordering::Relaxed) };
    assert_eq!(writers[0].fill(9, make), 1);
    drop(output.batch(1));
    assert!(panics(|| writers[1].sweep()));
    for done in 1..3 {
        assert_eq!(writers[done % 2].fill(9, make), 1, "there is room");
        drop(output.batch(1));
    }
    drop((writers, output));
    assert_eq!(dropped.load(Ordering::Relaxed), 3);
}

#[test]
fn every_step_of_the_producer_drops_what_was_released() {
    type Step = fn(&mut Producer<Arc<()>>);
    let steps: [Step; 3] = [
        |producer| drop(producer.try_claim(1)),
        |producer| producer.sweep(),
        |producer| assert!(producer.try_end(None).is_ok()),
    ];
    for step in steps {
        let value = Arc::new(());
        let (mut producer, mut reader) = ring::<Arc<()>, Dense>(4).unwrap();
        publish(&mut producer, [value.clone(), value.clone()]);
        drop(reader.batch(1));
        // A mark may be laid under a lock, so it drops nothing.
        producer.mark(1, MarkKind::Snapshot);
        assert_eq!(Arc::strong_count(&value), 3);
        step(&mut producer);
        assert_eq!(Arc::strong_count(&value), 2);
        producer.mark(2, MarkKind::Snapshot);
        drop(reader.batch(1));
        producer.sweep();
        assert_eq!(Arc::strong_count(&value), 1);
    }
}

#[test]
fn with_a_sweeper_no_step_of_the_producer_drops_anything() {
    let dropped = Arc::new(AtomicUsize::new(0));
    let value = |fuse| Fused { dropped: dropped.clone(), fuse };
    let (mut producer, mut reader) = ring::<Fused, Dense>(2).unwrap();
    publish(&mut producer, [value(false)]);
    drop(reader.batch(1));
    let mut sweeper = producer.sweep_apart().unwrap();
    assert!(producer.sweep_apart().is_none(), "a ring has one sweeper");
    publish(&mut producer, [value(true)]);
    assert!(producer.try_claim(1).unwrap().is_none(), "nothing was swept");
    producer.sweep();
    producer.mark(1, MarkKind::Snapshot);
    assert_eq!(dropped.load(Ordering::Relaxed), 0);
    assert!(sweeper.sweep());
    assert!(!sweeper.sweep(), "an unreleased value is not swept");
    assert_eq!((dropped.load(Ordering::Relaxed), producer.free()), (1, 1));
    publish(&mut producer, [value(false)]);
    // A batch ends before the mark.
    (0..2).for_each(|_| drop(reader.batch(2)));
    // A drop that panics leaves no value, and takes no room.
    assert!(panics(|| {
        let _ = sweeper.sweep();
    }));
    assert_eq!((dropped.load(Ordering::Relaxed), producer.free()), (3, 2));
    publish(&mut producer, [value(false)]);
    assert!(producer.try_end(None).is_ok());
    drop((producer, reader));
    assert_eq!(dropped.load(Ordering::Relaxed), 3);
    drop(sweeper);
    assert_eq!(dropped.load(Ordering::Relaxed), 4);
    let (mut plain, _reader) = ring::<u64, Dense>(2).unwrap();
    assert!(plain.sweep_apart().is_none(), "there is nothing to sweep");
}

#[test]
fn a_sweeper_has_nothing_left_behind_end() {
    for in_slot in [false, true] {
        let (mut producer, mut reader) = ring::<Arc<()>, Dense>(2).unwrap();
        let mut sweeper = producer.sweep_apart().unwrap();
        let value = Arc::new(());
        publish(&mut producer, [value.clone()]);
        drop(reader.batch(1));
        assert!(producer.try_end(in_slot.then(|| value.clone())).is_ok());
        assert!(sweeper.sweep());
        assert_eq!((sweeper.sweep(), producer.is_swept()), (false, !in_slot), "END is not released");
        drop(reader.end());
        assert_eq!((sweeper.sweep(), sweeper.sweep(), producer.is_swept()), (in_slot, false, true));
        assert_eq!(Arc::strong_count(&value), 1);
    }
}

#[test]
fn a_pair_skips_the_numbers_that_one_half_has_released() {
    let (mut p, mut a) = ring::<u64, Dense>(2).unwrap();
    let (mut q, b) = ring::<u64, Dense>(2).unwrap();
    publish(&mut p, 0..2);
    drop(a.batch(2));
    let mut pair = a.zip(b);
    assert_eq!(pair.position().0, 2);
    publish(&mut q, 0..3);
    publish(&mut p, 2..3);
    assert_eq!(pair.batch(9).unwrap().iter().collect::<Vec<_>>(), [Some((&2, &2))]);
    let mut fork = pair.fork();
    publish(&mut q, 3..5);
    publish(&mut p, 3..5);
    assert_eq!((p.free(), q.free()), (0, 0));
    assert_eq!(fork.batch(1).unwrap().get(0), Some((&3, &3)));
}

#[test]
fn readers_of_both_shapes_see_one_ring() {
    let (mut producer, mut sparse) = ring::<u64, Sparse>(2).unwrap();
    let mut whole = producer.reader::<Option<u64>, Dense>();
    publish(&mut producer, [Some(1), None]);
    assert_eq!(sparse.batch(2).unwrap().iter().collect::<Vec<_>>(), [Some(&1), None]);
    assert_eq!(producer.free(), 0, "the other reader needs both");
    assert_eq!(whole.batch(2).unwrap().iter().collect::<Vec<_>>(), [Some(&Some(1)), Some(&None)]);
    producer.try_end(Some(Some(9))).unwrap();
    assert_eq!(sparse.end().unwrap().value(), Some(&9));
    assert_eq!(whole.end().unwrap().value(), None, "the END of a dense edge is empty");
}

#[test]
fn a_mask_that_ends_first_ends_the_edge() {
    let (mut values, input) = ring::<String, Sparse>(2).unwrap();
    let (mut mask, masks) = ring::<bool, Dense>(2).unwrap();
    let mut edge = input.masked(masks);
    publish(&mut values, [Some("a".to_owned())]);
    publish(&mut mask, [true]);
    mask.try_end(None).unwrap();
    let batch = edge.batch(9).unwrap();
    assert_eq!(batch.iter().collect::<Vec<_>>(), [Some(&"a".to_owned())]);
    drop(batch);
    assert!(edge.batch(1).is_none(), "number 1 is END, though the other ring has nothing there");
    assert_eq!(edge.end().map(|end| (end.number().0, end.value().is_none())), Some((1, true)));
    assert!(edge.ended());
    publish(&mut values, [Some("b".to_owned()), Some("c".to_owned())]);
    assert!(edge.batch(1).is_none() && edge.end().is_none());
}

#[test]
fn a_mask_whose_end_has_a_slot_waits_for_the_other_rings_end() {
    let (mut values, input) = ring::<u64, Sparse>(2).unwrap();
    let (mut mask, masks) = ring::<bool, Dense>(2).unwrap();
    let mut edge = input.masked(masks);
    mask.try_end(Some(true)).unwrap();
    assert!(edge.end().is_none());
    values.try_end(Some(Some(7))).unwrap();
    assert_eq!(edge.end().and_then(|end| end.value().copied()), Some(7));
}

#[test]
fn keyed_writers_and_two_lanes_after_end_have_ended() {
    let (mut producer, mut input) = ring::<Either<u64, u64>, Dense>(4).unwrap();
    let (mut key_slots, mut keys) = ring::<KeySlot, Sparse>(4).unwrap();
    publish(&mut producer, [Either::Left(0)]);
    publish(&mut key_slots, [None]);
    producer.try_end(None).unwrap();
    key_slots.try_end(None).unwrap();
    drop(input.batch(1));
    drop(input.end().unwrap());
    drop(keys.batch(1));
    drop(keys.end().unwrap());

    let (mut left, other) = lane::<_, u64>(input.fork().seen::<lens::Left>(), 4);
    let (mut right, mut output) = other.joined(input.fork().seen::<lens::Right>());
    assert!(left.end() && right.end());
    assert!(output.ended() && output.batch(1).is_none() && output.end().is_none());

    let (mut writers, mut output) = keyed_writers::<_, u64, Dense>(input, keys, 2, 4).unwrap();
    assert!(writers.iter_mut().all(|writer| writer.end(|_, _, _| None)));
    assert!(output.ended() && output.batch(1).is_none() && output.end().is_none());
}

#[test]
fn a_join_that_begins_after_an_end_that_comes_later_ends() {
    let join = || {
        let (producer, short) = ring::<u64, Dense>(4).unwrap();
        let (mut ahead, mut long) = ring::<u64, Dense>(4).unwrap();
        publish(&mut ahead, 0..3);
        drop(long.batch(2));
        (producer, short.zip(long), ahead)
    };
    let (mut producer, joined, _ahead) = join();
    let (mut writers, output) = run_writers::<_, u64, Dense>(joined, 2, 4).unwrap();
    producer.try_end(None).unwrap(); // number 0, and the group begins at 2
    assert!(writers.iter_mut().all(|writer| writer.end(|_| None)));
    assert!(output.ended());

    let (mut producer, joined, _ahead) = join();
    let (mut key_slots, keys) = ring::<KeySlot, Sparse>(4).unwrap();
    let (mut writers, output) = keyed_writers::<_, u64, Dense>(joined, keys, 2, 4).unwrap();
    producer.try_end(None).unwrap();
    publish(&mut key_slots, [None; 3]);
    assert!(writers.iter_mut().all(|writer| writer.end(|_, _, _| None)));
    assert!(output.ended());
}

#[test]
fn slots_are_not_made_on_the_stack() {
    const SLOT: usize = 16 << 20; // twice a thread's stack
    let (producer, mut reader) = ring::<[u8; SLOT], Dense>(2).unwrap();
    assert!(producer.capacity() == 2 && reader.batch(1).is_none());
}

#[test]
fn marks_are_laid_in_any_order() {
    let (mut producer, mut reader) = ring::<u64, Dense>(128).unwrap();
    let mark = |at, id| Mark { at: SequenceNumber(at), id, kind: MarkKind::Snapshot };
    producer.copy_mark(mark(100, 0));
    // One mark that is far ahead takes no room from the others.
    for n in 0..100 {
        assert_eq!(producer.mark(n + 1, MarkKind::Snapshot), mark(n, n + 1));
        publish(&mut producer, [n]);
        assert_eq!(reader.mark(), Some(mark(n, n + 1)));
        drop(reader.batch(1).unwrap());
    }
    // A batch ends at the next mark, in whatever order they were laid.
    for (at, id) in [(104, 7), (102, 8)] {
        producer.copy_mark(mark(at, id));
    }
    publish(&mut producer, 100..108);
    let mut batches = Vec::new();
    let mut marks = Vec::new();
    loop {
        marks.extend(reader.mark());
        let Some(batch) = reader.batch(100) else { break };
        batches.push((batch.first().0, batch.len()));
    }
    assert_eq!(batches, [(100, 2), (102, 2), (104, 4)]);
    assert_eq!(marks, [mark(100, 0), mark(102, 8), mark(104, 7)]);
}
