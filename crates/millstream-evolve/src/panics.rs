//! A panic in the program's own code becomes an error with the panic's text.

use std::any::Any;
use std::fmt::Display;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Runs the program's own code: its evolution, or the code that reads, writes or drops its values. After an error the
/// caller must discard or repair all that the code has changed.
pub(crate) fn attempt<R, X: Display>(f: impl FnOnce() -> Result<R, X>) -> Result<R, String> {
    match catch_unwind(AssertUnwindSafe(f)) {
        Ok(done) => done.map_err(|error| error.to_string()),
        Err(panic) => Err(text_of(panic)),
    }
}

/// The text of a panic.
pub(crate) fn text_of(panic: Box<dyn Any + Send>) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    let text = text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "it panicked".to_owned());
    // The drop of the payload may panic too.
    std::mem::forget(panic);
    text
}
