use std::thread;
use std::time::{Duration, Instant};

/// Waits until `is` returns true, and fails after a minute.
#[track_caller]
pub(crate) fn until(what: &str, is: impl Fn() -> bool) {
    let begun = Instant::now();
    while !is() {
        assert!(begun.elapsed() < Duration::from_secs(60), "in vain: {what}");
        thread::sleep(Duration::from_millis(2));
    }
}
