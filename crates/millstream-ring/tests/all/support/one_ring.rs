//! One ring and its readers against a `VecDeque`: every result, and the values alive after every step.

use super::{Counted, Op, Tally, must_panic, quietly_panic};
use millstream_core::{Density, Val};
use millstream_ring::{ClaimError, MarkKind, Producer, Reader, Wiring};
use std::collections::VecDeque;

const MARKS: usize = 16;
const READERS: usize = 4;

struct World<D: Density> {
    tally: Tally,
    producer: Producer<D::Slot<Counted>>,
    readers: Vec<(Reader<Val<Counted, D>>, u64)>,
    capacity: u64,
    next: u64,
    /// END's number, and whether it has a slot with a value.
    end: Option<(u64, bool)>,
    /// The published numbers whose values are alive.
    alive: VecDeque<u64>,
    /// The numbers of the marks that some reader needs.
    marks: VecDeque<u64>,
    /// The numbers of all marks that were laid, forgotten ones included.
    laid: Vec<u64>,
}

/// Runs the operations. `last` determines the order in which the ends are dropped.
pub(crate) fn run<D: Density>(capacity: u64, readers: usize, ops: &[Op], last: u8) {
    let wiring = Wiring::<Counted, D>::new(capacity as usize).unwrap();
    let readers = (0..readers).map(|_| (wiring.reader(), 0)).collect();
    let tally = Tally::default();
    let mut world = World::<D> {
        tally: tally.clone(),
        producer: wiring.start(),
        readers,
        capacity,
        next: 0,
        end: None,
        alive: VecDeque::new(),
        marks: VecDeque::new(),
        laid: Vec::new(),
    };
    for op in ops {
        world.step(*op);
        assert_eq!(world.alive, tally.numbers(), "alive after {op:?}");
    }
    let World { producer, mut readers, .. } = world;
    if last.is_multiple_of(2) {
        drop(producer);
        while !readers.is_empty() {
            readers.swap_remove(usize::from(last / 2) % readers.len());
        }
    } else {
        drop(readers);
        drop(producer);
    }
    assert_eq!(tally.numbers(), [0; 0], "alive at last");
}

impl<D: Density> World<D> {
    fn step(&mut self, [what, which, much]: Op) {
        let index = usize::from(which) % self.readers.len().max(1);
        match what % 16 {
            0..=4 => self.claim(which, much),
            5..=8 if !self.readers.is_empty() => self.batch(index, much),
            9 if !self.readers.is_empty() && self.readers.len() < READERS => {
                let (reader, position) = &self.readers[index];
                self.readers.push((reader.fork(), *position));
            }
            10 if !self.readers.is_empty() && much % 3 == 0 => drop(self.readers.swap_remove(index)),
            11 if self.readers.len() < READERS => self.readers.push((self.producer.reader(), self.next)),
            12 => {
                self.producer.sweep();
                self.swept();
            }
            13 => self.mark(much),
            14 if much % 8 == 0 => self.end(which % 2 == 0 && !D::DENSE),
            14 if !self.readers.is_empty() => self.read_end(index, much),
            _ => {
                assert_eq!(self.producer.free() as u64, self.room());
                self.swept();
            }
        }
    }

    /// The least number that some reader needs.
    fn needed(&self) -> u64 {
        self.readers.iter().map(|(_, position)| *position).min().unwrap_or(self.next).min(self.next)
    }

    fn room(&self) -> u64 {
        (self.needed() + self.capacity).saturating_sub(self.next)
    }

    fn swept(&mut self) {
        while self.alive.front().is_some_and(|n| *n < self.needed()) {
            self.alive.pop_front();
        }
    }

