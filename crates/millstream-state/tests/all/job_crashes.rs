//! Whole jobs whose machine crashes: snapshots, journal and source are on the simulated disk, which crashes at an
//! operation, and what the sink got since its last claim is lost in part.

use crate::machine::{Client, Machine, Table, noted, of_a_journal, persistent};
use millstream::prelude::*;
use millstream::state::journal::{Fsync, JournalOptions};
use millstream::state::{again, journaled_in_groups};
use proptest::prelude::{ProptestConfig, any, prop_assert, prop_assert_eq, proptest};
use std::sync::Mutex;

/// A sum, counts by key, values that fail together with their keys, and a stage that renumbers.
fn lines() -> impl Pipeline<u64, String> + Lasting {
    let keep = |x: &u64| if x % 19 == 4 { Err("no") } else { Ok(*x) };
    pipeline::<u64>()
        .scan((0_u64, 0_u64), |(n, sum), x| {
            (*n, *sum) = (*n + 1, *sum + x);
            *sum * 100 + *n
        })
        .named("sum")
        .try_map_or_park("park", |x| x % 5, keep, |_| ())
        .shard_by(|x| x % 7, 2, |p| p.scan(0_u64, |n, x| (*x * 10 + *n, *n += 1).0).named("counts"))
        .named("keys")
        .flat_scan(0_u64, |sent, x| {
            *sent += 1;
            let sent = *sent;
            (0..1 + *x % 2).map(move |i| sent * 10 + i)
        })
        .named("some")
        .map(|x| format!("{x}\n"))
        .any_edge()
}

fn expected(values: impl IntoIterator<Item = u64>) -> Vec<String> {
    lines().model(values)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: ProptestConfig::default().cases / 2, ..ProptestConfig::default() })]

    #[test]
    fn a_job_whose_machine_crashes_again_and_again_writes_what_an_undisturbed_one_does(
        n in 1_u64..80,
        every in 1_u64..20,
        crashes in proptest::collection::vec(any::<u64>(), 0..4),
    ) {
        let job = |machine: &Machine, table: Table| {
            let ran = persistent(machine.state(), every).run(&lines(), again(move || 0..n), table);
            assert_eq!(ran.unwrap().1.failed, 0);
        };
        let machine = crashes.iter().fold(Machine::new(), |machine, pick| machine.crashed(job, *pick));
        prop_assert_eq!(machine.ended(job), expected(0..n));
    }

    /// What was acknowledged is in the output once; what was sent and not acknowledged may be there, before it is sent
    /// again.
    #[test]
    fn what_a_journal_has_acknowledged_survives_every_crash(
        n in 1_u64..60,
        every in 1_u64..20,
        together in 1_u64..4,
        crashes in proptest::collection::vec(any::<u64>(), 0..4),
    ) {
        // What each life of the job sent, from where on.
        let lives = Mutex::new(Vec::new());
        let job = |machine: &Machine, table: Table| {
            let (state, disk) = (machine.state(), machine.disk.clone());
            let next = noted(&disk.world(), "acknowledged");
            lives.lock().unwrap().push(next);
            let (fsync, compress) = (Fsync::Every, together > 1);
            let options = JournalOptions { fsync, compress, segment_bytes: 400, ..JournalOptions::default() };
            let client = move || Client { next, end: n, together, disk };
            let live = journaled_in_groups(&state, options, client);
            let sent = pipeline::<String>().map(|value| value.parse().unwrap()).then(lines());
            assert_eq!(persistent(state, every).run(&sent, live, table).unwrap().1.failed, 0);
        };
        let machine = crashes.iter().fold(Machine::new(), |machine, pick| machine.crashed(job, *pick));
        let held = machine.rows.clone();
        let rows = machine.ended(job);
        let lives = lives.into_inner().unwrap();
        prop_assert!(rows.starts_with(&held), "what has left was taken back");
        prop_assert!(of_a_journal(&lives, (n, together), &rows, expected), "{:?}: {:?}", lives, rows);
    }
}
