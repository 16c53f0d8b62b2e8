//! A service with effects that is beside the one that performs them, and takes its place.

use crate::following::{PATIENCE, Paid, copy, files, home, job, pay};
use millstream::prelude::*;
use millstream_state::disk::RealDisk;
use millstream_state::effects::{Effects, Unknown};
use millstream_state::journal::{Fsync, JournalOptions, JournalReader};
use millstream_state::{Following, JobError, Retention, Running, StateDir};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{sleep, spawn};
use std::time::Duration;

/// The server that is called: it counts its calls, and answers when it may.
#[derive(Clone, Default)]
struct Bank {
    calls: Arc<AtomicU64>,
    waits: Arc<AtomicBool>,
}

impl Bank {
    /// Each answer has the number of the call in it, so no two are the same.
    fn answer(&self, amount: u64) -> u64 {
        while self.waits.load(Ordering::SeqCst) {
            sleep(Duration::from_millis(1));
        }
        1000 * (self.calls.fetch_add(1, Ordering::SeqCst) + 1) + amount
    }

    fn calls(&self) -> u64 {
        self.calls.load(Ordering::SeqCst)
    }
}

/// The sum of the bank's answers.
macro_rules! charges {
    ($effects:expr, $bank:expr, $unknown:expr) => {{
        let bank = $bank.clone();
        let charge = $effects.recorded("charge", $unknown, move |_, amount: &u64| bank.answer(*amount));
        pipeline::<Paid>()
            .map(|paid| paid.0)
            .enumerate()
            .map_blocking(charge)
            .named("charge")
            .map(|answer| *answer.as_ref().expect("it is known"))
            .scan(0, crate::following::add)
            .named("sum")
    }};
}

type Service = (Client<Paid, u64>, Running<()>);

fn serve(dir: &Path, bank: &Bank) -> Service {
    let state = StateDir::open(dir, "sum").unwrap();
    let (effects, _) = Effects::open(&state, JournalOptions::default()).unwrap();
    let charges = charges!(effects, bank, Unknown::retry());
    job(state).recording(&effects).serve(charges, JournalOptions::default()).unwrap()
}

fn follow(dir: &Path, bank: &Bank) -> Following<Paid, u64> {
    let state = StateDir::read(dir).unwrap();
    let effects = Effects::follow(&state, JournalOptions::default()).unwrap();
    let charges = charges!(effects, bank, Unknown::retry());
    job(state).recording(&effects).follow(charges, JournalOptions::default()).unwrap().unwrap()
}

#[test]
fn a_service_that_follows_takes_the_answers_from_the_record_and_calls_nobody() {
    let (_home, dir) = home();
    let (old, new) = (Bank::default(), Bank::default());
    let (client, running) = serve(&dir, &old);
    (0..20).for_each(|amount| _ = pay(&client, amount));
    running.snapshot().unwrap().unwrap();
    let mut sum = (0..30).fold(0, |_, amount| pay(&client, amount));
    let before = files(&dir);
    let mut following = follow(&dir, &new);
    // Of the last request and the last answer it is not known that they are durable.
    assert!(following.catches_up(PATIENCE));
    assert_eq!((following.reached(), new.calls(), files(&dir) == before), (49, 0, true));
    for amount in 0..100 {
        sum = pay(&client, amount);
    }
    drop(client);
    running.wait().unwrap();
    let (client, running) = following.own(StateDir::open(&dir, "sum").unwrap()).unwrap();
    assert_eq!(new.calls(), 0, "all answers are in the record");
    assert_eq!(pay(&client, 7), sum + 1007);
    assert_eq!((old.calls(), new.calls()), (150, 1));
    drop(client);
    running.wait().unwrap();
}

#[test]
fn a_call_without_an_answer_is_made_by_the_service_that_takes_over() {
    let (home, dir) = home();
    let (old, new) = (Bank::default(), Bank::default());
    let (client, running) = serve(&dir, &old);
    let sum = pay(&client, 1);
    // The answer of the last request is lost with its process.
    let killed = home.path().join("killed");
    old.waits.store(true, Ordering::SeqCst);
    let waits = client.send(Paid(2)).unwrap();
    while JournalReader::new(Arc::new(RealDisk), dir.join("journal")).durable().unwrap() == 0 {
        sleep(Duration::from_millis(1));
    }
    copy(&dir, &killed);
    old.waits.store(false, Ordering::SeqCst);
    waits.wait_for(PATIENCE).unwrap();
    drop(client);
    running.wait().unwrap();
    let following = follow(&killed, &new);
    let (client, running) = following.own(StateDir::open(&killed, "sum").unwrap()).unwrap();
    assert_eq!(pay(&client, 3), sum + 1002 + 2003);
    assert_eq!(new.calls(), 2);
    drop(client);
    running.wait().unwrap();
}

#[test]
fn effects_that_were_opened_do_not_follow() {
    let (_home, dir) = home();
    let bank = Bank::default();
    let (client, running) = serve(&dir, &bank);
    let state = StateDir::read(&dir).unwrap();
    let (effects, _) = Effects::open(&state, JournalOptions::default()).unwrap();
    let charges = charges!(effects, bank, Unknown::retry());
    let refused = job(state).recording(&effects).follow(charges, JournalOptions::default());
    assert!(matches!(refused, Err(JobError::CannotFollow)), "{refused:?}");
    drop(client);
    running.wait().unwrap();
}

