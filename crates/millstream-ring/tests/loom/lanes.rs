//! Two lanes of a choice that fill one ring. They share nothing that either reads and then writes.

use super::{Alive, boxed, end, look, plain, publish, read};
use loom::thread::spawn;
use millstream_core::Either::{self, Left, Right};
use millstream_core::{Dense, Projected, Val, lens};
use millstream_ring::{LaneWriter, Producer, Reader, lane, ring};

type Choice = Val<Either<u64, u64>>;
type Of<L, T> = LaneWriter<Projected<Choice, L>, T>;

/// Numbers that are left and right in turn.
#[expect(clippy::type_complexity, reason = "all ends of two rings")]
fn two<T: Send + Sync + 'static>(
    numbers: usize,
    capacity: usize,
) -> (Producer<Either<u64, u64>>, Of<lens::Left, T>, Of<lens::Right, T>, Reader<Val<T>>) {
    let (mut producer, input) = ring::<Either<u64, u64>, Dense>(2).unwrap();
    for _ in 0..numbers {
        publish(&mut producer, |n| if n % 2 == 0 { Left(n) } else { Right(n) });
    }
    let right = input.fork().seen::<lens::Right>();
    let (left, other) = lane(input.seen::<lens::Left>(), capacity);
    let (right, output) = other.joined(right);
    (producer, left, right, output)
}

#[test]
fn two_lanes_and_their_reader() {
    loom::model(|| {
        let alive = Alive::new();
        let (producer, mut left, mut right, mut output) = two(2, 2);
        let (one, other) = (alive.clone(), alive.clone());
        let filling = spawn(move || {
            left.fill(2, |n| one.value(*n));
        });
        let reading = spawn(move || {
            look(&mut output, 2, boxed);
            output
        });
        right.fill(2, |n| other.value(*n));
        filling.join().unwrap();
        let mut output = reading.join().unwrap();
        read(&mut output, 2, boxed);
        drop((output, right, producer));
        alive.none();
    });
}

#[test]
fn lanes_end_when_both_have() {
    loom::model(|| {
        let (mut producer, mut left, mut right, mut output) = two::<u64>(1, 2);
        end(&mut producer);
        let filling = spawn(move || {
            left.fill(2, |n| *n);
            assert!(left.end());
        });
        right.fill(2, |n| *n);
        assert!(right.end());
        look(&mut output, 1, plain);
        filling.join().unwrap();
        read(&mut output, 1, plain);
        assert!(output.end().is_some_and(|end| end.value().is_none()));
    });
}
