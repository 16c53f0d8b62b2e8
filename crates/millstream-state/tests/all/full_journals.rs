//! Journals that are full: the job makes room for them, or says that it cannot.

use crate::journal::{append, numbers, value};
use crate::trimmed::{SMALL, counted, first_of};
use millstream::io::FileSink;
use millstream::prelude::*;
use millstream::state::disk::RealDisk;
use millstream::state::effects::{Effects, Unknown};
use millstream::state::journal::{Journal, JournalError, JournalOptions};
use millstream::state::{
    Cadence, JobError, Persistent, Places, Position, Resumable, Retention, StateDir, again, journaled,
};
use std::fs;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{channel, sync_channel};
use std::thread;
use std::time::Duration;
use tempfile::tempdir;

/// What this returns, unless it hangs.
fn ends<R: Send + 'static>(what: &str, run: impl FnOnce() -> R + Send + 'static) -> R {
    let (say, said) = channel();
    let runs = thread::spawn(move || say.send(run()).unwrap());
    let result = said.recv_timeout(Duration::from_secs(90));
    if runs.is_finished() {
        runs.join().unwrap();
    }
    result.unwrap_or_else(|_| panic!("it hangs: {what}"))
}

fn line(n: u64) -> String {
    format!("this is line {n}")
}

fn written(home: &Path) -> Vec<String> {
    fs::read_to_string(home.join("out")).unwrap().lines().map(str::to_owned).collect()
}

fn expected(n: u64) -> Vec<String> {
    (0..n).map(|n| format!("{n} {}", line(n))).collect()
}

#[test]
fn a_full_journal_can_be_trimmed_whatever_its_segments_may_have() {
    let home = tempdir().unwrap();
    let open = |options, epoch| Journal::open(Arc::new(RealDisk), home.path().join("journal"), options, epoch);
    let options = JournalOptions { max_bytes: 5000, segment_bytes: 1 << 20, ..SMALL };
    let (mut journal, _) = open(options, 1).unwrap();
    let (mut number, mut kept) = (0, Vec::new());
    for round in 0..6 {
        let full = loop {
            match journal.append(number, &value(number)) {
                Ok(()) => number += 1,
                Err(error) => break error,
            }
            if round % 2 == 0 {
                journal.commit().unwrap();
            }
        };
        assert!(matches!(full, JournalError::Full { max: 5000, .. }), "{full}");
        journal.commit().unwrap();
        // Something else has these from now on.
        journal.trim_below(number).unwrap();
        assert_eq!((journal.first(), journal.bytes()), (number, 0), "round {round}");
        append(&mut journal, number..number + 3);
        kept = (number..number + 3).collect();
        number += 3;
        journal.commit().unwrap();
    }
    assert_eq!(numbers(journal.read_from(kept[0]).unwrap()), kept);
    drop(journal);
    assert_eq!(numbers(open(options, 2).unwrap().0.read_from(kept[0]).unwrap()), kept);
}

#[test]
fn what_no_journal_of_this_size_could_hold_is_refused() {
    let home = tempdir().unwrap();
    let open = |max_bytes| {
        let options = JournalOptions { max_bytes, ..SMALL };
        Journal::open(Arc::new(RealDisk), home.path().join("journal"), options, 1)
    };
    let none = open(40).unwrap_err().to_string();
    assert!(none.contains("`max_bytes` is 40") && none.contains("at least "), "{none}");
    let (mut journal, _) = open(1000).unwrap();
    let long = journal.append(0, &[0; 1000]).unwrap_err();
    assert!(matches!(long, JournalError::TooLong { bytes: 1000, max: 900..1000 }), "{long}");
    journal.append(0, &[0; 900]).unwrap();
    assert_eq!(journal.commit().unwrap(), 1);
}

#[test]
fn a_snapshot_at_the_number_of_the_last_one_makes_room_as_well() {
    let home = tempdir().unwrap();
    let (sender, lines) = sync_channel(1000);
    let state = StateDir::open(home.path().join("state"), "count").unwrap();
    let live = journaled(&state, SMALL, || lines);
    let keep = Retention { count: Some(1), ..Retention::default() };
    let job = Persistent::new(Rings::new(), state).snapshot_every(Cadence::OnCall).keep(keep);
    let running = job.start(&counted(), live, FileSink::append(home.path().join("out"))).unwrap();
    (0..100).for_each(|n| sender.send(line(n)).unwrap());
    let journal = home.path().join("state/journal");
    while running.snapshot().unwrap().unwrap() < 100 {}
    // The sink still holds what it claimed there.
    assert_eq!(running.snapshot(), Ok(Some(100)));
    assert_eq!(running.snapshot(), Ok(Some(100)));
    assert!(first_of(&journal) > 50, "it begins at {}", first_of(&journal));
    let stored = StateDir::read(home.path().join("state")).unwrap().snapshots().unwrap();
    let at: Vec<u64> = stored.iter().map(|entry| entry.manifest().unwrap().at).collect();
    assert_eq!(at, [100]);
    drop(sender);
    running.wait().unwrap();
}

