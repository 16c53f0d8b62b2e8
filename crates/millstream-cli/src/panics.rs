//! What panics print. A panic in a pipeline is reported only as the pipeline's failure, with its stage and number. Any
//! other panic is a fault of the program itself, and prints as usual.

use millstream_exec::runs_stages;
use std::cell::Cell;
use std::panic::{self, AssertUnwindSafe};
use std::thread;

thread_local! {
    /// Whether this thread, which is not a worker, now runs a pipeline's closures.
    static IN_PIPELINE: Cell<bool> = const { Cell::new(false) };
}

/// The beginning of the names of a run's threads.
const WORKERS: &str = "millstream-";

/// From now on a pipeline's panics print nothing.
pub(crate) fn quiet_in_pipelines() {
    let default = panic::take_hook();
    panic::set_hook(Box::new(move |info| {
        let worker = thread::current().name().is_some_and(|name| name.starts_with(WORKERS));
        if !worker && !IN_PIPELINE.get() && !runs_stages() {
            default(info);
        }
    }));
}

/// Calls `run`, whose panics are the pipeline's. A panic that `run` does not catch is returned as an error.
pub(crate) fn of_pipeline<R>(run: impl FnOnce() -> R) -> thread::Result<R> {
    IN_PIPELINE.set(true);
    let outcome = panic::catch_unwind(AssertUnwindSafe(run));
    IN_PIPELINE.set(false);
    outcome
}
