//! Random pipelines whose state is on the simulated disk. The machine crashes at a random operation, or the process
//! dies there or at a random value; the disk is full, or fails. Started again and again, each job must end with the
//! output of the model, which knows nothing of all that.

use crate::lasting::{Lasting as Kept, Whole, lasting, whole};
use crate::machine::{Client, Machine, Side, Table, noted, of_a_journal, persistent};
use crate::simulated::Faults;
use millstream::core::ModelExt;
use millstream::prelude::*;
use millstream::state::journal::{Fsync, JournalOptions};
use millstream::state::{SideSink, Stored, again, journaled_in_groups};
use millstream::testkit::random::{Pipe, Value, every_stage, streams};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;

/// What happens to a life of a job before it is interrupted.
#[derive(Clone, Copy, Debug)]
enum Trouble {
    None,
    /// The process panics at this value.
    Panics(u64),
    /// The disk has room for `n` more bytes.
    Full(usize),
    /// The operation of this number, among those whose name and path have the text, fails. Names that were made before
    /// may be lost.
    Fails(&'static str, usize, bool),
}

/// A life of a job: its trouble, at which operation it is interrupted, and whether the machine crashes there or the
/// process alone is killed.
type Life = (Trouble, u64, bool);

fn lives() -> impl Strategy<Value = Vec<Life>> {
    let what = prop::sample::select(vec!["write", "sync ", "sync_dir", "rename", "remove", "create", "make_dir", ""]);
    let trouble = prop_oneof![
        2 => Just(Trouble::None),
        1 => (0..60_u64).prop_map(Trouble::Panics),
        1 => (0..6000_usize).prop_map(Trouble::Full),
        2 => (what, 0..12_usize, any::<bool>()).prop_map(|(what, at, forgets)| Trouble::Fails(what, at, forgets)),
    ];
    vec((trouble, any::<u64>(), any::<bool>()), 0..4)
}

/// The pipeline of the tree, with a row for each value of its output. Some rows go to a sink on the side, too.
fn rows(whole: Whole, side: Side) -> impl Pipeline<Kept, String> + Lasting {
    whole
        .map(|value| format!("{:?}", value.0))
        .tee(|p| p.filter(|row| row.len() % 2 == 0).any_edge().tee_to("side", side))
        .any_edge()
}

/// How a life of a job went.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Went {
    /// To its end, from the first value on.
    Whole,
    /// To its end, from a snapshot on.
    On,
    /// To its end, although a snapshot could not be stored.
    WithoutSnapshot,
    /// Its disk did not let it begin, or ended its source.
    Refused,
    Died,
}

/// Lets a life of a job run, with its trouble.
fn live(machine: &Machine, trouble: Trouble, job: impl FnOnce() -> Result<Stored, String>) -> Result<Went, String> {
    match trouble {
        Trouble::None | Trouble::Panics(_) => {}
        Trouble::Full(more) => {
            machine.disk.set_faults(Faults { room: Some(machine.disk.used() + more), ..Faults::default() });
        }
        Trouble::Fails(what, at, forgets_names) => {
            machine.disk.set_faults(Faults { fail: Some((what, at)), forgets_names, ..Faults::default() });
        }
    }
    let disk_fails = matches!(trouble, Trouble::Full(_) | Trouble::Fails(..));
    match (catch_unwind(AssertUnwindSafe(job)), trouble) {
        (Ok(Ok(stored)), _) if stored.failed > 0 && disk_fails => Ok(Went::WithoutSnapshot),
        (Ok(Ok(stored)), _) if stored.failed == 0 => Ok(if stored.began > 0 { Went::On } else { Went::Whole }),
        (Ok(Err(_)), _) if disk_fails => Ok(Went::Refused),
        (Ok(Err(why)), Trouble::Panics(_)) if why.contains("the end of this process") => Ok(Went::Died),
        // It may die while it skips the values before its position.
        (Err(_), Trouble::Panics(_)) => Ok(Went::Died),
        (other, _) => Err(format!("{trouble:?}: {other:?}")),
    }
}

