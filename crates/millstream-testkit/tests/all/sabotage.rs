//! Values with one faulty call, in random pipelines on every deployment, with every ending: it panics, or calls back
//! into the run. Nothing hangs, no value is dropped twice, none leaks, and a run that was hit names its stage.

mod ways;

use millstream_testkit::random::{Answer, Pipe, Stream, Windows, streams};
use millstream_testkit::{Call, Saboteur};
use proptest::prelude::*;
use proptest::test_runner::FileFailurePersistence;
use ways::{Case, Way, fed, ways};

fn config() -> ProptestConfig {
    let seeds = FileFailurePersistence::Direct("proptest-regressions/sabotage.txt");
    ProptestConfig { failure_persistence: Some(Box::new(seeds)), ..ProptestConfig::default() }
}

fn calls() -> impl Strategy<Value = Call> {
    proptest::sample::select(&Call::ALL[..])
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn a_call_that_panics_ends_the_run(
        tree in streams(10).prop_filter("more threads than a test should have", |tree| tree.width() <= 16),
        length in 0..24_usize,
        way in ways(),
        call in calls(),
        k in any::<prop::sample::Index>(),
    ) {
        let case = Case { tree, length, way };
        let calls = case.calls(call);
        let saboteur = Saboteur::panics(call, 1 + k.index(calls as usize + 2) as u64);
        if let Err(wrong) = case.hit_by(&saboteur) {
            return Err(TestCaseError::fail(format!("{case:?}, {saboteur:?} of {calls}: {wrong}")));
        }
    }

    #[test]
    fn a_call_may_call_back_into_the_run(
        tree in streams(10).prop_filter("more threads than a test should have", |tree| tree.width() <= 16),
        length in 0..24_usize,
        way in fed(),
        call in calls(),
        k in any::<prop::sample::Index>(),
    ) {
        let case = Case { tree, length, way };
        let calls = case.calls(call);
        let saboteur = Saboteur::new(call, 1 + k.index(calls as usize + 1) as u64);
        if let Err(wrong) = case.called_back_by(&saboteur) {
            return Err(TestCaseError::fail(format!("{case:?}, {saboteur:?} of {calls}: {wrong}")));
        }
    }
}

/// One stage of each kind: first those that clone, keep, hash, compare or order values.
fn stages() -> Vec<Pipe> {
    let map = || Box::new(Pipe::Map { plus: 1 });
    vec![
        *map(),
        Pipe::MapBlocking { plus: 1 },
        Pipe::MapAsync { limit: 3, plus: 1 },
        Pipe::Unordered { limit: 3, plus: 1 },
        Pipe::Filter { modulus: 3 },
        Pipe::DeadLetter { modulus: 3, plus: 2 },
        Pipe::Park { keys: 2, modulus: 3, plus: 2 },
        Pipe::Scan { start: 1 },
        Pipe::TryScan { start: 2, modulus: 3 },
        Pipe::MapOwned { plus: 1 },
        Pipe::Partition { modulus: 3 },
        Pipe::Answer(Answer::Last),
        Pipe::Answer(Answer::Min),
        Pipe::Answer(Answer::MaxByKey(3)),
        Pipe::Answer(Answer::GroupBy(3)),
        Pipe::FanoutAll(vec![*map(), Pipe::Cloned, *map()]),
        Pipe::Fold { start: 1 },
        Pipe::FoldBy { keys: 3, start: 1 },
        Pipe::Delay { first: 9 },
        Pipe::FlatMap { modulus: 3 },
        Pipe::Flatten,
        Pipe::Compact,
        Pipe::WindowsBy(Windows { size: 3, every: Some(2), lateness: 1, keep: true, most: 4, last: false }),
        Pipe::Stream(Stream::Take(3)),
        Pipe::Stream(Stream::Dedup(3)),
        Pipe::Stream(Stream::Chunks(2)),
        Pipe::Stream(Stream::Windows(2)),
        Pipe::Stream(Stream::Pairwise),
        Pipe::Text { modulus: 3, plus: 1 },
        Pipe::Fanout(map(), map()),
        Pipe::Both(map(), Pipe::Delay { first: 3 }.into()),
        Pipe::Choose(map(), Pipe::Scan { start: 3 }.into()),
        Pipe::Merge(map(), map()),
        Pipe::Feedback(1, map()),
        Pipe::Tee(map()),
        Pipe::Shard(3, map()),
        Pipe::ShardBy { keys: 3, most: 2, k: 2, body: Pipe::Scan { start: 1 }.into() },
    ]
}

/// Every stage, after a map and before one, in each of the smallest ways, with every kind of call and every k.
#[test]
fn every_call_of_every_stage_may_panic() {
    let most = if std::env::var_os("MILLSTREAM_FULL").is_some() { u64::MAX } else { 5 };
    let mut wrong = Vec::new();
    for stage in stages() {
        let before: Box<Pipe> = Pipe::Map { plus: 0 }.into();
        let tree = if stage.gives_order_up() { stage } else { Pipe::Then(before, stage.into()) };
        for way in Way::smallest() {
            let case = Case { tree: tree.clone(), length: 5, way };
            for call in Call::ALL {
                let calls = case.calls(call);
                // Each of the first, and some of the later ones.
                let chosen = (1..=calls + 1).filter(|k| *k <= most || (k % (calls / most).max(1) == 0));
                let hit = |k| {
                    let saboteur = Saboteur::panics(call, k);
                    let wrong = case.hit_by(&saboteur).err()?;
                    Some(format!("{case:?}, {saboteur:?} of {calls}: {wrong}"))
                };
                wrong.extend(chosen.filter_map(hit).take(1));
            }
        }
    }
    assert!(wrong.is_empty(), "Case of {}:\n{}", wrong.len(), wrong.join("\n"));
}
