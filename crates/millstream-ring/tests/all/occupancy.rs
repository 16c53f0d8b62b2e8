//! The counts of empty slots, as their ring reports them.

use millstream_core::keys::KeySlot;
use millstream_core::{Dense, Either, Projected, Sparse, Val, lens};
use millstream_ring::{Occupancy, Producer, Reader, RingProbe, keyed_writers, lane, ring, run_writers};

fn counted(probe: &RingProbe) -> (u64, u64) {
    let Occupancy { looked_at, empty, .. } = probe.empties();
    (looked_at, empty)
}

/// Publishes a batch of `slot` of each number, and calls `read`.
fn pass<T: Send + Sync + 'static>(
    producer: &mut Producer<T>,
    numbers: std::ops::Range<u64>,
    slot: impl Fn(u64) -> T,
    read: impl FnOnce(),
) {
    let mut claim = producer.try_claim((numbers.end - numbers.start) as usize).unwrap().expect("room");
    numbers.for_each(|n| claim.write(slot(n)));
    claim.publish();
    read();
}

fn read_all<F: millstream_ring::RingLayout>(reader: &mut Reader<F>) {
    while reader.batch(100).is_some() {}
}

#[test]
fn slots_are_counted_only_while_counting_is_on() {
    let (mut producer, mut reader) = ring::<String, Sparse>(4).unwrap();
    let probe = producer.probe();
    let third = |n: u64| n.is_multiple_of(3).then(|| n.to_string());
    pass(&mut producer, 0..3, third, || read_all(&mut reader));
    assert_eq!(counted(&probe), (0, 0));
    probe.look(true);
    // Around the end of the storage.
    pass(&mut producer, 3..6, third, || read_all(&mut reader));
    assert_eq!(counted(&probe), (3, 2));
    // A slot that was claimed and not published is not counted.
    producer.try_claim(2).unwrap().expect("room").write(None);
    pass(&mut producer, 6..7, third, || read_all(&mut reader));
    assert_eq!(counted(&probe), (4, 2));
    probe.look(false);
    pass(&mut producer, 7..9, third, || read_all(&mut reader));
    assert_eq!(counted(&probe), (4, 2));
}

#[test]
#[cfg_attr(miri, ignore = "too many for miri")]
fn a_sample_of_many_batches_follows_no_period() {
    // At any period, the sampled share of batches of one slot is like that of all.
    for period in [2, 16, 256, 4096] {
        let (mut producer, mut reader) = ring::<u64, Sparse>(8).unwrap();
        let probe = producer.probe();
        probe.look(true);
        let batches: u64 = 1 << 18;
        for n in 0..batches {
            let slot = |n: u64| (n % period < period / 2).then_some(n);
            pass(&mut producer, n..n + 1, slot, || read_all(&mut reader));
        }
        let (looked_at, empty) = counted(&probe);
        assert!((1030..=1050).contains(&looked_at), "{looked_at}");
        let share = empty as f64 / looked_at as f64;
        assert!((0.45..0.55).contains(&share), "{share} at a period of {period}");
    }
}

#[test]
fn a_dense_ring_has_no_empty_slots_unless_it_is_a_mask() {
    let (mut values, input) = ring::<u64, Dense>(8).unwrap();
    let (mut mask, flags) = ring::<bool, Dense>(8).unwrap();
    let mut both = input.masked(flags);
    let (of_values, of_mask) = (values.probe(), mask.probe());
    of_values.look(true);
    of_mask.look(true);
    pass(&mut values, 0..6, |n| n, || ());
    pass(&mut mask, 0..6, |n| n == 4, || read_all(&mut both));
    assert_eq!((counted(&of_values), counted(&of_mask)), ((6, 0), (6, 5)));
}

#[test]
fn run_writers_count_for_their_ring() {
    let (mut producer, input) = ring::<u64, Dense>(8).unwrap();
    let (mut writers, mut output) = run_writers::<_, String, Sparse>(input, 2, 8).unwrap();
    let probe = writers[0].probes().1;
    probe.look(true);
    for round in 0..3 {
        pass(&mut producer, round * 6..round * 6 + 6, |n| n, || ());
        while writers.iter_mut().any(|writer| writer.fill(2, |n| n.filter(|n| *n % 3 == 0).map(u64::to_string)) > 0) {}
        read_all(&mut output);
    }
    assert_eq!(counted(&probe), (18, 12));
}

#[test]
fn keyed_writers_count_their_own_numbers() {
    let (mut producer, input) = ring::<u64, Dense>(16).unwrap();
    let (mut key_slots, keys) = ring::<KeySlot, Sparse>(16).unwrap();
    let (mut writers, mut output) = keyed_writers::<_, u64, Sparse>(input, keys, 2, 16).unwrap();
    let probe = writers[0].probes().1;
    probe.look(true);
    pass(&mut producer, 0..12, |n| n, || ());
    pass(&mut key_slots, 0..12, |n| Some(KeySlot { place: 0, lane: (n % 2) as u16, fresh: false }), || ());
    // The first writer leaves its half empty, and the second one slot in three of its own.
    assert_eq!(writers[0].fill(100, |_, _, _| None), 12);
    assert_eq!(counted(&probe), (6, 6));
    assert_eq!(writers[1].fill(100, |n, _, _| (n % 3 != 0).then_some(n)), 12);
    assert_eq!(counted(&probe), (12, 8));
    read_all(&mut output);
}

#[test]
fn a_lane_counts_the_other_lanes_numbers_as_empty() {
    type Of<L> = Projected<Val<Either<u64, u64>>, L>;
    let (mut producer, input) = ring::<Either<u64, u64>, Dense>(8).unwrap();
    let right: Reader<Of<lens::Right>> = input.fork().seen();
    let left: Reader<Of<lens::Left>> = input.seen();
    let (mut left, other) = lane::<_, u64>(left, 8);
    let (mut right, mut output) = other.joined(right);
    let probes = [left.probes().1, right.probes().1];
    probes.iter().for_each(|probe| probe.look(true));
    pass(&mut producer, 0..8, |n| if n == 5 { Either::Right(n) } else { Either::Left(n) }, || ());
    assert_eq!((left.fill(8, |x| *x), right.fill(8, |x| *x)), (8, 8));
    assert_eq!(probes.each_ref().map(counted), [(8, 1), (8, 7)]);
    read_all(&mut output);
}
