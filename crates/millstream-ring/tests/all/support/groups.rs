//! A group of run writers over one input ring, stepped in any order on one thread, with functions that sometimes panic.

use super::{Counted, Op, Tally, must_panic, quietly_panic};
use millstream_core::{Dense, Sparse, Val};
use millstream_ring::{Producer, Reader, RunWriter, ring, run_writers};
use std::ops::Range;

type Input = Val<Counted>;
type Output = Val<Counted, Sparse>;

struct World {
    tally_in: Tally,
    tally_out: Tally,
    producer: Producer<Counted>,
    writers: Vec<(RunWriter<Input, Option<Counted>>, bool)>,
    readers: Vec<(Reader<Output>, u64)>,
    capacities: [u64; 2],
    next: u64,
    ended: bool,
    taken: u64,
    /// Runs that a panic gave up, that of END included.
    broken: Vec<Range<u64>>,
    /// Every number below was dropped by a writer.
    swept: u64,
}

/// Runs the operations with `k` writers, which begin at number `start`.
pub(crate) fn run(k: usize, capacities: [u64; 2], start: u64, ops: &[Op], last: u8) {
    let (mut producer, mut input) = ring::<Counted, Dense>(capacities[0] as usize).unwrap();
    let (tally_in, tally_out) = (Tally::default(), Tally::default());
    for n in 0..start {
        producer.try_claim(1).unwrap().unwrap().write(tally_in.value(u64::MAX)); // dropped with its claim
        let mut claim = producer.try_claim(1).unwrap().unwrap();
        claim.write(tally_in.value(n));
        claim.publish();
        drop(input.batch(1));
    }
    producer.sweep();
    let (writers, output) = run_writers::<Input, Counted, Sparse>(input, k, capacities[1] as usize).unwrap();
    let mut world = World {
        tally_in: tally_in.clone(),
        tally_out: tally_out.clone(),
        producer,
        writers: writers.into_iter().map(|writer| (writer, false)).collect(),
        readers: vec![(output, start)],
        capacities,
        next: start,
        ended: false,
        taken: start,
        broken: Vec::new(),
        swept: start,
    };
    for op in ops {
        world.step(*op);
        world.check();
    }
    let World { producer, mut writers, readers, .. } = world;
    match last % 3 {
        0 => drop((producer, writers, readers)),
        1 => drop((readers, writers, producer)),
        _ => {
            writers.reverse();
            drop((writers, producer, readers));
        }
    }
    assert_eq!((tally_in.numbers(), tally_out.numbers()), (vec![], vec![]));
}

impl World {
    fn step(&mut self, [what, which, much]: Op) {
        let writer = usize::from(which) % self.writers.len();
        let reader = usize::from(which) % self.readers.len();
        match what % 16 {
            0..=3 => self.publish(u64::from(much % 9)),
            4..=8 => self.fill(writer, u64::from(much % 6), much > 245),
            9..=11 => self.read(reader, usize::from(much % 9)),
            12 => {
                self.writers[writer].0.sweep();
                self.swept();
            }
            13 if much % 16 == 0 && !self.ended => {
                self.producer.try_end(None).unwrap();
                self.ended = true;
            }
            13 => self.end(writer, much > 245),
            14 if self.readers.len() < 3 => {
                let (reader, position) = &self.readers[reader];
                self.readers.push((reader.fork(), *position));
            }
            14 => drop(self.readers.swap_remove(reader)),
            _ => self.producer.sweep(),
        }
    }

    /// The least number that the group has not finished: the readers' cursor, and the producer's gate.
    fn done(&self) -> u64 {
        self.broken.iter().map(|run| run.start).min().unwrap_or(self.taken).min(self.taken)
    }

    fn released(&self) -> u64 {
        self.readers.iter().map(|(_, position)| *position).min().unwrap_or(u64::MAX).min(self.done())
    }

    fn swept(&mut self) {
        self.swept = self.released();
    }

