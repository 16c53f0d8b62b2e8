//! Keys inside other keys go to other numbers of lanes.

use super::number;
use millstream_core::pipe::Id;
use millstream_core::{Arrow, Bound, FeedbackExt, KeysExt, ModelExt, Val, pipeline};
use millstream_exec::{Durable, JobExt, Lasting, Migrations, Pipeline, Rings, Runner, Snapshot, Upgrade, sink, source};

/// Those of the outer and of the middle key, and of the inner one with its loop.
type Counts = ((u64, u64), (u64, u64));

/// Counts of keys inside keys inside keys, at every level, with a loop in the innermost. At each level keys are
/// forgotten, and come again.
fn nested([outer, middle, inner]: [usize; 3]) -> impl Pipeline<u64, Counts> + Lasting {
    fn count(n: &mut u64, _: &u64) -> u64 {
        *n += 1;
        *n
    }
    let innermost = |p: Id<Val<u64>>| {
        p.fanout(
            |p| p.scan(0, count).named("inner count"),
            |p| p.feedback(1, |p| p.map(|(x, s)| (x ^ s, s * 3 % 101))).named("loop"),
        )
        .map(|(n, looped)| (*n, *looped))
    };
    let inside = move |p: Id<Val<u64>>| {
        p.fanout(
            |p| p.scan(0, count).named("middle count"),
            move |p| p.shard_by_within(Bound::forget(4), |x| x / 3 % 5, inner, innermost).named("inner keys"),
        )
        .map(|(n, (inner, looped))| (*n, (*inner, *looped)))
    };
    pipeline::<u64>()
        .map(|x| x * x % 1013)
        .shard_by_within(
            Bound::forget(12),
            |x| x % 13,
            outer,
            move |p| {
                p.fanout(
                    |p| p.scan(0, count).named("outer count"),
                    move |p| p.shard_by_within(Bound::forget(5), |x| x % 7, middle, inside).named("middle keys"),
                )
            },
        )
        .named("outer keys")
        .map(|(outer, (middle, inner))| ((*outer, *middle), *inner))
}

/// The numbers of lanes of three versions.
const NESTED: [[[usize; 3]; 3]; 8] = [
    [[3, 2, 1], [2, 3, 1], [1, 3, 2]],
    [[1, 2, 3], [1, 3, 2], [1, 2, 3]],
    [[2, 2, 2], [4, 2, 1], [2, 1, 4]],
    [[1, 1, 1], [2, 1, 1], [2, 3, 1]],
    [[2, 3, 2], [2, 3, 2], [1, 1, 1]],
    [[3, 1, 2], [1, 1, 2], [2, 1, 2]],
    [[1, 1, 4], [1, 4, 1], [4, 1, 1]],
    [[1, 1, 1], [1, 1, 1], [3, 2, 2]],
];

#[test]
fn keys_inside_others_go_to_other_lanes_with_their_states() {
    let model = nested([1; 3]).model(0..2000);
    let begun = |of: fn(&Counts) -> u64| model[1000..].iter().filter(|x| of(x) == 1).count();
    assert!(begun(|((outer, _), _)| *outer) > 5 && begun(|((_, middle), _)| *middle) > 50, "keys are forgotten");
    assert!((100..900).contains(&begun(|(_, (inner, _))| *inner)), "and keys are remembered");
    for [first, second, third] in NESTED {
        let check = nested(first).plan().check_upgrade(&nested(second).plan());
        assert!(check.is_allowed(), "{first:?} -> {second:?}: {check}");
        let rings = Rings::new().batch(16).upgrade_at(number(1000), nested(second));
        let rings = rings.upgrade_at(number(1003), nested(third));
        let job = nested(first).from(source::ready(0..2000)).to(sink::collect());
        let (all, report) = rings.run(job).unwrap();
        assert_eq!(all, model, "{first:?} -> {second:?} -> {third:?}");
        assert_eq!(report.changes.len(), 2);
        // Three stages that tell keys apart, a loop, and the lanes of each count.
        let counts = [1, 2, 3].map(|level| second[..level].iter().product::<usize>());
        assert_eq!(report.changes[0].states_moved, 3 + 1 + counts.iter().sum::<usize>());
    }
}

/// From a snapshot in memory, and by way of bytes.
#[test]
fn a_snapshot_of_keys_inside_others_goes_on_in_other_lanes() {
    let model = nested([1; 3]).model(0..600);
    // In the first snapshot there is one key, and in the second one there are all.
    for (at, [first, second, _]) in [1, 300].into_iter().flat_map(|at| NESTED.map(|lanes| (at, lanes))) {
        let (sender, receiver) = source::channel(64);
        let run = Rings::new().batch(16).start(nested(first).from(receiver).to(sink::collect())).unwrap();
        sender.send_all(0..at).unwrap();
        let snapshot = run.snapshot().unwrap();
        drop(sender);
        run.wait().unwrap();
        let rings = Rings::new().resume_changed(snapshot, nested(first).plan(), Migrations::new());
        let rest = rings.collect(nested(second).from(source::ready(at..600))).unwrap();
        assert_eq!(rest, model[at as usize..], "{first:?} -> {second:?} at {at}");

        let (sender, receiver) = source::channel(64);
        let run = Durable::new(Rings::new()).start(nested(first).from(receiver).to(sink::collect())).unwrap();
        sender.send_all(0..at).unwrap();
        let bytes = run.snapshot().unwrap().to_bytes().unwrap();
        drop(sender);
        run.wait().unwrap();
        let snapshot = Snapshot::from_bytes(&bytes).unwrap();
        let rings = Rings::new().resume_changed(snapshot, nested(first).plan(), Migrations::new());
        let rest = Durable::new(rings).collect(nested(second).from(source::ready(at..600))).unwrap();
        assert_eq!(rest, model[at as usize..], "bytes, {first:?} -> {second:?} at {at}");
    }
}

/// States of another type at their keys' new places: those of lanes, and those of a loop, which has all lanes.
#[test]
fn states_are_migrated_on_the_way_to_other_lanes() {
    macro_rules! version {
        ($state:ty, $outer:expr, $inner:expr) => {
            pipeline::<u64>()
                .shard_by(
                    |x| x % 5,
                    $outer,
                    |p| {
                        p.shard_by(
                            |x| x % 7,
                            $inner,
                            |p| {
                                p.fanout(
                                    |p| {
                                        p.scan(0, |n: &mut $state, _| {
                                            *n += 1;
                                            u64::from(*n)
                                        })
                                        .named("count")
                                    },
                                    |p| {
                                        p.feedback(1, |p| {
                                            p.map(|(x, s): (&u64, &$state)| (x + u64::from(*s), s * 3 % 101))
                                        })
                                        .named("loop")
                                    },
                                )
                                .map(|(n, looped)| (*n, *looped))
                            },
                        )
                        .named("inner")
                    },
                )
                .named("outer")
        };
    }
    let looped = version!(u32, 1, 1).plan().stages.into_iter().find(|stage| stage.kind == "state").unwrap().name;
    for [outer, inner] in [[3, 2], [2, 3], [1, 1], [4, 2]] {
        let next = Upgrade::to(version!(u64, outer, inner)).migrate("count", |n: u32| u64::from(n));
        let next = next.migrate(&*looped, |s: u32| u64::from(s));
        let rings = Rings::new().batch(16).upgrade_at(number(200), next);
        let all = rings.collect(version!(u32, 2, 3).from(source::ready(0..400))).unwrap();
        assert_eq!(all, version!(u32, 1, 1).model(0..400), "{outer} x {inner}");
    }
}
