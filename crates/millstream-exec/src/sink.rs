use crate::task_probe::TaskProbe;
use crate::tasklet::{Progress, Tasklet};
use millstream_core::SequenceNumber;
use millstream_ring::{Reader, RingLayout};
use std::sync::{Arc, Mutex, PoisonError};

/// The result of a sink.
pub(crate) struct Outcome<S> {
    pub(crate) state: S,
    /// END's number.
    pub(crate) numbers: SequenceNumber,
    pub(crate) values: u64,
    /// Whether it has seen END.
    pub(crate) ended: bool,
}

/// The end of a run: user code that receives every value with its number.
pub(crate) struct Sink<A: RingLayout, S, F> {
    input: Reader<A>,
    /// None once the state was left in `outcome`.
    user: Option<User<S, F>>,
    batch: usize,
    at_end: Option<u64>,
    /// Called when there is nothing to read for now; `read` says whether anything was read since.
    pause: Option<Pause<S>>,
    read: bool,
    outcome: Arc<Mutex<Option<Outcome<S>>>>,
}

/// The action of a sink while no value is available.
pub(crate) type Pause<S> = Box<dyn FnMut(&mut S) + Send>;

/// The state of a sink, which changes with every value.
struct User<S, F> {
    state: S,
    f: F,
    values: u64,
}

impl<S, F> User<S, F> {
    #[inline(always)]
    fn see<V>(&mut self, number: SequenceNumber, value: V)
    where
        F: FnMut(&mut S, SequenceNumber, V),
    {
        (self.f)(&mut self.state, number, value);
        self.values += 1;
    }
}

impl<A: RingLayout, S, F> Sink<A, S, F> {
    pub(crate) fn new(input: Reader<A>, state: S, f: F, batch: usize, outcome: Arc<Mutex<Option<Outcome<S>>>>) -> Self {
        let user = Some(User { state, f, values: 0 });
        Sink { input, user, batch, at_end: None, pause: None, read: false, outcome }
    }

    pub(crate) fn pausing(mut self, pause: Option<Pause<S>>) -> Self {
        self.pause = pause;
        self
    }

    /// Calls the pause: no value is available for now.
    fn pause(&mut self) {
        if let (true, Some(pause), Some(user)) = (std::mem::take(&mut self.read), &mut self.pause, &mut self.user) {
            pause(&mut user.state);
        }
    }

    /// Leaves the state in `outcome`.
    fn leave(&mut self, numbers: SequenceNumber, ended: bool) {
        if let Some(User { state, values, .. }) = self.user.take() {
            let outcome = Outcome { state, numbers, values, ended };
            *self.outcome.lock().unwrap_or_else(PoisonError::into_inner) = Some(outcome);
        }
    }
}

/// A sink that is stopped leaves its state as well.
impl<A: RingLayout, S, F> Drop for Sink<A, S, F> {
    fn drop(&mut self) {
        let abandoned = self.at_end.map(SequenceNumber).or_else(|| self.input.visited());
        self.leave(abandoned.unwrap_or_else(|| self.input.position()), false);
    }
}

impl<A: RingLayout, S: Send, F> Tasklet for Sink<A, S, F>
where
    F: for<'a> FnMut(&mut S, SequenceNumber, A::Ref<'a>) + Send,
{
    fn step(&mut self) -> Progress {
        let Some(user) = self.user.as_mut() else { return Progress::DONE };
        let mut left = self.batch;
        while left > 0 {
            let Some(mut batch) = self.input.batch(left) else { break };
            batch.for_each_value(user, |user, number, value| user.see(number, value));
            left -= batch.len();
        }
        if left < self.batch {
            self.read = true;
            return Progress::moved(self.batch - left);
        }
        let Some(end) = self.input.end() else {
            self.pause();
            return Progress::NONE;
        };
        let numbers = end.number();
        self.at_end = Some(numbers.0);
        if let Some(value) = end.value() {
            user.see(numbers, value);
        }
        self.at_end = None;
        drop(end);
        self.read = true;
        self.pause();
        self.leave(numbers, true);
        Progress::ENDED
    }

    fn failed_at(&self) -> Option<u64> {
        self.at_end.or_else(|| self.input.visited().map(|number| number.0))
    }

    fn backlog(&self) -> u64 {
        self.input.backlog()
    }

    fn probe(&self) -> TaskProbe {
        TaskProbe::of_sink(self.input.probe())
    }
}
