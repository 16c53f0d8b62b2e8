//! Live change: a random pipeline goes on as a related one at a number, several times in one run. The slots below the
//! number are the old version's, and the slots from it on the new version's.
//!
//! The expected slots follow from the trees alone ([`changed`]), where a state is the list of the values that its stage
//! has got, and is not handed over. States of both versions go on, new ones begin fresh, and those that only the old
//! version has are dropped by name. [`Pipe::related`] makes a change. It does not make one that a run refuses: a stage
//! that numbers its outputs itself is neither removed nor swapped. Sinks inside the pipeline have their own tests.

mod durable;

use crate::lasting::lasting;
use crate::random_cases;
use crate::reference::versions::changed;
use millstream_testkit::random::{Edit, Pipe, Stream, Value, Versions, every_stage, quiet_pipes, streams, values};
use millstream_testkit::{Deployment, Feeding, deployments, within};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use std::collections::BTreeMap;
use std::time::Duration;

/// The changes of a pipeline: their numbers, and the seed of each.
fn changes() -> impl Strategy<Value = Vec<(u64, u64)>> {
    vec((0..=130_u64, any::<u64>()), 1..=3).prop_map(|mut changes| {
        changes.sort_unstable();
        changes
    })
}

/// Whether a run would have more threads than a test should, or more steps of the equations.
const WIDEST: usize = 32;

/// The versions, the edits that make them, and how many changes the plans refuse.
fn versions(tree: Pipe, changes: &[(u64, u64)]) -> (Versions, Vec<Edit>, usize) {
    let (mut versions, mut edits, mut refused) = (Versions::of(&tree.versioned()), Vec::new(), 0);
    for ((at, seed), version) in changes.iter().zip(1..) {
        let next = versions.last().related(*seed, version);
        if next.tree.width() > WIDEST {
            continue;
        }
        match versions.change(*at, &next.tree) {
            Ok(()) => edits.extend(next.edits),
            Err(_) => refused += 1,
        }
    }
    (versions, edits, refused)
}

fn slots_of(inputs: &[Value]) -> Vec<Option<Value>> {
    inputs.iter().cloned().map(Some).chain([None]).collect()
}

fn numbers(count: i64) -> Vec<Value> {
    (0..count).map(Value::I).collect()
}

