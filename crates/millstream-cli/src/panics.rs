//! What panics print: one in a pipeline is told as the pipeline's failure, with its stage and number, and as nothing
//! else; any other is a fault of the program itself, and is shown as such.

use std::cell::Cell;
use std::panic::{self, AssertUnwindSafe};
use std::thread;

thread_local! {
    /// Whether this thread runs a pipeline's closures at the moment, though no worker.
    static IN_PIPELINE: Cell<bool> = const { Cell::new(false) };
}

/// How the threads of a run are named.
const WORKERS: &str = "millstream-";

/// From now on a pipeline's panics print nothing.
pub(crate) fn quiet_in_pipelines() {
    let default = panic::take_hook();
    panic::set_hook(Box::new(move |info| {
        let worker = thread::current().name().is_some_and(|name| name.starts_with(WORKERS));
        if !worker && !IN_PIPELINE.get() {
            default(info);
        }
    }));
}

/// `run`, whose panics are the pipeline's: as an error, if `run` does not catch them.
pub(crate) fn of_pipeline<R>(run: impl FnOnce() -> R) -> thread::Result<R> {
    IN_PIPELINE.set(true);
    let outcome = panic::catch_unwind(AssertUnwindSafe(run));
    IN_PIPELINE.set(false);
    outcome
}
