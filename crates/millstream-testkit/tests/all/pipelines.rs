//! The central property of the project: every deployment of every pipeline has the model's slots.

use crate::random_cases;
use crate::reference;
use millstream_core::Plan;
use millstream_core::plan::PlanDiff;
use millstream_exec::Queues;
use millstream_testkit::random::{
    Joining, Pipe, Producers, Restart, Stream, Value, Windows, every_stage, producers, streams, timed, values,
};
use millstream_testkit::{Deployment, Feeding, QueueFeeding, deployments};
use proptest::collection::vec;
use proptest::prelude::*;
use std::sync::Arc;

proptest! {
    #![proptest_config(random_cases())]

    #[test]
    fn a_random_pipeline_on_rings_is_its_model(
        tree in streams(16),
        inputs in values(200),
        deployment in deployments(),
        seed in any::<u64>(),
    ) {
        let pipeline = tree.build();
        for feeding in Feeding::each(seed) {
            let deployment = Deployment { feeding, ..deployment };
            if let Err(difference) = pipeline.check(&inputs, deployment) {
                return Err(TestCaseError::fail(format!("{tree}, {deployment:?}: {difference}")));
            }
        }
    }

    #[test]
    fn the_stages_of_a_random_pipeline_are_those_of_its_plan(
        tree in streams(16).prop_filter("more threads than a test should have", |tree| tree.width() <= 32),
        deployment in deployments(),
    ) {
        prop_assert_eq!(tree.build().check_stages(deployment), Ok(()), "{}", tree);
    }

    #[test]
    fn the_plan_of_a_random_pipeline_is_read_back_and_compared(tree in streams(16), other in streams(16)) {
        let (plan, other) = (tree.build().plan(), other.build().plan());
        let json = serde_json::to_string(&plan.clone().with_capacity(64)).expect("a plan is plain data");
        let read: Plan = serde_json::from_str(&json).expect("it was written by this program");
        prop_assert_eq!(&read, &plan.clone().with_capacity(64));
        // A deployment decides the slots: a plan without them is the same pipeline.
        prop_assert!(read.diff(&plan).is_empty(), "{}: {}", tree, read.diff(&plan));
        let (there, back) = (plan.diff(&other), other.diff(&plan));
        let counts = |diff: &PlanDiff| (diff.kept().count() + diff.changed().count(), diff.new_stages().count());
        prop_assert_eq!(counts(&there), (plan.stages.len() - there.dropped().count(), back.dropped().count()));
        prop_assert_eq!(counts(&there).0, counts(&back).0);
        let json = serde_json::to_string(&there).expect("a difference is plain data");
        prop_assert_eq!(serde_json::from_str::<PlanDiff>(&json).expect("it was written by this program"), there);
    }

    #[test]
    fn a_plan_is_durable_or_says_why(tree in streams(16)) {
        let plan = tree.build().plan();
        let unnamed = plan.stages.iter().filter(|stage| stage.state.is_some() && !stage.named_by_user);
        let unnamed: Vec<_> = unnamed.map(|stage| &*stage.name).collect();
        let listed = plan.check_durable().err();
        let listed: Vec<_> = listed.iter().flat_map(|missing| &missing.unnamed).map(|state| &*state.stage).collect();
        prop_assert_eq!(listed, unnamed, "{}", plan);
    }

    #[test]
    fn a_random_pipeline_on_queues_is_its_model(
        tree in streams(16).prop_filter("more threads than a test should have", |tree| tree.width() <= 32),
        inputs in values(200),
        capacity in 1..=64_usize,
    ) {
        let queues = Queues::new().capacity(capacity);
        for feeding in [QueueFeeding::Ready, QueueFeeding::Waiting, QueueFeeding::Channel] {
            if let Err(difference) = tree.build().check_on_queues(&inputs, queues, feeding) {
                return Err(TestCaseError::fail(format!("{tree}, {queues:?}, {feeding:?}: {difference}")));
            }
        }
    }

    #[test]
    fn a_random_pipeline_goes_on_from_its_snapshots(
        tree in streams(16),
        inputs in values(200),
        deployment in deployments(),
        every in 1..=60_u64,
    ) {
        if let Err(difference) = tree.build().check_snapshots(&inputs, deployment, every) {
            return Err(TestCaseError::fail(format!("{tree}, {deployment:?}, every {every}: {difference}")));
        }
    }

    #[test]
    fn a_random_pipeline_is_replaced_by_its_like(
        tree in streams(16),
        inputs in values(200),
        deployment in deployments(),
        at in vec(0..=210_u64, 1..=3),
    ) {
        let fail = |why: String| Err(TestCaseError::fail(format!("{tree}, {deployment:?}, replaced at {at:?}: {why}")));
        match tree.build().check_upgrades(&inputs, deployment, &at) {
            Ok(missing) if missing > 0 && !tree.ends() => return fail(format!("{missing} did not take place")),
            Ok(_) => {}
            Err(difference) => return fail(difference.to_string()),
        }
    }

    #[test]
    fn a_random_pipeline_goes_on_after_states_that_are_migrated_and_rescaled(
        tree in streams(16),
        inputs in values(200),
        deployment in deployments(),
        changes in vec((0..=210_u64, 1..=3_usize), 1..=4),
    ) {
        let fail = |why: String| Err(TestCaseError::fail(format!("{tree}, {deployment:?}, changed at {changes:?}: {why}")));
        match tree.build().check_changes(&inputs, deployment, &changes) {
            Ok(missing) if missing > 0 && !tree.ends() => return fail(format!("{missing} did not take place")),
            Ok(_) => {}
            Err(difference) => return fail(difference.to_string()),
        }
    }

    #[test]
    fn another_version_of_a_random_pipeline_goes_on_from_its_snapshot(
        tree in streams(16),
        inputs in values(200),
        deployment in deployments(),
        every in 1..=100_u64,
        migrates in any::<bool>(),
        shards in [1..=3_usize, 1..=3],
    ) {
        let restart = Restart { every, migrates, shards };
        if let Err(difference) = tree.build().check_restart(&inputs, deployment, restart) {
            return Err(TestCaseError::fail(format!("{tree}, {deployment:?}, {restart:?}: {difference}")));
        }
    }

    #[test]
    fn a_sink_that_fails_ends_a_random_pipeline_at_its_number(
        tree in streams(12).prop_filter("more threads than a test should have", |tree| tree.width() <= 32),
        inputs in values(100),
        deployment in deployments(),
        from in 0..120_u64,
    ) {
        if let Err(difference) = tree.build().check_refusing_sink(&inputs, deployment, from) {
            return Err(TestCaseError::fail(format!("{tree}, {deployment:?}, from {from}: {difference}")));
        }
    }

    #[test]
    fn the_model_of_a_random_pipeline_satisfies_the_equations(tree in streams(24), inputs in values(60)) {
        let slots = inputs.iter().cloned().map(Some).chain([None]).collect::<Vec<_>>();
        prop_assert_eq!(tree.build().model_slots(inputs), reference::outer(&tree, &slots), "{}", tree);
    }
}

