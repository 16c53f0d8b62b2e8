//! Jobs whose next version has another pipeline.

use crate::jobs::{job, numbers};
use millstream::io::FileSink;
use millstream::prelude::*;
use millstream::state::{Cadence, JobError, again};
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
    let header = ": convert each of these by `migrate`, or let it be lost by `dropping`:\n";
    assert!(changed.contains(header), "{changed}");
    assert!(changed.ends_with("\n  n: its state is a u64 version 1, and would be u32 version 1"), "{changed}");
    let lost = why(2);
    assert!(lost.contains(header), "{lost}");
    let why = "\n  n: it keeps a u64 version 1, and the new pipeline has no such stage to take it";
    assert!(lost.ends_with(why), "{lost}");
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

/// The newest snapshot fits this version, but not the output; the older ones fit the output, but not this version.
#[test]
fn an_output_that_holds_less_is_named_before_the_version_of_an_older_snapshot() {
    let home = tempfile::tempdir().unwrap();
    let out = home.path().join("out");
    let lines = || pipeline::<u64>().scan(0_u64, |n, _| (*n, *n += 1).0).named("n").map(|n| format!("{n}\n"));
    let run = |version: &'static str, refuses: &'static str, most: u64| {
        let job = job(home.path(), Cadence::Numbers(10)).described_as(version.into());
        let job = job.judged_by(move |stored| match stored.as_str() {
            Some(before) if before == refuses => Err("it is too old".to_owned()),
            _ => Ok(None),
        });
        job.run(&lines(), again(numbers(most, None)), FileSink::append(&out))
    };
    run("one", "", 50).unwrap();
    let first = fs::read_to_string(&out).unwrap();
    run("two", "", 90).unwrap();
    run("two", "one", 90).unwrap();
    fs::write(&out, &first[..3]).unwrap();
    let refused = run("two", "one", 90).unwrap_err();
    assert!(matches!(refused, JobError::SinkHoldsLess { .. }), "{refused}");
    assert!(refused.to_string().contains("it has 3 bytes"), "{refused}");
    // Without an output to blame, the version is.
    let refused = run("three", "two", 90).unwrap_err();
    assert!(matches!(refused, JobError::OtherVersion { .. }), "{refused}");
}
