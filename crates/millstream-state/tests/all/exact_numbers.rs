//! Replays of sources whose blocks depend on when they were read: a number is the job's, or there is an error.

use millstream::io::{Block, FileSink};
use millstream::prelude::*;
use millstream::state::{
    Cadence, FollowedFile, JobError, Persistent, Resumable, Retention, SnapshotEntry, Span, StateDir, TextFiles, replay,
};
use std::fs::{self, File};
use std::io::Write;
use std::path::Path;
use std::thread::sleep;
use std::time::{Duration, Instant};

/// After each block, the bytes of all blocks so far.
fn bytes() -> impl Pipeline<Block, String> + Lasting {
    pipeline::<Block>()
        .scan(0_u64, |sum, block: &Block| {
            *sum += block.len() as u64;
            format!("{sum}\n")
        })
        .named("bytes")
}

fn job(home: &Path, cadence: Cadence) -> Persistent {
    let state = StateDir::open(home.join("state"), "bytes").unwrap();
    let keep = Retention { count: Some(1000), ..Retention::default() };
    Persistent::new(Rings::new().batch(1), state).snapshot_every(cadence).keep(keep)
}

/// What the job had after each number.
fn had(home: &Path) -> Vec<u64> {
    let out = fs::read_to_string(home.join("out")).unwrap_or_default();
    std::iter::once(0).chain(out.lines().map(|line| line.parse().unwrap())).collect()
}

fn stored(home: &Path) -> Vec<u64> {
    let listed = StateDir::read(home.join("state")).unwrap().snapshots().unwrap();
    let at = |entry| match entry {
        SnapshotEntry::Whole(manifest) => manifest.at,
        SnapshotEntry::Unreadable { why, .. } => panic!("{why}"),
        _ => unreachable!("there are two kinds"),
    };
    listed.into_iter().map(at).collect()
}

/// What a replay up to a number has there; `None` if the number is not known.
fn seen(home: &Path, source: &impl Resumable<Block>, span: Span) -> Option<u64> {
    let state = StateDir::read(home.join("state")).unwrap();
    match replay(&state, &Rings::new(), &bytes(), source, span, sink::collect()) {
        Ok(replayed) => Some(replayed.snapshot.json("bytes").unwrap()[0].as_u64().unwrap()),
        Err(JobError::NotExact { .. }) => None,
        Err(error) => panic!("{span:?}: {error}"),
    }
}

#[test]
fn a_followed_file_has_the_numbers_of_the_snapshots() {
    let home = tempfile::tempdir().unwrap();
    let home = home.path();
    let log = home.join("log");
    let mut lines = File::create(&log).unwrap();
    let follow = || FollowedFile::new(&log).interval(Duration::from_millis(1));
    let source = follow();
    let stopper = source.stopper();
    let running = job(home, Cadence::Numbers(3)).start(&bytes(), source, FileSink::append(home.join("out"))).unwrap();
    for n in 0..20 {
        writeln!(lines, "line {n}").unwrap();
        let begun = Instant::now();
        while had(home).len() < n + 2 {
            assert!(begun.elapsed() < Duration::from_secs(60), "line {n}: {:?}", had(home));
            sleep(Duration::from_millis(1));
        }
    }
    stopper.stop();
    running.wait().unwrap();

    let (had, stored) = (had(home), stored(home));
    assert!(stored.len() > 2 && had.len() == 21, "{stored:?} {had:?}");
    let source = follow();
    source.stopper().stop();
    for from in (0..20).map(Some).chain([None]) {
        for to in from.map_or(1, |from| from + 1)..21 {
            let is_known = stored.contains(&to);
            let expected = is_known.then(|| had[to as usize]);
            assert_eq!(seen(home, &source, Span { from, to: Some(to) }), expected, "{from:?} to {to} of {stored:?}");
        }
        let whole = Span { from, to: None };
        assert_eq!(seen(home, &source, whole), had.last().copied(), "{from:?} to the end");
    }
}

/// The second job goes on where the file ended, in the middle of what is a block of a fresh start.
#[test]
fn a_file_that_has_grown_has_no_other_numbers() {
    let home = tempfile::tempdir().unwrap();
    let home = home.path();
    let text = home.join("text");
    let source = || TextFiles::new([&text]).block_size(16);
    let (mut lines, mut ends) = (File::create(&text).unwrap(), Vec::new());
    for n in 1_u64..=3 {
        for line in 0..3 * n {
            writeln!(lines, "line {line}").unwrap();
        }
        let running = job(home, Cadence::Numbers(1)).start(&bytes(), source(), FileSink::append(home.join("out")));
        running.unwrap().wait().unwrap();
        ends.push(had(home).len() as u64 - 1);
    }
    let (had, stored) = (had(home), stored(home));
    let mut known = 0;
    for from in 0..had.len() as u64 - 1 {
        for to in from + 1..had.len() as u64 {
            if let Some(bytes) = seen(home, &source(), Span { from: Some(from), to: Some(to) }) {
                assert_eq!(bytes, had[to as usize], "{from} to {to}: {had:?}, {stored:?}, {ends:?}");
                known += 1;
            }
        }
    }
    assert!(known > 0);
}
