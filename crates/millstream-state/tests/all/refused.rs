//! Starts that are refused, and change nothing.

use crate::damage::later;
use crate::jobs::{job, lines, numbers};
use millstream::io::{Block, FileSink};
use millstream::prelude::*;
use millstream::state::journal::JournalOptions;
use millstream::state::{Cadence, JobError, Persistent, Retention, StateDir, StateError, TextFiles, again, journaled};
use std::fs;
use std::os::unix::fs::symlink;
use std::sync::mpsc::sync_channel;
use std::time::{Duration, Instant};

/// Without the newest snapshot the output would be cut to an older one.
#[test]
fn a_snapshot_that_cannot_be_read_is_not_passed_over() {
    let home = tempfile::tempdir().unwrap();
    let out = home.path().join("out");
    let run = |n| job(home.path(), Cadence::Numbers(10)).run(&lines(), again(numbers(n, None)), FileSink::append(&out));
    // A fast run may store one snapshot only, so there are two runs.
    run(50).unwrap();
    run(90).unwrap();
    let whole = fs::read_to_string(&out).unwrap();
    let newest = StateDir::read(home.path().join("state")).unwrap().newest().unwrap().unwrap();
    let file = home.path().join("state/snapshots").join(newest.file());
    let bytes = fs::read(&file).unwrap();
    fs::write(&file, later(bytes.clone(), "millstream-snapshot", newest.written_bytes() as usize)).unwrap();
    let refused = run(90).unwrap_err();
    assert!(matches!(refused, JobError::State(StateError::LaterFormat { .. })), "{refused}");
    // Root may read every file, but not this one.
    fs::remove_file(&file).unwrap();
    symlink(&file, &file).unwrap();
    let refused = run(90).unwrap_err();
    assert!(matches!(refused, JobError::State(StateError::Io { .. })), "{refused}");
    assert_eq!(fs::read_to_string(&out).unwrap(), whole);
    fs::remove_file(&file).unwrap();
    fs::write(&file, bytes).unwrap();
    assert_eq!(run(90).unwrap().1.began, newest.at);
}

#[test]
fn a_journal_that_cannot_be_read_leaves_the_output_as_it_is() {
    let home = tempfile::tempdir().unwrap();
    let out = home.path().join("out");
    let start = |live: std::sync::mpsc::Receiver<String>| {
        let state = StateDir::open(home.path().join("state"), "count").unwrap();
        let source = journaled(&state, JournalOptions::default(), || live);
        let count = pipeline::<String>()
            .scan(0_u64, |n, line| {
                *n += 1;
                format!("{n} {line}\n")
            })
            .named("count");
        let job = Persistent::new(Rings::new(), state).snapshot_every(Cadence::OnCall);
        job.start(&count, source, FileSink::append(&out))
    };
    let (sender, live) = sync_channel(10);
    let running = start(live).unwrap();
    let since = Instant::now();
    let send = |line: &str, written: &str| {
        sender.send(line.to_owned()).unwrap();
        while fs::read_to_string(&out).unwrap() != written {
            assert!(since.elapsed() < Duration::from_secs(60), "{:?}", fs::read_to_string(&out));
            std::thread::sleep(Duration::from_millis(1));
        }
    };
    send("a", "1 a\n");
    while running.snapshot().unwrap().unwrap() < 1 {}
    send("b", "1 a\n2 b\n");
    drop(sender);
    running.wait().unwrap();
    fs::remove_dir_all(home.path().join("state/journal")).unwrap();
    let refused = start(sync_channel(1).1).unwrap_err();
    assert!(matches!(refused, JobError::Source(_)), "{refused}");
    assert_eq!(fs::read_to_string(&out).unwrap(), "1 a\n2 b\n");
}

/// With all of the output, the job would go on at the newest snapshot, which does not need the first file.
#[test]
fn an_output_that_holds_less_is_named_and_not_a_file_of_an_older_snapshot() {
    let home = tempfile::tempdir().unwrap();
    let [one, two, out] = ["one", "two", "out"].map(|name| home.path().join(name));
    let state = home.path().join("state");
    let run = || {
        let upper = pipeline::<Block>().map(|block| block.to_ascii_uppercase());
        let keep = Retention { count: Some(1000), ..Retention::default() };
        let job = Persistent::new(Rings::new(), StateDir::open(&state, "upper").unwrap());
        let job = job.snapshot_every(Cadence::Numbers(1)).keep(keep);
        job.run(&upper, TextFiles::new([&one, &two]).block_size(1), FileSink::append(&out))
    };
    fs::write(&one, "a\n").unwrap();
    fs::write(&two, "b\nc\n").unwrap();
    let newest = || StateDir::read(&state).unwrap().newest().unwrap().unwrap();
    let since = Instant::now();
    // A fast run may store one snapshot only.
    run().unwrap();
    while newest().source["position"]["file"] != 1 {
        run().unwrap();
        assert!(since.elapsed() < Duration::from_secs(60), "{:?}", newest());
    }
    assert_eq!(fs::read_to_string(&out).unwrap(), "A\nB\nC\n");
    fs::remove_file(&one).unwrap();
    fs::write(&out, "").unwrap();
    let refused = run().unwrap_err();
    assert!(matches!(refused, JobError::SinkHoldsLess { .. }), "{refused}");
}