/// The first difference between these ways to run the versions and the equations.
fn checked(
    versions: &Versions,
    inputs: &[Value],
    deployments: impl IntoIterator<Item = Deployment>,
) -> Result<(), String> {
    let trees: Vec<(u64, &Pipe)> = versions.iter().collect();
    let (ends, model) = (trees.iter().any(|(_, tree)| tree.ends()), changed(&trees, &slots_of(inputs)));
    for deployment in deployments {
        match versions.check(inputs, deployment, model.clone()) {
            Ok(missing) if missing > 0 && !ends => {
                return Err(format!("{versions}, {deployment:?}: {missing} changes did not take place"));
            }
            Ok(_) => {}
            Err(difference) => return Err(format!("{versions}, {deployment:?}: {difference}")),
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(random_cases())]

    /// Changes a run several times, on every deployment that allows it.
    #[test]
    fn a_random_pipeline_goes_on_as_another_one(
        tree in streams(16),
        inputs in values(120),
        deployment in deployments(),
        changes in changes(),
        seed in any::<u64>(),
    ) {
        let (versions, _, _) = versions(tree, &changes);
        let feedings = Feeding::each(seed);
        let deployments = feedings.map(|feeding| Deployment { feeding, ..deployment });
        checked(&versions, &inputs, deployments).map_err(TestCaseError::fail)?;
    }

    /// Changes a live run as soon as possible.
    #[test]
    fn a_random_pipeline_is_upgraded_to_another_one_on_demand(
        tree in streams(16),
        inputs in values(120),
        deployment in deployments(),
        changes in changes(),
    ) {
        let (versions, _, _) = versions(tree, &changes);
        let model = |trees: &[(u64, &Pipe)]| changed(trees, &slots_of(&inputs));
        if let Err(difference) = versions.check_on_demand(&inputs, deployment, model) {
            return Err(TestCaseError::fail(format!("{versions}, {deployment:?}: {difference}")));
        }
    }

    /// Changes runs on durable rings, and restarts from the snapshots before and after the changes, as bytes.
    #[test]
    fn a_random_pipeline_on_durable_rings_goes_on_as_another_one(
        tree in streams(12),
        inputs in values(120),
        deployment in deployments(),
        changes in changes(),
        every in 1..=60_u64,
    ) {
        let mut versions = durable::Versions::of(&tree.versioned());
        for ((at, seed), version) in changes.into_iter().zip(1..) {
            let next = lasting(&versions.last().related(seed, version).tree);
            if next.width() <= WIDEST {
                versions.change(at, next);
            }
        }
        let shown = format!("{versions}{deployment:?}, every {every}");
        let run = move || versions.check(&inputs, deployment, every);
        let outcome = within(Duration::from_secs(60), run).unwrap_or_else(|hung| Err(hung.to_string()));
        outcome.map_err(|why| TestCaseError::fail(format!("{shown}: {why}")))?;
    }

    /// Keys inside others, with random stages at both places, in other numbers of lanes. Random changes do that rarely.
    #[test]
    fn keys_inside_others_go_to_other_lanes(
        bodies in [quiet_pipes(5), quiet_pipes(5)],
        most in [1..=5_usize, 1..=5_usize],
        inputs in values(120),
        deployment in deployments(),
        lanes in [1..=3_usize, 1..=3_usize],
        later in vec((0..=130_u64, [1..=3_usize, 1..=3_usize]), 1..=3),
        seed in any::<u64>(),
    ) {
        let nested = |lanes| nested(lanes, most, &bodies);
        prop_assume!(nested([3, 3]).width() <= WIDEST);
        let (mut versions, mut later) = (Versions::of(&nested(lanes)), later);
        later.sort_unstable();
        for (at, lanes) in later {
            prop_assert_eq!(versions.change(at, &nested(lanes)), Ok(()), "{}", versions);
        }
        let feedings = [Feeding::Inline, Feeding::Stepped(seed), Feeding::Ready, Feeding::Channel];
        let deployments = feedings.map(|feeding| Deployment { feeding, ..deployment });
        checked(&versions, &inputs, deployments).map_err(TestCaseError::fail)?;
    }

    #[test]
    fn the_equations_of_versions_are_those_of_a_pipeline_that_does_not_change(
        tree in streams(16),
        inputs in values(60),
    ) {
        let (tree, slots) = (tree.versioned(), slots_of(&inputs));
        let whole = crate::reference::outer(&tree, &slots);
        prop_assert_eq!(&changed(&[(0, &tree)], &slots), &whole, "{}", tree);
        prop_assert_eq!(&changed(&[(0, &tree), (7, &tree), (7, &tree), (20, &tree)], &slots), &whole, "{}", tree);
    }
}

/// The random cases do change their runs: otherwise the property would mean nothing.
#[test]
fn most_random_pipelines_are_really_changed_and_in_every_way() {
    let mut runner = TestRunner::deterministic();
    let (mut asked, mut refused, mut unlike, mut count) = (0, 0, 0, BTreeMap::<Edit, usize>::new());
    let (cases, slots) = ((streams(16), changes()), slots_of(&numbers(60)));
    for _ in 0..500 {
        let (tree, changes) = cases.new_tree(&mut runner).expect("nothing is rejected").current();
        let changes: Vec<(u64, u64)> = changes.into_iter().map(|(at, seed)| (at / 3, seed)).collect();
        let (versions, edits, no) = versions(tree, &changes);
        (asked, refused) = (asked + changes.len(), refused + no);
        edits.into_iter().for_each(|edit| *count.entry(edit).or_default() += 1);
        let trees: Vec<(u64, &Pipe)> = versions.iter().collect();
        let all = changed(&trees, &slots);
        unlike += usize::from(trees.iter().all(|(_, tree)| changed(&[(0, tree)], &slots) != all));
    }
    assert!(refused * 20 < asked, "{refused} of {asked} changes are refused");
    assert!(unlike > 300, "{unlike} of 500 outputs are those of no version alone");
    Edit::EVERY.iter().for_each(|edit| assert!(count.get(edit).is_some_and(|n| *n > 10), "{edit:?} of {count:?}"));
}

/// Covers every stage whose state goes on, begins or is lost, under several orders of the steps.
#[test]
fn every_stage_comes_stays_and_goes_under_every_schedule() {
    let inputs = numbers(40);
    let map = |plus| Box::new(Pipe::Map { plus });
    for stage in every_stage() {
        let keeps = Pipe::Then(map(0), stage.into()).versioned();
        // A stage that numbers its outputs itself is never removed.
        let without = if keeps.renumbers() { keeps.clone() } else { *map(0) };
        let behind = |p: &Pipe, plus| Pipe::Then(p.clone().into(), map(plus));
        let mut versions = Versions::of(&without);
        let later = [(7, behind(&keeps, 1)), (20, Pipe::Tee(map(3))), (20, keeps.clone()), (33, without.clone())];
        let later = later.into_iter().filter(|(at, tree)| *at != 20 || !keeps.renumbers() || *tree == keeps);
        later.for_each(|(at, tree)| assert_eq!(versions.change(at, &tree), Ok(()), "{tree}"));
        checked(&versions, &inputs, ways().filter(|way| way.ring > 1)).unwrap();
    }
}

/// The ways to run a few numbers, under some schedules.
fn ways() -> impl Iterator<Item = Deployment> {
    Feeding::with_workers(20)
        .flat_map(|(workers, feeding)| [1, 8].map(|ring| Deployment { ring, batch: 8, workers, feeding }))
}

fn assert_changes(first: &Pipe, later: &[(u64, Pipe)]) {
    let mut versions = Versions::of(first);
    later.iter().for_each(|(at, tree)| assert_eq!(versions.change(*at, tree), Ok(()), "{tree}"));
    checked(&versions, &numbers(12), ways()).unwrap();
}

/// A `take` that has its last value ends the stream, even if a change at the next number would go on without it. So
/// does a stage that was done inside a body, where it could not end the stream.
#[test]
fn a_stream_that_ends_beside_a_change_ends_in_every_run_alike() {
    let map = || Pipe::Map { plus: 1 };
    for (end, at) in (0..6).flat_map(|end| (0..8).map(move |at| (end, at))) {
        let takes = || Pipe::Called(1, Pipe::Stream(Stream::Take(end)).into());
        assert_changes(&takes(), &[(at, map())]);
        assert_changes(&takes(), &[(at, Pipe::Then(takes().into(), map().into()))]);
        assert_changes(&takes(), &[(at, Pipe::Then(map().into(), takes().into()))]);
    }
    for (at, of) in (0..6).flat_map(|at| [Stream::Take(2), Stream::TakeWhile(3)].map(|of| (at, of))) {
        let takes = || Pipe::Called(1, Pipe::Stream(of).into());
        assert_changes(&Pipe::Tee(takes().into()), &[(at, takes())]);
        assert_changes(&Pipe::Tee(takes().into()), &[(at, takes()), (at, map())]);
    }
}

/// Keys inside others, in these numbers of lanes, with a body at both places. Keeps at most `most` keys at each.
fn nested([outer, inner]: [usize; 2], most: [usize; 2], bodies: &[Pipe; 2]) -> Pipe {
    let [around, inside] = bodies.clone();
    let inside = Pipe::ShardBy { keys: 3, most: most[1], k: inner, body: inside.into() };
    let body = Pipe::Then(around.into(), inside.into()).into();
    Pipe::ShardBy { keys: 4, most: most[0], k: outer, body }.versioned()
}

#[test]
fn keys_inside_others_go_to_other_lanes_in_every_run_alike() {
    let bodies = [1, 2].map(|start| Pipe::Scan { start });
    for [first, second, third] in [[[3, 2], [2, 3], [6, 1]], [[1, 1], [3, 2], [3, 1]], [[2, 2], [4, 1], [2, 2]]] {
        let nested = |lanes| nested(lanes, [3, 2], &bodies);
        assert_changes(&nested(first), &[(5, nested(second)), (9, nested(third))]);
    }
}
