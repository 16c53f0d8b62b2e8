//! Marks: which ends stop at them, which copy them, and rings that begin at a number.

use millstream_core::keys::KeySlot;
use millstream_core::{Dense, SequenceNumber, Sparse, Val};
use millstream_ring::{Mark, MarkKind, Producer, Reader, keyed_writers, ring, ring_from, run_writers};

fn mark(at: u64, id: u64) -> Mark {
    Mark { at: SequenceNumber(at), id, kind: MarkKind::Snapshot }
}

fn fill(producer: &mut Producer<u64>, n: usize) {
    let first = producer.next().0;
    assert_eq!(producer.fill(n, |i| first + i as u64), Ok(n));
}

/// Reads all there is without passing a mark.
fn read(reader: &mut Reader<Val<u64>>) -> Vec<u64> {
    let mut values = Vec::new();
    while let Some(batch) = reader.batch(8) {
        values.extend(batch.iter().flatten());
    }
    values
}

#[test]
fn a_reader_that_stops_lends_no_number_before_its_marks_are_passed() {
    let (mut producer, reader) = ring::<u64, Dense>(8).unwrap();
    let mut reader = reader.stops_at_marks();
    fill(&mut producer, 2);
    producer.mark(1, MarkKind::Snapshot);
    producer.mark(2, MarkKind::Snapshot);
    // The marks can be seen before their number is published.
    assert_eq!((read(&mut reader), reader.mark()), (vec![0, 1], Some(mark(2, 1))));
    fill(&mut producer, 2);
    assert_eq!((read(&mut reader), reader.mark()), (vec![], Some(mark(2, 1))));
    reader.pass_mark();
    assert_eq!((read(&mut reader), reader.mark()), (vec![], Some(mark(2, 2))));
    reader.pass_mark();
    assert_eq!((reader.mark(), read(&mut reader)), (None, vec![2, 3]));
    producer.mark(3, MarkKind::Snapshot);
    producer.try_end(None).unwrap();
    assert!(reader.end().is_none(), "END has a mark");
    assert_eq!(reader.mark(), Some(mark(4, 3)));
    reader.pass_mark();
    assert!(reader.end().is_some());
}

#[test]
fn a_fork_stops_where_its_reader_does_and_sees_no_earlier_mark() {
    let (mut producer, reader) = ring::<u64, Dense>(8).unwrap();
    let mut reader = reader.stops_at_marks();
    producer.mark(1, MarkKind::Snapshot);
    fill(&mut producer, 3);
    reader.pass_mark();
    assert_eq!(reader.batch(1).map(|batch| batch.len()), Some(1));
    let mut fork = reader.fork();
    let mut late: Reader<Val<u64>> = producer.reader();
    assert_eq!((fork.mark(), late.mark()), (None, None));
    producer.mark(2, MarkKind::Snapshot);
    fill(&mut producer, 1);
    let (mut late, mut copies) = run_writers::<_, u64, Dense>(late, 2, 8).unwrap();
    late.iter_mut().for_each(|writer| while writer.fill(8, |value| *value.unwrap()) > 0 {});
    assert_eq!((copies.mark(), read(&mut copies)), (Some(mark(3, 2)), vec![3]), "no mark before its beginning");
    assert_eq!((read(&mut fork), fork.mark()), (vec![1, 2], Some(mark(3, 2))));
}

#[test]
fn no_run_of_a_group_crosses_a_mark() {
    let (mut producer, input) = ring::<u64, Dense>(16).unwrap();
    let (mut writers, mut output) = run_writers::<_, u64, Dense>(input, 2, 16).unwrap();
    fill(&mut producer, 5);
    producer.mark(1, MarkKind::Snapshot);
    fill(&mut producer, 6);
    let mut runs = Vec::new();
    for i in 0..12 {
        let from = writers[0].taken().0;
        if writers[i % 2].fill(16, |value| *value.unwrap()) > 0 {
            runs.push(from..writers[0].taken().0);
        }
    }
    assert_eq!((runs.first().unwrap().start, runs.last().unwrap().end), (0, 11));
    assert!(runs.iter().all(|run| run.end <= 5 || run.start >= 5), "{runs:?}");
    output = output.stops_at_marks();
    assert_eq!((read(&mut output), output.mark()), (vec![0, 1, 2, 3, 4], Some(mark(5, 1))));
    output.pass_mark();
    assert_eq!(read(&mut output), [5, 6, 7, 8, 9, 10]);
}

/// Values that must be dropped, on rings that begin at 7: one producer, then run writers, then keyed writers.
#[test]
fn rings_begin_at_a_number() {
    let (mut producer, input) = ring_from::<String, Dense>(SequenceNumber(7), 4).unwrap();
    let (mut slots, key_slots) = ring_from::<KeySlot, Sparse>(SequenceNumber(7), 4).unwrap();
    let mut other = input.fork();
    let (mut runs, between) = run_writers::<_, String, Dense>(input, 2, 4).unwrap();
    let (mut keyed, mut output) = keyed_writers::<_, String, Dense>(between, key_slots, 2, 2).unwrap();
    assert_eq!((producer.next().0, producer.free(), output.position().0), (7, 4, 7));
    let mut seen = Vec::new();
    for n in 7..40_u64 {
        assert_eq!(producer.fill(1, |_| n.to_string()), Ok(1));
        let lane = (n % 2) as u16;
        slots.fill(1, |_| Some(KeySlot { place: 0, lane, fresh: false })).unwrap();
        assert_eq!(other.batch(4).map(|batch| batch.first().0), Some(n));
        assert_eq!(runs[usize::from(lane)].fill(4, |value| value.unwrap().clone()), 1);
        for writer in &mut keyed {
            assert_eq!(writer.fill(4, |_, value, _| value.unwrap().clone()), 1);
        }
        let batch = output.batch(4).unwrap();
        seen.push((batch.first().0, batch.get(0).cloned().unwrap()));
    }
    assert!(seen.iter().map(|(n, value)| (*n, value.clone())).eq((7..40).map(|n: u64| (n, n.to_string()))));
    producer.try_end(None).unwrap();
    assert_eq!(other.end().map(|end| end.number()), Some(SequenceNumber(40)));
}

