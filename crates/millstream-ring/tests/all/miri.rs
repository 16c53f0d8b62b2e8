//! Tests within miri's reach: random operations on one thread, and two or three real threads over small rings.
//!
//! Miri runs one interleaving for each seed, and slowly: few cases, few numbers. The same tests also run without miri.

mod any_edge;
mod at_end;
mod lanes;
mod moving;
mod views;

use crate::support::{Counted, Op, Tally, composite, groups, keyed, must_panic, one_ring, quietly_panic};
use millstream_core::keys::KeySlot;
use millstream_core::{Dense, Pair, Sparse, SplitMix64, Val};
use millstream_ring::{Producer, Reader, RingLayout, RunWriter, Wiring, keyed_writers, ring, run_writers};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::thread::{scope, yield_now};

const CASES: u64 = if cfg!(miri) { 6 } else { 200 };
const NUMBERS: u64 = if cfg!(miri) { 12 } else { 5_000 };

fn random_ops(seed: u64, len: usize) -> Vec<Op> {
    let mut random = SplitMix64::new(seed);
    let mut byte = || random.draw() as u8;
    (0..len).map(|_| [byte(), byte(), byte()]).collect()
}

#[test]
fn random_operations_on_one_ring() {
    for seed in 0..CASES {
        let ops = random_ops(seed, 60);
        one_ring::run::<Dense>(1 << (seed % 4), 1 + seed as usize % 4, &ops, seed as u8);
        one_ring::run::<Sparse>(1 << (seed % 3), 1 + seed as usize % 2, &ops, seed as u8);
    }
}

#[test]
fn random_operations_on_composite_readers() {
    for seed in 0..CASES {
        let capacities = [1 << (seed % 3), 1 << (seed / 2 % 4), 1 << (seed / 3 % 3)];
        composite::run(seed as u8, capacities, 5, &random_ops(seed, 60));
    }
}

#[test]
fn random_operations_on_a_group() {
    for seed in 0..CASES {
        let ops = random_ops(seed, 60);
        groups::run(1 + seed as usize % 5, [1 << (seed % 4), 1 << (seed / 2 % 4)], seed % 3, &ops, seed as u8);
    }
}

#[test]
fn random_operations_on_keyed_writers() {
    for seed in 0..CASES {
        let ops = random_ops(seed, 60);
        keyed::run(1 + seed as usize % 5, [1 << (seed % 4), 1 << (seed / 2 % 4)], seed % 3, &ops, seed as u8);
    }
}

fn produce(mut producer: Producer<Counted>, tally: &Tally) {
    while producer.next().0 < NUMBERS {
        let left = (NUMBERS - producer.next().0) as usize;
        match producer.try_claim(left.min(2)).unwrap() {
            None => yield_now(),
            Some(mut claim) => {
                let first = claim.first().0;
                claim.fill(2, |i| tally.value(first + i as u64));
                claim.publish();
            }
        }
    }
    assert!(producer.try_end(None).is_ok());
}

