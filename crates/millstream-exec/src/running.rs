//! A run: what its threads share, and how it starts and ends.

use crate::error::panic_message;
use crate::wiring::Named;
use crate::worker::{Patience, work};
use crate::{RunError, Signal};
use millstream_core::SequenceNumber;
use std::any::Any;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

/// What the threads of one run share.
pub(crate) struct Shared {
    pub(crate) signal: Signal,
    pub(crate) patience: Patience,
    stopped: AtomicBool,
    failure: Mutex<Option<RunError>>,
}

impl Shared {
    pub(crate) fn new(threads: usize) -> Self {
        Shared {
            signal: Signal::new(),
            patience: Patience::of(threads),
            stopped: AtomicBool::new(false),
            failure: Mutex::new(None),
        }
    }

    pub(crate) fn stopped(&self) -> bool {
        self.stopped.load(Ordering::Relaxed)
    }

    /// Everybody stops at the next step.
    pub(crate) fn stop(&self) {
        self.stopped.store(true, Ordering::Relaxed);
        self.signal.notify();
    }

    /// Ends the run because user code of this stage panicked. Of several failures the one at the least number is
    /// kept: the same one, as far as can be, in every run.
    pub(crate) fn fail(&self, stage: &str, number: Option<u64>, payload: &(dyn Any + Send)) {
        let number = number.map(SequenceNumber);
        let failure = RunError::Stage { stage: stage.to_owned(), number, cause: panic_message(payload) };
        let mut first = self.failure.lock().unwrap_or_else(PoisonError::into_inner);
        let earlier = |old: &RunError| matches!(old, RunError::Stage { number: old, .. } if *old <= number);
        if !first.as_ref().is_some_and(earlier) {
            *first = Some(failure);
        }
        drop(first);
        self.stop();
    }

    pub(crate) fn failure(&self) -> Option<RunError> {
        self.failure.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// The tasklets in pipeline order, cut into one contiguous group a worker.
pub(crate) fn place(tasklets: Vec<Named>, workers: usize) -> Vec<Vec<Named>> {
    let count = tasklets.len();
    let mut placed: Vec<Vec<Named>> = (0..workers).map(|_| Vec::new()).collect();
    for (i, tasklet) in tasklets.into_iter().enumerate() {
        placed[i * workers / count].push(tasklet);
    }
    placed
}

/// Workers that were started, to be joined.
pub(crate) struct Running {
    pub(crate) shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
}

impl Running {
    /// Starts one thread for each group of tasklets.
    pub(crate) fn start(shared: Arc<Shared>, placed: Vec<Vec<Named>>) -> Result<Self, RunError> {
        let mut running = Running { shared, threads: Vec::new() };
        for (i, tasklets) in placed.into_iter().enumerate() {
            let shared = running.shared.clone();
            let builder = std::thread::Builder::new().name(format!("millstream-{i}"));
            match builder.spawn(move || work(tasklets, &shared)) {
                Ok(thread) => running.threads.push(thread),
                Err(error) => {
                    running.shared.stop();
                    return Err(RunError::Spawn(error.to_string()));
                }
            }
        }
        Ok(running)
    }

    /// Waits until every worker has ended. The source's own thread, if it has one, is not waited for.
    pub(crate) fn join(&mut self) -> Result<(), RunError> {
        for thread in self.threads.drain(..) {
            if let Err(payload) = thread.join() {
                self.shared.fail("worker", None, payload.as_ref());
            }
        }
        self.shared.failure().map_or(Ok(()), Err)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if !self.threads.is_empty() {
            self.shared.stop();
            let _ = self.join();
        }
    }
}