    fn claim(&mut self, which: u8, much: u8) {
        let n = u64::from(which) % (self.capacity + 2);
        let room = self.room();
        if n == 0 || self.end.is_some() {
            let expected = if n == 0 { ClaimError::Zero } else { ClaimError::Ended };
            return assert_eq!(self.producer.try_claim(n as usize).err(), Some(expected));
        }
        self.swept();
        let Some(mut claim) = self.producer.try_claim(n as usize).unwrap() else { return assert_eq!(room, 0) };
        assert_eq!((claim.len() as u64, claim.first().0), (n.min(room), self.next));
        let writes = u64::from(much) % (claim.len() as u64 + 1);
        let make = |i: u64| D::pack(Some(self.tally.value(self.next + i)));
        match much % 3 {
            0 => (0..writes).for_each(|i| claim.write(make(i))),
            1 => claim.fill(writes as usize, |i| make(i as u64)),
            _ => must_panic(|| {
                claim.fill(claim.len(), |i| if i as u64 == writes { quietly_panic() } else { make(i as u64) });
                quietly_panic()
            }),
        }
        if !much.is_multiple_of(5) {
            claim.publish();
            self.alive.extend(self.next..self.next + writes);
            self.next += writes;
        }
    }

    fn batch(&mut self, index: usize, much: u8) {
        let below = self.end.map_or(self.next, |(end, _)| end);
        let (reader, position) = &mut self.readers[index];
        let first = *position;
        let mark = self.laid.iter().find(|at| **at > first).map_or(u64::MAX, |at| at - first);
        let max = u64::from(much) % (self.capacity + 2);
        let wrap = self.capacity - first % self.capacity;
        let len = below.saturating_sub(first).min(max).min(wrap).min(mark);
        assert_eq!(reader.mark().map(|mark| mark.at.0), self.laid.iter().find(|at| **at == first).copied());
        let Some(mut batch) = reader.batch(max as usize) else { return assert_eq!(len, 0) };
        assert_eq!((batch.len() as u64, batch.first().0), (len, first));
        let seen: Vec<u64> = batch.iter().map(|value| value.unwrap().number).collect();
        assert_eq!(seen, (first..first + len).collect::<Vec<_>>());
        assert!(batch.get(len as usize).is_none());
        match much % 4 {
            0 => batch.truncate(usize::from(much) % 7),
            1 => must_panic(|| {
                batch.for_each(&mut (), |(), n, _| {
                    if n.0 + 1 == first + len {
                        quietly_panic()
                    }
                })
            }),
            _ => {}
        }
        *position += batch.len() as u64;
        drop(batch);
        assert_eq!(reader.position().0, *position);
    }

    fn mark(&mut self, id: u8) {
        while self.marks.front().is_some_and(|at| *at < self.needed()) {
            self.marks.pop_front();
        }
        if self.marks.len() < MARKS {
            assert_eq!(self.producer.mark(u64::from(id), MarkKind::Snapshot).at.0, self.next);
            self.marks.push_back(self.next);
            self.laid.push(self.next);
        }
    }

    fn end(&mut self, filled: bool) {
        if self.end.is_some() {
            return;
        }
        let last = filled.then(|| D::pack(Some(self.tally.value(self.next))));
        let ended = self.producer.try_end(last).is_ok();
        self.swept();
        assert_eq!(ended, !filled || self.room() > 0);
        if ended {
            self.end = Some((self.next, filled));
            self.alive.extend(filled.then_some(self.next));
            self.next += 1;
        }
    }

    fn read_end(&mut self, index: usize, much: u8) {
        let (reader, position) = &mut self.readers[index];
        let here = self.end.filter(|(end, _)| end == position);
        assert_eq!(reader.ended(), self.end.is_some_and(|(end, _)| *position > end));
        assert_eq!(reader.backlog(), self.next - *position);
        let Some(end) = reader.end() else { return assert_eq!(here, None) };
        assert_eq!(
            (end.number().0, end.value().map(|value| value.number)),
            (*position, here.unwrap().1.then_some(*position))
        );
        if much.is_multiple_of(2) {
            end.keep();
        } else {
            drop(end);
            *position += 1;
        }
    }
}
