use super::processes::Processes;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

/// Which numbers the command is still asked for.
///
/// All until one fails, or a signal comes. Behind a failure none is, and those that are asked are stopped: what comes
/// out ends there. Those in front of it are waited for, so that it is always the first failure that is told, and always
/// the same output in front of it.
#[derive(Default)]
pub(super) struct Admission {
    state: Mutex<State>,
    processes: Arc<Processes>,
    when_ended: OnceLock<Box<dyn Fn() + Send + Sync>>,
}

#[derive(Default)]
struct State {
    /// The first number that is no longer asked.
    end: Option<u64>,
    /// How many were asked, and how many of them have not answered.
    asked: u64,
    unanswered: u64,
    /// A signal has come: nothing that waits is asked.
    draining: bool,
    /// But for this number: the signal has cut it short, and nothing was in front of it.
    last: Option<u64>,
}

impl Admission {
    pub(super) fn of(processes: Arc<Processes>) -> Self {
        Admission { processes, ..Admission::default() }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether this number is to be asked. If so, `answered` has to be called.
    pub(super) fn asks(&self, number: u64) -> bool {
        let mut state = self.lock();
        if state.end.is_some_and(|end| number >= end) {
            return false;
        }
        // Whatever was read before it has been asked: then nothing is in front of it.
        let last = state.last == Some(number) && state.asked == number;
        if state.draining && !last {
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

    /// From this number on none is asked, and those that are being asked are stopped.
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

    /// Whether the answer to this number is of no use any more.
    pub(super) fn is_over(&self, number: u64) -> bool {
        self.lock().end.is_some_and(|end| number >= end) || self.processes.stopped(number)
    }

    /// A signal has come. Whether any number is being asked.
    pub(super) fn drain(&self) -> bool {
        let mut state = self.lock();
        state.draining = true;
        state.unanswered > 0
    }

    /// Whether a signal has come.
    pub(super) fn is_draining(&self) -> bool {
        self.lock().draining
    }

    /// This number has been read; if a signal came meanwhile, that may have cut it short.
    pub(super) fn has_read(&self, number: u64) {
        let mut state = self.lock();
        if state.draining {
            state.last = Some(number);
        }
    }

    /// Calls this, the first that it is given, when an end is set.
    pub(super) fn when_ended(&self, ended: impl Fn() + Send + Sync + 'static) {
        let _ = self.when_ended.set(Box::new(ended));
    }

    /// Whether nothing more is to be read.
    pub(super) fn is_closed(&self) -> bool {
        let state = self.lock();
        state.draining || state.end.is_some()
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
    fn behind_a_failure_nothing_is_asked_and_in_front_of_it_everything() {
        let admission = Admission::default();
        assert!(admission.asks(0) && admission.asks(3));
        admission.end_at(3);
        assert!(admission.asks(2) && !admission.asks(3) && !admission.asks(4));
        admission.end_at(5);
        assert!(!admission.asks(4), "an end does not move back");
        assert!(admission.is_over(3) && !admission.is_over(2));
    }

    #[test]
    fn what_waits_when_a_signal_comes_is_not_asked() {
        let admission = Admission::default();
        assert!(admission.asks(0) && admission.drain());
        assert!(!admission.asks(1) && !admission.asks(2));
        // Neither is what would come behind it.
        assert!(admission.is_over(1));
    }

    #[test]
    fn what_the_signal_has_cut_short_is_asked_if_nothing_is_in_front_of_it() {
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
        assert!(!admission.asks(2), "1 has not been asked");
    }
}
