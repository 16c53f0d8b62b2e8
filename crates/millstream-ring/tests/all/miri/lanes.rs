//! The two lanes of a choice on one ring.

use super::{CASES, NUMBERS, consume, none_left, number, random_ops};
use crate::support::{Counted, Tally, lanes, must_panic};
use millstream_core::{Dense, Projected, Sparse, Val, lens};
use millstream_ring::{is_lane, lane, ring};
use std::thread::{scope, yield_now};

type Choice<D> = Val<millstream_core::Either<u64, u64>, D>;

#[test]
fn random_operations_on_two_lanes() {
    for seed in 0..CASES / 2 {
        let ops = random_ops(seed, 80);
        lanes::run([1 << (seed % 4), 1 << (seed / 2 % 4)], seed % 3, &ops, seed as u8);
    }
}

#[test]
fn two_lanes_on_threads() {
    for capacity in [1, 4] {
        let (inputs, outputs) = (Tally::default(), Tally::default());
        let (mut producer, input) = ring(4).unwrap();
        let (mut left, mut right, output) = lanes::both(input, capacity);
        scope(|threads| {
            threads.spawn(|| {
                while !left.end() {
                    if left.fill(2, |value: &Counted| outputs.value(value.number)) == 0 {
                        yield_now();
                    }
                }
            });
            threads.spawn(|| {
                while !right.end() {
                    if right.fill(3, |value: &Counted| outputs.value(value.number)) == 0 {
                        yield_now();
                    }
                }
            });
            threads.spawn(|| consume(output, number));
            while producer.next().0 < NUMBERS {
                match producer.try_claim(1).unwrap() {
                    None => yield_now(),
                    Some(mut claim) => {
                        let n = claim.first().0;
                        claim.write(lanes::choice(n, inputs.value(n)));
                        claim.publish();
                    }
                }
            }
            assert!(producer.try_end(None).is_ok());
        });
        drop((producer, left, right));
        none_left(&inputs);
        none_left(&outputs);
    }
}

#[test]
fn only_the_opposite_lane_of_the_same_choice_is_accepted() {
    assert!(is_lane::<Projected<Choice<Dense>, lens::Left>>() && is_lane::<Projected<Choice<Dense>, lens::Right>>());
    // A slot may be empty: it would belong to neither lane.
    assert!(!is_lane::<Projected<Choice<Sparse>, lens::Left>>());
    assert!(!is_lane::<Val<u64>>());
    // Slots without a size all have one address.
    type Never = millstream_core::Either<std::convert::Infallible, ()>;
    assert!(!is_lane::<Projected<Val<Never>, lens::Right>>());

    let choices = || ring::<millstream_core::Either<u64, u64>, Dense>(4).unwrap();
    let ((mut producer, input), (_other, elsewhere)) = (choices(), choices());
    must_panic(|| lane::<_, u64>(input.fork(), 4));
    let first = || lane::<_, u64>(input.fork().seen::<lens::Left>(), 4).1;
    must_panic(|| first().joined(input.fork().seen::<lens::Left>()));
    must_panic(|| first().joined(elsewhere.fork().seen::<lens::Right>()));
    let mut claim = producer.try_claim(4).unwrap().unwrap();
    claim.fill(4, |i| lanes::choice(i as u64, 0));
    claim.publish();
    let mut ahead = input.fork();
    drop(ahead.batch(1));
    must_panic(|| first().joined(ahead.seen::<lens::Right>()));
    drop(first().joined(input.fork().seen::<lens::Right>()));
}

/// The ring of the first lane is dropped, and another one may be allocated at its address.
#[test]
fn a_ring_at_the_address_of_a_dropped_one_is_another_ring() {
    type Choice = millstream_core::Either<u64, u64>;
    let edge = |choice| {
        let (mut producer, input) = ring::<Choice, Dense>(4).unwrap();
        let mut claim = producer.try_claim(1).unwrap().unwrap();
        claim.write(choice);
        claim.publish();
        (producer, input)
    };
    for _ in 0..20 {
        let (producer, input) = edge(Choice::Right(1));
        let (mut left, other) = lane::<_, u64>(input.seen::<lens::Left>(), 4);
        assert_eq!(left.fill(8, |_| unreachable!("number 0 is the right lane's")), 1);
        drop((left, producer));
        // This is the left lane's number: the right lane passes it too.
        let (_producer, input) = edge(Choice::Left(1));
        must_panic(|| other.joined(input.seen::<lens::Right>()));
    }
}
