//! Several live producers in one stream. The order in which their values arrive is no function of anything, so the
//! journal has it: whatever crashes, the stream goes on behind the order that it had.

use crate::machine::{Machine, Table, persistent};
use millstream::exec::PolledValues;
use millstream::prelude::*;
use millstream::state::journal::JournalOptions;
use millstream::state::{Groups, Retention, Span, StateDir, journaled, journaled_in_groups, replay};
use proptest::prelude::*;
use std::collections::VecDeque;
use std::thread;

use crate::simulated::Simulated;

const PRODUCERS: u64 = 3;
/// More than a producer sends.
const MOST: u64 = 1000;

/// What depends on the order: all that came before, and what its own producer sent before.
fn lines() -> impl Pipeline<String, String> + Lasting {
    pipeline::<String>()
        .scan(0_u64, |hash, value| {
            *hash = hash.wrapping_mul(31).wrapping_add(value.bytes().map(u64::from).sum());
            format!("{value} {hash:x}")
        })
        .named("all")
        .shard_by(
            |value| value.as_bytes()[0],
            2,
            |p| p.scan(0_u64, |n, value| (format!("{value} {n}"), *n += 1).0).named("of one"),
        )
        .named("producers")
        .any_edge()
}

/// What has arrived. A producer is told what the journal has.
struct Arrived {
    values: PolledValues<String>,
    together: usize,
    group: Vec<String>,
    disk: Simulated,
}

impl Groups for Arrived {
    type Item = String;

    fn next_group(&mut self, group: &mut VecDeque<String>) -> bool {
        group.extend(self.values.by_ref().take(self.together));
        self.group = group.iter().cloned().collect();
        !group.is_empty()
    }

    fn committed(&mut self, _: u64) {
        for value in self.group.drain(..) {
            let (producer, number) = parsed(&value);
            self.disk.note("acknowledged", producer * MOST + number);
        }
    }
}

fn parsed(value: &str) -> (u64, u64) {
    let (producer, number) = value.split_once('/').unwrap();
    (producer.parse().unwrap(), number.parse().unwrap())
}

/// The first of a producer's values that the journal has not acknowledged.
fn next(disk: &Simulated, producer: u64) -> u64 {
    let world = disk.world();
    let own = world.notes.iter().filter(|(of, at)| *of == "acknowledged" && at / MOST == producer);
    own.map(|(_, at)| at % MOST + 1).max().unwrap_or(0)
}

/// A life of the job: every producer sends what was not acknowledged.
fn life(machine: &Machine, table: Table, (count, together, every): (u64, usize, u64)) {
    let (state, disk) = (machine.open().unwrap(), machine.disk.clone());
    let (senders, poller) = fan_in::<String>(PRODUCERS as usize).open(&Rings::new().ring(4)).unwrap();
    let producers = senders.into_iter().zip(0..).map(|(sender, producer)| {
        let first = next(&disk, producer);
        thread::spawn(move || {
            for number in first..count {
                sender.send(format!("{producer}/{number}")).unwrap();
                if number % 3 == producer {
                    thread::yield_now();
                }
            }
        })
    });
    let producers: Vec<_> = producers.collect();
    let arrived = move || Arrived { values: poller.into_values(), together, group: Vec::new(), disk };
    let live = journaled_in_groups(&state, JournalOptions::default(), arrived);
    // All of the journal stays.
    let job = persistent(state, every).keep(Retention::default());
    assert_eq!(job.run(&lines(), live, table).unwrap().1.failed, 0);
    producers.into_iter().for_each(|producer| producer.join().unwrap());
}

/// The values of the journal, in their order.
fn merged(state: &StateDir) -> Vec<String> {
    let options = JournalOptions::default();
    let values = millstream::state::Resumable::begin(&journaled(state, options, std::iter::empty::<String>), None);
    values.unwrap().collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: ProptestConfig::default().cases / 2, ..ProptestConfig::default() })]

    #[test]
    fn the_order_of_arrival_survives_every_crash(
        count in 1_u64..30,
        together in 1_usize..4,
        every in 1_u64..20,
        crashes in proptest::collection::vec((any::<u64>(), any::<bool>()), 0..4),
    ) {
        let life = |machine: &Machine, table: Table| life(machine, table, (count, together, every));
        let (mut machine, mut had) = (Machine::new(), Vec::new());
        for (pick, loses) in crashes {
            machine = machine.interrupted(life, pick, loses);
            had.push(machine.rows.clone());
        }
        let rows = machine.ended(life);
        for had in had {
            prop_assert!(rows.starts_with(&had), "an order was taken back: {:?}, and then {:?}", had, rows);
        }
        let state = StateDir::read_on(machine.disk.disk(), "/state").unwrap();
        let merged = merged(&state);
        prop_assert_eq!(&rows, &lines().model(merged.clone()));
        for producer in 0..PRODUCERS {
            // A value that was sent again because its commit was not acknowledged counts where it came first.
            let mut numbers = Vec::new();
            for (of, number) in merged.iter().map(|value| parsed(value)) {
                if of == producer && !numbers.contains(&number) {
                    numbers.push(number);
                }
            }
            prop_assert_eq!(numbers, (0..count).collect::<Vec<_>>(), "producer {}", producer);
        }
        let span = Span { from: Some(0), to: Some(merged.len() as u64) };
        let recorded = journaled(&state, JournalOptions::default(), std::iter::empty::<String>);
        let again = replay(&state, &Rings::new(), &lines(), &recorded, span, sink::collect()).unwrap();
        prop_assert_eq!(again.output, rows, "a replay of the record");
    }
}
