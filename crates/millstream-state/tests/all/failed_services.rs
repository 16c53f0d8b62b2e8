//! Services whose run fails or is stopped while callers wait.

use crate::following::{PATIENCE, Paid, add, home, job, pay};
use millstream::prelude::*;
use millstream_state::StateDir;
use millstream_state::journal::JournalOptions;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;
use std::thread::{sleep, spawn, yield_now};
use std::time::Duration;

/// What the run has failed with.
fn failure(error: CallError) -> String {
    let CallError::Failed(why) = error else { panic!("{error:?}") };
    why.to_string()
}

#[test]
fn callers_get_the_error_of_a_failed_stage_while_the_run_is_kept() {
    let (_home, dir) = home();
    let checked = pipeline::<Paid>().map(|paid| {
        assert!(paid.0 != 13, "no such amount");
        paid.0
    });
    let checked = checked.named("check").scan(0, add).named("sum");
    let (client, running) =
        job(StateDir::open(&dir, "sum").unwrap()).serve(checked, JournalOptions::default()).unwrap();
    assert_eq!(pay(&client, 1), 1);
    let why = failure(client.send(Paid(13)).unwrap().wait_for(PATIENCE).unwrap_err());
    assert!(why.contains("\"check\", number 1: panicked: no such amount"), "{why}");

    let (say, said) = channel();
    spawn(move || say.send(client.call_blocking(Paid(1))));
    let later = said.recv_timeout(PATIENCE).expect("a later call does not hang");
    assert_eq!(failure(later.unwrap_err()), why);
    assert_eq!(running.wait().unwrap_err().to_string(), why);
}

/// A stage that says when it has a request, and waits for a word with it.
#[derive(Clone, Default)]
struct Gate {
    reached: Arc<AtomicBool>,
    open: Arc<AtomicBool>,
}

impl Gate {
    fn pass(&self) {
        self.reached.store(true, Ordering::SeqCst);
        while !self.open.load(Ordering::SeqCst) {
            sleep(Duration::from_millis(1));
        }
    }

    fn wait(&self) {
        while !self.reached.load(Ordering::SeqCst) {
            yield_now();
        }
    }
}

#[test]
fn callers_of_a_stopped_service_get_an_error_while_the_run_is_kept() {
    let (_home, dir) = home();
    let gate = Gate::default();
    let stage = gate.clone();
    let waits = pipeline::<Paid>().map(move |paid| {
        stage.pass();
        paid.0
    });
    let waits = waits.named("waits").scan(0, add).named("sum");
    let (client, running) = job(StateDir::open(&dir, "sum").unwrap()).serve(waits, JournalOptions::default()).unwrap();
    let answer = client.send(Paid(1)).unwrap();
    gate.wait();
    running.stopper().stop_now();
    gate.open.store(true, Ordering::SeqCst);
    assert_eq!(answer.wait_for(PATIENCE), Err(CallError::Ended));
    running.wait().unwrap();
}

#[test]
fn callers_whose_requests_wait_for_room_get_the_error_of_a_run_that_fails() {
    let (_home, dir) = home();
    let gate = Gate::default();
    let stage = gate.clone();
    let fails = pipeline::<Paid>().map(move |_| -> u64 {
        stage.pass();
        panic!("no such amount")
    });
    let fails = fails.named("check").scan(0, add).named("sum");
    let small = JournalOptions { max_bytes: 400, ..JournalOptions::default() };
    let (client, running) = job(StateDir::open(&dir, "sum").unwrap()).serve(fails, small).unwrap();
    let first = client.send(Paid(1)).unwrap();
    gate.wait();
    // The journal has no room for all of these, and gets none while the stage lets no snapshot pass.
    let rest: Vec<_> = (0..40).map(|_| client.send(Paid(1)).unwrap()).collect();
    sleep(Duration::from_millis(100));
    gate.open.store(true, Ordering::SeqCst);
    for answer in [first].into_iter().chain(rest) {
        let why = failure(answer.wait_for(PATIENCE).unwrap_err());
        assert!(why.contains("no such amount"), "{why}");
    }
    assert!(running.wait().unwrap_err().to_string().contains("no such amount"));
}
