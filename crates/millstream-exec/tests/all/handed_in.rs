//! What a test gives to a closure of its own run after the run has started.

use std::sync::Mutex;

/// Waits until there is something. The lock is free between two looks: a `match` on what is locked would hold it while
/// it yields, and the thread that brings it could wait for a minute.
pub(crate) fn handed_in<T>(place: &Mutex<Option<T>>) -> T {
    loop {
        let there = place.lock().unwrap().take();
        match there {
            Some(handed_in) => return handed_in,
            None => std::thread::yield_now(),
        }
    }
}
