//! A service that follows while the one that has the directory goes on with it, and that is of another version.

use crate::following::{PATIENCE, Paid, add, end, files, follow, home, job, own, pay, serve, slow};
use millstream::prelude::*;
use millstream_state::journal::JournalOptions;
use millstream_state::{Cadence, JobError, Persistent, Recorded, Retention, Running, StateDir};
use serde::{Deserialize, Deserializer, Serialize};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

/// How often a state was read from a snapshot, and a request from a journal.
static STATES: AtomicU64 = AtomicU64::new(0);
static REQUESTS: AtomicU64 = AtomicU64::new(0);

/// A state that counts how often it is restored.
#[derive(Clone, Default, Serialize)]
struct Sum(u64);

impl<'de> Deserialize<'de> for Sum {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        STATES.fetch_add(1, Ordering::SeqCst);
        u64::deserialize(from).map(Sum)
    }
}

/// A request that counts how often it is replayed.
struct Counted(u64);

impl Recorded for Counted {
    fn write(&self, bytes: &mut Vec<u8>) {
        Paid(self.0).write(bytes);
    }

    fn read(bytes: Vec<u8>) -> Result<Self, String> {
        REQUESTS.fetch_add(1, Ordering::SeqCst);
        Paid::read(bytes).map(|paid| Counted(paid.0))
    }
}

#[test]
fn restored_states_are_not_restored_again_at_the_take_over() {
    let (_home, dir) = home();
    let sums = || {
        let add = |sum: &mut Sum, paid: &Counted| {
            sum.0 += paid.0;
            sum.0
        };
        pipeline::<Counted>().scan(Sum::default(), add).named("sum")
    };
    let ask = |client: &Client<Counted, u64>, amount| client.send(Counted(amount)).unwrap().wait_for(PATIENCE).unwrap();
    let restored = || (STATES.load(Ordering::SeqCst), REQUESTS.load(Ordering::SeqCst));
    let (client, running) = job(StateDir::open(&dir, "sum").unwrap()).serve(sums(), JournalOptions::default()).unwrap();
    (0..20).for_each(|_| _ = ask(&client, 1));
    running.snapshot().unwrap().unwrap();
    (0..30).for_each(|_| _ = ask(&client, 1));
    assert_eq!(restored(), (0, 0));

    let beside = job(StateDir::read(&dir).unwrap());
    let mut following = beside.follow(sums(), JournalOptions::default()).unwrap().unwrap();
    assert!(following.catches_up(PATIENCE));
    // No record says that the last one is durable.
    assert_eq!((restored(), following.reached()), ((1, 29), 49));
    (0..5).for_each(|_| _ = ask(&client, 1));
    end((client, running));

    let (client, running) = following.own(StateDir::open(&dir, "sum").unwrap()).unwrap();
    assert_eq!(ask(&client, 1), 56);
    assert_eq!((restored(), running.began()), ((1, 35), 55), "the rest alone was read, and each request once");
    end((client, running));
}

#[test]
fn the_snapshot_that_a_follower_began_with_may_be_pruned() {
    let (_home, dir) = home();
    let small = JournalOptions { segment_bytes: 200, ..JournalOptions::default() };
    let keep = Retention { count: Some(1), ..Retention::default() };
    let (client, running) = job(StateDir::open(&dir, "sum").unwrap())
        .keep(keep)
        .serve(pipeline::<Paid>().map(|paid| paid.0).scan(0, add).named("sum"), small)
        .unwrap();
    (0..20).for_each(|_| _ = pay(&client, 1));
    running.snapshot().unwrap().unwrap();
    let names = || files(&dir.join("snapshots")).into_keys().collect::<Vec<_>>();
    let mut following = follow(&dir, small);
    let before = names();
    for _ in 0..4 {
        assert!(following.catches_up(PATIENCE));
        (0..10).for_each(|_| _ = pay(&client, 1));
        assert!(following.catches_up(PATIENCE));
        running.snapshot().unwrap().unwrap();
    }
    assert!(before.iter().all(|name| !names().contains(name)), "it has none of {before:?}");
    end((client, running));
    let present = own(following, &dir);
    assert_eq!((pay(&present.0, 1), present.1.began()), (61, 60));
    present.1.snapshot().unwrap().unwrap();
    assert_eq!(pay(&present.0, 1), 62);
    end(present);
    let present = serve(&dir, small);
    assert_eq!((pay(&present.0, 1), present.1.began()), (63, 61));
    end(present);
}

