use crate::tasklet::{Step, Tasklet};
use millstream_core::SequenceNumber;
use millstream_ring::{Reader, Wire};
use std::sync::{Arc, Mutex};

/// What a sink leaves behind when its stream has ended.
pub(crate) struct Outcome<S> {
    pub(crate) state: S,
    /// END's number.
    pub(crate) numbers: SequenceNumber,
    pub(crate) values: u64,
}

/// The end of a run: user code that sees every value, with its number.
pub(crate) struct Sink<A: Wire, S, F> {
    pub(crate) input: Reader<A>,
    pub(crate) state: Option<S>,
    pub(crate) f: F,
    pub(crate) batch: usize,
    pub(crate) values: u64,
    pub(crate) at_end: Option<u64>,
    pub(crate) outcome: Arc<Mutex<Option<Outcome<S>>>>,
}

impl<A: Wire, S: Send, F> Tasklet for Sink<A, S, F>
where
    F: for<'a> FnMut(&mut S, SequenceNumber, A::Ref<'a>) + Send,
{
    fn step(&mut self) -> Step {
        let Some(state) = self.state.as_mut() else { return Step::Done };
        let f = &mut self.f;
        let mut left = self.batch;
        while left > 0 {
            let Some(mut batch) = self.input.batch(left) else { break };
            let mut values = 0;
            batch.for_each(|number, value| {
                if let Some(value) = value {
                    values += 1;
                    f(state, number, value);
                }
            });
            self.values += values;
            left -= batch.len();
        }
        if left < self.batch {
            return Step::Busy;
        }
        let Some(end) = self.input.end() else { return Step::Idle };
        let numbers = end.number();
        self.at_end = Some(numbers.0);
        if let Some(value) = end.value() {
            self.values += 1;
            f(state, numbers, value);
        }
        self.at_end = None;
        drop(end);
        let outcome = self.state.take().map(|state| Outcome { state, numbers, values: self.values });
        *self.outcome.lock().unwrap_or_else(std::sync::PoisonError::into_inner) = outcome;
        Step::Done
    }

    fn failed_at(&self) -> Option<u64> {
        self.at_end.or_else(|| self.input.visited().map(|number| number.0))
    }
}
