//! Threads that wait for a condition, which the notifiers evaluate.

use crate::Work;
use loom::sync::Arc;
use loom::sync::atomic::Ordering;
use loom::thread;
use millstream_exec::Condition;

impl Work {
    /// As a worker's round does.
    fn publish_progress(&self, n: usize) {
        self.published.store(n, Ordering::Release);
        self.signal.notify_progress();
    }
}

/// Waits as a source's thread does that found its ring full.
fn wait_until(work: &Arc<Work>, n: usize) {
    let seen = work.clone();
    let condition: Condition = std::sync::Arc::new(move || seen.is_there(n));
    while !work.is_there(n) {
        work.signal.park_until(&condition, || work.is_there(n).then_some(()));
    }
}

#[test]
fn one_waits_for_a_condition() {
    loom::model(|| {
        let work = Work::new();
        let waiter = {
            let work = work.clone();
            thread::spawn(move || wait_until(&work, 2))
        };
        work.publish_progress(1);
        work.publish_progress(2);
        waiter.join().unwrap();
    });
}

#[test]
fn one_waits_for_a_condition_and_one_for_anything() {
    loom::model(|| {
        let work = Work::new();
        let waiters = [true, false].map(|conditional| {
            let work = work.clone();
            thread::spawn(move || if conditional { wait_until(&work, 1) } else { work.wait_for(1) })
        });
        work.publish_progress(1);
        for waiter in waiters {
            waiter.join().unwrap();
        }
    });
}

/// Something else than progress happens, which the condition does not show.
#[test]
fn a_full_notification_wakes_whatever_the_condition() {
    loom::model(|| {
        let work = Work::new();
        let waiter = {
            let work = work.clone();
            thread::spawn(move || {
                let never: Condition = std::sync::Arc::new(|| false);
                while !work.is_there(1) {
                    work.signal.park_until(&never, || work.is_there(1).then_some(()));
                }
            })
        };
        work.publish(1);
        waiter.join().unwrap();
    });
}
