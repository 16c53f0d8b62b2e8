use super::Runs;
use millstream_exec::Upgrader;
use std::fmt;

/// What is called once a run on rings has started.
#[derive(Default)]
pub(super) struct WhenStarted(Option<Box<dyn FnOnce(Upgrader) + Send>>);

impl fmt::Debug for WhenStarted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("WhenStarted").field(&self.0.is_some()).finish()
    }
}

impl WhenStarted {
    pub(super) fn call(&mut self, run: impl FnOnce() -> Upgrader) {
        if let Some(call) = self.0.take() {
            call(run());
        }
    }
}

/// What is called before a state is handed over to another process.
#[derive(Default)]
pub(super) struct WhenLeft(Option<Box<dyn FnOnce() + Send>>);

impl fmt::Debug for WhenLeft {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("WhenLeft").field(&self.0.is_some()).finish()
    }
}

impl WhenLeft {
    pub(super) fn call(&mut self) {
        if let Some(call) = self.0.take() {
            call();
        }
    }
}

impl Runs {
    /// When a run has stopped so that another process takes its state over, `call` is called before that can have it.
    #[cfg(feature = "run")]
    pub(crate) fn when_left(&mut self, call: impl FnOnce() + Send + 'static) {
        self.when_left = WhenLeft(Some(Box::new(call)));
    }

    /// Once the next run on rings has started, `call` gets what can replace its pipeline.
    #[cfg(all(feature = "page", feature = "run"))]
    pub(crate) fn when_started(&mut self, call: impl FnOnce(Upgrader) + Send + 'static) {
        self.when_started = WhenStarted(Some(Box::new(call)));
    }
}
