use super::processes::Processes;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

/// The numbers for which the command is still run.
///
/// It is run for every number until one fails, or a signal comes. After a failure, later numbers are not run, and
/// processes that run them are stopped: the output ends there. Earlier numbers are waited for. The reported failure is
/// therefore always the first one, and the output before it is always the same.
#[derive(Default)]
pub(super) struct Admission {
    state: Mutex<State>,
    processes: Arc<Processes>,
    when_ended: OnceLock<Box<dyn Fn() + Send + Sync>>,
}

#[derive(Default)]
struct State {
    /// The first number that is not run.
    end: Option<u64>,
    /// How many numbers were run, and how many of them have no answer.
    asked: u64,
    unanswered: u64,
    /// A signal has come: numbers that wait are not run.
    draining: bool,
    /// The command is run only once all input is there, as on the model.
    after_all: bool,
    /// The signal came before it was run at all, so it is run for what was read.
    spared: bool,
    /// The other exception is this number: the signal has cut it short, and no other number waits before it.
    last: Option<u64>,
}

impl Admission {
    pub(super) fn of(processes: Arc<Processes>) -> Self {
        Admission { processes, ..Admission::default() }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether the command is to be run for this number. If so, `answered` has to be called.
    pub(super) fn asks(&self, number: u64) -> bool {
        let mut state = self.lock();
        if state.end.is_some_and(|end| number >= end) {
            return false;
        }
        // All numbers before it have been run, so none waits.
        let last = state.last == Some(number) && state.asked == number;
        if state.draining && !last && !state.spared {
            drop(state);
            self.end_at(number);
            return false;
        }
        state.asked += 1;
        state.unanswered += 1;
        true
    }

    pub(super) fn answered(&self) {
        self.lock().unanswered -= 1;
    }

    /// From this number on the command is not run, and running processes are stopped.
    pub(super) fn end_at(&self, number: u64) {
        let mut state = self.lock();
        if state.end.is_none_or(|end| number < end) {
            state.end = Some(number);
            drop(state);
            self.processes.stop_from(number);
            if let Some(ended) = self.when_ended.get() {
                ended();
            }
        }
    }

    /// Whether the answer to this number is no longer needed.
    pub(super) fn is_over(&self, number: u64) -> bool {
        self.lock().end.is_some_and(|end| number >= end) || self.processes.stopped(number)
    }

    /// Records that a signal has come. Returns whether the command is run for any number now, or will be.
    pub(super) fn drain(&self) -> bool {
        let mut state = self.lock();
        state.draining = true;
        state.spared = state.after_all && state.asked == 0;
        state.unanswered > 0 || state.spared
    }

    /// The time that commands may take after a signal is over: no further one is started. Returns whether one is at
    /// work.
    pub(super) fn is_late(&self) -> bool {
        let mut state = self.lock();
        (state.last, state.spared) = (None, false);
        state.unanswered > 0
    }

    /// Processes are waited for that have answered all their lines. `answered` has to be called.
    pub(super) fn ends(&self) {
        self.lock().unanswered += 1;
    }

    /// The command is run only once all input is there.
    pub(super) fn runs_after_all(&self) {
        self.lock().after_all = true;
    }

    /// Whether a signal has come.
    pub(super) fn is_draining(&self) -> bool {
        self.lock().draining
    }

    /// Records that this number has been read. A signal that has come may have cut it short.
    pub(super) fn has_read(&self, number: u64) {
        let mut state = self.lock();
        if state.draining {
            state.last = Some(number);
        }
    }

    /// Sets a function to call when an end is set. Only the first function counts.
    pub(super) fn when_ended(&self, ended: impl Fn() + Send + Sync + 'static) {
        let _ = self.when_ended.set(Box::new(ended));
    }

    /// Whether no more input is needed. What was read before the command ran at all is still needed after a signal: a
    /// read from outside fails then, and ends the input.
    pub(super) fn is_closed(&self) -> bool {
        let state = self.lock();
        (state.draining && !state.spared) || state.end.is_some()
    }
}

impl fmt::Debug for Admission {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Admission").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_before_a_failure_are_run_and_later_ones_are_not() {
        let admission = Admission::default();
        assert!(admission.asks(0) && admission.asks(3));
        admission.end_at(3);
        assert!(admission.asks(2) && !admission.asks(3) && !admission.asks(4));
        admission.end_at(5);
        assert!(!admission.asks(4), "an end does not move back");
        assert!(admission.is_over(3) && !admission.is_over(2));
    }

    #[test]
    fn numbers_that_wait_at_a_signal_are_not_run() {
        let admission = Admission::default();
        assert!(admission.asks(0) && admission.drain());
        assert!(!admission.asks(1) && !admission.asks(2));
        // Nor are later numbers.
        assert!(admission.is_over(1));
    }

    #[test]
    fn blocks_that_were_read_before_the_first_one_runs_are_run_after_a_signal() {
        let admission = Admission::default();
        admission.runs_after_all();
        assert!(admission.drain() && !admission.is_closed());
        assert!(admission.asks(0) && admission.asks(1));
        let admission = Admission::default();
        admission.runs_after_all();
        assert!(admission.asks(0) && admission.drain() && !admission.asks(1), "it has begun");
        assert!(admission.is_closed());
    }

    #[test]
    fn no_command_begins_after_the_time_that_a_signal_leaves() {
        let admission = Admission::default();
        assert!(admission.asks(0));
        admission.drain();
        assert!(admission.is_late(), "0 is at work");
        admission.answered();
        admission.has_read(1);
        assert!(!admission.is_late() && !admission.asks(1));
        let admission = Admission::default();
        admission.runs_after_all();
        admission.drain();
        assert!(!admission.is_late() && !admission.asks(0));
    }

    #[test]
    fn a_number_that_a_signal_cuts_short_is_run_if_none_waits_before_it() {
        let admission = Admission::default();
        assert!(admission.asks(0));
        admission.answered();
        assert!(!admission.drain());
        admission.has_read(1);
        assert!(admission.asks(1));
        let admission = Admission::default();
        assert!(admission.asks(0));
        admission.drain();
        admission.has_read(2);
        assert!(!admission.asks(2), "1 has not been run");
    }
}
