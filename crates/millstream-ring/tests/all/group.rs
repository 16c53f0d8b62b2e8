//! Groups of run writers on one thread: shares, order, END and panics.

use millstream_core::{Dense, Sparse, Val};
use millstream_ring::{Producer, Reader, ring, run_writers};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

fn publish(producer: &mut Producer<u64>, values: impl IntoIterator<Item = u64>) {
    for value in values {
        let mut claim = producer.try_claim(1).unwrap().unwrap();
        claim.write(value);
        claim.publish();
    }
}

fn read(reader: &mut Reader<Val<u64>>) -> Vec<u64> {
    let mut all = Vec::new();
    while let Some(batch) = reader.batch(100) {
        all.extend(batch.iter().flatten().copied());
    }
    all
}

#[test]
fn run_writers_fill_the_numbers_they_read_and_order_is_kept() {
    let (mut producer, input) = ring::<u64, Dense>(8).unwrap();
    let (mut writers, mut output) = run_writers::<_, u64, Dense>(input, 3, 8).unwrap();
    publish(&mut producer, 0..7);
    assert_eq!(writers[1].fill(100, |x| x.unwrap() * 10), 3, "an equal share");
    assert_eq!(writers[2].fill(100, |x| x.unwrap() * 10), 2);
    assert_eq!(writers[0].fill(100, |x| x.unwrap() * 10), 1);
    assert_eq!(writers[0].fill(100, |x| x.unwrap() * 10), 1);
    assert_eq!(writers[0].fill(100, |x| x.unwrap() * 10), 0);
    assert_eq!(read(&mut output), [0, 10, 20, 30, 40, 50, 60]);
    assert!(!writers[0].end(|_| None));
    producer.try_end(None).unwrap();
    assert!(writers[0].end(|_| None) && writers[2].end(|_| None));
    assert!(output.end().is_some());
}

#[test]
fn a_group_has_no_more_room_than_its_ring() {
    let (mut producer, input) = ring::<u64, Dense>(8).unwrap();
    let (mut writers, mut output) = run_writers::<_, u64, Dense>(input, 2, 2).unwrap();
    publish(&mut producer, 0..6);
    let mut fill = |i: usize| writers[i].fill(100, |x| *x.unwrap());
    assert_eq!((fill(0), fill(1), fill(0)), (1, 1, 0));
    assert_eq!(read(&mut output), [0, 1]);
    assert_eq!((fill(0), fill(1), fill(0)), (1, 1, 0));
    assert_eq!(read(&mut output), [2, 3]);
}

#[test]
fn the_value_of_end_goes_through() {
    let (mut producer, input) = ring::<u64, Sparse>(2).unwrap();
    let (mut writers, mut output) = run_writers::<_, u64, Sparse>(input, 2, 1).unwrap();
    producer.try_end(Some(Some(4))).unwrap();
    let double = |x: Option<&u64>| Some(x.map(|x| x * 2));
    assert!(writers[0].end(double) && writers[1].end(double));
    assert_eq!(output.end().unwrap().value(), Some(&8));
}

#[test]
fn a_panic_in_one_run_drops_everything_once() {
    let value = Arc::new(());
    {
        let (mut producer, input) = ring::<u64, Dense>(8).unwrap();
        let (mut writers, mut output) = run_writers::<_, (u64, Arc<()>), Dense>(input, 2, 8).unwrap();
        publish(&mut producer, 0..8);
        let make = |x: Option<&u64>| {
            assert!(*x.unwrap() != 2, "boom");
            (*x.unwrap(), value.clone())
        };
        assert!(catch_unwind(AssertUnwindSafe(|| writers[0].fill(100, make))).is_err());
        assert_eq!(writers[0].abandoned_at().unwrap().0, 2);
        assert_eq!(writers[1].fill(100, make), 2);
        assert_eq!(writers[0].fill(100, make), 0, "it is broken");
        assert!(output.batch(1).is_none(), "no reader sees past the gap");
        assert_eq!(Arc::strong_count(&value), 3);
    }
    assert_eq!(Arc::strong_count(&value), 1);
}