/// The marks that a stage passes at one number, of many that are laid there one after another.
#[test]
fn any_number_of_marks_can_follow_each_other_at_one_number() {
    let (mut producer, input) = ring::<u64, Dense>(4).unwrap();
    let (mut output, reader) = ring::<u64, Dense>(4).unwrap();
    let (mut input, mut reader) = (input.stops_at_marks(), reader.stops_at_marks());
    for id in 0..100 {
        let laid = producer.mark(id, MarkKind::Snapshot);
        assert_eq!(input.pass_mark_to(&mut output), Some(laid));
        assert_eq!((reader.pass_mark(), reader.mark()), (Some(laid), None));
    }
    fill(&mut producer, 1);
    assert_eq!(read(&mut input), [0]);
}

#[test]
fn a_group_claims_nothing_after_a_mark_that_retires_it() {
    let (mut producer, reader) = ring::<u64, Dense>(8).unwrap();
    let (mut writers, mut output) = run_writers::<Val<u64>, u64, Dense>(reader, 2, 8).unwrap();
    fill(&mut producer, 3);
    let retire = producer.mark(7, MarkKind::Retire);
    fill(&mut producer, 2);
    let work = |writers: &mut [millstream_ring::RunWriter<Val<u64>, u64>]| {
        while writers.iter_mut().map(|writer| writer.fill(8, |value| *value.unwrap())).sum::<usize>() > 0 {}
    };
    assert_eq!(writers[0].fill(2, |value| *value.unwrap()), 2);
    assert_eq!(writers[1].pass_mark(), None, "number 2 is not claimed");
    work(&mut writers);
    assert_eq!((read(&mut output), output.mark()), (vec![0, 1, 2], Some(retire)));
    assert_eq!(writers[1].pass_mark(), Some(retire));
    assert_eq!(writers[1].pass_mark(), None);
    assert_eq!(writers[0].pass_mark(), Some(retire));
    // END comes after the mark, too.
    producer.try_end(None).unwrap();
    work(&mut writers);
    assert!(!writers[0].end(|_| None));
    assert_eq!(read(&mut output), []);
    writers[1].resume();
    work(&mut writers);
    assert!(writers[0].end(|_| None));
    assert_eq!(read(&mut output), [3, 4]);
}

#[test]
fn a_group_that_begins_after_a_mark_that_retires_goes_on() {
    let (mut producer, _early) = ring::<u64, Dense>(8).unwrap();
    fill(&mut producer, 2);
    producer.mark(1, MarkKind::Retire);
    fill(&mut producer, 1);
    let late: Reader<Val<u64>> = producer.reader();
    let (mut writers, mut output) = run_writers::<_, u64, Dense>(late, 2, 8).unwrap();
    fill(&mut producer, 1);
    assert_eq!((writers[0].fill(8, |value| *value.unwrap()), read(&mut output)), (1, vec![3]));
    producer.try_end(None).unwrap();
    assert!(writers[1].end(|_| None));
}

#[test]
fn end_right_after_a_mark_that_retires_a_group_is_not_taken() {
    let (mut producer, reader) = ring::<u64, Dense>(8).unwrap();
    let (mut writers, mut output) = run_writers::<Val<u64>, u64, Dense>(reader, 1, 8).unwrap();
    fill(&mut producer, 1);
    assert_eq!(writers[0].fill(8, |value| *value.unwrap()), 1);
    producer.mark(1, MarkKind::Retire);
    producer.try_end(None).unwrap();
    // It has not looked at the input since.
    assert!(!writers[0].end(|_| None));
    assert_eq!(read(&mut output), [0]);
    assert!(!output.ended());
}

#[test]
fn a_reader_that_takes_over_at_a_mark_does_not_see_it() {
    let (mut producer, reader) = ring::<u64, Dense>(8).unwrap();
    let mut first = reader.stops_at_marks();
    fill(&mut producer, 2);
    let retire = producer.mark(5, MarkKind::Retire);
    let next = producer.reader::<u64, Dense>().stops_at_marks();
    assert_eq!((read(&mut first), first.pass_mark()), (vec![0, 1], Some(retire)));
    drop(first);
    next.forget_marks();
    // Nor does what is made of it.
    let (mut writers, mut output) = run_writers::<Val<u64>, u64, Dense>(next.fork(), 2, 8).unwrap();
    let mut both = next.fork().zip(next);
    fill(&mut producer, 1);
    assert_eq!((both.mark(), both.batch(8).unwrap().len()), (None, 1));
    assert_eq!((writers[0].pass_mark(), writers[0].fill(8, |value| *value.unwrap())), (None, 1));
    assert_eq!((output.mark(), read(&mut output)), (None, vec![2]));
}