proptest! {
    // Every case runs four times, with threads for its producers.
    #![proptest_config(ProptestConfig { cases: random_cases().cases / 8, ..random_cases() })]

    #[test]
    fn a_random_pipeline_after_random_producers_is_its_model(
        tree in streams(12),
        producers in producers(30),
        deployment in deployments(),
        capacity in 1..=64_usize,
    ) {
        let (pipeline, producers) = (tree.build(), Arc::new(producers));
        if let Err(difference) = pipeline.check_fan_in(&producers, deployment) {
            return Err(TestCaseError::fail(format!("{tree} after {producers:?}, {deployment:?}: {difference}")));
        }
        if tree.width() > 32 {
            return Ok(());
        }
        let queues = Queues::new().capacity(capacity);
        if let Err(difference) = pipeline.check_fan_in_on_queues(&producers, queues) {
            return Err(TestCaseError::fail(format!("{tree} after {producers:?}, {queues:?}: {difference}")));
        }
    }
}

proptest! {
    #![proptest_config(random_cases())]

    #[test]
    fn the_model_after_random_producers_satisfies_the_rules(
        tree in streams(12),
        producers in producers(20),
        order in Just(()).prop_perturb(|(), rng| rng),
    ) {
        let choices = reference::fan_in::some_choices(&producers.lists, order);
        let chosen = reference::fan_in::as_chosen(&producers.lists, &choices);
        let merged = producers.as_chosen(&choices.iter().copied().collect()).expect("the choices fit the lists");
        prop_assert_eq!(&merged, &chosen);
        let whole = Producers { first: producers.lists.len(), ..producers.clone() };
        let by_rule = match producers.rule {
            Joining::RoundRobin => Some(reference::fan_in::in_turn(&producers.lists)),
            Joining::ByTime => Some(reference::fan_in::by_time(&producers.lists, Producers::time_of)),
            Joining::Arrival | Joining::Shared | Joining::ByTimeOrIdle => None,
        };
        prop_assert_eq!(whole.by_rule(), by_rule);
        let slots = chosen.into_iter().map(Some).chain([None]).collect::<Vec<_>>();
        prop_assert_eq!(tree.build().model_slots(merged), reference::outer(&tree, &slots), "{}", tree);
    }
}

