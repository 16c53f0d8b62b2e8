use crate::tasklet::{Progress, Tasklet};
use millstream_core::SequenceNumber;
use millstream_ring::{Reader, Wire};
use std::sync::{Arc, Mutex, PoisonError};

/// What a sink leaves behind when its stream has ended.
pub(crate) struct Outcome<S> {
    pub(crate) state: S,
    /// END's number.
    pub(crate) numbers: SequenceNumber,
    pub(crate) values: u64,
}

/// The end of a run: user code that sees every value, with its number.
pub(crate) struct Sink<A: Wire, S, F> {
    input: Reader<A>,
    state: Option<S>,
    f: F,
    batch: usize,
    values: u64,
    at_end: Option<u64>,
    outcome: Arc<Mutex<Option<Outcome<S>>>>,
}

impl<A: Wire, S, F> Sink<A, S, F> {
    pub(crate) fn new(input: Reader<A>, state: S, f: F, batch: usize, outcome: Arc<Mutex<Option<Outcome<S>>>>) -> Self {
        Sink { input, state: Some(state), f, batch, values: 0, at_end: None, outcome }
    }

    /// Leaves the state to whoever waits for it.
    fn leave(&mut self, numbers: SequenceNumber) {
        if let Some(state) = self.state.take() {
            let outcome = Outcome { state, numbers, values: self.values };
            *self.outcome.lock().unwrap_or_else(PoisonError::into_inner) = Some(outcome);
        }
    }
}

/// A sink that is stopped leaves its state as well.
impl<A: Wire, S, F> Drop for Sink<A, S, F> {
    fn drop(&mut self) {
        let abandoned = self.at_end.map(SequenceNumber).or_else(|| self.input.visited());
        self.leave(abandoned.unwrap_or_else(|| self.input.position()));
    }
}

/// Counts values on the way, also where user code panics behind some of them.
struct Count<'a> {
    values: &'a mut u64,
    seen: u64,
}

impl Drop for Count<'_> {
    fn drop(&mut self) {
        *self.values += self.seen;
    }
}

impl<A: Wire, S: Send, F> Tasklet for Sink<A, S, F>
where
    F: for<'a> FnMut(&mut S, SequenceNumber, A::Ref<'a>) + Send,
{
    fn step(&mut self) -> Progress {
        let Some(state) = self.state.as_mut() else { return Progress::DONE };
        let f = &mut self.f;
        let mut left = self.batch;
        while left > 0 {
            let Some(mut batch) = self.input.batch(left) else { break };
            let mut count = Count { values: &mut self.values, seen: 0 };
            batch.for_each(|number, value| {
                if let Some(value) = value {
                    f(state, number, value);
                    count.seen += 1;
                }
            });
            drop(count);
            left -= batch.len();
        }
        if left < self.batch {
            return Progress::moved(self.batch - left);
        }
        let Some(end) = self.input.end() else { return Progress::NONE };
        let numbers = end.number();
        self.at_end = Some(numbers.0);
        if let Some(value) = end.value() {
            self.values += 1;
            f(state, numbers, value);
        }
        self.at_end = None;
        drop(end);
        self.leave(numbers);
        Progress::ENDED
    }

    fn failed_at(&self) -> Option<u64> {
        self.at_end.or_else(|| self.input.visited().map(|number| number.0))
    }

    fn backlog(&self) -> u64 {
        self.input.backlog()
    }
}
