//! One ring, one thread: claims, batches, gates, END and marks.

use millstream_core::{Dense, SequenceNumber, Sparse, Val};
use millstream_ring::{CapacityError, ClaimError, Mark, MarkKind, Producer, Reader, Wiring, ring};

fn publish<S: Send + Sync + 'static>(producer: &mut Producer<S>, values: impl IntoIterator<Item = S>) -> usize {
    let mut published = 0;
    for value in values {
        let Ok(Some(mut claim)) = producer.try_claim(1) else { return published };
        claim.write(value);
        claim.publish();
        published += 1;
    }
    published
}

fn read(reader: &mut Reader<Val<u64>>, max: usize) -> Vec<u64> {
    reader.batch(max).map_or(Vec::new(), |batch| batch.iter().flatten().copied().collect())
}

/// The example of the article "Parallel stream processing with zero-copy fan-out and sharding".
#[test]
fn the_articles_example() {
    let (mut producer, mut reader) = ring::<char, Dense>(2).unwrap();
    let mut claim = producer.try_claim(2).unwrap().unwrap();
    assert_eq!((claim.first(), claim.last(), claim.len()), (SequenceNumber(0), SequenceNumber(1), 2));
    claim.write('a');
    claim.write('b');
    claim.publish();
    assert!(producer.try_claim(1).unwrap().is_none());
    let batch = reader.batch(2).unwrap();
    assert_eq!(batch.iter().flatten().collect::<String>(), "ab");
    drop(batch);
    assert_eq!(producer.try_claim(1).unwrap().unwrap().first(), SequenceNumber(2));
}

#[test]
fn a_capacity_is_a_power_of_two() {
    for slots in [0, 3, 5, 6, 7, 100, usize::MAX] {
        assert_eq!(ring::<u8, Dense>(slots).unwrap_err(), CapacityError { slots });
    }
    for slots in [1, 2, 4, 1024] {
        assert_eq!(ring::<u8, Dense>(slots).unwrap().0.capacity(), slots);
    }
    let message = "a ring of 3 slots: the capacity must be a power of two, and at least 1; 4 is the next one";
    assert_eq!(CapacityError { slots: 3 }.to_string(), message);
}

#[test]
fn a_claim_is_what_is_free_or_none_and_zero_is_an_error() {
    let (mut producer, mut reader) = ring::<u64, Dense>(4).unwrap();
    assert_eq!(producer.try_claim(0).unwrap_err(), ClaimError::Zero);
    assert_eq!(producer.try_claim(3).unwrap().unwrap().len(), 3);
    assert_eq!(producer.try_claim(100).unwrap().unwrap().len(), 4);
    assert_eq!(publish(&mut producer, 0..10), 4);
    assert_eq!(read(&mut reader, 1), [0]);
    assert_eq!(producer.try_claim(100).unwrap().unwrap().len(), 1);
    producer.try_end(None).unwrap();
    assert_eq!(producer.try_claim(1).unwrap_err(), ClaimError::Ended);
}

#[test]
fn a_claim_of_all_is_all_or_none_and_more_than_the_ring_has_is_an_error() {
    let (mut producer, mut reader) = ring::<u64, Dense>(4).unwrap();
    assert_eq!(producer.try_claim_all(0).unwrap_err(), ClaimError::Zero);
    let too_large = producer.try_claim_all(5).unwrap_err();
    assert_eq!(too_large, ClaimError::TooLarge { slots: 5, capacity: 4 });
    assert_eq!(too_large.to_string(), "a claim of all of 5 slots on a ring of 4: claim at most 4");
    assert!(producer.try_claim_all(usize::MAX).is_err());
    let mut claim = producer.try_claim_all(4).unwrap().unwrap();
    assert_eq!((claim.first(), claim.last(), claim.len()), (SequenceNumber(0), SequenceNumber(3), 4));
    claim.fill(2, |i| i as u64);
    claim.publish();
    assert!(producer.try_claim_all(3).unwrap().is_none(), "there is room for two");
    assert_eq!(producer.abandoned_at(), None, "no claim was given up");
    assert_eq!(read(&mut reader, 1), [0]);
    let mut claim = producer.try_claim_all(3).unwrap().unwrap();
    claim.fill(3, |i| 2 + i as u64);
    claim.publish();
    assert!(producer.try_claim_all(1).unwrap().is_none());
    assert_eq!([read(&mut reader, 9), read(&mut reader, 9)].concat(), [1, 2, 3, 4]);
    producer.try_end(None).unwrap();
    assert_eq!(producer.try_claim_all(1).unwrap_err(), ClaimError::Ended);
}

