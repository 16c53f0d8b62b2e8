use super::control::Activity;
use super::message::Queue;
use super::queue_shape::QueueShape;
use super::wiring::Work;
use crate::sink::Outcome;
use millstream_core::{SequenceNumber, ToOwnedItem};
use std::sync::{Arc, Mutex, PoisonError};

/// The end of a run: user code that receives every value with its number.
pub(crate) struct Sink<A: QueueShape, S, F> {
    input: Queue<<A as ToOwnedItem>::Owned>,
    state: Option<S>,
    f: F,
    /// The next number.
    next: u64,
    values: u64,
    ended: bool,
    outcome: Arc<Mutex<Option<Outcome<S>>>>,
}

impl<A: QueueShape, S, F> Sink<A, S, F> {
    pub(crate) fn new(input: Queue<A::Owned>, state: S, f: F, outcome: Arc<Mutex<Option<Outcome<S>>>>) -> Self {
        Sink { input, state: Some(state), f, next: 0, values: 0, ended: false, outcome }
    }
}

impl<A: QueueShape, S: Send, F> Work for Sink<A, S, F>
where
    F: for<'a> FnMut(&mut S, SequenceNumber, A::Ref<'a>) + Send,
{
    fn run(&mut self, activity: &Activity) {
        let Some(state) = self.state.as_mut() else { return };
        while let Some(message) = self.input.take(activity) {
            let at = message.at();
            self.next = at.number;
            if let Some(value) = message.into_value() {
                (self.f)(state, SequenceNumber(at.number), A::lend(&value));
                self.values += 1;
            }
            self.next = at.number + u64::from(!at.end);
            self.ended = at.end;
        }
    }

    fn left(&self) -> usize {
        self.input.len()
    }
}

/// The sink leaves its state in `outcome`, however it ends.
impl<A: QueueShape, S, F> Drop for Sink<A, S, F> {
    fn drop(&mut self) {
        if let Some(state) = self.state.take() {
            let outcome = Outcome { state, numbers: SequenceNumber(self.next), values: self.values, ended: self.ended };
            *self.outcome.lock().unwrap_or_else(PoisonError::into_inner) = Some(outcome);
        }
    }
}