#[test]
fn a_follower_that_dies_while_it_reads_has_changed_nothing() {
    let (_home, dir) = home();
    let present = serve(&dir, JournalOptions::default());
    (0..50).for_each(|_| _ = pay(&present.0, 1));
    let before = files(&dir);
    let goes = Arc::new(AtomicBool::new(false));
    let mut following = slow(&dir, &goes);
    assert!(!following.catches_up(Duration::from_millis(10)));
    goes.store(true, Ordering::Relaxed);
    drop(following);
    assert_eq!(files(&dir), before);
    assert_eq!(pay(&present.0, 1), 51);
    end(present);
}

/// What the next version keeps.
#[derive(Clone, Default, Serialize, Deserialize)]
struct Mean {
    sum: u64,
    count: u64,
}

fn means() -> impl Pipeline<Paid, u64> + Lasting + KeepsClock {
    let add = |mean: &mut Mean, paid: &Paid| {
        (mean.sum, mean.count) = (mean.sum + paid.0, mean.count + 1);
        1000 * mean.count + mean.sum
    };
    pipeline::<Paid>().scan(Mean::default(), add).named("sum")
}

/// The next version, which counts from 100.
fn next(dir: StateDir) -> Persistent {
    job(dir).migrate("sum", |sum: u64| Mean { sum, count: 100 })
}

fn next_serves(dir: &Path) -> (Client<Paid, u64>, Running<()>) {
    next(StateDir::open(dir, "sum").unwrap()).serve(means(), JournalOptions::default()).unwrap()
}

fn next_follows(dir: &Path) -> (Client<Paid, u64>, Running<()>) {
    let present = serve(dir, JournalOptions::default());
    let beside = next(StateDir::read(dir).unwrap()).snapshot_every(Cadence::Every(Duration::from_millis(1)));
    let mut following = beside.follow(means(), JournalOptions::default()).unwrap().unwrap();
    assert!(following.catches_up(PATIENCE));
    pay(&present.0, 1);
    // It is of the version that serves.
    present.1.snapshot().unwrap().unwrap();
    pay(&present.0, 1);
    end(present);
    following.own(StateDir::open(dir, "sum").unwrap()).unwrap()
}

#[test]
fn another_version_follows_and_stores_nothing_of_its_own_before_its_first_request() {
    let (_home, dir) = home();
    let present = serve(&dir, JournalOptions::default());
    (0..10).for_each(|_| _ = pay(&present.0, 1));
    present.1.snapshot().unwrap().unwrap();
    end(present);

    for begin in [next_serves, next_follows] {
        let (client, running) = begin(&dir);
        let why = running.snapshot().unwrap_err();
        assert!(why.contains("no request yet"), "{why}");
        drop((client, running));
    }
    // It has died, so the version before it goes on.
    let present = serve(&dir, JournalOptions::default());
    assert_eq!(pay(&present.0, 1), 13);
    end(present);

    let (client, running) = next_follows(&dir);
    assert_eq!(pay(&client, 1), 1000 * (100 + 5) + 16, "what came since the snapshot that it began with is counted");
    assert!(running.snapshot().unwrap().is_some());
    end((client, running));
    let back = job(StateDir::open(&dir, "sum").unwrap());
    let back = back.serve(pipeline::<Paid>().map(|paid| paid.0).scan(0, add).named("sum"), JournalOptions::default());
    assert!(matches!(back, Err(JobError::OtherStates { .. })));
    let (client, running) =
        job(StateDir::open(&dir, "sum").unwrap()).serve(means(), JournalOptions::default()).unwrap();
    assert_eq!(pay(&client, 1), 1000 * (100 + 6) + 17);
    end((client, running));
}