/// All lives of a job.
struct Lived {
    /// How each of them went.
    went: Vec<Went>,
    /// The rows of the sink before the last life.
    held: Vec<String>,
    /// The rows of the sink after it, and then those of the side sink.
    ended: Vec<String>,
}

/// Lets all lives run, and then one without trouble.
fn lived(lives: &[Life], job: impl Fn(&Machine, Table, Trouble) -> Result<Went, String>) -> Result<Lived, String> {
    let (mut machine, mut went) = (Machine::new(), Vec::new());
    for (trouble, pick, loses) in lives {
        let life = |machine: &Machine, table: Table| went.push(job(machine, table, *trouble));
        machine = machine.interrupted(life, *pick, *loses);
    }
    let held = machine.rows.clone();
    let mut ended = machine.ended(|machine, table| went.push(job(machine, table, Trouble::None)));
    ended.append(&mut machine.side_rows());
    Ok(Lived { went: went.into_iter().collect::<Result<_, _>>()?, held, ended })
}

/// The values at these places of a list that is repeated.
fn at(inputs: &[i64], places: impl IntoIterator<Item = u64>) -> Vec<Kept> {
    places.into_iter().map(|place| Kept(Value::I(inputs[place as usize % inputs.len()]))).collect()
}

/// The rows that the tree's model has for these values, and then those of the side sink.
fn expected(tree: &Pipe, values: Vec<Kept>) -> Vec<String> {
    let table = Table::empty();
    let mut all = rows(whole(tree), SideSink::new("side", table.clone())).model(values);
    all.append(&mut table.rows().lock().unwrap());
    all
}

/// A job over values that can be read again.
fn goes_on(tree: &Pipe, (inputs, n): (&[i64], u64), every: u64, lives: &[Life]) -> Result<Vec<Went>, String> {
    let job = |machine: &Machine, table: Table, trouble: Trouble| {
        let values = at(inputs, 0..n);
        let source = again(move || {
            (0..).zip(values.clone()).map(move |(number, value)| {
                assert!(!matches!(trouble, Trouble::Panics(at) if at == number), "the end of this process");
                value
            })
        });
        live(machine, trouble, || {
            let state = machine.open().map_err(|error| error.to_string())?;
            let side = machine.side();
            let job = persistent(state, every).side_sink(&side);
            let ran = job.run(&rows(whole(tree), side), source, table);
            ran.map(|(_, stored)| stored).map_err(|error| error.to_string())
        })
    };
    let Lived { went, ended, .. } = lived(lives, job)?;
    let expected = expected(tree, at(inputs, 0..n));
    if ended == expected { Ok(went) } else { Err(format!("{ended:?}, and not {expected:?}")) }
}

/// A job over live values, which its journal keeps. A client repeats those that were not acknowledged.
fn goes_on_live(
    tree: &Pipe,
    (inputs, n, together): (&[i64], u64, u64),
    every: u64,
    lives: &[Life],
) -> Result<Vec<Went>, String> {
    // What each life of the job sent, from where on.
    let sent = Mutex::new(Vec::new());
    let job = |machine: &Machine, table: Table, trouble: Trouble| {
        let disk = machine.disk.clone();
        let next = noted(&disk.world(), "acknowledged");
        sent.lock().unwrap().push(next);
        let list = inputs.to_vec();
        let parsed = pipeline::<String>().map(move |place: &String| {
            let place: u64 = place.parse().unwrap();
            assert!(!matches!(trouble, Trouble::Panics(at) if at == place), "the end of this process");
            at(&list, [place]).remove(0)
        });
        live(machine, trouble, || {
            let state = machine.open().map_err(|error| error.to_string())?;
            let options = JournalOptions {
                fsync: Fsync::Every,
                compress: together > 1,
                segment_bytes: 400,
                ..JournalOptions::default()
            };
            let client = move || Client { next, end: n, together, disk };
            let live = journaled_in_groups(&state, options, client);
            let side = machine.side();
            let job = persistent(state, every).side_sink(&side);
            let ran = job.run(&parsed.then(rows(whole(tree), side)), live, table);
            ran.map(|(_, stored)| stored).map_err(|error| error.to_string())
        })
    };
    let Lived { went, held, ended } = lived(lives, job)?;
    // A source that cannot write its journal ends its stream, so END's value may have left, before the sink goes back.
    if !went.contains(&Went::Refused) && !ended.starts_with(&held) {
        return Err(format!("what has left was taken back: {held:?} and then {ended:?}"));
    }
    let sent = sent.into_inner().unwrap();
    let of = |places: Vec<u64>| expected(tree, at(inputs, places));
    if of_a_journal(&sent, (n, together), &ended, of) {
        Ok(went)
    } else {
        Err(format!("sent from {sent:?}: {ended:?}"))
    }
}