    fn check(&mut self) {
        self.producer.sweep();
        assert_eq!(self.tally_in.numbers(), (self.done().min(self.next)..self.next).collect::<Vec<_>>());
        let below = self.taken.min(self.next);
        let left = (self.swept..below).filter(|n| n % 2 == 0 && !self.broken.iter().any(|run| run.contains(n)));
        let mut alive = self.tally_out.numbers();
        alive.sort_unstable();
        let end_is_given_up = self.broken.iter().any(|run| run.contains(&self.next));
        let end = (self.taken > self.next && self.swept <= self.next && !end_is_given_up).then_some(self.next);
        assert_eq!(alive, left.chain(end).collect::<Vec<_>>());
    }

    fn publish(&mut self, much: u64) {
        if self.ended || much == 0 {
            return;
        }
        let room = self.done() + self.capacities[0] - self.next;
        let Some(mut claim) = self.producer.try_claim(much as usize).unwrap() else { return assert_eq!(room, 0) };
        let len = claim.len() as u64;
        assert_eq!(len, room.min(much));
        claim.fill(len as usize, |i| self.tally_in.value(self.next + i as u64));
        claim.publish();
        self.next += len;
    }

    fn fill(&mut self, index: usize, max: u64, panics: bool) {
        let k = self.writers.len() as u64;
        let broken = self.writers[index].1;
        if !broken && max > 0 {
            self.swept();
        }
        let limit = self.next.min(self.swept + self.capacities[1]);
        let wrap = self.capacities[0] - self.taken % self.capacities[0];
        let len = if broken { 0 } else { limit.saturating_sub(self.taken).div_ceil(k).min(max).min(wrap) };
        let (first, tally) = (self.taken, &self.tally_out);
        let mut expected = first..first + len;
        let make = |value: Option<&Counted>| {
            let n = value.unwrap().number;
            assert_eq!(Some(n), expected.next());
            if panics && expected.is_empty() {
                quietly_panic()
            }
            n.is_multiple_of(2).then(|| tally.value(n))
        };
        let (writer, is_broken) = &mut self.writers[index];
        self.taken += len;
        if panics && len > 0 {
            must_panic(|| writer.fill(max as usize, make));
            assert_eq!(writer.abandoned_at().unwrap().0, first + len - 1);
            *is_broken = true;
            self.broken.push(first..first + len);
        } else {
            assert_eq!(writer.fill(max as usize, make) as u64, len);
        }
        assert_eq!(writer.taken().0, self.taken);
    }

    fn end(&mut self, index: usize, panics: bool) {
        let (_, broken) = self.writers[index];
        let may = self.ended && !broken && self.taken == self.next;
        if may {
            self.swept();
        }
        let does = may && self.swept + self.capacities[1] > self.next;
        let (end, tally) = (self.next, &self.tally_out);
        let (writer, is_broken) = &mut self.writers[index];
        let last = |value: Option<&Counted>| {
            assert!(value.is_none() && does);
            if panics {
                quietly_panic()
            }
            Some(Some(tally.value(end)))
        };
        self.taken += u64::from(does);
        if does && panics {
            must_panic(|| writer.end(last));
            *is_broken = true;
            self.broken.push(end..end + 1);
        } else {
            assert_eq!(writer.end(last), !broken && self.taken > self.next);
        }
    }

    fn read(&mut self, index: usize, max: usize) {
        let below = self.done().min(self.next);
        let done = self.done();
        let (reader, position) = &mut self.readers[index];
        let wrap = self.capacities[1] - *position % self.capacities[1];
        let len = below.saturating_sub(*position).min(wrap).min(max as u64);
        if let Some(batch) = reader.batch(max) {
            for (n, value) in (*position..).zip(batch.iter()) {
                assert_eq!(value.map(|value| value.number), (n % 2 == 0).then_some(n));
            }
            assert_eq!(batch.len() as u64, len);
            *position += len;
        } else {
            assert_eq!(len, 0);
        }
        let at_end = done > self.next && *position == self.next;
        let end = reader.end().map(|end| end.value().map(|value| value.number));
        assert_eq!(end, at_end.then_some(Some(self.next)));
        *position += u64::from(at_end);
    }
}
