//! Keyed writers over one input ring and its key slots, stepped in any order on one thread, with functions that
//! sometimes panic.

use super::{Counted, Op, Tally, must_panic, quietly_panic};
use millstream_core::keys::KeySlot;
use millstream_core::{Dense, Sparse, Val};
use millstream_ring::{KeyedWriter, Producer, Reader, keyed_writers, ring};

type Input = Val<Counted>;
type Output = Val<Counted, Sparse>;

struct World {
    tally_in: Tally,
    tally_out: Tally,
    producer: Producer<Counted>,
    key_slots: Producer<Option<KeySlot>>,
    /// Each writer, with the next number that it passes, and whether it is broken there.
    writers: Vec<(KeyedWriter<Input, Option<Counted>>, u64, bool)>,
    readers: Vec<(Reader<Output>, u64)>,
    capacities: [u64; 2],
    next: u64,
    ended: bool,
    /// Every number below was dropped by a writer.
    swept: u64,
}

/// The key slot of a number; some numbers have none, and some have one in a lane without a writer.
fn key_slot(n: u64) -> Option<KeySlot> {
    let lane = (n.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 60) as u16;
    (n % 7 != 3).then_some(KeySlot { place: n as u32, lane, fresh: true })
}

/// Runs the operations with `k` writers, which begin at number `start`.
pub(crate) fn run(k: usize, capacities: [u64; 2], start: u64, ops: &[Op], last: u8) {
    let (mut producer, mut input) = ring::<Counted, Dense>(capacities[0] as usize).unwrap();
    let (mut key_slots, mut keys) = ring::<KeySlot, Sparse>(capacities[0] as usize).unwrap();
    let (tally_in, tally_out) = (Tally::default(), Tally::default());
    for n in 0..start {
        let mut claim = producer.try_claim(1).unwrap().unwrap();
        claim.write(tally_in.value(n));
        claim.publish();
        drop(input.batch(1));
        let mut claim = key_slots.try_claim(1).unwrap().unwrap();
        claim.write(key_slot(n));
        claim.publish();
        drop(keys.batch(1));
    }
    producer.sweep();
    let (writers, output) = keyed_writers::<Input, Counted, Sparse>(input, keys, k, capacities[1] as usize).unwrap();
    let mut world = World {
        tally_in: tally_in.clone(),
        tally_out: tally_out.clone(),
        producer,
        key_slots,
        writers: writers.into_iter().map(|writer| (writer, start, false)).collect(),
        readers: vec![(output, start)],
        capacities,
        next: start,
        ended: false,
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
            4..=9 => self.fill(writer, u64::from(much % 6), much > 245),
            10..=11 => self.read(reader, usize::from(much % 9)),
            12 => {
                self.writers[writer].0.sweep();
                self.swept = self.released();
            }
            13 if much % 16 == 0 && !self.ended => {
                // END's key slot needs room.
                if self.key_slots.try_end(Some(key_slot(self.next))).is_ok() {
                    self.producer.try_end(None).unwrap();
                    self.ended = true;
                }
            }
            13 => self.end(writer, much > 245),
            14 if self.readers.len() < 3 => {
                let (reader, position) = &self.readers[reader];
                self.readers.push((reader.fork(), *position));
            }
            14 if self.readers.len() > 1 => drop(self.readers.swap_remove(reader)),
            _ => self.producer.sweep(),
        }
    }

    fn owner(&self, n: u64) -> usize {
        key_slot(n).map_or(0, |key_slot| usize::from(key_slot.lane).min(self.writers.len() - 1))
    }

    /// The least number that some writer has not passed.
    fn done(&self) -> u64 {
        self.writers.iter().map(|(_, next, _)| *next).min().unwrap()
    }

    fn released(&self) -> u64 {
        self.readers.iter().map(|(_, position)| *position).min().unwrap().min(self.done())
    }

    /// The bound up to which a writer has room. A writer that looks also sweeps.
    fn room(&mut self, looks: bool) -> u64 {
        if looks {
            self.swept = self.released();
        }
        self.swept + self.capacities[1]
    }

    fn check(&mut self) {
        // The output's values alive are those that their owners have passed and no writer has dropped. A broken writer
        // has passed those that it wrote in its last batch.
        let mut alive = self.tally_out.numbers();
        alive.sort_unstable();
        let passed = |n: &u64| n.is_multiple_of(2) && *n < self.writers[self.owner(*n)].1;
        let end = self.next;
        let below = self.writers.iter().map(|(_, next, _)| *next).max().unwrap().min(end);
        let mut expected: Vec<u64> = (self.swept..below).filter(passed).collect();
        let end_passed = self.ended && self.swept <= end && self.writers[self.owner(end)].1 > end;
        expected.extend(end_passed.then_some(end));
        assert_eq!(alive, expected);
    }

    fn publish(&mut self, much: u64) {
        for _ in 0..if self.ended { 0 } else { much } {
            let n = self.next;
            let Some(mut claim) = self.producer.try_claim(1).unwrap() else { return };
            let mut slot_claim = self.key_slots.try_claim(1).unwrap().expect("its readers are the same");
            claim.write(self.tally_in.value(n));
            slot_claim.write(key_slot(n));
            slot_claim.publish();
            claim.publish();
            self.next += 1;
        }
    }

    fn fill(&mut self, index: usize, max: u64, panics: bool) {
        let (room, k) = (self.room(!self.writers[index].2), self.writers.len());
        let (tally, owner) = (self.tally_out.clone(), |n| {
            key_slot(n).map_or(0, |key_slot: KeySlot| usize::from(key_slot.lane).min(k - 1))
        });
        let (writer, next, broken) = &mut self.writers[index];
        let mut fill = |mut left: u64| {
            writer.fill(max as usize, |n, value, of| {
                assert_eq!((value.unwrap().number, of, owner(n)), (n, key_slot(n), index));
                if left == 0 {
                    quietly_panic();
                }
                left -= 1;
                (n % 2 == 0).then(|| tally.value(n))
            })
        };
        let there = room.min(self.next).saturating_sub(*next).min(max);
        let (one, other) = (self.capacities[0], self.capacities[1]);
        let len = there.min(one - *next % one).min(other - *next % other);
        let own = (*next..*next + len).filter(|n| owner(*n) == index).count() as u64;
        if *broken {
            assert_eq!(fill(9), 0);
        } else if panics && own > 0 {
            must_panic(|| fill(own - 1));
            *broken = true;
            let at = writer.abandoned_at().unwrap().0;
            assert_eq!((owner(at), (*next..at).filter(|n| owner(*n) == index).count() as u64), (index, own - 1));
            *next = at;
        } else {
            assert_eq!(fill(99) as u64, len);
            *next += len;
        }
    }

    fn end(&mut self, index: usize, panics: bool) {
        let looks = !self.writers[index].2 && self.writers[index].1 <= self.next;
        let (room, end, end_owner) = (self.room(looks), self.next, self.owner(self.next));
        let (tally, ended) = (self.tally_out.clone(), self.ended);
        let (writer, next, broken) = &mut self.writers[index];
        let at_end = ended && !*broken && *next == end && room > end;
        let mut end_it = |panics: bool| {
            writer.end(|n, value, of| {
                assert_eq!((n, value.is_none(), of, end_owner), (end, true, key_slot(end), index));
                if panics {
                    quietly_panic();
                }
                Some(Some(tally.value(end)))
            })
        };
        if at_end && panics && end_owner == index {
            must_panic(|| end_it(true));
            *broken = true;
        } else {
            assert_eq!(end_it(false), at_end || (*next == end + 1 && ended));
            *next += u64::from(at_end);
        }
    }

    fn read(&mut self, reader: usize, max: usize) {
        let (done, end, ended) = (self.done(), self.next, self.ended);
        let (reader, position) = &mut self.readers[reader];
        if let Some(mut batch) = reader.batch(max) {
            batch.for_each(&mut (), |(), n, value| {
                assert_eq!(n.0, *position);
                assert_eq!(value.map(|value| value.number), (n.0 % 2 == 0).then_some(n.0));
                *position += 1;
            });
            assert!(*position <= done.min(end));
        } else if let Some(at_end) = reader.end() {
            assert_eq!((at_end.number().0, at_end.value().map(|value| value.number)), (end, Some(end)));
            assert!(ended && done > end);
            *position += 1;
        } else {
            assert!(max == 0 || *position >= done.min(end));
        }
    }
}