#[test]
fn a_ring_of_one_slot_works() {
    let (mut producer, mut reader) = ring::<u64, Dense>(1).unwrap();
    for n in 0..5 {
        assert_eq!(publish(&mut producer, [n, n]), 1);
        assert_eq!(read(&mut reader, 9), [n]);
    }
}

#[test]
fn unpublished_values_are_not_seen() {
    let (mut producer, mut reader) = ring::<u64, Dense>(4).unwrap();
    let mut claim = producer.try_claim(2).unwrap().unwrap();
    claim.write(7);
    drop(claim);
    assert!(reader.batch(1).is_none());
    assert_eq!(producer.abandoned_at(), Some(SequenceNumber(1)));
    let mut claim = producer.try_claim(3).unwrap().unwrap();
    claim.write(8);
    claim.publish();
    assert_eq!(read(&mut reader, 9), [8]);
}

#[test]
fn every_reader_gates_and_a_dropped_one_does_not() {
    let wiring = Wiring::<u64, Dense>::new(2).unwrap();
    let (mut a, b) = (wiring.reader(), wiring.reader());
    let mut producer = wiring.start();
    assert_eq!(publish(&mut producer, 0..9), 2);
    assert_eq!(read(&mut a, 9), [0, 1]);
    assert!(producer.try_claim(1).unwrap().is_none(), "b needs 0");
    drop(b);
    assert_eq!(publish(&mut producer, 2..9), 2);
    drop(a);
    assert_eq!(publish(&mut producer, 0..100), 100, "there is no reader");
}

#[test]
fn a_fork_starts_where_its_reader_is_and_a_late_reader_at_the_producers_next() {
    let (mut producer, mut a) = ring::<u64, Dense>(4).unwrap();
    publish(&mut producer, 0..3);
    assert_eq!(read(&mut a, 1), [0]);
    let mut fork = a.fork();
    assert_eq!(read(&mut a, 9), [1, 2]);
    let mut late: Reader<Val<u64>> = producer.reader();
    assert_eq!(publish(&mut producer, 3..9), 2, "the fork needs 1");
    assert_eq!(read(&mut late, 9), [3]);
    assert_eq!(read(&mut fork, 9), [1, 2, 3]);
    assert_eq!(read(&mut fork, 9), [4]);
}

#[test]
fn a_batch_can_return_slots() {
    let (mut producer, mut reader) = ring::<u64, Dense>(4).unwrap();
    publish(&mut producer, 0..4);
    let mut batch = reader.batch(4).unwrap();
    batch.truncate(1);
    assert_eq!((batch.len(), batch.get(0), batch.get(1)), (1, Some(&0), None));
    drop(batch);
    assert_eq!(reader.position(), SequenceNumber(1));
    assert_eq!(read(&mut reader, 4), [1, 2, 3]);
}

#[test]
fn end_comes_after_the_last_number_and_can_hold_a_value() {
    let (mut producer, mut reader) = ring::<u64, Sparse>(2).unwrap();
    assert_eq!(publish(&mut producer, [Some(1), None]), 2);
    assert_eq!(producer.try_end(Some(Some(9))), Err(Some(9)), "no room for END's value");
    assert_eq!(reader.batch(9).unwrap().iter().collect::<Vec<_>>(), [Some(&1), None]);
    assert!(reader.end().is_none());
    producer.try_end(Some(Some(9))).unwrap();
    assert!(reader.batch(9).is_none());
    let end = reader.end().unwrap();
    assert_eq!((end.number(), end.value()), (SequenceNumber(2), Some(&9)));
    drop(end);
    assert!(reader.ended() && reader.end().is_none() && reader.batch(1).is_none());
}

#[test]
fn a_pair_is_filled_if_both_halves_are() {
    let (mut p, a) = ring::<u64, Dense>(4).unwrap();
    let (mut q, b) = ring::<u64, Sparse>(8).unwrap();
    let mut pair = a.zip(b);
    publish(&mut p, [0, 1, 2]);
    assert!(pair.batch(9).is_none());
    publish(&mut q, [Some(10), None]);
    assert_eq!(pair.batch(9).unwrap().iter().collect::<Vec<_>>(), [Some((&0, &10)), None]);
    p.try_end(None).unwrap();
    publish(&mut q, [Some(12)]);
    q.try_end(Some(Some(13))).unwrap();
    assert_eq!(pair.batch(9).unwrap().iter().collect::<Vec<_>>(), [Some((&2, &12))]);
    assert_eq!(pair.end().unwrap().value(), None, "one half is empty");
    assert!(pair.ended());
}