proptest! {
    // Every source has a thread or two, and sleeps.
    #![proptest_config(ProptestConfig { cases: random_cases().cases / 4, ..random_cases() })]

    #[test]
    fn a_random_pipeline_after_a_source_with_a_clock_is_the_model_of_what_came(
        tree in streams(12),
        timed in timed(40),
        deployment in deployments(),
    ) {
        match tree.build().check_timed(&timed, deployment) {
            Ok(came) => {
                let right = if tree.ends() { timed.may_begin_with(&came) } else { timed.may_be(&came) };
                prop_assert!(right, "{timed:?}: {came:?}");
            }
            Err(difference) => {
                return Err(TestCaseError::fail(format!("{tree} after {timed:?}, {deployment:?}: {difference}")));
            }
        }
    }
}

/// Snapshots are taken with every stage: no stage loses a mark.
#[test]
fn every_stage_goes_on_from_its_snapshots() {
    let inputs: Vec<Value> = (0..120).map(Value::I).collect();
    let feedings = [(1, Feeding::Inline), (1, Feeding::Stepped(7)), (2, Feeding::Ready), (2, Feeding::Channel)];
    let mut stages = every_stage();
    let stateful = |start| Pipe::Scan { start }.into();
    stages.push(Pipe::ShardBy { keys: 3, most: 2, k: 2, body: Pipe::Feedback(1, stateful(1)).into() });
    let inner = Pipe::ShardBy { keys: 2, most: 2, k: 2, body: stateful(1) };
    stages.push(Pipe::ShardBy { keys: 3, most: 3, k: 2, body: inner.into() });
    for stage in stages {
        let ends = stage.ends();
        let tree = Pipe::Then(Pipe::Map { plus: 0 }.into(), stage.into());
        for (workers, feeding) in feedings {
            let deployment = Deployment { ring: 8, batch: 8, workers, feeding };
            match tree.build().check_snapshots(&inputs, deployment, 20) {
                Ok(taken) => assert!(taken > 0 || ends, "{tree}, {deployment:?}: no snapshot"),
                Err(difference) => panic!("{tree}, {deployment:?}: {difference}"),
            }
        }
    }
}

