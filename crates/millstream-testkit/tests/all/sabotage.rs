//! Values with one faulty call, in random pipelines on every deployment, with every ending: it panics, or calls back
//! into the run. Nothing hangs, no value is dropped twice, none leaks, and a run that was hit names its stage.

mod ways;

use crate::random_cases;
use millstream_testkit::random::{Pipe, every_stage, streams};
use millstream_testkit::{Call, Saboteur};
use proptest::prelude::*;
use ways::{Case, Way, fed, ways};

fn calls() -> impl Strategy<Value = Call> {
    proptest::sample::select(&Call::ALL[..])
}

proptest! {
    #![proptest_config(random_cases())]

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

/// Every stage, after a map and before one, with every kind of call and every k. Unless `MILLSTREAM_FULL` is set, each
/// stage is on every other way, and its neighbour on the others, with a few k.
fn every_call_may_panic(ways: impl Fn(&Way) -> bool) {
    let full = std::env::var_os("MILLSTREAM_FULL").is_some();
    let most = if full { u64::MAX } else { 3 };
    let ways: Vec<_> = Way::smallest().into_iter().filter(ways).collect();
    let mut wrong = Vec::new();
    for (turn, stage) in every_stage().into_iter().enumerate() {
        let before: Box<Pipe> = Pipe::Map { plus: 0 }.into();
        let tree = if stage.gives_order_up() { stage } else { Pipe::Then(before, stage.into()) };
        let in_turn = |(index, _): &(usize, &Way)| full || (index + turn).is_multiple_of(2);
        for (_, way) in ways.iter().enumerate().filter(in_turn) {
            let case = Case { tree: tree.clone(), length: 5, way: *way };
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

// Side by side, since each takes long.

#[test]
fn every_call_of_every_stage_may_panic_on_rings() {
    every_call_may_panic(|way| matches!(way, Way::Rings(_)));
}

#[test]
fn every_call_of_every_stage_may_panic_while_it_is_replaced() {
    every_call_may_panic(|way| matches!(way, Way::Upgraded(..)));
}

#[test]
fn every_call_of_every_stage_may_panic_while_it_is_fed() {
    every_call_may_panic(|way| matches!(way, Way::Fed { .. }));
}

#[test]
fn every_call_of_every_stage_may_panic_on_queues_and_in_an_iterator() {
    every_call_may_panic(|way| matches!(way, Way::Queues { .. } | Way::Through { .. }));
}
