//! What panics in the program that evolves is an error, with what the panic said.

use std::any::Any;
use std::fmt::Display;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Runs code of the program's: its evolution, or how it reads, writes and drops its values. What it has changed before it
/// panicked is to be given up, or put right.
pub(crate) fn attempt<R, X: Display>(f: impl FnOnce() -> Result<R, X>) -> Result<R, String> {
    match catch_unwind(AssertUnwindSafe(f)) {
        Ok(done) => done.map_err(|error| error.to_string()),
        Err(panic) => Err(said(panic)),
    }
}

/// What a panic said.
pub(crate) fn said(panic: Box<dyn Any + Send>) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    let text = text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "it panicked".to_owned());
    // Its own `Drop` may panic.
    std::mem::forget(panic);
    text
}
