//! Failures of user code that are values, not panics.

use std::any::Any;
use std::error::Error;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::time::Duration;

/// The error of a closure: any error type, or a message.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not an error that a stage can fail with",
    label = "this closure's error cannot cross threads, or is not an error",
    note = "write `Box<dyn Error + Send + Sync>` for `Box<dyn Error>`",
    note = "a type that implements `std::error::Error`, a `String` and a `&'static str` are errors that a stage can fail with"
)]
pub trait Cause: Into<Box<dyn Error + Send + Sync>> + 'static {}
#[diagnostic::do_not_recommend]
impl<E: Into<Box<dyn Error + Send + Sync>> + 'static> Cause for E {}

/// An error that a closure returned, shared by all that report it.
pub type SharedError = Arc<dyn Error + Send + Sync>;

/// The payload with which a failed stage unwinds: why it failed, and the cause.
#[derive(Debug)]
pub struct Failure {
    causes: String,
    error: SharedError,
}

impl Failure {
    /// The error and its sources, from the outermost to the innermost.
    #[must_use]
    pub fn causes(&self) -> &str {
        &self.causes
    }

    /// The error itself.
    #[must_use]
    pub fn error(&self) -> &SharedError {
        &self.error
    }
}

/// The payload of a stage that knows its name and the number, on a deployment that knows neither.
#[derive(Debug)]
pub struct StageFailure {
    /// The stage's name.
    pub stage: String,
    /// The number at which it failed.
    pub number: u64,
    /// The payload of the user's panic.
    pub payload: Box<dyn Any + Send>,
}

/// The error of a failure; none of a panic.
#[must_use]
pub fn error_of(payload: &(dyn Any + Send)) -> Option<SharedError> {
    if let Some(failure) = payload.downcast_ref::<StageFailure>() {
        return error_of(failure.payload.as_ref());
    }
    payload.downcast_ref::<Failure>().map(|failure| failure.error.clone())
}

/// The message of a panic, or the causes of a failure.
#[must_use]
pub fn message(payload: &(dyn Any + Send)) -> String {
    if let Some(failure) = payload.downcast_ref::<StageFailure>() {
        return message(failure.payload.as_ref());
    }
    if let Some(failure) = payload.downcast_ref::<Failure>() {
        return failure.causes.clone();
    }
    let message = payload.downcast_ref::<&str>().copied();
    let message = message.or_else(|| payload.downcast_ref::<String>().map(String::as_str));
    message.map_or_else(|| "panicked".to_owned(), |message| format!("panicked: {message}"))
}

/// Ends the run with this error, from inside a stage or a source. It unwinds, without printing a panic message.
pub fn fail(error: impl Cause) -> ! {
    let error = SharedError::from(error.into());
    let mut causes = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        let message = cause.to_string();
        // An error may print its source itself.
        if !causes.ends_with(&message) {
            causes = format!("{causes}: {message}");
        }
        source = cause.source();
    }
    resume_unwind(Box::new(Failure { causes, error }))
}

/// The result of some code, or the payload of its panic.
pub type Finished<R> = Result<R, Box<dyn Any + Send>>;

/// Runs the user's code and catches its panic.
pub fn caught<R>(f: impl FnOnce() -> R) -> Finished<R> {
    catch_unwind(AssertUnwindSafe(f))
}

/// Calls `drop_some`, which drops values and returns whether there were any, until there are none, even if the drop of
/// a value panics. Unwinds with the first of these panics at the end, unless the thread is already panicking.
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

/// Drops the payload of a panic. Its drop is the user's code as well; if that panics, the second payload is leaked.
pub fn discard(payload: Box<dyn Any + Send>) {
    if let Err(further) = caught(|| drop(payload)) {
        std::mem::forget(further);
    }
}

/// The message of a panic payload, which is dropped: see [`message`] and [`discard`].
#[must_use]
pub fn into_message(payload: Box<dyn Any + Send>) -> String {
    let message = message(payload.as_ref());
    discard(payload);
    message
}

/// Returns the result of the code, or resumes its panic, whose message was already printed.
pub(crate) fn finish<R>(finished: Finished<R>) -> R {
    finished.unwrap_or_else(|payload| resume_unwind(payload))
}

/// The output of `f`, or `None` if it fails or panics.
pub(crate) fn attempt<B, E>(f: impl FnOnce() -> Result<B, E>) -> Option<B> {
    caught(f).map_err(discard).ok()?.ok()
}

/// How often a failing closure is tried again, and how long the pause before each retry is. Each pause is twice as
/// long as the one before.
///
/// ```
/// use millstream::prelude::*;
/// use std::time::Duration;
/// let retry = Retry::times(3).backoff(Duration::from_millis(10));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Retry {
    times: u32,
    backoff: Duration,
}

impl Retry {
    /// Retries `times` times after the first try, without a pause.
    #[must_use]
    pub fn times(times: u32) -> Self {
        Retry { times, backoff: Duration::ZERO }
    }

    /// Sets the pause before the first retry.
    #[must_use]
    pub fn backoff(mut self, backoff: Duration) -> Self {
        self.backoff = backoff;
        self
    }

    /// The pause before each retry.
    pub fn pauses(&self) -> impl Iterator<Item = Duration> + use<> {
        let doubled = |pause: &Duration| Some(pause.saturating_mul(2));
        std::iter::successors(Some(self.backoff), doubled).take(self.times as usize)
    }

    /// Calls `f` and awaits its future, and again after each error, as often as this allows. Returns the first success
    /// or the last error. `pause` is how to wait between two tries, such as `tokio::time::sleep`; it is not called for
    /// a pause of no time.
    ///
    /// It is for the functions of [`try_map_async`](crate::AsyncExt::try_map_async) and its variants: other futures of
    /// the stage go on meanwhile.
    ///
    /// ```
    /// use millstream::prelude::*;
    /// use std::sync::atomic::{AtomicU64, Ordering};
    /// use std::time::Duration;
    ///
    /// async fn fetch(page: u64) -> Result<u64, &'static str> {
    ///     static CALLS: AtomicU64 = AtomicU64::new(0);
    ///     if CALLS.fetch_add(1, Ordering::Relaxed) % 2 == 0 { Err("busy") } else { Ok(page * 10) }
    /// }
    ///
    /// let retry = Retry::times(3).backoff(Duration::from_millis(1));
    /// let pages = pipeline::<u64>().try_map_async(1, move |page| {
    ///     let page = *page;
    ///     // A program with a runtime has `tokio::time::sleep` here.
    ///     let pause = |_| std::future::ready(());
    ///     retry.call_async(pause, move || fetch(page))
    /// });
    /// assert_eq!(pages.model([1, 2]), [10, 20]);
    /// ```
    pub async fn call_async<B, E, Fut, Pause>(
        self,
        pause: impl Fn(Duration) -> Pause,
        mut f: impl FnMut() -> Fut,
    ) -> Result<B, E>
    where
        Fut: Future<Output = Result<B, E>>,
        Pause: Future<Output = ()>,
    {
        for time in self.pauses() {
            if let Ok(value) = f().await {
                return Ok(value);
            }
            if !time.is_zero() {
                pause(time).await;
            }
        }
        f().await
    }

    /// Returns the first success, or ends the run with the last failure. A panic is not tried again.
    pub(crate) fn run<B, E: Cause>(&self, mut f: impl FnMut() -> Result<B, E>, sleep: impl Fn(Duration)) -> B {
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