/// No number is lost or doubled, with every stage, and under several orders of the steps.
#[test]
fn every_stage_is_replaced_by_its_like_under_every_schedule() {
    let inputs: Vec<Value> = (0..60).map(Value::I).collect();
    for stage in every_stage() {
        let tree = Pipe::Then(Pipe::Map { plus: 0 }.into(), stage.into());
        for ((workers, feeding), at) in Feeding::with_workers(40).zip([0, 1, 17, 30, 59, 60].into_iter().cycle()) {
            let deployment = Deployment { ring: 8, batch: 8, workers, feeding };
            match tree.build().check_upgrades(&inputs, deployment, &[at, at + 1, 33]) {
                Ok(missing) => {
                    assert!(missing == 0 || tree.ends(), "{tree}, {deployment:?}, at {at}: {missing} missing")
                }
                Err(difference) => panic!("{tree}, {deployment:?}, at {at}: {difference}"),
            }
        }
    }
}

/// Otherwise the comparison without order would not be needed.
#[test]
fn a_pipeline_that_gives_its_order_up_has_another_order() {
    let tree = Pipe::Unordered { limit: 4, plus: 1 };
    let (pipeline, inputs): (_, Vec<Value>) = (tree.build(), (0..50).map(Value::I).collect());
    let model = pipeline.model_slots(inputs.clone());
    let deployment = Deployment { ring: 8, batch: 8, workers: 1, feeding: Feeding::Ready };
    assert_eq!(pipeline.check(&inputs, deployment), Ok(()));
    assert_ne!(pipeline.collect_slots(inputs, deployment).unwrap(), model);
}

/// All small pipelines on the smallest rings, where every fault of a gate shows.
#[test]
fn every_small_pipeline_on_the_smallest_rings_is_its_model() {
    let leaves = [
        Pipe::Id,
        Pipe::Tuple,
        Pipe::Map { plus: 1 },
        Pipe::Filter { modulus: 2 },
        Pipe::Scan { start: 1 },
        Pipe::Fold { start: 1 },
        Pipe::Delay { first: 9 },
        Pipe::FlatMap { modulus: 3 },
        Pipe::Compact,
        Pipe::Unordered { limit: 2, plus: 1 },
        Pipe::WindowsBy(Windows { size: 3, every: Some(2), lateness: 1, keep: true, most: 4, last: false }),
        Pipe::Stream(Stream::Take(2)),
        Pipe::Stream(Stream::Chunks(2)),
    ];
    let inputs: Vec<Value> = (0..5).map(Value::I).collect();
    let deployments = [(1, Feeding::Inline), (2, Feeding::Ready), (2, Feeding::Waiting)]
        .map(|(workers, feeding)| Deployment { ring: 1, batch: 1, workers, feeding });
    let mut trees = Vec::new();
    for p in &leaves {
        for q in &leaves {
            if !p.gives_order_up() || q.needs_no_order() {
                trees.push(Pipe::Then(p.clone().into(), q.clone().into()));
            }
            if !p.renumbers() && !q.renumbers() {
                trees.push(Pipe::Fanout(p.clone().into(), q.clone().into()));
                trees.push(Pipe::Both(p.clone().into(), q.clone().into()));
            }
            if p.is_quiet() && q.is_quiet() {
                trees.extend([Pipe::Choose, Pipe::Merge].map(|lanes| lanes(p.clone().into(), q.clone().into())));
            }
        }
    }
    let looped = |tree: &Pipe| Pipe::Feedback(1, Pipe::Feedback(2, tree.clone().into()).into());
    trees.extend(trees.iter().filter(|tree| !tree.renumbers()).map(looped).collect::<Vec<_>>());
    let sharded = trees.iter().filter(|tree| tree.is_pure()).map(|tree| Pipe::Shard(3, tree.clone().into()));
    let sharded: Vec<Pipe> = sharded.collect();
    for tree in trees.iter().chain(&sharded) {
        for deployment in deployments {
            let outcome = tree.build().check(&inputs, deployment);
            assert_eq!(outcome, Ok(()), "{tree}, {deployment:?}");
        }
        let outcome = tree.build().check_on_queues(&inputs, Queues::new().capacity(1), QueueFeeding::Waiting);
        assert_eq!(outcome, Ok(()), "{tree} on queues");
    }
}
