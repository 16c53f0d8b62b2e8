//! A service that is beside the one that has the directory, and takes its place.

use millstream::prelude::*;
use millstream_state::disk::RealDisk;
use millstream_state::journal::{Fsync, JournalOptions, JournalReader};
use millstream_state::{Cadence, Following, JobError, Persistent, Recorded, Retention, Running, StateDir};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{sleep, spawn};
use std::time::{Duration, Instant};

pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// What is paid in.
pub(crate) struct Paid(pub(crate) u64);

impl Recorded for Paid {
    fn write(&self, bytes: &mut Vec<u8>) {
        bytes.extend(self.0.to_le_bytes());
    }

    fn read(bytes: Vec<u8>) -> Result<Self, String> {
        bytes.try_into().map(|bytes| Paid(u64::from_le_bytes(bytes))).map_err(|_| "no number".to_owned())
    }
}

pub(crate) fn add(sum: &mut u64, x: &u64) -> u64 {
    *sum += x;
    *sum
}

/// The balance after each payment; its state has this name.
macro_rules! sums {
    ($name:literal) => {
        pipeline::<Paid>().map(|paid| paid.0).scan(0, add).named($name)
    };
}

pub(crate) type Service = (Client<Paid, u64>, Running<()>);

pub(crate) fn pay(client: &Client<Paid, u64>, amount: u64) -> u64 {
    client.send(Paid(amount)).unwrap().wait_for(PATIENCE).unwrap()
}

pub(crate) fn job(dir: StateDir) -> Persistent {
    Persistent::new(Rings::new().ring(64), dir).snapshot_every(Cadence::OnCall)
}

pub(crate) fn serve(dir: &Path, journal: JournalOptions) -> Service {
    job(StateDir::open(dir, "sum").unwrap()).serve(sums!("sum"), journal).unwrap()
}

pub(crate) fn follow(dir: &Path, journal: JournalOptions) -> Following<Paid, u64> {
    job(StateDir::read(dir).unwrap()).follow(sums!("sum"), journal).unwrap().unwrap()
}

pub(crate) fn own(following: Following<Paid, u64>, dir: &Path) -> Service {
    following.own(StateDir::open(dir, "sum").unwrap()).unwrap()
}

pub(crate) fn home() -> (tempfile::TempDir, PathBuf) {
    let home = tempfile::tempdir().unwrap();
    let dir = home.path().join("state");
    (home, dir)
}

/// All files below a directory.
pub(crate) fn files(dir: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut all = BTreeMap::new();
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            all.extend(files(&path));
        } else {
            all.insert(path.clone(), fs::read(&path).unwrap());
        }
    }
    all
}

pub(crate) fn end<Q: Item>((client, running): (Client<Q, u64>, Running<()>)) {
    drop(client);
    running.wait().unwrap();
}

#[test]
fn a_follower_goes_on_where_the_other_process_was_and_changes_nothing_before() {
    let (_home, dir) = home();
    let small = JournalOptions { segment_bytes: 500, ..JournalOptions::default() };
    let mut balance = 0;
    let mut present = serve(&dir, small);
    let ask = |present: &Service, balance: &mut u64, numbers: u64| {
        for number in 0..numbers {
            *balance += number;
            assert_eq!(pay(&present.0, number), *balance);
        }
    };
    for round in 0..12 {
        ask(&present, &mut balance, 10 * round);
        if round % 3 == 1 {
            present.1.snapshot().unwrap().unwrap();
        }
        ask(&present, &mut balance, 17);
        let before = files(&dir);
        let mut following = follow(&dir, small);
        assert!(following.catches_up(PATIENCE));
        assert_eq!(files(&dir), before, "round {round}");
        ask(&present, &mut balance, 5 * round);
        if round % 2 == 0 {
            assert!(following.catches_up(PATIENCE));
        }
        // It is the tail that it has not seen.
        ask(&present, &mut balance, 3);
        end(present);
        present = own(following, &dir);
        ask(&present, &mut balance, 2);
    }
    let numbers = present.1.snapshot().unwrap().unwrap();
    end(present);
    let mut journal = JournalReader::new(Arc::new(RealDisk), dir.join("journal"));
    let first = journal.first().unwrap();
    let values = journal.read_from(first).unwrap().collect::<Result<Vec<_>, _>>().unwrap();
    assert_eq!(first + values.len() as u64, numbers, "each request is there once");
    assert_eq!(StateDir::open(&dir, "sum").unwrap().epoch(), 14);
}