#[test]
fn a_source_whose_journal_is_full_gets_room_by_a_snapshot() {
    let never = [Cadence::OnCall, Cadence::Numbers(1_000_000), Cadence::Every(Duration::from_secs(3600))];
    for (cadence, segment_bytes, count) in never.into_iter().zip([300, 1 << 20, 300]).map(|(c, s)| (c, s, 5)) {
        ends(&format!("{cadence:?}"), move || {
            let home = tempdir().unwrap();
            let options = JournalOptions { max_bytes: 4000, segment_bytes, ..SMALL };
            for lives in 1..=2 {
                let state = StateDir::open(home.path().join("state"), "count").unwrap();
                let live = journaled(&state, options, move || (500 * (lives - 1)..500 * lives).map(line));
                let keep = Retention { count: Some(count), ..Retention::default() };
                let job = Persistent::new(Rings::new(), state).snapshot_every(cadence).keep(keep);
                job.run(&counted(), live, FileSink::append(home.path().join("out"))).unwrap();
                assert_eq!(written(home.path()), expected(500 * lives));
            }
        });
    }
}

#[test]
fn a_journal_that_cannot_get_room_ends_its_source_with_what_to_do() {
    ends("all snapshots stay", || {
        let home = tempdir().unwrap();
        let state = StateDir::open(home.path().join("state"), "count").unwrap();
        let live = journaled(&state, JournalOptions { max_bytes: 4000, ..SMALL }, || (0..500).map(line));
        let job = Persistent::new(Rings::new(), state).keep(Retention::default());
        let failed = job.run(&counted(), live, FileSink::append(home.path().join("out"))).unwrap_err();
        let why = failed.to_string();
        assert!(matches!(failed, JobError::Source(_)), "{why}");
        assert!(why.contains("state/journal has no room") && why.contains("raise `max_bytes`"), "{why}");
    });
}

/// Lines of which none is whole.
struct Cut<X>(X);

struct CutLines<V>(V);

impl<X: Resumable<String>> Resumable<String> for Cut<X> {
    type Mark = X::Mark;
    type Values = CutLines<X::Values>;
    const WAITS: bool = X::WAITS;

    fn begin(&self, position: Option<&Position>) -> io::Result<Self::Values> {
        self.0.begin(position).map(CutLines)
    }

    fn position(&self, mark: &X::Mark) -> io::Result<Position> {
        self.0.position(mark)
    }

    fn failure(&self) -> Option<io::Error> {
        self.0.failure()
    }
}

impl<V: Iterator> Iterator for CutLines<V> {
    type Item = V::Item;

    fn next(&mut self) -> Option<V::Item> {
        self.0.next()
    }
}

impl<V: Places> Places for CutLines<V> {
    type Mark = V::Mark;

    fn place(&self) -> V::Mark {
        self.0.place()
    }

    fn is_whole(&self) -> bool {
        false
    }
}

#[test]
fn a_journal_gets_no_room_behind_a_value_that_is_not_whole() {
    ends("no snapshot can be stored", || {
        let home = tempdir().unwrap();
        let state = StateDir::open(home.path().join("state"), "count").unwrap();
        let live = journaled(&state, JournalOptions { max_bytes: 4000, ..SMALL }, || (0..500).map(line));
        let job = Persistent::new(Rings::new(), state).snapshot_every(Cadence::OnCall);
        let failed = job.run(&counted(), Cut(live), FileSink::append(home.path().join("out"))).unwrap_err();
        assert!(failed.to_string().contains("state/journal has no room"), "{failed}");
    });
}

/// A run of a job with an effect for each number.
fn charged(home: &Path, options: JournalOptions, n: u64, answer: usize) -> Result<(), JobError> {
    let state = StateDir::open(home.join("state"), "orders").unwrap();
    let (effects, _) = Effects::open(&state, options).unwrap();
    let charge = effects.recorded("charge", Unknown::retry(), move |_, _: &u64| "x".repeat(answer));
    let orders = pipeline::<u64>().enumerate().map_blocking(charge).named("charge");
    let orders = orders.map(|charged| format!("{}\n", charged.as_ref().unwrap().len()));
    let rings = Rings::new().ring(16).batch(1);
    let job = Persistent::new(rings, state).snapshot_every(Cadence::OnCall).recording(&effects);
    job.run(&orders, again(move || 0..n), FileSink::append(home.join("out"))).map(drop)
}

#[test]
fn effects_whose_record_gets_full_get_room_by_a_snapshot() {
    ends("effects", || {
        let home = tempdir().unwrap();
        let options = JournalOptions { max_bytes: 60_000, segment_bytes: 1 << 20, ..SMALL };
        charged(home.path(), options, 2000, 10).unwrap();
        assert_eq!(written(home.path()).len(), 2000);
    });
}

#[test]
fn effects_that_cannot_get_room_fail_with_what_to_do() {
    ends("effects", || {
        let home = tempdir().unwrap();
        let options = JournalOptions { max_bytes: 3000, segment_bytes: 500, ..SMALL };
        let why = charged(home.path(), options, 2000, 1000).unwrap_err().to_string();
        assert!(why.contains("state/effects has no room") && why.contains("`max_bytes`"), "{why}");
    });
}

#[test]
fn a_source_says_that_its_journal_is_full_once() {
    ends("it waits for its sink", || {
        let home = tempdir().unwrap();
        let state = StateDir::open(home.path().join("state"), "count").unwrap();
        let live = journaled(&state, JournalOptions { max_bytes: 4000, ..SMALL }, || (0..500).map(line));
        let (tells, told) = channel();
        let live = live.waiting_for_room(move |why| tells.send(why.to_string()).unwrap());
        // All snapshots stay.
        let job = Persistent::new(Rings::new(), state).keep(Retention::default());
        let running = job.start(&counted(), live, FileSink::append(home.path().join("out"))).unwrap();
        let why = told.recv_timeout(Duration::from_secs(60)).expect("it says so");
        assert!(why.contains("4000"), "{why}");
        assert!(told.recv_timeout(Duration::from_secs(2)).is_err(), "once");
        drop(running);
    });
}
