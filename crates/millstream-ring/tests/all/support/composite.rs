//! Three rings of different capacity, read as one edge: the content of number n depends only on n.

use super::{Counted, Op, Tally};
use millstream_core::{Dense, Density, Sparse, Val, lens};
use millstream_ring::{Producer, Reader, RingLayout, ring};

type A = Val<Counted>;
type B = Val<Counted, Sparse>;
type Ends = (Reader<A>, Reader<B>, Reader<Val<bool>>);

fn b_is_filled(n: u64) -> bool {
    n % 3 != 1
}

fn is_kept(n: u64) -> bool {
    n.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 63 == 0
}

/// A ring whose slots depend only on their numbers.
struct Source<S: Send + Sync + 'static> {
    producer: Producer<S>,
    tally: Tally,
    next: u64,
    length: u64,
    ended: bool,
    slot: fn(&Tally, u64) -> S,
    last: fn(&Tally, u64) -> Option<S>,
}

impl<S: Send + Sync + 'static> Source<S> {
    /// Publishes `much` slots, as far as there is room, up to the length of the stream; then perhaps END.
    fn publish(&mut self, much: u64, needed: u64) {
        let much = much.min(self.length - self.next);
        let room = needed.min(self.next) + self.producer.capacity() as u64 - self.next;
        if much > 0 {
            let Some(mut claim) = self.producer.try_claim(much as usize).unwrap() else { return assert_eq!(room, 0) };
            let len = claim.len();
            assert_eq!(len as u64, room.min(much));
            claim.fill(len, |i| (self.slot)(&self.tally, self.next + i as u64));
            claim.publish();
            self.next += len as u64;
        } else if self.next == self.length && !self.ended {
            let last = (self.last)(&self.tally, self.next);
            let wants = u64::from(last.is_some());
            self.ended = self.producer.try_end(last).is_ok();
            assert_eq!(self.ended, room >= wants);
        }
    }

    /// Sweeps, and checks the values that are left: those that some reader needs, and no others.
    fn check(&mut self, needed: u64, filled: impl Fn(u64) -> bool) {
        self.producer.sweep();
        let end =
            (self.ended && needed <= self.length && (self.last)(&Tally::default(), 0).is_some()).then_some(self.length);
        let left: Vec<u64> = (needed.min(self.next)..self.next).filter(|n| filled(*n)).chain(end).collect();
        assert_eq!(self.tally.numbers(), left);
    }

    /// The first number that no reader can read yet.
    fn cursor(&self) -> u64 {
        self.next + u64::from(self.ended)
    }
}

struct Rings {
    a: Source<Counted>,
    b: Source<Option<Counted>>,
    mask: Source<bool>,
}

#[expect(clippy::type_complexity, reason = "the two ends of one ring")]
fn wire<D: Density, T: Send + Sync + 'static>(
    capacity: u64,
    length: u64,
    slot: fn(&Tally, u64) -> D::Slot<T>,
    last: fn(&Tally, u64) -> Option<D::Slot<T>>,
) -> (Source<D::Slot<T>>, Reader<Val<T, D>>) {
    let (producer, reader) = ring::<T, D>(capacity as usize).unwrap();
    (Source { producer, tally: Tally::default(), next: 0, length, ended: false, slot, last }, reader)
}

