//! Random appends, commits, trims, kills and crashes, against a plain vector.

use crate::journal::SMALL;
use crate::simulated::Simulated;
use millstream_state::journal::{Fsync, Journal, JournalOptions, JournalReader, Records, Recovered};
use proptest::prelude::*;
use std::time::Duration;

const DIR: &str = "/job/journal";

#[derive(Clone, Copy, Debug)]
enum Step {
    Append {
        values: u8,
        bytes: u16,
    },
    Commit,
    Sync,
    Mark,
    /// Trims below a part of what is there, in hundredths.
    Trim(u8),
    /// The process opens the journal again, with the epoch that it has.
    Reopen,
    /// The process dies, and the machine goes on.
    Kill,
    /// The machine dies, and keeps what this number chooses.
    Crash(u64),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        6 => (1..9_u8, 0..1500_u16).prop_map(|(values, bytes)| Step::Append { values, bytes }),
        6 => Just(Step::Commit),
        1 => Just(Step::Sync),
        1 => Just(Step::Mark),
        1 => (0..=100_u8).prop_map(Step::Trim),
        1 => Just(Step::Reopen),
        1 => Just(Step::Kill),
        2 => any::<u64>().prop_map(Step::Crash),
    ];
    prop::collection::vec(step, 1..60)
}

/// What the journal must be.
struct Model {
    disk: Simulated,
    options: JournalOptions,
    epoch: u64,
    /// All values from number 0 on, trimmed ones too; the open group begins at `written`.
    values: Vec<Vec<u8>>,
    written: usize,
    durable: usize,
    /// No more than this was trimmed.
    trimmed: usize,
}

impl Model {
    fn open(&mut self) -> (Journal, Recovered) {
        self.epoch += 1;
        Journal::open(self.disk.disk(), DIR, self.options, self.epoch).unwrap()
    }

    /// What is read is what was appended.
    fn check(&self, records: Records, from: usize, to: usize) {
        let read: Vec<(u64, Vec<u8>)> = records.map(Result::unwrap).collect();
        let expected = self.values[from..to].iter().cloned();
        assert!(read == (from as u64..).zip(expected).collect::<Vec<_>>(), "{from}..{to}: {} values", read.len());
    }

    fn act(&mut self, journal: &mut Journal, step: Step) {
        match step {
            Step::Append { values, bytes } => {
                for _ in 0..values {
                    let number = self.values.len() as u64;
                    // Other epochs write other values at the same numbers.
                    let value =
                        [&[self.epoch as u8, number as u8], &vec![bytes as u8; usize::from(bytes)][..]].concat();
                    journal.append(number, &value).unwrap();
                    self.values.push(value);
                }
            }
            Step::Commit => {
                let durable = journal.commit().unwrap() as usize;
                self.written = self.values.len();
                let least = if self.options.fsync == Fsync::Every { self.written } else { self.durable };
                assert!(least <= durable && durable <= self.written, "{durable}");
                self.durable = journal.durable() as usize;
            }
            Step::Sync => {
                self.durable = journal.sync().unwrap() as usize;
                assert_eq!(self.durable, self.written);
            }
            Step::Mark => journal.mark().unwrap(),
            Step::Trim(hundredths) => {
                // As a program does it, whose snapshots are durable.
                let below = self.durable * usize::from(hundredths) / 100;
                self.trimmed = self.trimmed.max(below);
                journal.trim_below(below as u64).unwrap();
            }
            Step::Reopen | Step::Kill | Step::Crash(_) => self.starts_again(journal, step),
        }
    }

    fn starts_again(&mut self, journal: &mut Journal, step: Step) {
        match step {
            Step::Crash(seed) => self.disk = Simulated::of(self.disk.world().crash(seed)),
            Step::Reopen => {
                self.disk = Simulated::of(self.disk.world());
                self.epoch -= 1;
            }
            _ => self.disk = Simulated::of(self.disk.world()),
        }
        let (new, recovered) = self.open();
        *journal = new;
        let (first, next) = (recovered.first as usize, recovered.next as usize);
        let least = if let Step::Crash(_) = step { self.durable } else { self.written };
        assert!(least <= next && next <= self.written, "{recovered}; {least} to {}", self.written);
        assert!(first <= self.trimmed && recovered.lost.is_empty(), "{recovered}");
        self.values.truncate(next);
        (self.written, self.durable) = (next, next);
        self.check(journal.read_from(first as u64).unwrap(), first, next);
    }

    /// A reader in another process sees a part of what is durable.
    fn follow(&self, journal: &Journal) {
        let mut reader = JournalReader::new(self.disk.disk(), DIR);
        let to = reader.durable().unwrap() as usize;
        assert!(to <= self.durable, "{to} of {}", self.durable);
        let from = (journal.first() as usize).min(to);
        if from >= journal.first() as usize {
            self.check(reader.read_from(from as u64).unwrap(), from, to);
        }
    }
}

proptest! {
    #[test]
    fn a_random_life_of_a_journal_is_that_of_a_vector(
        steps in steps(),
        fsync in prop_oneof![Just(Fsync::Every), Just(Fsync::Interval(Duration::from_secs(3600))), Just(Fsync::Never)],
        segment_bytes in prop_oneof![Just(1), 1..20_000_u64],
        compress in any::<bool>(),
    ) {
        let options = JournalOptions { fsync, segment_bytes, compress, ..SMALL };
        let disk = Simulated::of(Simulated::recording().world());
        let mut model = Model { disk, options, epoch: 0, values: Vec::new(), written: 0, durable: 0, trimmed: 0 };
        let (mut journal, _) = model.open();
        for step in steps {
            model.act(&mut journal, step);
            model.follow(&journal);
            let first = journal.first();
            model.check(journal.read_from(first).unwrap(), first as usize, model.written);
        }
    }
}
