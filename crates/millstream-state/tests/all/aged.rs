//! Jobs whose snapshots an earlier version of this crate wrote.

use millstream::io::FileSink;
use millstream::prelude::*;
use millstream::state::{Cadence, Persistent, StateDir, again};
use std::fs;
use std::path::Path;

/// States of keys of each kind: those that are forgotten, those inside other keys, and those in a loop.
fn lines() -> impl Pipeline<u64, String> + Lasting {
    pipeline::<u64>()
        .shard_by_within(
            Bound::forget(9),
            |x| x * x % 23,
            2,
            |p| {
                p.scan(0_u64, |count, x| {
                    *count += 1;
                    *x * 100 + *count
                })
                .named("counts")
            },
        )
        .named("keys")
        .shard_by(
            |x| x % 5,
            2,
            |p| {
                p.shard_by(
                    |x| x % 3,
                    1,
                    |p| {
                        p.scan(0_u64, |sum, x| {
                            *sum += x;
                            *sum
                        })
                        .named("sums")
                    },
                )
                .named("inner keys")
            },
        )
        .named("outer keys")
        .shard_by(|x| x % 4, 3, |p| p.feedback(1_u64, |p| p.map(|(x, s)| (x ^ s, s * 3 % 101))).named("loop"))
        .named("loop keys")
        .map(|x| format!("{x}\n"))
        .any_edge()
}

const END: u64 = 150;

fn run(home: &Path, end: u64, every: Cadence) -> u64 {
    let job = Persistent::new(Rings::new().batch(7), StateDir::open(home.join("state"), "aged").unwrap());
    let out = FileSink::append(home.join("out"));
    job.snapshot_every(every).run(&lines(), again(move || 0..end), out).unwrap().1.began
}

#[test]
fn a_job_goes_on_at_a_snapshot_of_every_format() {
    goes_on("format-1-job");
    goes_on("format-2-job");
}

/// A job ends at 80. Its directory and its output are the fixture.
fn goes_on(fixture: &str) {
    let home = tempfile::tempdir().unwrap();
    let fixture = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(fixture);
    fs::create_dir_all(home.path().join("state/snapshots")).unwrap();
    for entry in fs::read_dir(fixture.join("snapshots")).unwrap().map(Result::unwrap) {
        fs::copy(entry.path(), home.path().join("state/snapshots").join(entry.file_name())).unwrap();
    }
    fs::copy(fixture.join("job"), home.path().join("state/job")).unwrap();
    fs::copy(fixture.join("out"), home.path().join("out")).unwrap();
    assert_eq!(run(home.path(), END, Cadence::Numbers(20)), 80);
    let expected = lines().collect(source::ready(0..END)).unwrap().concat();
    assert_eq!(fs::read_to_string(home.path().join("out")).unwrap(), expected);
    // And again, at one of the present format, with parts of changes.
    let state = StateDir::read(home.path().join("state")).unwrap();
    let newest = state.newest().unwrap().unwrap();
    assert!(newest.format == 2 && newest.at >= 100, "{newest:?}");
    assert_eq!(run(home.path(), END + 50, Cadence::OnCall), newest.at);
    let expected = lines().collect(source::ready(0..END + 50)).unwrap().concat();
    assert_eq!(fs::read_to_string(home.path().join("out")).unwrap(), expected);
}