#[test]
fn a_follower_reads_nothing_that_is_not_known_to_be_durable() {
    let (_home, dir) = home();
    let present = serve(&dir, JournalOptions::default());
    let mut following = follow(&dir, JournalOptions::default());
    for number in 1..=30 {
        pay(&present.0, number);
        if number % 10 == 0 {
            assert!(following.catches_up(PATIENCE));
            // Each was a commit of its own, and no record says more of the last one.
            assert_eq!(following.reached(), number - 1);
        }
    }
    end(present);
    let present = own(following, &dir);
    assert_eq!(pay(&present.0, 0), 465);
    end(present);

    let (_home, dir) = home_with(Fsync::Never);
    let mut following = follow(&dir, JournalOptions::default());
    assert!(following.catches_up(PATIENCE));
    assert_eq!(following.reached(), 2, "the number of the snapshot, which has the values in front of it");
    let present = own(following, &dir);
    assert_eq!(pay(&present.0, 0), 10, "all that was written, now that no other process can lose it");
    end(present);
}

/// A directory with four requests, of which two are in a snapshot, that a process was killed over.
fn home_with(fsync: Fsync) -> (tempfile::TempDir, PathBuf) {
    let (home, dir) = home();
    let present = serve(&dir, JournalOptions { fsync, ..JournalOptions::default() });
    [1, 2].iter().for_each(|number| _ = pay(&present.0, *number));
    present.1.snapshot().unwrap().unwrap();
    [3, 4].iter().for_each(|number| _ = pay(&present.0, *number));
    // What the end of a process adds is not there after a kill.
    let killed = home.path().join("killed");
    copy(&dir, &killed);
    end(present);
    (home, killed)
}

pub(crate) fn copy(from: &Path, to: &Path) {
    for (path, bytes) in files(from) {
        let to = to.join(path.strip_prefix(from).unwrap());
        fs::create_dir_all(to.parent().unwrap()).unwrap();
        fs::write(to, bytes).unwrap();
    }
}

#[test]
fn a_follower_of_a_busy_process_stays_close_to_it() {
    let (_home, dir) = home();
    let small = JournalOptions { segment_bytes: 5000, ..JournalOptions::default() };
    let (client, running) = serve(&dir, small);
    let over = Arc::new(AtomicBool::new(false));
    let callers: Vec<_> = (0..3)
        .map(|_| {
            let (client, over) = (client.clone(), over.clone());
            spawn(move || {
                let mut calls = 0_u64;
                while !over.load(Ordering::Relaxed) {
                    pay(&client, 1);
                    calls += 1;
                }
                calls
            })
        })
        .collect();
    let mut following = follow(&dir, small);
    for _ in 0..5 {
        assert!(following.catches_up(PATIENCE));
        running.snapshot().unwrap().unwrap();
    }
    over.store(true, Ordering::Relaxed);
    let calls: u64 = callers.into_iter().map(|caller| caller.join().unwrap()).sum();
    end((client, running));
    let present = own(following, &dir);
    assert_eq!(pay(&present.0, 0), calls);
    end(present);
}

/// A follower whose stage waits for a word.
pub(crate) fn slow(dir: &Path, goes: &Arc<AtomicBool>) -> Following<Paid, u64> {
    let goes = goes.clone();
    let waits = pipeline::<Paid>().map(move |paid| {
        while !goes.load(Ordering::Relaxed) {
            sleep(Duration::from_millis(1));
        }
        paid.0
    });
    let job = Persistent::new(Rings::new().ring(2), StateDir::read(dir).unwrap());
    job.follow(waits.named("waits").scan(0, add).named("sum"), JournalOptions::default()).unwrap().unwrap()
}