/// Whether a job would have more threads than a test should.
const WIDEST: usize = 32;

proptest! {
    #[test]
    fn a_random_job_that_is_interrupted_anywhere_ends_with_the_models_output(
        tree in streams(12),
        inputs in vec(-20..100_i64, 1..60),
        every in 1_u64..20,
        lives in lives(),
    ) {
        let tree = lasting(&tree.versioned());
        prop_assume!(tree.width() <= WIDEST);
        let n = inputs.len() as u64;
        goes_on(&tree, (&inputs, n), every, &lives).map_err(|why| TestCaseError::fail(format!("{tree}: {why}")))?;
    }

    #[test]
    fn a_random_job_over_live_values_that_is_interrupted_anywhere_has_what_was_acknowledged(
        tree in streams(12),
        inputs in vec(-20..100_i64, 1..40),
        together in 1_u64..4,
        every in 1_u64..20,
        lives in lives(),
    ) {
        let tree = lasting(&tree.versioned());
        prop_assume!(tree.width() <= WIDEST);
        let values = (&inputs[..], inputs.len() as u64, together);
        goes_on_live(&tree, values, every, &lives).map_err(|why| TestCaseError::fail(format!("{tree}: {why}")))?;
    }
}

/// Every stage that can be kept, interrupted at several places; random trees have some of them rarely.
#[test]
fn a_job_of_every_stage_is_interrupted_and_ends_with_the_models_output() {
    let inputs: Vec<i64> = (0..30).map(|x| x * x % 23).collect();
    for stage in every_stage() {
        let tree = lasting(&Pipe::Then(Box::new(Pipe::Map { plus: 0 }), stage.into()).versioned());
        for pick in [3, 40, 1000, 77_777] {
            let lives = [(Trouble::None, pick, true), (Trouble::Panics(pick % 30), pick * 31, false)];
            goes_on(&tree, (&inputs, 30), 7, &lives).unwrap_or_else(|why| panic!("{tree}, {pick}: {why}"));
        }
    }
}

/// The random cases do interrupt their jobs, in every way: otherwise the properties would mean nothing.
#[test]
fn most_random_jobs_go_on_and_meet_every_trouble() {
    let mut runner = TestRunner::deterministic();
    let cases = (streams(8), vec(-20..100_i64, 10..60), 1_u64..8, lives());
    let mut count = BTreeMap::<Went, usize>::new();
    for live in [false, true].repeat(100) {
        let (tree, inputs, every, lives) = cases.new_tree(&mut runner).expect("nothing is rejected").current();
        let (tree, n) = (lasting(&tree.versioned()), inputs.len() as u64);
        if tree.width() <= WIDEST {
            let went = match live {
                false => goes_on(&tree, (&inputs, n), every, &lives),
                true => goes_on_live(&tree, (&inputs, n, 2), every, &lives),
            };
            went.unwrap().into_iter().for_each(|went| *count.entry(went).or_default() += 1);
        }
    }
    let of = |went: Went| count.get(&went).copied().unwrap_or(0);
    assert!(of(Went::On) > 15 && of(Went::Died) > 8 && of(Went::Refused) > 15, "{count:?}");
    assert!(of(Went::WithoutSnapshot) > 10 && of(Went::Whole) > 100, "{count:?}");
}
