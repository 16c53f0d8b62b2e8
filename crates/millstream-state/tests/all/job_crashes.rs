//! Whole jobs whose machine crashes: snapshots, journal and source are on the simulated disk, which crashes at an
//! operation, and what the sinks got since their last claims is lost in part.

use crate::machine::{Client, Machine, Side, Table, noted, of_a_journal, persistent};
use millstream::prelude::*;
use millstream::state::journal::{Fsync, JournalOptions};
use millstream::state::{SideSink, again, journaled_in_groups};
use proptest::prelude::{ProptestConfig, any, prop_assert, prop_assert_eq, proptest};
use std::sync::Mutex;

/// A sum, counts by key, values that fail together with their keys, and a stage that renumbers. Some of its values go
/// to a sink on the side, too.
fn lines(side: Side) -> impl Pipeline<u64, String> + Lasting {
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
        .tee(|p| p.filter(|x| x % 3 == 0).map(|x| format!("{x} on the side")).any_edge().tee_to("side", side))
        .map(|x| format!("{x}\n"))
        .any_edge()
}

/// The rows of the sink, and then those of the side sink.
fn expected(values: impl IntoIterator<Item = u64>) -> Vec<String> {
    let table = Table::empty();
    let mut rows = lines(SideSink::new("side", table.clone())).model(values);
    rows.append(&mut table.rows().lock().unwrap());
    rows
}

/// All rows that the sinks have when the job has come to its end.
fn ended(machine: &Machine, job: impl FnOnce(&Machine, Table)) -> Vec<String> {
    [machine.ended(job), machine.side_rows()].concat()
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
            let side = machine.side();
            let job = persistent(machine.state(), every).side_sink(&side);
            assert_eq!(job.run(&lines(side), again(move || 0..n), table).unwrap().1.failed, 0);
        };
        let machine = crashes.iter().fold(Machine::new(), |machine, pick| machine.crashed(job, *pick));
        prop_assert_eq!(ended(&machine, job), expected(0..n));
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
            let side = machine.side();
            let job = persistent(state, every).side_sink(&side);
            let sent = pipeline::<String>().map(|value| value.parse().unwrap()).then(lines(side));
            assert_eq!(job.run(&sent, live, table).unwrap().1.failed, 0);
        };
        let machine = crashes.iter().fold(Machine::new(), |machine, pick| machine.crashed(job, *pick));
        let held = machine.rows.clone();
        let rows = ended(&machine, job);
        let lives = lives.into_inner().unwrap();
        prop_assert!(rows.starts_with(&held), "what has left was taken back");
        prop_assert!(of_a_journal(&lives, (n, together), &rows, expected), "{:?}: {:?}", lives, rows);
    }
}
