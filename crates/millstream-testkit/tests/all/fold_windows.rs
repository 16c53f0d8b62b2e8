//! Windows of event time, alone: more of their cases than random pipelines meet, and changes of their rules.

use crate::reference;
use millstream_testkit::random::{FoldWindows, Pipe, Value, Versions, Windows, values};
use millstream_testkit::{Deployment, Feeding, deployments};
use proptest::option;
use proptest::prelude::*;

fn windows() -> impl Strategy<Value = Windows> {
    let shape = (1..=12_u64, option::of(0..12_u64));
    (shape, 0..=20_u64, prop_oneof![0..=8_usize, Just(1000)], prop::bool::weighted(0.2)).prop_map(
        |((size, every), lateness, most, last)| {
            let every = every.map(|every| 1 + every % size);
            Windows { size, every, lateness, keep: false, most, last }
        },
    )
}

fn fold_windows() -> impl Strategy<Value = FoldWindows> {
    (windows(), option::of(0..=5_i64), any::<bool>(), option::of(1..=4_u64), 0..=15_u64, 0..9_i64).prop_map(
        |(windows, keys, own_watermark, early, refine, start)| {
            let refine = refine.saturating_sub(5);
            FoldWindows { windows, keys, own_watermark, early, refine, start }
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: ProptestConfig::default().cases * 8, ..ProptestConfig::default() })]

    #[test]
    fn windows_that_aggregate_satisfy_their_equations(
        of in fold_windows(),
        inputs in values(100),
        deployment in deployments(),
    ) {
        let (tree, slots) = (Pipe::FoldWindows(of), slots_of(&inputs));
        let pipeline = tree.build();
        prop_assert_eq!(pipeline.model_slots(inputs.clone()), reference::outer(&tree, &slots), "{}", tree);
        let deployment = Deployment { feeding: Feeding::Inline, ..deployment };
        prop_assert_eq!(pipeline.check(&inputs, deployment), Ok(()), "{}", tree);
    }
}

/// The same windows, or sessions, by other rules.
fn others(of: Windows, rules: Windows) -> Windows {
    Windows { every: of.every.map(|_| rules.every.unwrap_or(rules.size)), keep: of.keep, last: of.last, ..rules }
}

/// Runs a stage that is replaced at a number, on every deployment, and compares the output with these slots.
fn check_change(
    [first, then]: [Pipe; 2],
    at: usize,
    (inputs, expected): (&[Value], &[Option<Value>]),
    (deployment, seed): (Deployment, u64),
) -> Result<(), TestCaseError> {
    let called = |stage: Pipe| Pipe::Called(0, stage.into());
    let mut versions = Versions::of(&called(first));
    let check = versions.change(at as u64, &called(then));
    prop_assert!(check.is_ok(), "{versions}: {check:?}");
    for feeding in Feeding::each(seed) {
        let missing = versions.check(inputs, Deployment { feeding, ..deployment }, expected.to_vec());
        // A change after END does not take place, and is not due.
        prop_assert_eq!(missing, Ok(0), "{}, {:?}", versions, feeding);
    }
    Ok(())
}

fn slots_of(inputs: &[Value]) -> Vec<Option<Value>> {
    inputs.iter().cloned().map(Some).chain([None]).collect()
}

proptest! {
    /// Windows that are open get another length, or wait for other values.
    #[test]
    fn windows_that_aggregate_go_on_by_other_rules(
        of in fold_windows(),
        rules in windows(),
        early in option::of(1..=4_u64),
        at in 0..=100_usize,
        inputs in values(100),
        deployment in deployments(),
        seed in any::<u64>(),
    ) {
        let then = FoldWindows { windows: others(of.windows, rules), early, ..of };
        let expected = reference::fold_windows::changed(&of, (at, &then), &slots_of(&inputs));
        let stages = [of, then].map(Pipe::FoldWindows);
        check_change(stages, at, (&inputs, &expected), (deployment, seed))?;
    }

    #[test]
    fn windows_go_on_by_other_rules(
        of in windows(),
        rules in windows(),
        keep in any::<bool>(),
        at in 0..=100_usize,
        inputs in values(100),
        deployment in deployments(),
        seed in any::<u64>(),
    ) {
        let of = Windows { keep, ..of };
        let then = others(of, rules);
        let expected = reference::windows::changed(&of, (at, &then), &slots_of(&inputs), true);
        check_change([of, then].map(Pipe::WindowsBy), at, (&inputs, &expected), (deployment, seed))?;
    }
}

/// Every kind of result occurs in such cases, and keys without a window as well.
#[test]
fn results_of_all_kinds_occur() {
    let inputs: Vec<Value> = (0..200).map(|n| Value::I(n * n * 7 % 101)).collect();
    let windows = Windows { size: 6, every: None, lateness: 3, keep: false, most: 6, last: false };
    let (keys, early) = (Some(5), Some(2));
    let tree = Pipe::FoldWindows(FoldWindows { windows, keys, own_watermark: true, early, refine: 4, start: 1 });
    let mut seen = [0; 3];
    let mut dropped = 0;
    for slot in tree.build().model_slots(inputs).into_iter().flatten() {
        for result in slot.parts() {
            let [_, _, _, _, timing, late] = &result.parts()[..] else { panic!("{result:?}") };
            seen[timing.digest() as usize] += 1;
            dropped += late.digest();
        }
    }
    assert!(seen.iter().all(|n| *n > 5) && dropped > 5, "{seen:?}, {dropped}");
}
