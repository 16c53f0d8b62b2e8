//! Observation: the counters of rings and of their readers.

use millstream_core::{Dense, Val};
use millstream_ring::{Producer, ring, run_writers};
use std::sync::Arc;

fn publish(producer: &mut Producer<u64>, values: std::ops::Range<u64>) {
    let mut claim = producer.try_claim(values.end as usize - values.start as usize).unwrap().expect("room");
    claim.extend(&mut values.into_iter());
    claim.publish();
}

#[test]
fn a_probe_reports_what_is_published_released_and_free() {
    let (mut producer, mut a) = ring::<u64, Dense>(4).unwrap();
    let mut b = a.fork();
    let probe = producer.probe();
    publish(&mut producer, 0..4);
    assert!(!probe.has_room(4));
    drop(a.batch(3));
    assert_eq!((probe.published(), probe.released(), probe.occupied()), (4, 0, 4), "b has read nothing");
    assert!(!probe.has_room(4));
    drop(b.batch(1));
    assert_eq!((probe.released(), probe.occupied()), (1, 3));
    assert!(probe.has_room(4));
    drop(b);
    assert_eq!(probe.released(), 3, "a dropped reader needs nothing");
    drop(a);
    assert_eq!((probe.released(), probe.occupied()), (4, 0), "if there is no reader, nothing is needed");
    producer.try_end(None).unwrap();
    assert_eq!(probe.published(), 5, "END counts");
}

#[test]
fn a_joined_edge_is_as_far_as_its_slower_ring() {
    let (mut left, a) = ring::<u64, Dense>(4).unwrap();
    let (mut right, b) = ring::<u64, Dense>(4).unwrap();
    let mut both = a.zip(b);
    let probe = both.probe();
    publish(&mut left, 0..3);
    publish(&mut right, 0..1);
    assert_eq!((probe.published(), probe.next(), probe.released()), (1, Some(0), Some(0)));
    drop(both.batch(4));
    assert_eq!((probe.next(), left.probe().released(), right.probe().released()), (Some(1), 1, 1));
    drop(both);
    assert_eq!((probe.next(), probe.released()), (None, None));
}

#[test]
fn a_probe_reports_the_run_of_a_run_writer() {
    let (mut producer, input) = ring::<u64, Dense>(8).unwrap();
    let (writers, reader) = run_writers::<Val<u64>, u64, Dense>(input, 2, 4).unwrap();
    let mut writers = writers.into_iter();
    let (mut a, mut b) = (writers.next().unwrap(), writers.next().unwrap());
    publish(&mut producer, 0..8);
    let [(of_a, output), (of_b, _)] = [a.probes(), b.probes()];
    let mut seen = Vec::new();
    a.fill(2, |x| {
        if seen.is_empty() {
            // The other writer takes its share of the remaining numbers.
            b.fill(2, |y| *y.unwrap());
        }
        seen.push((of_a.next(), of_b.next(), of_a.released(), output.published(), output.has_room(0)));
        *x.unwrap()
    });
    // Number 2 is done, but not 0 and 1: nothing is released or published, and one slot is not claimed.
    assert_eq!(seen, [(Some(0), Some(3), Some(0), 0, true); 2]);
    assert_eq!((of_a.next(), of_a.released(), output.published()), (Some(3), Some(3), 3));
    assert_eq!(reader.probe().published(), 3);
    drop((a, b));
    assert_eq!(of_a.released(), None);
}

#[test]
fn a_probe_keeps_nothing_alive() {
    let value = Arc::new(());
    let (mut producer, reader) = ring::<Arc<()>, Dense>(4).unwrap();
    let (of_ring, of_reader) = (producer.probe(), reader.probe());
    let mut claim = producer.try_claim(1).unwrap().unwrap();
    claim.write(value.clone());
    claim.publish();
    drop((producer, reader));
    assert_eq!(Arc::strong_count(&value), 1);
    assert_eq!((of_ring.published(), of_reader.next()), (1, None));
}
