use crate::interrupts::Interrupts;
use crate::message::say_soon;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

/// How long a filter may be without an answer after a signal.
const GRACE: Duration = Duration::from_secs(1);

/// The numbers of answers that were begun, and that were made.
#[derive(Clone, Debug, Default)]
pub(super) struct Answers(Arc<[AtomicU64; 2]>);

impl Answers {
    pub(super) fn count<R>(&self, answer: impl FnOnce() -> R) -> R {
        let [begun, made] = &*self.0;
        begun.fetch_add(1, Ordering::Relaxed);
        let answer = answer();
        made.fetch_add(1, Ordering::Relaxed);
        answer
    }

    /// Stops the run after a signal if the filter makes no answer any more, as `repeat(1)` makes none. A run that waits
    /// for the reader of its output is not stopped.
    pub(super) fn stop_if_stuck(self, interrupts: Interrupts) {
        let watch = move || {
            interrupts.wait();
            let [begun, made] = &*self.0;
            loop {
                let before = made.load(Ordering::Relaxed);
                thread::sleep(GRACE);
                let now = made.load(Ordering::Relaxed);
                if now == before && begun.load(Ordering::Relaxed) > now {
                    say_soon("millstream jq: the filter makes no answer, and is stopped".to_owned());
                    return interrupts.stop_after(Duration::ZERO, || true);
                }
            }
        };
        // If no thread can be started, a second signal still stops the run.
        let _ = thread::Builder::new().name("signals-late".to_owned()).spawn(watch);
    }
}