/// Reads to END: every number from the reader's position on, in order.
fn consume<F: RingLayout>(mut reader: Reader<F>, show: impl Fn(F::Ref<'_>) -> u64) {
    let mut next = reader.position().0;
    loop {
        if let Some(batch) = reader.batch(3) {
            for value in batch.iter() {
                assert_eq!(value.map(&show), Some(next));
                next += 1;
            }
            continue;
        }
        if reader.end().is_some() {
            break;
        }
        yield_now();
    }
    assert_eq!(next, NUMBERS);
}

fn number(value: &Counted) -> u64 {
    value.number
}

fn none_left(tally: &Tally) {
    assert_eq!(tally.numbers(), [0; 0]);
}

#[test]
fn a_reader_on_another_thread() {
    for capacity in [1, 2, 8] {
        let tally = Tally::default();
        let (producer, reader) = ring::<Counted, Dense>(capacity).unwrap();
        scope(|threads| {
            threads.spawn(|| produce(producer, &tally));
            consume(reader, number);
        });
        none_left(&tally);
    }
}

#[test]
fn two_readers_and_a_fork_while_the_producer_runs() {
    let tally = Tally::default();
    let wiring = Wiring::<Counted, Dense>::new(2).unwrap();
    let (mut a, b) = (wiring.reader(), wiring.reader());
    let producer = wiring.start();
    scope(|threads| {
        threads.spawn(|| produce(producer, &tally));
        threads.spawn(|| consume(b, number));
        while a.position().0 < NUMBERS / 2 {
            drop(a.batch(1));
            yield_now();
        }
        let fork = a.fork();
        threads.spawn(|| consume(fork, number));
        drop(a);
    });
    none_left(&tally);
}

#[test]
fn a_pair_of_rings_with_a_producer_each() {
    let (first, second) = (Tally::default(), Tally::default());
    let (p, a) = ring::<Counted, Dense>(1).unwrap();
    let (q, b) = ring::<Counted, Dense>(4).unwrap();
    scope(|threads| {
        threads.spawn(|| produce(p, &first));
        threads.spawn(|| produce(q, &second));
        consume(a.zip(b), |(a, b)| {
            assert_eq!(a.number, b.number);
            a.number
        });
    });
    none_left(&first);
    none_left(&second);
}

fn work(mut writer: RunWriter<Val<Counted>, Counted>, tally: &Tally) {
    loop {
        if writer.fill(2, |value| tally.value(value.unwrap().number)) == 0 {
            if writer.end(|_| None) {
                break;
            }
            yield_now();
        }
    }
}

#[test]
fn three_run_writers_on_threads() {
    for capacity in [1, 4] {
        let (inputs, outputs) = (Tally::default(), Tally::default());
        let (producer, input) = ring::<Counted, Dense>(4).unwrap();
        let (writers, output) = run_writers::<_, Counted, Dense>(input, 3, capacity).unwrap();
        scope(|threads| {
            for writer in writers {
                threads.spawn(|| work(writer, &outputs));
            }
            threads.spawn(|| consume(output, number));
            produce(producer, &inputs);
        });
        none_left(&inputs);
        none_left(&outputs);
    }
}

#[test]
fn three_keyed_writers_on_threads() {
    for capacity in [1, 4] {
        let (inputs, outputs) = (Tally::default(), Tally::default());
        let (producer, input) = ring::<Counted, Dense>(4).unwrap();
        let (mut key_slots, keys) = ring::<KeySlot, Sparse>(NUMBERS.next_power_of_two() as usize).unwrap();
        let mut claim = key_slots.try_claim(NUMBERS as usize).unwrap().unwrap();
        claim.fill(NUMBERS as usize, |i| Some(KeySlot { place: 0, lane: (i * i % 5) as u16, fresh: false }));
        claim.publish();
        assert!(key_slots.try_end(None).is_ok());
        let (writers, output) = keyed_writers::<_, Counted, Dense>(input, keys, 3, capacity).unwrap();
        scope(|threads| {
            for mut writer in writers {
                let outputs = &outputs;
                threads.spawn(move || {
                    while !writer.end(|_, _, _| None) {
                        if writer.fill(2, |_, value, _| outputs.value(value.unwrap().number)) == 0 {
                            yield_now();
                        }
                    }
                });
            }
            threads.spawn(|| consume(output, number));
            produce(producer, &inputs);
        });
        none_left(&inputs);
        none_left(&outputs);
    }
}

#[test]
fn a_run_writer_that_panics_among_others() {
    let (inputs, outputs) = (Tally::default(), Tally::default());
    let (mut producer, input) = ring::<Counted, Dense>(8).unwrap();
    let (writers, mut output) = run_writers::<_, Counted, Dense>(input, 3, 8).unwrap();
    let mut claim = producer.try_claim(8).unwrap().unwrap();
    claim.fill(8, |i| inputs.value(i as u64));
    claim.publish();
    scope(|threads| {
        for mut writer in writers {
            let outputs = &outputs;
            threads.spawn(move || {
                let mut broken = false;
                let mut fill = || {
                    writer.fill(2, |value| {
                        if value.unwrap().number == 5 {
                            broken = true;
                            quietly_panic();
                        }
                        outputs.value(value.unwrap().number)
                    })
                };
                while catch_unwind(AssertUnwindSafe(&mut fill)).is_ok_and(|len| len > 0) {}
                assert_eq!(broken, writer.abandoned_at().is_some());
            });
        }
    });
    let mut next = 0;
    while let Some(batch) = output.batch(8) {
        assert_eq!(batch.first().0, next);
        next += batch.len() as u64;
    }
    assert!(next == 4 || next == 5, "no reader sees the run that was given up");
    drop((producer, output));
    none_left(&inputs);
    none_left(&outputs);
}

#[test]
fn panics_in_every_function_that_is_lent_slots() {
    let tally = Tally::default();
    let (mut producer, mut reader) = ring::<Counted, Dense>(4).unwrap();
    let mut claim = producer.try_claim(2).unwrap().unwrap();
    claim.fill(2, |i| tally.value(i as u64));
    claim.publish();
    let (mut next, out) = ring::<Counted, Dense>(4).unwrap();
    let batch = reader.batch(2).unwrap();
    let mut claim = next.try_claim(2).unwrap().unwrap();
    must_panic(|| {
        batch.map_into(
            &mut claim,
            &mut (),
            |(), _, value| if value.unwrap().number == 1 { quietly_panic() } else { tally.value(7) },
        );
    });
    drop((batch, claim));
    assert_eq!(next.abandoned_at().unwrap().0, 1);
    assert_eq!(tally.numbers(), [0, 1]);
    drop((producer, reader, next, out));
    none_left(&tally);
}

#[test]
fn a_forgotten_guard_leaks_and_does_nothing_else() {
    let (mut producer, mut reader) = ring::<u64, Sparse>(2).unwrap();
    let mut claim = producer.try_claim(1).unwrap().unwrap();
    claim.write(Some(1));
    std::mem::forget(claim);
    let mut claim = producer.try_claim(2).unwrap().unwrap();
    assert_eq!((claim.first().0, claim.len()), (0, 2));
    claim.write(Some(2));
    claim.publish();
    std::mem::forget(reader.batch(1));
    assert_eq!(reader.batch(1).unwrap().get(0), Some(&2));
    producer.try_end(Some(Some(3))).unwrap();
    std::mem::forget(reader.end());
    assert_eq!(reader.end().unwrap().value(), Some(&3));
    assert!(reader.ended());
}

/// The value of every number, read in every way: the numbers of the halves, which are one value each.
fn seen_every_way(edge: &mut Reader<Val3>, max: usize) -> Vec<Option<[u64; 3]>> {
    let show = |((a, b), c): ((&Counted, &Counted), &Counted)| [a.number, b.number, c.number];
    let mut batch = edge.batch(max).unwrap();
    let one_by_one: Vec<_> = batch.iter().map(|slot| slot.map(show)).collect();
    let (mut copies, mut copied) = ring::<[u64; 3], Sparse>(8).unwrap();
    let mut claim = copies.try_claim(batch.len()).unwrap().unwrap();
    batch.map_into(&mut claim, &mut (), |(), _, slot| slot.map(show));
    claim.publish();
    let mut visited = Vec::new();
    batch.for_each(&mut visited, |visited, _, slot| visited.push(slot.map(show)));
    assert_eq!(one_by_one, visited);
    let (mut values, first) = (Vec::new(), batch.first().0);
    batch.for_each_value(&mut values, |values, n, value| values.push((n.0, show(value))));
    let filled = (first..).zip(&visited).filter_map(|(n, slot)| Some((n, (*slot)?)));
    assert_eq!(values, filled.collect::<Vec<_>>());
    assert_eq!(one_by_one, copied.batch(8).unwrap().iter().map(|slot| slot.copied()).collect::<Vec<_>>());
    visited
}

type Val3 = Pair<Pair<Val<Counted, Sparse>, Val<Counted, Sparse>>, Val<Counted, Sparse>>;

#[test]
fn readers_of_one_ring_side_by_side_and_of_two_rings_that_look_alike() {
    let (tally, others) = (Tally::default(), Tally::default());
    let (mut p, one) = ring::<Counted, Sparse>(4).unwrap();
    let (mut q, other) = ring::<Counted, Sparse>(4).unwrap();
    let mut of_one = one.fork().zip(one.fork()).zip(one.fork());
    let mut of_both = one.fork().zip(one).zip(other);
    for first in [0, 3, 6] {
        for (producer, tally, add) in [(&mut p, &tally, 0), (&mut q, &others, 100)] {
            let mut claim = producer.try_claim(3).unwrap().unwrap();
            claim.fill(3, |i| (i != 1).then(|| tally.value(first + i as u64 + add)));
            claim.publish();
        }
        let slots = |add| (first..first + 3).map(move |n| (n != first + 1).then_some([n, n, n + add]));
        let seen = |edge: &mut Reader<Val3>| -> Vec<_> {
            let before_the_wrap = seen_every_way(edge, 8);
            let left = 3 - before_the_wrap.len();
            if left > 0 { [before_the_wrap, seen_every_way(edge, 8)].concat() } else { before_the_wrap }
        };
        assert_eq!(seen(&mut of_one), slots(0).collect::<Vec<_>>());
        assert_eq!(seen(&mut of_both), slots(100).collect::<Vec<_>>());
    }
    drop((p, q, of_one, of_both));
    none_left(&tally);
    none_left(&others);
}

#[test]
fn end_of_two_clocks_belongs_to_one_keyed_writer() {
    let (mut producer, input) = ring::<u64, Dense>(4).unwrap();
    let (mut key_slots, keys) = ring::<KeySlot, Sparse>(4).unwrap();
    let key_slot = |lane| Some(KeySlot { place: 0, lane, fresh: false });
    producer.try_end(None).unwrap(); // END is number 0,
    let mut claim = key_slots.try_claim(1).unwrap().unwrap();
    claim.write(key_slot(1)); // and the key slots continue
    claim.publish();
    let (mut writers, mut output) = keyed_writers::<_, u64, Sparse>(input, keys, 2, 4).unwrap();
    let mut asked = Vec::new();
    for (i, writer) in writers.iter_mut().enumerate() {
        assert!(writer.end(|_, _, _| {
            asked.push(i);
            Some(Some(i as u64))
        }));
        // The numbers after 0 on the other edge do not matter to END.
        if i == 0 {
            key_slots.try_end(Some(key_slot(0))).unwrap();
        }
    }
    assert_eq!(asked, [0]);
    assert_eq!(output.end().unwrap().value(), Some(&0));
}
