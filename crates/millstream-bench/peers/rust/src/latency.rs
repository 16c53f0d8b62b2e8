//! The time of a wake-up. Every answer is a list of nanoseconds.

use crossbeam_channel::bounded;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// Long enough for a receiver to have parked.
const PAUSE: Duration = Duration::from_millis(1);

/// The times from before a send until after the receive of a parked receiver.
pub(crate) fn wakes(items: u64) -> Vec<u64> {
    let (sender, receiver) = bounded::<Instant>(1024);
    let receive = move || receiver.into_iter().map(|sent| sent.elapsed().as_nanos() as u64).collect();
    let receiver = thread::spawn(receive);
    for _ in 0..items {
        thread::sleep(PAUSE);
        if sender.send(Instant::now()).is_err() {
            break;
        }
    }
    drop(sender);
    receiver.join().unwrap_or_default()
}

/// The number of the current turn, and the condition on which the other thread waits.
struct Turn {
    at: Mutex<u64>,
    passed: Condvar,
}

impl Turn {
    fn wait_for(&self, turn: u64) {
        let mut at = self.at.lock().unwrap_or_else(PoisonError::into_inner);
        while *at != turn {
            at = self.passed.wait(at).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn pass_to(&self, turn: u64) {
        *self.at.lock().unwrap_or_else(PoisonError::into_inner) = turn;
        self.passed.notify_one();
    }
}

/// Round trips between two threads that wait for each other.
pub(crate) fn round_trips(items: u64) -> Vec<u64> {
    let turn = Arc::new(Turn { at: Mutex::new(0), passed: Condvar::new() });
    let other = turn.clone();
    let answering = thread::spawn(move || {
        for trip in 0..items {
            other.wait_for(2 * trip + 1);
            other.pass_to(2 * trip + 2);
        }
    });
    let trip = |trip| {
        let started = Instant::now();
        turn.pass_to(2 * trip + 1);
        turn.wait_for(2 * trip + 2);
        started.elapsed().as_nanos() as u64
    };
    let trips = (0..items).map(trip).collect();
    answering.join().map(|()| trips).unwrap_or_default()
}
