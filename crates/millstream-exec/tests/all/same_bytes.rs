//! Equal histories have equal bytes: a snapshot does not depend on the process that wrote it, on the seeds of its
//! hashers, or on how often it has begun again. Replicas compare the hashes of what they hold.

use millstream::prelude::*;
use millstream_exec::{Durable, Snapshot};
use std::fs;
use std::process::Command;

/// A stage of each kind that keeps keys, with keys on the heap.
fn stages() -> impl Pipeline<u64, u64> + Lasting {
    let word = |x: &u64| format!("key {}", x * x % 41);
    let keep = |x: &u64| if x % 7 == 3 { Err("no") } else { Ok(*x) };
    let spend = move |left: &mut u64, x: &u64| {
        *left += x;
        if x % 11 == 5 { Err("no") } else { Ok(*left ^ x) }
    };
    pipeline::<u64>()
        .shard_by(word, 2, |p| p.scan(String::new(), |all, x| (*x, all.push('x')).0).named("words"))
        .named("keys")
        .shard_by_within(Bound::forget(6), word, 3, move |p| {
            p.shard_by(|x| x % 3, 1, |p| p.scan(0_u64, |n, x| (*x + *n % 2, *n += 1).0).named("inner")).named("pairs")
        })
        .named("recent")
        .try_map_or_park("park", word, keep, |_| ())
        .try_scan_or_park("park sums", word, 0_u64, spend, |_| ())
        .fold_windows_by(word, Window::sliding(30, 10), |x| *x, 0_u64, |n, x| *n += x)
        .named("windows")
        .map(|ended| ended.iter().map(|of| of.state).sum::<u64>())
        .fold_by(|x| format!("{}", x % 5), 0_u64, |n, x| *n += x, |n| n)
        .named("totals")
        .map(|all| all.len() as u64)
        .any_edge()
}

/// The bytes of a snapshot at `n`, of a run that begins again at each of these numbers.
fn bytes(begins: &[u64], n: u64) -> Vec<u8> {
    let mut before: Option<(u64, Vec<u8>)> = None;
    for to in begins.iter().copied().chain([n]) {
        let (from, rings) = match &before {
            None => (0, Rings::new()),
            Some((at, bytes)) => (*at, Rings::new().resume(Snapshot::from_bytes(bytes).unwrap())),
        };
        let (sender, receiver) = source::channel(1024);
        let run = Durable::new(rings).start(stages().from(receiver).to(sink::collect())).unwrap();
        sender.send_all(from..to).unwrap();
        before = Some((to, run.snapshot().unwrap().to_bytes().unwrap()));
    }
    before.unwrap().1
}

#[test]
fn a_run_that_has_begun_again_writes_what_an_undisturbed_one_does() {
    for n in [40, 300] {
        let expected = bytes(&[], n);
        assert_eq!(bytes(&[], n), expected, "the second time");
        for begins in [&[0][..], &[n / 2], &[n / 3, n / 2], &[n - 1], &[1, 2, 3, 30, n - 2]] {
            assert!(bytes(begins, n) == expected, "begun again at {begins:?}");
        }
    }
}

/// The file for the bytes of a child.
const INTO: &str = "MILLSTREAM_BYTES_INTO";

#[test]
fn another_process_writes_the_same_bytes() {
    let own = bytes(&[], 200);
    if let Some(path) = std::env::var_os(INTO) {
        return fs::write(path, own).unwrap();
    }
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("bytes");
    let mut child = Command::new(std::env::current_exe().unwrap());
    let test = "same_bytes::another_process_writes_the_same_bytes";
    assert!(child.args(["--exact", test, "--quiet"]).env(INTO, &path).output().unwrap().status.success());
    assert!(fs::read(&path).unwrap() == own);
}
