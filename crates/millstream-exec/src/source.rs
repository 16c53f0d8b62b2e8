//! Where values come from.

use crate::tasklet::{Step, Tasklet};
use millstream_core::{Event, SequenceNumber};
use millstream_ring::Producer;

/// Where a run's values come from. Any iterator is a source; [`ready`] says of one that it never waits.
pub trait Source<T: Event> {
    /// The iterator that gives the values.
    type Values: Iterator<Item = T> + Send + 'static;

    /// Whether the iterator may wait for its next value. If it may, it gets a thread of its own and every value is
    /// published at once; if not, a worker takes values from it in batches.
    const WAITS: bool;

    /// The iterator.
    fn values(self) -> Self::Values;
}

impl<T: Event, I: IntoIterator<Item = T, IntoIter: Send + 'static>> Source<T> for I {
    type Values = I::IntoIter;
    const WAITS: bool = true;

    fn values(self) -> I::IntoIter {
        self.into_iter()
    }
}

/// An iterator that never waits. See [`ready`].
#[derive(Clone, Debug)]
pub struct Ready<I>(I);

/// Says of an iterator that its next value is always there at once: a range, a vector, a slice. A worker then takes
/// whole batches from it, without a thread of its own. If it does wait, the stages of that worker wait with it.
pub fn ready<I: IntoIterator>(values: I) -> Ready<I::IntoIter> {
    Ready(values.into_iter())
}

impl<T: Event, I: Iterator<Item = T> + Send + 'static> Source<T> for Ready<I> {
    type Values = I;
    const WAITS: bool = false;

    fn values(self) -> I {
        self.0
    }
}

/// A source that a worker runs.
pub(crate) struct SourceTasklet<T: Event, I> {
    pub(crate) values: I,
    pub(crate) output: Producer<T>,
    pub(crate) batch: usize,
    rest: Rest,
}

/// Whether everybody else gets a round without a new value, in which they drop what was released.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Rest {
    Never,
    Due,
    Over,
}

impl<T: Event, I> SourceTasklet<T, I> {
    /// Of an iterator that never waits.
    pub(crate) fn ready(values: I, output: Producer<T>, batch: usize) -> Self {
        SourceTasklet { values, output, batch, rest: Rest::Never }
    }

    /// Of an iterator that may wait, and everybody with it: one value at a time, and none is kept alive meanwhile.
    pub(crate) fn waiting(values: I, output: Producer<T>) -> Self {
        SourceTasklet { values, output, batch: 1, rest: Rest::Over }
    }
}

impl<T: Event, I: Iterator<Item = T> + Send> Tasklet for SourceTasklet<T, I> {
    fn step(&mut self) -> Step {
        if self.rest == Rest::Due {
            self.rest = Rest::Over;
            self.output.sweep();
            return Step::Busy;
        }
        let exhausted = match self.output.try_claim(self.batch) {
            Err(_) => return Step::Done,
            Ok(None) => return Step::Idle,
            Ok(Some(mut claim)) => {
                let exhausted = claim.extend(&mut self.values) < claim.len();
                claim.publish();
                exhausted
            }
        };
        if !exhausted {
            if self.rest == Rest::Over {
                self.rest = Rest::Due;
            }
            return Step::Busy;
        }
        match self.output.try_end(None) {
            Ok(()) => Step::Done,
            Err(_) => unreachable!("a source's END has no slot"),
        }
    }

    fn failed_at(&self) -> Option<u64> {
        self.output.abandoned_at().map(|SequenceNumber(number)| number)
    }
}
