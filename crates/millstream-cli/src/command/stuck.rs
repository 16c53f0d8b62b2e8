//! The end of a run whose filter does not come back.

use crate::interrupts::Interrupts;
use crate::message::say_soon;
use std::thread;
use std::time::Duration;

/// How long a filter may be without an answer to a value after a signal.
const GRACE: Duration = Duration::from_secs(1);

/// Stops the run after a signal if an answer has no end, as that of `last(repeat(1))` has none. `answers` are how many
/// were begun, and how many were made. A run that waits for the reader of its output is not stopped.
pub(super) fn stop_if_stuck(
    interrupts: Interrupts,
    why: &'static str,
    answers: impl Fn() -> [u64; 2] + Send + 'static,
) {
    let watch = move || {
        interrupts.wait();
        loop {
            let [begun, before] = answers();
            thread::sleep(GRACE);
            let [_, now] = answers();
            if begun > before && now == before {
                say_soon(why.to_owned());
                return interrupts.stop_after(Duration::ZERO, || true);
            }
        }
    };
    // If no thread can be started, a second signal still stops the run.
    let _ = thread::Builder::new().name("signals-late".to_owned()).spawn(watch);
}