#[test]
fn a_follower_that_waits_for_an_answer_ends_when_it_is_dropped() {
    let (_home, dir) = home();
    let (old, new) = (Bank::default(), Bank::default());
    let (client, running) = serve(&dir, &old);
    pay(&client, 1);
    old.waits.store(true, Ordering::SeqCst);
    let waits = [2, 3, 4].map(|amount| client.send(Paid(amount)).unwrap());
    let mut following = follow(&dir, &new);
    // It has read a request whose call has no answer yet.
    assert!(!following.catches_up(Duration::from_millis(200)) || following.reached() <= 1);
    drop(following);
    old.waits.store(false, Ordering::SeqCst);
    waits.into_iter().for_each(|answer| _ = answer.wait_for(PATIENCE).unwrap());
    assert_eq!((old.calls(), new.calls()), (4, 0));
    drop(client);
    running.wait().unwrap();
}

/// The journals have segments of this size. Those of effects get a new one every few calls.
const SMALL: JournalOptions = JournalOptions { segment_bytes: 100, ..LARGE };
const LARGE: JournalOptions = JournalOptions {
    segment_bytes: 1 << 20,
    max_bytes: 1 << 24,
    group_bytes: 1 << 20,
    fsync: Fsync::Every,
    compress: false,
    skip_corrupt: false,
    at_least: 0,
};

/// A service that keeps no answers that it does not need.
fn forgetful(dir: &Path, bank: &Bank) -> Service {
    let state = StateDir::open(dir, "sum").unwrap();
    let (effects, _) = Effects::open(&state, SMALL).unwrap();
    let keep = Retention { count: Some(1), ..Retention::default() };
    job(state).keep(keep).recording(&effects).serve(charges!(effects, bank, Unknown::retry()), LARGE).unwrap()
}

/// Ten calls, whose answers are then forgotten. Returns the sum.
fn forgotten((client, running): &Service) -> u64 {
    let mut sum = 0;
    for _ in 0..2 {
        sum = (0..5).fold(0, |_, amount| pay(client, amount));
        running.snapshot().unwrap().unwrap();
    }
    sum
}

/// A follower that asks for no answer before a word. The requests are there as long as it needs them.
fn slow(dir: &Path, bank: &Bank, goes: &Arc<AtomicBool>) -> Following<Paid, u64> {
    let state = StateDir::read(dir).unwrap();
    let effects = Effects::follow(&state, SMALL).unwrap();
    let goes = goes.clone();
    let waits = pipeline::<Paid>().map(move |paid| {
        while !goes.load(Ordering::SeqCst) {
            sleep(Duration::from_millis(1));
        }
        Paid(paid.0)
    });
    let charges = waits.then(charges!(effects, bank, Unknown::retry()));
    job(state).recording(&effects).follow(charges, LARGE).unwrap().unwrap()
}

fn left_behind(goes: &Arc<AtomicBool>) -> (tempfile::TempDir, PathBuf, [Bank; 2], Service, Following<Paid, u64>) {
    let (home, dir) = home();
    let [old, new] = [Bank::default(), Bank::default()];
    let present = forgetful(&dir, &old);
    let following = slow(&dir, &new, goes);
    forgotten(&present);
    (home, dir, [old, new], present, following)
}

#[test]
fn a_follower_whose_answers_were_forgotten_is_left_behind_and_can_follow_again() {
    let goes = Arc::default();
    let (_home, dir, [_, new], present, mut following) = left_behind(&goes);
    goes.store(true, Ordering::SeqCst);
    let left = loop {
        assert!(!following.catches_up(Duration::from_millis(10)), "answers are missing");
        if let Err(error) = following.check() {
            break error;
        }
    };
    drop(following);
    assert!(left.is_left_behind(), "{left}");
    assert!(left.to_string().starts_with("the record of effects: number 0 was trimmed"), "{left}");
    let mut following = slow(&dir, &new, &goes);
    let sum = pay(&present.0, 1);
    assert!(following.catches_up(PATIENCE));
    let (client, running) = present;
    drop(client);
    running.wait().unwrap();
    let (client, running) = following.own(StateDir::open(&dir, "sum").unwrap()).unwrap();
    assert_eq!(new.calls(), 0);
    assert_eq!(pay(&client, 7), sum + 1007);
    drop(client);
    running.wait().unwrap();
}

#[test]
fn a_follower_whose_answers_were_forgotten_does_not_take_over_and_calls_again() {
    let goes = Arc::default();
    let (_home, dir, [old, new], (client, running), following) = left_behind(&goes);
    drop(client);
    running.wait().unwrap();
    let later = spawn(move || {
        sleep(Duration::from_millis(100));
        goes.store(true, Ordering::SeqCst);
    });
    let refused = following.own(StateDir::open(&dir, "sum").unwrap()).unwrap_err();
    assert!(refused.is_left_behind(), "{refused}");
    later.join().unwrap();
    assert_eq!(new.calls(), 0, "{} calls have an answer", old.calls());
    // What it wanted to do is done by a start at the newest snapshot.
    let present = forgetful(&dir, &new);
    forgotten(&present);
    assert_eq!(new.calls(), 10);
    drop(present.0);
    present.1.wait().unwrap();
}

/// What is forgotten between the first look at the record and the choice of a snapshot is not needed.
#[test]
fn a_follower_begins_with_the_answers_that_are_there_when_it_begins() {
    let (_home, dir) = home();
    let [old, new] = [Bank::default(), Bank::default()];
    let present = forgetful(&dir, &old);
    let state = StateDir::read(&dir).unwrap();
    let effects = Effects::follow(&state, SMALL).unwrap();
    let sum = forgotten(&present);
    let charges = charges!(effects, new, Unknown::retry());
    let following = job(state).recording(&effects).follow(charges, LARGE).unwrap().unwrap();
    drop(present.0);
    present.1.wait().unwrap();
    let (client, running) = following.own(StateDir::open(&dir, "sum").unwrap()).unwrap();
    assert_eq!(pay(&client, 7), sum + 1007);
    assert_eq!(new.calls(), 1);
    drop(client);
    running.wait().unwrap();
}
