//! Journals of jobs are trimmed up to what their snapshots need.

use millstream::io::FileSink;
use millstream::prelude::*;
use millstream::state::journal::{Fsync, JournalOptions};
use millstream::state::{Cadence, Persistent, Retention, Running, StateDir, journaled};
use std::fs;
use std::path::Path;
use std::sync::mpsc::{SyncSender, sync_channel};
use tempfile::tempdir;

pub(crate) const SMALL: JournalOptions = JournalOptions {
    segment_bytes: 500,
    max_bytes: 1 << 20,
    group_bytes: 4 << 20,
    fsync: Fsync::Never,
    compress: false,
    skip_corrupt: false,
    at_least: 0,
};

pub(crate) fn counted() -> impl Pipeline<String, String> + Lasting {
    pipeline::<String>().scan(0_u64, |n, line| (format!("{n} {line}\n"), *n += 1).0).named("count").any_edge()
}

/// A job that stores snapshots when it is asked, and a sender of its lines.
fn start(home: &Path, count: usize) -> (SyncSender<String>, Running<impl Send + 'static + use<>>) {
    let (sender, lines) = sync_channel(1000);
    let state = StateDir::open(home.join("state"), "count").unwrap();
    let live = journaled(&state, SMALL, || lines);
    let keep = Retention { count: Some(count), ..Retention::default() };
    let job = Persistent::new(Rings::new(), state).snapshot_every(Cadence::OnCall).keep(keep);
    (sender, job.start(&counted(), live, FileSink::append(home.join("out"))).unwrap())
}

/// Sends these lines, and stores a snapshot after them.
fn send<O: Send>(sender: &SyncSender<String>, running: &Running<O>, lines: std::ops::Range<u64>) {
    lines.clone().for_each(|n| sender.send(format!("line {n}")).unwrap());
    while running.snapshot().unwrap().unwrap() < lines.end {}
}

/// The first number that the journal has.
pub(crate) fn first_of(journal: &Path) -> u64 {
    let names = fs::read_dir(journal).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let bases = names.filter_map(|name| name.strip_suffix(".journal")?.split_once('-')?.0.parse().ok());
    bases.min().unwrap()
}

#[test]
fn a_file_that_is_no_snapshot_does_not_keep_the_journal() {
    for is_damaged in [false, true] {
        let home = tempdir().unwrap();
        let (sender, running) = start(home.path(), 2);
        send(&sender, &running, 0..100);
        let snapshots = home.path().join("state/snapshots");
        let state = StateDir::read(home.path().join("state")).unwrap();
        let stored = state.snapshots().unwrap();
        let first = snapshots.join(stored[0].manifest().unwrap().file());
        if is_damaged {
            fs::write(first, "no longer a snapshot").unwrap();
        } else {
            fs::copy(&first, first.with_extension("snapshot.bak")).unwrap();
        }
        for nth in 1..12 {
            send(&sender, &running, nth * 100..(nth + 1) * 100);
        }
        let stored = state.snapshots().unwrap();
        assert!(stored[0].manifest().is_none());
        let oldest = stored[1].manifest().unwrap().source["position"].as_u64().unwrap();
        let first = first_of(&home.path().join("state/journal"));
        assert!(oldest > 0 && oldest < first + 100, "it has the values from {first} on, and {oldest} is needed");
        drop(sender);
        running.wait().unwrap();
    }
}
