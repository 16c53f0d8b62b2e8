//! The producers of a shared ring, and how many values of each were taken.
//!
//! A producer has an entry while it has a sender or a value in the ring. When all values of a producer that has left
//! were taken, its entry is used again. So the table does not grow with the producers that come and go.

/// A change of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum News {
    /// The entry belongs to this producer now.
    Came { entry: u32, producer: u32 },
    /// Its producer is gone, and has sent this many values.
    Left { entry: u32, sent: u64 },
}

/// The entries, as producers come and go.
#[derive(Default)]
pub(super) struct Entries {
    /// Changes that the consumer has not seen: of producers that have sent values, of present ones, and of those it
    /// knows.
    news: Vec<News>,
    /// The free entries.
    free: Vec<u32>,
    made: u32,
}

impl Entries {
    /// An entry for a new producer.
    pub(super) fn enter(&mut self, producer: u32) -> u32 {
        let entry = self.free.pop().unwrap_or_else(|| {
            self.made += 1;
            self.made - 1
        });
        self.news.push(News::Came { entry, producer });
        entry
    }

    /// A producer leaves.
    pub(super) fn leave(&mut self, entry: u32, sent: u64) {
        let came = self.news.iter().position(|news| matches!(news, News::Came { entry: other, .. } if *other == entry));
        match came {
            // The consumer has no value of it, and never will.
            Some(at) if sent == 0 => {
                self.news.remove(at);
                self.free.push(entry);
            }
            _ => self.news.push(News::Left { entry, sent }),
        }
    }

    /// All values of a producer that is gone were taken: its entry is free.
    pub(super) fn is_over(&mut self, entry: u32) {
        self.free.push(entry);
    }
}

/// A producer that the consumer knows.
#[derive(Clone, Copy)]
struct Known {
    producer: u32,
    /// The number of its next value.
    next: u64,
    /// How many it has sent, once it is gone.
    sent: Option<u64>,
}

impl Known {
    /// An entry without a producer.
    const VACANT: Known = Known { producer: u32::MAX, next: 0, sent: None };
}

/// The consumer's view of the entries.
#[derive(Default)]
pub(super) struct Table(Vec<Known>);

impl Table {
    /// Applies the changes of the entries.
    pub(super) fn update(&mut self, entries: &mut Entries) {
        for news in std::mem::take(&mut entries.news) {
            match news {
                News::Came { entry, producer } => {
                    let known = Known { producer, next: 0, sent: None };
                    let at = entry as usize;
                    // An earlier entry may belong to a producer that came and left without a value; that change was
                    // dropped.
                    self.0.resize(self.0.len().max(at + 1), Known::VACANT);
                    self.0[at] = known;
                }
                News::Left { entry, sent } => {
                    self.0[entry as usize].sent = Some(sent);
                    if self.is_over(entry) {
                        entries.free.push(entry);
                    }
                }
            }
        }
    }

    /// The producer of the next values of this entry, and the first one's number there.
    pub(super) fn take(&mut self, entry: u32, count: u64) -> (u32, u64) {
        let known = &mut self.0[entry as usize];
        let first = known.next;
        known.next += count;
        (known.producer, first)
    }

    /// Whether the first `sent` values of this producer were taken. Those of one without an entry were: it is gone.
    pub(super) fn has_taken(&self, producer: u32, sent: u64) -> bool {
        self.0.iter().find(|known| known.producer == producer).is_none_or(|known| known.next >= sent)
    }

    #[cfg(all(test, not(loom)))]
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether its producer is gone and all its values were taken.
    pub(super) fn is_over(&self, entry: u32) -> bool {
        let Known { next, sent, .. } = self.0[entry as usize];
        sent == Some(next)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::super::merge::Merge;
    use crate::fan_in;
    use crate::shared::Shared;
    use crate::wait::{IdleStrategy, Wait};
    use std::sync::Arc;

    #[test]
    fn a_producer_without_values_leaves_the_other_entries_alone() {
        let shared = Arc::new(Shared::new(IdleStrategy::of(Wait::Blocking, 1)));
        let (mut senders, mut merge) = Merge::new(fan_in::<u64>(3).shared().ring(4), &shared, 4);
        let last = senders.pop().unwrap();
        drop(senders.pop());
        last.send(7).unwrap();
        let run = merge.take(0, 4);
        assert_eq!((run.producer, run.first, run.values.collect::<Vec<_>>()), (2, 0, vec![7]));
    }

    #[test]
    fn the_table_does_not_grow_as_producers_come_and_go() {
        let shared = Arc::new(Shared::new(IdleStrategy::of(Wait::Blocking, 1)));
        let of = fan_in::<u64>(1).at_most(3).shared().ring(4);
        let (senders, mut merge) = Merge::new(of, &shared, 4);
        for n in 0..1000_u32 {
            let (one, silent) = (senders[0].add_producer().unwrap(), senders[0].add_producer().unwrap());
            let producer = one.producer();
            one.send_all([0, 1]).unwrap();
            // It is dropped before its values are taken, or after that, or is never seen.
            let later = (n % 2 == 0).then_some(one);
            drop(silent);
            senders[0].send(n.into()).unwrap();
            for (whose, first, len) in [(producer, 0, 2), (0, u64::from(n), 1)] {
                // A run ends at the end of the ring.
                let mut taken = 0;
                while taken < len {
                    let run = merge.take(0, 4);
                    assert_eq!((run.producer, run.first), (whose, first + taken));
                    taken += run.values.count() as u64;
                }
                assert_eq!(taken, len);
            }
            drop(later);
        }
        assert!(merge.entries().is_some_and(|entries| entries <= 3 + 4), "{:?}", merge.entries());
    }
}
