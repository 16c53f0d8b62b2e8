//! Jobs whose next version has another pipeline.

use crate::jobs::{job, numbers};
use millstream::io::FileSink;
use millstream::prelude::*;
use millstream::state::{Cadence, again};
use std::fs;

#[test]
fn a_pipeline_without_a_place_for_a_stored_state_is_refused() {
    let home = tempfile::tempdir().unwrap();
    let out = home.path().join("out");
    let run = |kind: u32| {
        let p = pipeline::<u64>();
        let job = job(home.path(), Cadence::Numbers(10));
        let (values, out) = (again(numbers(50, None)), FileSink::append(&out));
        match kind {
            0 => job.run(&p.scan(0_u64, |n, _| (*n, *n += 1).0).named("n").map(|n| format!("{n}\n")), values, out),
            1 => job.run(&p.scan(0_u32, |n, _| (*n, *n += 1).0).named("n").map(|n| format!("{n}\n")), values, out),
            _ => job.run(&p.map(|n| format!("{n}\n")), values, out),
        }
    };
    run(0).unwrap();
    let why = |kind| run(kind).unwrap_err().to_string();
    let changed = why(1);
    assert!(changed.starts_with("the pipeline cannot go on with the states of snapshot "), "{changed}");
    assert!(changed.contains("\n  n: its state is a u64 version 1, and would be u32 version 1\n"), "{changed}");
    let lost = why(2);
    assert!(lost.contains("\n  n: it keeps a u64 version 1, and the new pipeline has no such stage to take it\n"));
    assert!(lost.ends_with("`dropping` lets one be lost)"), "{lost}");
    run(0).unwrap();
}

/// What the versions of an edited program count.
#[derive(Clone, Default, serde::Serialize, serde::Deserialize)]
struct CountV1(u32);
#[derive(Clone, Default, serde::Serialize, serde::Deserialize)]
struct Count {
    count: u64,
    migrated: bool,
}

/// A version that a developer has edited goes on with the states that were stored: two have other types, keys are in
/// other shards, a stage with a state is new, another one is gone.
#[test]
fn an_edited_pipeline_goes_on_with_its_states() {
    let home = tempfile::tempdir().unwrap();
    let out = home.path().join("out");
    let old = |shards| {
        pipeline::<u64>()
            .scan(CountV1(0), |n, x| (n.0 += 1, u64::from(n.0) * 1000 + x).1)
            .named("n")
            .shard_by(
                |x| x % 7,
                shards,
                |p| p.scan(CountV1(0), |n, x| (n.0 += 1, *x * 10 + u64::from(n.0)).1).named("of-key"),
            )
            .named("keys")
            .shard_by(
                |x| x % 3,
                2,
                |p| p.scan(CountV1(0), |n, x| (n.0 += 1, *x * 100 + u64::from(n.0)).1).named("of-three"),
            )
            .named("threes")
            .dedup()
            .named("changes")
            .map(|x| format!("{x}\n"))
    };
    job(home.path(), Cadence::Numbers(10)).run(&old(2), again(numbers(50, None)), FileSink::append(&out)).unwrap();
    let before = fs::read_to_string(&out).unwrap();

    let new = pipeline::<u64>()
        .map(|x| x.rotate_left(0))
        .scan(Count::default(), |n, x| {
            n.count += 1;
            assert!(n.migrated, "the state was migrated");
            n.count * 1000 + x
        })
        .named("n")
        .shard_by(|x| x % 7, 3, |p| p.scan(CountV1(0), |n, x| (n.0 += 1, *x * 10 + u64::from(n.0)).1).named("of-key"))
        .named("keys")
        .shard_by(
            |x| x % 3,
            2,
            |p| {
                p.scan(Count::default(), |n, x| {
                    n.count += 1;
                    *x * 100 + n.count
                })
                .named("of-three")
            },
        )
        .named("threes")
        .scan(0_u64, |seen, x| (*seen += 1, format!("{x} {seen}\n")).1)
        .named("seen");
    let migrated = |old: CountV1| Count { count: u64::from(old.0), migrated: true };
    let next =
        job(home.path(), Cadence::Numbers(10)).migrate("n", migrated).migrate("of-three", migrated).dropping("changes");
    let (_, stored) = next.run(&new, again(numbers(90, None)), FileSink::append(&out)).unwrap();
    assert!(stored.began > 0, "it began with a snapshot");

    let after = fs::read_to_string(&out).unwrap();
    let whole = old(1).collect(source::ready(0..90)).unwrap();
    let (at, mut expected) = (stored.began as usize, String::new());
    whole[..at].iter().for_each(|line| expected += line);
    let with_seen = |(seen, line): (usize, &String)| format!("{} {}\n", line.trim_end(), seen + 1);
    whole[at..].iter().enumerate().for_each(|number| expected += &with_seen(number));
    assert_eq!(after, expected);
    assert!(before.starts_with(&expected[..whole[..at].concat().len()]));
}
