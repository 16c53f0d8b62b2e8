//! Windows that aggregate, alone: more of their cases than random pipelines meet.

use crate::reference;
use millstream_testkit::random::{FoldWindows, Pipe, Value, Windows, values};
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
    (windows(), option::of(1..=5_i64), any::<bool>(), option::of(1..=4_u64), 0..=15_u64, 0..9_i64).prop_map(
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
        let tree = Pipe::FoldWindows(of);
        let slots = inputs.iter().cloned().map(Some).chain([None]).collect::<Vec<_>>();
        let pipeline = tree.build();
        prop_assert_eq!(pipeline.model_slots(inputs.clone()), reference::outer(&tree, &slots), "{}", tree);
        let deployment = Deployment { feeding: Feeding::Inline, ..deployment };
        prop_assert_eq!(pipeline.check(&inputs, deployment), Ok(()), "{}", tree);
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
