//! Failures of user code that are values and not panics.

use std::any::Any;
use std::error::Error;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::time::Duration;

/// What a closure can fail with: any error, or a message.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not an error that a stage can fail with",
    label = "this closure's error cannot cross threads, or is not an error",
    note = "write `Box<dyn Error + Send + Sync>` for `Box<dyn Error>`",
    note = "a type that implements `std::error::Error`, a `String` and a `&'static str` are errors that a stage can fail with"
)]
pub trait Cause: Into<Box<dyn Error + Send + Sync>> + 'static {}
#[diagnostic::do_not_recommend]
impl<E: Into<Box<dyn Error + Send + Sync>> + 'static> Cause for E {}

/// What a failed stage unwinds with: why it failed, and what caused that.
#[derive(Debug)]
pub struct Failure {
    causes: String,
}

impl Failure {
    /// Why the stage failed: the error and its sources, from the outermost on.
    #[must_use]
    pub fn causes(&self) -> &str {
        &self.causes
    }
}

/// The message of a panic, or the causes of a failure.
#[must_use]
pub fn message(payload: &(dyn Any + Send)) -> String {
    if let Some(failure) = payload.downcast_ref::<Failure>() {
        return failure.causes.clone();
    }
    let message = payload.downcast_ref::<&str>().copied();
    let message = message.or_else(|| payload.downcast_ref::<String>().map(String::as_str));
    message.map_or_else(|| "panicked".to_owned(), |message| format!("panicked: {message}"))
}

/// Ends the run with this error, from inside of a stage or a source. Unwinds without the message of a panic.
pub fn fail(error: impl Cause) -> ! {
    let error = error.into();
    let mut causes = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        causes = format!("{causes}: {cause}");
        source = cause.source();
    }
    resume_unwind(Box::new(Failure { causes }))
}

/// What some code gave, or what it panicked with.
pub type Finished<R> = Result<R, Box<dyn Any + Send>>;

/// Runs the user's code; its panic is kept.
pub fn caught<R>(f: impl FnOnce() -> R) -> Finished<R> {
    catch_unwind(AssertUnwindSafe(f))
}

/// Calls `drop_some`, which drops values and says whether there were any, until there are none: past a panic of a value's drop,
/// too. Unwinds with the first of these panics in the end, unless the thread unwinds already.
pub fn drop_all(mut drop_some: impl FnMut() -> bool) {
    let mut first = None;
    loop {
        match caught(&mut drop_some) {
            Ok(true) => {}
            Ok(false) => break,
            Err(payload) if first.is_none() => first = Some(payload),
            Err(payload) => discard(payload),
        }
    }
    match first {
        Some(payload) if !std::thread::panicking() => resume_unwind(payload),
        Some(payload) => discard(payload),
        None => {}
    }
}

/// Drops what some code panicked with. Its drop is the user's code as well: where that panics, what it panics with is forgotten.
pub fn discard(payload: Box<dyn Any + Send>) {
    if let Err(further) = caught(|| drop(payload)) {
        std::mem::forget(further);
    }
}

/// The message of a panic, which is dropped: see [`message`] and [`discard`].
#[must_use]
pub fn into_message(payload: Box<dyn Any + Send>) -> String {
    let message = message(payload.as_ref());
    discard(payload);
    message
}

/// Goes on as the code did: gives its result, or unwinds with its panic, whose message was printed.
pub(crate) fn finish<R>(finished: Finished<R>) -> R {
    finished.unwrap_or_else(|payload| resume_unwind(payload))
}

/// What `f` gives, or nothing if it fails or panics.
pub(crate) fn attempt<B, E>(f: impl Fn() -> Result<B, E>) -> Option<B> {
    caught(f).map_err(discard).ok()?.ok()
}

/// How often a failing closure is tried again, and how long it is waited for in between: twice as long every time.
///
/// ```
/// use millstream_core::Retry;
/// use std::time::Duration;
/// let retry = Retry::times(3).backoff(Duration::from_millis(10));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Retry {
    times: u32,
    backoff: Duration,
}

impl Retry {
    /// So many times more, after the first time, without a wait.
    #[must_use]
    pub fn times(times: u32) -> Self {
        Retry { times, backoff: Duration::ZERO }
    }

    /// The wait before the first retry.
    #[must_use]
    pub fn backoff(mut self, backoff: Duration) -> Self {
        self.backoff = backoff;
        self
    }

    /// The wait before each retry.
    pub fn pauses(&self) -> impl Iterator<Item = Duration> + use<> {
        let doubled = |pause: &Duration| Some(pause.saturating_mul(2));
        std::iter::successors(Some(self.backoff), doubled).take(self.times as usize)
    }

    /// The first success, or the run ends with the last failure. A panic is not tried again.
    pub(crate) fn run<B, E: Cause>(&self, f: impl Fn() -> Result<B, E>, sleep: impl Fn(Duration)) -> B {
        for pause in self.pauses() {
            if let Ok(value) = f() {
                return value;
            }
            if !pause.is_zero() {
                sleep(pause);
            }
        }
        f().unwrap_or_else(|error| fail(error))
    }
}