#[test]
fn a_mask_hides_slots_and_ends_value() {
    let (mut p, a) = ring::<u64, Sparse>(4).unwrap();
    let (mut m, mask) = ring::<bool, Dense>(4).unwrap();
    let mut masked = a.masked(mask);
    publish(&mut p, [Some(0), Some(1), None]);
    publish(&mut m, [true, false, true]);
    assert_eq!(masked.batch(9).unwrap().iter().collect::<Vec<_>>(), [Some(&0), None, None]);
    p.try_end(Some(Some(7))).unwrap();
    m.try_end(Some(true)).unwrap();
    assert_eq!(masked.end().unwrap().value(), Some(&7));
}

#[test]
fn slots_filled_in_one_call_are_published() {
    let (mut producer, mut reader) = ring::<u64, Dense>(4).unwrap();
    assert_eq!(producer.fill(3, |i| i as u64), Ok(3));
    assert_eq!(producer.fill(3, |i| 3 + i as u64), Ok(1));
    assert_eq!(producer.fill(3, |_| unreachable!("the ring is full")), Ok(0));
    assert_eq!(reader.batch(9).unwrap().iter().flatten().collect::<Vec<_>>(), [&0, &1, &2, &3]);
    let panics = || producer.fill(2, |i| if i == 1 { std::panic::resume_unwind(Box::new(())) } else { 4 });
    assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(panics)).is_err());
    assert!(reader.batch(9).is_none(), "none of it is published");
    producer.try_end(None).unwrap();
    assert_eq!(producer.fill(1, |_| 0), Err(ClaimError::Ended));
    assert_eq!(producer.fill(0, |_| 0), Err(ClaimError::Zero));
}

#[test]
fn a_batch_is_split_at_a_mark() {
    let (mut producer, mut reader) = ring::<u64, Dense>(8).unwrap();
    publish(&mut producer, 0..2);
    let mark = producer.mark(42, MarkKind::Snapshot);
    assert_eq!(mark, Mark { at: SequenceNumber(2), id: 42, kind: MarkKind::Snapshot });
    publish(&mut producer, 2..5);
    assert_eq!(reader.mark(), None);
    assert_eq!(read(&mut reader, 9), [0, 1]);
    assert_eq!(reader.mark(), Some(mark));
    assert_eq!(read(&mut reader, 9), [2, 3, 4]);
    assert_eq!(reader.mark(), None);
}

#[test]
fn the_gates_are_read_far_less_often_than_slots_are_claimed() {
    let (mut producer, mut reader) = ring::<u64, Dense>(1024).unwrap();
    for round in 0..100 {
        assert_eq!(publish(&mut producer, 0..1000), 1000);
        while !read(&mut reader, 1000).is_empty() {}
        assert!(producer.gate_scans() <= round + 2);
    }
}

#[test]
fn an_unboxed_ring_has_the_size_of_its_values() {
    assert_eq!(size_of::<<Dense as millstream_core::Density>::Slot<u64>>(), 8);
}

#[test]
fn free_slots_lists_and_folds_before_and_after_the_ring_wraps() {
    let (mut producer, mut reader) = ring::<char, Dense>(4).unwrap();
    let list = |reader: &mut Reader<Val<char>>| {
        let mut all = String::new();
        while let Some(batch) = reader.batch(4) {
            all.extend(batch.iter().flatten());
        }
        all
    };
    assert_eq!((producer.capacity(), producer.free(), reader.backlog()), (4, 4, 0));
    assert_eq!(publish(&mut producer, "abc".chars()), 3);
    assert_eq!((producer.free(), reader.backlog()), (1, 3));
    let mut fork = reader.fork();
    assert_eq!(list(&mut fork), "abc");
    let batch = reader.batch(1).unwrap();
    assert_eq!(batch.iter().flatten().fold(String::from("z"), |all, c| all + &c.to_string()), "za");
    drop(batch);
    assert_eq!(publish(&mut producer, "de".chars()), 2, "the slot of `a` is used again");
    assert_eq!(list(&mut reader), "bcde");
    assert_eq!(list(&mut fork), "de");
    assert_eq!(producer.free(), 4);
}
