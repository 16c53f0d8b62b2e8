//! The two lanes of a choice that fill one ring, stepped in any order on one thread, with functions that sometimes
//! panic.

use super::{Counted, Op, Tally, must_panic, quietly_panic};
use millstream_core::Either::{self, Left, Right};
use millstream_core::{Lens, Projected, Val, lens};
use millstream_ring::{LaneWriter, MarkKind, Producer, Reader, lane, ring};

pub(crate) type Choice<T> = Val<Either<T, T>>;
pub(crate) type Of<T, L> = LaneWriter<Projected<Choice<T>, L>, T>;

struct World {
    tally_out: Tally,
    tally_in: Tally,
    producer: Producer<Either<Counted, Counted>>,
    left: Of<Counted, lens::Left>,
    right: Of<Counted, lens::Right>,
    /// The next number that each lane passes.
    passed: [u64; 2],
    broken: [bool; 2],
    readers: Vec<(Reader<Val<Counted>>, u64)>,
    ended: bool,
}

/// The lane of a number, with its value.
pub(crate) fn choice<T>(n: u64, value: T) -> Either<T, T> {
    if n.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 63 == 0 { Left(value) } else { Right(value) }
}

pub(crate) type Both<T> = (Of<T, lens::Left>, Of<T, lens::Right>, Reader<Val<T>>);

/// Both lanes and the reader of their ring.
pub(crate) fn both<T: Send + Sync + 'static>(input: Reader<Choice<T>>, capacity: usize) -> Both<T> {
    let right = input.fork().seen::<lens::Right>();
    let (left, other) = lane(input.seen::<lens::Left>(), capacity);
    let (right, output) = other.joined(right);
    (left, right, output)
}

pub(crate) fn run(capacities: [u64; 2], start: u64, ops: &[Op], last: u8) {
    let (mut producer, mut input) = ring(capacities[0] as usize).unwrap();
    let (tally_in, tally_out) = (Tally::default(), Tally::default());
    for n in 0..start {
        publish(&mut producer, &tally_in, 1);
        assert_eq!(input.batch(1).unwrap().first().0, n);
    }
    producer.sweep();
    let (left, right, output) = both(input, capacities[1] as usize);
    let mut world = World {
        tally_in: tally_in.clone(),
        tally_out: tally_out.clone(),
        producer,
        left,
        right,
        passed: [start; 2],
        broken: [false; 2],
        readers: vec![(output, start)],
        ended: false,
    };
    for op in ops {
        world.step(*op);
    }
    let World { producer, left, right, readers, .. } = world;
    match last % 3 {
        0 => drop((producer, left, right, readers)),
        1 => drop((readers, right, left, producer)),
        _ => drop((left, producer, readers, right)),
    }
    assert_eq!((tally_in.numbers(), tally_out.numbers()), (vec![], vec![]));
}

fn publish(producer: &mut Producer<Either<Counted, Counted>>, tally: &Tally, most: usize) {
    if let Some(mut claim) = producer.try_claim(most).unwrap() {
        let first = claim.first().0;
        claim.fill(most, |i| choice(first + i as u64, tally.value(first + i as u64)));
        claim.publish();
    }
}

impl World {
    fn step(&mut self, [what, which, much]: Op) {
        let reader = usize::from(which) % self.readers.len();
        match what % 16 {
            0..=3 if !self.ended => publish(&mut self.producer, &self.tally_in, 1 + usize::from(much % 8)),
            4..=6 => self.passed[0] += fill(&mut self.left, &self.tally_out, much, &mut self.broken[0]),
            7..=9 => self.passed[1] += fill(&mut self.right, &self.tally_out, much, &mut self.broken[1]),
            10..=12 => self.read(reader, 1 + usize::from(much % 8)),
            13 => self.left.sweep(),
            14 if much % 4 == 0 && self.readers.len() < 4 => {
                let (reader, at) = &self.readers[reader];
                self.readers.push((reader.fork(), *at));
            }
            14 => _ = self.producer.mark(u64::from(much), MarkKind::Snapshot),
            15 if much % 16 == 0 && !self.ended => self.ended = self.producer.try_end(None).is_ok(),
            _ if self.ended => {
                let next = self.producer.next().0;
                let at_end = |lane: usize| self.passed[lane] == next && !self.broken[lane];
                if at_end(0) && self.left.end() {
                    assert_eq!(self.left.backlog(), 0);
                }
                if at_end(1) {
                    self.right.end();
                }
            }
            _ => (),
        }
        // Readers see only the numbers that both lanes have passed.
        let shown = self.readers.iter().map(|(reader, at)| reader.backlog() + at).max().unwrap();
        assert!(shown <= self.passed[0].min(self.passed[1]) + 1);
    }

    fn read(&mut self, reader: usize, most: usize) {
        let (reader, at) = &mut self.readers[reader];
        let Some(batch) = reader.batch(most) else { return };
        for value in batch.iter() {
            assert_eq!(value.map(|value| value.number), Some(*at * 10));
            *at += 1;
        }
    }
}

/// Fills, and returns how many numbers the lane passed.
fn fill<L>(lane: &mut Of<Counted, L>, tally: &Tally, much: u8, broken: &mut bool) -> u64
where
    L: Lens<Choice<Counted>>,
    Projected<Choice<Counted>, L>: for<'a> millstream_ring::RingLayout<Ref<'a> = &'a Counted>,
{
    let panics = much > 245;
    let mut called = false;
    let mut f = |value: &Counted| {
        called = true;
        if panics {
            quietly_panic();
        }
        tally.value(value.number * 10)
    };
    if *broken {
        assert_eq!(lane.fill(1, f), 0, "a broken lane stays broken");
        assert!(lane.abandoned_at().is_some());
        return 0;
    }
    if !panics {
        return lane.fill(usize::from(much % 6), f) as u64;
    }
    let before = lane.backlog();
    // Of one number: it panics if that is the lane's.
    let passed = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| lane.fill(1, &mut f)));
    match passed {
        Ok(passed) => {
            assert!(!called);
            assert_eq!(lane.backlog(), before - passed as u64);
            passed as u64
        }
        Err(_) => {
            *broken = true;
            must_panic(|| assert!(lane.abandoned_at().is_none()));
            0
        }
    }
}