/// A request that was accepted is answered and recorded before the directory is free: the next process has it.
#[test]
fn what_a_process_answers_is_recorded_before_it_lets_go() {
    let (_home, dir) = home();
    let slow = pipeline::<Paid>().map(|paid| {
        std::thread::sleep(Duration::from_millis(1));
        paid.0
    });
    let rings = Persistent::new(Rings::new().ring(2), StateDir::open(&dir, "sum").unwrap());
    let slow = slow.named("slow").scan(0, add).named("sum");
    let (client, mut running) = rings.serve(slow, JournalOptions::default()).unwrap();
    let answered = Arc::new(AtomicU64::new(0));
    let callers: Vec<_> = (0..8)
        .map(|_| {
            let (client, answered) = (client.clone(), answered.clone());
            std::thread::spawn(move || {
                while client.call_blocking(Paid(1)).is_ok() {
                    answered.fetch_add(1, Ordering::SeqCst);
                }
            })
        })
        .collect();
    // Some wait in front of it then.
    while answered.load(Ordering::SeqCst) < 20 {
        std::thread::yield_now();
    }
    running.close();
    running.let_go();
    let (next, serves) = serve(&dir, JournalOptions::default());
    callers.into_iter().for_each(|caller| caller.join().unwrap());
    assert_eq!(pay(&next, 1), answered.load(Ordering::SeqCst) + 1);
    end((client, running));
    end((next, serves));
}

#[test]
fn a_version_that_replaced_one_without_a_request_has_its_own_description() {
    let (_home, dir) = home();
    macro_rules! version {
        ($name:literal) => {
            pipeline::<Paid>().map(|paid| paid.0).scan(0, add).named("sum").scan(0, add).named($name).map(|sum| sum + 0)
        };
    }
    let job = |description: &str| job(StateDir::open(&dir, "sum").unwrap()).described_as(description.into());
    let (client, running) = job("one").serve(version!("one"), JournalOptions::default()).unwrap();
    pay(&client, 1);
    running.snapshot().unwrap().unwrap();
    end((client, running));
    let (client, running) = job("two").dropping("one").serve(version!("two"), JournalOptions::default()).unwrap();
    let three = Upgrade::to(version!("three").maybe()).dropping("two");
    let changed = running.upgrader().upgrade(three, |_| "three".into(), |_| ()).unwrap();
    assert!(changed.stored.unwrap_err().contains("no request yet"));
    pay(&client, 1);
    running.snapshot().unwrap().unwrap();
    let newest = StateDir::read(&dir).unwrap().newest().unwrap().unwrap();
    assert_eq!(newest.plan["job"], "three");
    assert!(newest.plan["plan"].to_string().contains("three"), "{}", newest.plan["plan"]);
    end((client, running));
    let (client, running) = job("three").serve(version!("three"), JournalOptions::default()).unwrap();
    pay(&client, 1);
    end((client, running));
}

/// The next version begins, directly or as a follower, with a journal that has more than it may have: this many
/// requests before the newest snapshot, and this many after it. Returns how many snapshots it has stored at its first
/// answer.
fn begins_full(follows: bool, before: u64, after: u64) -> u64 {
    let (_home, dir) = home();
    let small = JournalOptions { segment_bytes: 100, ..JournalOptions::default() };
    let present = serve(&dir, small);
    pay(&present.0, 1);
    present.1.snapshot().unwrap().unwrap();
    (0..before).for_each(|_| _ = pay(&present.0, 1));
    present.1.snapshot().unwrap().unwrap();
    (0..after).for_each(|_| _ = pay(&present.0, 1));
    let bytes = files(&dir.join("journal")).values().map(Vec::len).sum::<usize>() as u64;
    let full = JournalOptions { max_bytes: bytes / 4 * 3, ..small };
    let begin = || next(StateDir::open(&dir, "sum").unwrap()).serve(means(), full).unwrap();
    let (client, running) = if follows {
        let following = next(StateDir::read(&dir).unwrap()).follow(means(), full).unwrap().unwrap();
        end(present);
        following.own(StateDir::open(&dir, "sum").unwrap()).unwrap()
    } else {
        end(present);
        begin()
    };
    let (sum, count) = (before + after + 2, 100 + after + 1);
    assert_eq!(pay(&client, 1), 1000 * count + sum);
    let stored = running.storer().stored();
    (1..100).for_each(|more| assert_eq!(pay(&client, 1), 1000 * (count + more) + sum + more));
    end((client, running));
    let (client, running) = begin();
    assert_eq!(pay(&client, 1), 1000 * (count + 100) + sum + 100);
    end((client, running));
    stored
}

#[test]
fn another_version_gets_room_in_a_full_journal_by_a_snapshot_of_its_own() {
    for follows in [false, true] {
        assert!(begins_full(follows, 0, 50) > 0, "it follows: {follows}");
    }
}

#[test]
fn another_version_stores_nothing_of_its_own_if_older_snapshots_can_make_room() {
    for follows in [false, true] {
        assert_eq!(begins_full(follows, 50, 5), 0, "it follows: {follows}");
    }
}
