//! Park and wake under loom, every interleaving: no wake-up is lost.
#![cfg(loom)]

use loom::sync::Arc;
use loom::sync::atomic::{AtomicUsize, Ordering};
use loom::thread;
use millstream_exec::Signal;

/// What a parked thread waits for, beside the signal: published, as in the rings, by release and acquire alone.
struct Work {
    signal: Signal,
    published: AtomicUsize,
}

impl Work {
    fn new() -> Arc<Self> {
        Arc::new(Work { signal: Signal::new(), published: AtomicUsize::new(0) })
    }

    fn publish(&self, n: usize) {
        self.published.store(n, Ordering::Release);
        self.signal.notify();
    }

    fn is_there(&self, n: usize) -> bool {
        self.published.load(Ordering::Acquire) >= n
    }

    /// Waits as a worker does: announces itself, looks once more, parks.
    fn wait_for(&self, n: usize) {
        while !self.is_there(n) {
            let ticket = self.signal.announce();
            if self.is_there(n) {
                self.signal.withdraw(ticket);
            } else {
                self.signal.park(ticket);
            }
        }
    }
}

#[test]
fn one_waits_for_one() {
    loom::model(|| {
        let work = Work::new();
        let waiter = {
            let work = work.clone();
            thread::spawn(move || work.wait_for(1))
        };
        work.publish(1);
        waiter.join().unwrap();
    });
}

#[test]
fn one_waits_twice() {
    loom::model(|| {
        let work = Work::new();
        let waiter = {
            let work = work.clone();
            thread::spawn(move || {
                work.wait_for(1);
                work.wait_for(2);
            })
        };
        work.publish(1);
        work.publish(2);
        waiter.join().unwrap();
    });
}

#[test]
fn two_wait_for_one() {
    loom::model(|| {
        let work = Work::new();
        let waiters = [(); 2].map(|()| {
            let work = work.clone();
            thread::spawn(move || work.wait_for(1))
        });
        work.publish(1);
        for waiter in waiters {
            waiter.join().unwrap();
        }
    });
}

/// A ring of one slot: each of two waits for the other.
#[test]
fn two_hand_over_in_turns() {
    loom::model(|| {
        let (work, room) = (Work::new(), Work::new());
        let reader = {
            let (work, room) = (work.clone(), room.clone());
            thread::spawn(move || {
                work.wait_for(1);
                room.publish(1);
            })
        };
        work.publish(1);
        room.wait_for(1);
        reader.join().unwrap();
    });
}
