use super::Runs;
use millstream_exec::Upgrader;
use millstream_state::JobUpgrader;
use std::fmt;

/// Functions to call once a run on rings has started, with its upgrader.
#[derive(Default)]
pub(super) struct WhenStarted {
    plain: Option<Box<dyn FnOnce(Upgrader) + Send>>,
    kept: Option<Box<dyn FnOnce(JobUpgrader) + Send>>,
}

impl fmt::Debug for WhenStarted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("WhenStarted").field(&self.plain.is_some()).field(&self.kept.is_some()).finish()
    }
}

impl WhenStarted {
    pub(super) fn call(&mut self, run: impl FnOnce() -> Upgrader) {
        if let Some(call) = self.plain.take() {
            call(run());
        }
    }

    /// As [`call`](WhenStarted::call), for a run whose state is kept.
    pub(super) fn call_kept(&mut self, run: impl FnOnce() -> JobUpgrader) {
        if let Some(call) = self.kept.take() {
            call(run());
        }
    }
}

/// A function to call once.
#[derive(Default)]
pub(super) struct Once(Option<Box<dyn FnOnce() + Send>>);

impl fmt::Debug for Once {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Once").field(&self.0.is_some()).finish()
    }
}

impl Once {
    pub(super) fn call(&mut self) {
        if let Some(call) = self.0.take() {
            call();
        }
    }
}

/// A function to call once another process has let its clients go, so that this one can open their server.
#[cfg(all(feature = "run", feature = "serve"))]
#[derive(Default)]
pub(super) struct WhenTaken(Option<Opens>);

#[cfg(all(feature = "run", feature = "serve"))]
type Opens = Box<dyn FnOnce() -> Result<(), String> + Send>;

#[cfg(all(feature = "run", feature = "serve"))]
impl fmt::Debug for WhenTaken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("WhenTaken").field(&self.0.is_some()).finish()
    }
}

#[cfg(all(feature = "run", feature = "serve"))]
impl WhenTaken {
    pub(super) fn is_set(&self) -> bool {
        self.0.is_some()
    }

    /// # Errors
    ///
    /// Why the server cannot be opened.
    pub(super) fn call(&mut self) -> Result<(), String> {
        self.0.take().map_or(Ok(()), |call| call())
    }
}

impl Runs {
    /// Makes the next run follow the process from which it takes over. `call` opens the server for the clients, once
    /// the other process has let them go; `None` means that the run restores the state then.
    #[cfg(all(feature = "run", feature = "serve"))]
    pub(crate) fn when_taken(&mut self, call: Option<impl FnOnce() -> Result<(), String> + Send + 'static>) {
        self.when_taken = WhenTaken(call.map(|call| Box::new(call) as Opens));
    }

    /// Calls `call` when a run has stopped for a take-over, before the other process can open the state.
    #[cfg(feature = "run")]
    pub(crate) fn when_left(&mut self, call: impl FnOnce() + Send + 'static) {
        self.when_left = Once(Some(Box::new(call)));
    }

    /// Calls `call` when the next run has begun, that is, was not refused. On one thread that is before the first value
    /// or after the last one.
    #[cfg(feature = "run")]
    pub(crate) fn when_begun(&mut self, call: impl FnOnce() + Send + 'static) {
        self.when_begun = Once(Some(Box::new(call)));
    }

    /// Calls `call` with the upgrader of the next run on rings, once that has started.
    #[cfg(all(feature = "page", feature = "run"))]
    pub(crate) fn when_started(&mut self, call: impl FnOnce(Upgrader) + Send + 'static) {
        self.when_started.plain = Some(Box::new(call));
    }

    /// As [`when_started`](Runs::when_started), for a run whose state is kept.
    #[cfg(all(feature = "page", feature = "run"))]
    pub(crate) fn when_kept_started(&mut self, call: impl FnOnce(JobUpgrader) + Send + 'static) {
        self.when_started.kept = Some(Box::new(call));
    }
}