/// How the rings are joined, and how a number of the join is shown.
struct Edge<F: RingLayout> {
    join: fn(Ends) -> Reader<F>,
    reads_a: bool,
    show: fn(F::Ref<'_>) -> u64,
    filled: fn(u64) -> bool,
    /// A's END is empty.
    end_filled: fn(u64) -> bool,
}

fn same(a: &Counted, b: &Counted) -> u64 {
    assert_eq!(a.number, b.number);
    a.number
}

/// One of five shapes over rings of these capacities; every clock is `length` long.
pub(crate) fn run(shape: u8, capacities: [u64; 3], length: u64, ops: &[Op]) {
    let filled = |n| b_is_filled(n) && is_kept(n);
    match shape % 5 {
        0 => {
            let join = |(a, b, mask): Ends| a.zip(b).masked(mask);
            drive(
                capacities,
                length,
                ops,
                &Edge { join, reads_a: true, show: |(a, b)| same(a, b), filled, end_filled: |_| false },
            );
        }
        1 => {
            let join = |(a, b, mask): Ends| a.masked(mask).zip(b);
            drive(
                capacities,
                length,
                ops,
                &Edge { join, reads_a: true, show: |(a, b)| same(a, b), filled, end_filled: |_| false },
            );
        }
        2 => {
            let join = |(a, b, mask): Ends| a.zip(b.masked(mask)).seen::<lens::Second>();
            drive(
                capacities,
                length,
                ops,
                &Edge { join, reads_a: true, show: |b| b.number, filled, end_filled: |_| false },
            );
        }
        3 => {
            let join = |(a, b, mask): Ends| {
                let again = b.fork();
                a.masked(mask).zip(b).seen::<lens::First>().zip(again)
            };
            drive(
                capacities,
                length,
                ops,
                &Edge { join, reads_a: true, show: |(a, b)| same(a, b), filled, end_filled: |_| false },
            );
        }
        _ => {
            let join = |(_, b, mask): Ends| b.fork().zip(b).masked(mask);
            drive(
                capacities,
                length,
                ops,
                &Edge { join, reads_a: false, show: |(a, b)| same(a, b), filled, end_filled: is_kept },
            );
        }
    }
}

fn drive<F: RingLayout>([a, b, mask]: [u64; 3], length: u64, ops: &[Op], edge: &Edge<F>) {
    let (a, of_a) = wire::<Dense, _>(a, length, |tally, n| tally.value(n), |_, _| None);
    let slot = |tally: &Tally, n| b_is_filled(n).then(|| tally.value(n));
    let (b, of_b) = wire::<Sparse, _>(b, length, slot, |tally, n| Some(Some(tally.value(n))));
    let (mask, of_mask) = wire::<Dense, _>(mask, length, |_, n| is_kept(n), |_, n| Some(is_kept(n)));
    let mut rings = Rings { a, b, mask };
    let mut readers = vec![((edge.join)((of_a, of_b, of_mask)), 0)];
    for &[what, which, much] in ops {
        let index = usize::from(which) % readers.len();
        let amount = u64::from(much % 8);
        let (needed, needed_of_a) = needed(&readers, edge);
        match what % 8 {
            0 => rings.a.publish(amount, needed_of_a),
            1 => rings.b.publish(amount, needed),
            2 => rings.mask.publish(amount, needed),
            3 if readers.len() < 3 => {
                let (reader, position) = &readers[index];
                readers.push((reader.fork(), *position));
            }
            4 if readers.len() > 1 && amount == 0 => drop(readers.swap_remove(index)),
            _ => read(&mut readers[index], &rings, edge, much),
        }
        let (needed, needed_of_a) = self::needed(&readers, edge);
        rings.a.check(needed_of_a, |_| true);
        rings.b.check(needed, b_is_filled);
    }
    let tallies = [rings.a.tally.clone(), rings.b.tally.clone()];
    drop(readers);
    drop(rings);
    assert!(tallies.iter().all(|tally| tally.numbers().is_empty()));
}

/// The least number that a reader needs, and that of ring A, which not every shape reads.
fn needed<F: RingLayout>(readers: &[(Reader<F>, u64)], edge: &Edge<F>) -> (u64, u64) {
    let least = readers.iter().map(|(_, position)| *position).min().unwrap();
    (least, if edge.reads_a { least } else { u64::MAX })
}

fn read<F: RingLayout>((reader, position): &mut (Reader<F>, u64), rings: &Rings, edge: &Edge<F>, much: u8) {
    let first = *position;
    let (a, b, mask) = (&rings.a, &rings.b, &rings.mask);
    let cursor = b.cursor().min(mask.cursor()).min(if edge.reads_a { a.cursor() } else { u64::MAX });
    assert_eq!(reader.backlog(), cursor.saturating_sub(first));
    let capacities = [a.producer.capacity(), b.producer.capacity(), mask.producer.capacity()].map(|c| c as u64);
    let wrap =
        capacities.iter().skip(usize::from(!edge.reads_a)).map(|capacity| capacity - first % capacity).min().unwrap();
    let max = u64::from(much % 16);
    let len = cursor.min(b.length).saturating_sub(first).min(wrap).min(max);
    if let Some(mut batch) = reader.batch(max as usize) {
        assert_eq!((batch.first().0, batch.len() as u64), (first, len));
        for (n, value) in (first..).zip(batch.iter()) {
            assert_eq!(value.map(edge.show), (edge.filled)(n).then_some(n));
        }
        let mut values = Vec::new();
        batch.for_each_value(&mut values, |values, n, value| values.push((n.0, (edge.show)(value))));
        let filled = (first..first + len).filter(|n| (edge.filled)(*n)).map(|n| (n, n));
        assert_eq!(values, filled.collect::<Vec<_>>());
        batch.truncate(if much > 200 { 1 } else { usize::MAX });
        *position += batch.len() as u64;
    } else {
        assert_eq!(len, 0);
    }
    let at_end = *position == b.length && cursor > b.length;
    assert_eq!(
        reader.end().map(|end| {
            let value = end.value().map(edge.show);
            end.keep();
            value
        }),
        at_end.then(|| (edge.end_filled)(b.length).then_some(b.length))
    );
    if at_end && much.is_multiple_of(2) {
        drop(reader.end());
        *position += 1;
        assert!(reader.ended() && reader.batch(1).is_none() && reader.end().is_none());
    }
}
