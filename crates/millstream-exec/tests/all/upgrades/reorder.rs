//! Stages with states change their places, go, and are replaced: each state stays with its name.

use super::number;
use millstream_core::{Arrow, ModelExt, pipeline};
use millstream_exec::{Inline, JobExt, Pipeline, Rings, Runner, Stepped, Upgrade, sink, source};

/// The states of `sum` and of `mix`. Each stage yields its state.
type Both = (u64, u64);

fn sum(sum: &mut u64, x: &u64) -> u64 {
    *sum = sum.wrapping_add(*x);
    *sum
}

fn mix(mix: &mut u64, x: &u64) -> u64 {
    *mix = mix.wrapping_mul(31) ^ x;
    *mix
}

fn sum_first((first, second): Both) -> impl Pipeline<u64, u64> {
    pipeline::<u64>().scan(first, sum).named("sum").scan(second, mix).named("mix")
}

fn mix_first((first, second): Both) -> impl Pipeline<u64, u64> {
    pipeline::<u64>().scan(second, mix).named("mix").scan(first, sum).named("sum")
}

const BEGIN: Both = (3, 7);

/// What `sum_first` has kept before this number.
fn kept(at: u64) -> Both {
    let last = |all: Vec<u64>, none| all.last().copied().unwrap_or(none);
    let sums = pipeline::<u64>().scan(BEGIN.0, sum).model(0..at);
    (last(sums, BEGIN.0), last(sum_first(BEGIN).model(0..at), BEGIN.1))
}

/// The stages begin with what they would be lost for if a state stayed in its place instead.
#[test]
fn two_stages_exchange_their_places_and_keep_their_states() {
    for at in [0, 1, 37, 100] {
        let mut expected = sum_first(BEGIN).model(0..at);
        expected.extend(mix_first(kept(at)).model(at..100));
        for (ring, batch) in [(1, 1), (16, 5), (256, 64)] {
            let rings = Rings::new().ring(ring).batch(batch).upgrade_at(number(at), mix_first((0, 0)));
            let job = || sum_first(BEGIN).from(source::ready(0..100));
            assert_eq!(rings.collect(job()), Ok(expected.clone()));
            assert_eq!(Inline::new(rings.clone()).collect(job()), Ok(expected.clone()));
            for seed in 0..5 {
                assert_eq!(Stepped::new(rings.clone(), seed).collect(job()), Ok(expected.clone()), "seed {seed}");
            }
        }
        // On demand; and back again, from the states that there are then.
        let (sender, receiver) = source::channel(128);
        let run = Rings::new().workers(2).start(sum_first(BEGIN).from(receiver).to(sink::collect())).unwrap();
        sender.send_all(0..at).unwrap();
        assert_eq!(run.upgrade(mix_first((0, 0))), Ok(number(at)));
        sender.send_all(at..100).unwrap();
        assert_eq!(run.upgrade(sum_first((0, 0))), Ok(number(100)));
        sender.send_all(100..120).unwrap();
        drop(sender);
        let (all, report) = run.wait().unwrap();
        assert_eq!(all[..100], expected);
        let mixed = pipeline::<u64>().scan(kept(at).1, mix).model(at..100).last().copied();
        let both = (expected.last().copied().filter(|_| at < 100), mixed);
        let (sums, mixes) = (both.0.unwrap_or(kept(at).0), both.1.unwrap_or(kept(at).1));
        assert_eq!(all[100..], sum_first((sums, mixes)).model(100..120));
        assert_eq!(report.changes.iter().map(|change| change.states_moved).collect::<Vec<_>>(), [2, 2]);
    }
}

#[test]
fn one_stage_goes_and_one_is_replaced_while_another_changes_its_place() {
    const AT: u64 = 37;
    let count = |n: &mut u64, x: &u64| {
        *n += 1;
        x.wrapping_add(*n)
    };
    // From now on the count has another type, and comes first.
    let recount = |(n, last): &mut (u32, u64), x: &u64| {
        *n += 1;
        std::mem::replace(last, *x).wrapping_mul(u64::from(*n))
    };
    let old = || sum_first(BEGIN).scan(0_u64, count).named("count");
    let new = |counts: (u32, u64), sums: u64| {
        let counted = pipeline::<u64>().scan(counts, recount).named("count");
        counted.scan(0_u64, mix).named("fresh").scan(sums, sum).named("sum")
    };
    let next = || {
        let next = Upgrade::to(new((0, 0), 0)).dropping("mix");
        next.migrate("count", |n: u64| (u32::try_from(n).unwrap(), 5_u64))
    };
    let mut expected = old().model(0..AT);
    expected.extend(new((AT as u32, 5), kept(AT).0).model(AT..100));
    for seed in 0..5 {
        let rings = Rings::new().ring(16).batch(5).upgrade_at(number(AT), next());
        assert_eq!(Stepped::new(rings, seed).collect(old().from(source::ready(0..100))), Ok(expected.clone()));
    }
    let (sender, receiver) = source::channel(128);
    let run = Rings::new().start(old().from(receiver).to(sink::collect())).unwrap();
    sender.send_all(0..AT).unwrap();
    assert_eq!(run.upgrade(next()), Ok(number(AT)));
    sender.send_all(AT..100).unwrap();
    drop(sender);
    let (all, report) = run.wait().unwrap();
    assert_eq!(all, expected);
    let became = report.changes[0].stages.to_string();
    for line in ["migrated count", "kept     sum", "new      fresh", "dropped  mix"] {
        assert!(became.contains(line), "no {line:?} in\n{became}");
    }
}