#[test]
fn a_follower_reports_that_it_was_left_behind_and_can_follow_again() {
    let (_home, dir) = home();
    let small = JournalOptions { segment_bytes: 200, ..JournalOptions::default() };
    let keep = Retention { count: Some(1), ..Retention::default() };
    let state = StateDir::open(&dir, "sum").unwrap();
    let (client, running) = job(state).keep(keep).serve(sums!("sum"), small).unwrap();
    (0..20).for_each(|_| _ = pay(&client, 1));
    let goes = Arc::new(AtomicBool::new(false));
    let mut following = slow(&dir, &goes);
    for _ in 0..4 {
        (0..50).for_each(|_| _ = pay(&client, 1));
        running.snapshot().unwrap().unwrap();
    }
    goes.store(true, Ordering::Relaxed);
    let since = Instant::now();
    let left = loop {
        assert!(since.elapsed() < PATIENCE);
        // It may still have read what it had open.
        following.catches_up(Duration::from_millis(10));
        if let Err(error) = following.check() {
            break error;
        }
    };
    assert!(left.is_left_behind(), "{left}");
    let mut following = follow(&dir, small);
    assert!(following.catches_up(PATIENCE));
    assert_eq!(pay(&client, 1), 221, "the other one is not disturbed");
    end((client, running));
    let present = own(following, &dir);
    assert_eq!(pay(&present.0, 1), 222);
    end(present);
}

#[test]
fn a_follower_that_fails_or_is_dropped_does_not_disturb_the_other_process() {
    let (_home, dir) = home();
    let present = serve(&dir, JournalOptions::default());
    drop(follow(&dir, JournalOptions::default()));
    let fails = pipeline::<Paid>().map(|paid| {
        assert!(paid.0 != 3, "not this one");
        paid.0
    });
    let job = job(StateDir::read(&dir).unwrap());
    let mut following =
        job.follow(fails.named("picky").scan(0, add).named("sum"), JournalOptions::default()).unwrap().unwrap();
    (1..=5).for_each(|number| _ = pay(&present.0, number));
    assert!(!following.catches_up(PATIENCE));
    let error = following.check().unwrap_err();
    assert!(error.to_string().contains("stage \"picky\", number 2: panicked: not this one"), "{error}");
    assert_eq!(pay(&present.0, 0), 15);
    end(present);
}

#[test]
fn another_plan_is_refused_before_anything_is_read() {
    let (_home, dir) = home();
    let present = serve(&dir, JournalOptions::default());
    pay(&present.0, 1);
    present.1.snapshot().unwrap().unwrap();
    let refused = job(StateDir::read(&dir).unwrap()).follow(sums!("other"), JournalOptions::default());
    assert!(matches!(refused, Err(JobError::OtherStates { .. })), "{refused:?}");
    end(present);
}

#[test]
fn a_follower_does_not_take_over_a_journal_that_ends_before_what_it_has_read() {
    let (_home, dir) = home();
    let small = JournalOptions { segment_bytes: 100, ..JournalOptions::default() };
    let present = serve(&dir, small);
    (0..40).for_each(|number| _ = pay(&present.0, number));
    let mut following = follow(&dir, small);
    assert!(following.catches_up(PATIENCE));
    end(present);
    let journal = dir.join("journal");
    let mut segments: Vec<PathBuf> = files(&journal).into_keys().filter(|path| path.extension().is_some()).collect();
    segments.split_off(3).iter().for_each(|path| fs::remove_file(path).unwrap());
    let refused = following.own(StateDir::open(&dir, "sum").unwrap()).unwrap_err().to_string();
    assert!(refused.contains("were durable"), "{refused}");
}
