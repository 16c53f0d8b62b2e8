use super::{ItemFormat, Plain, Polled, Poller};
use crate::Source;
use crate::explain::Feed;
use crate::source::{Closer, Connect, EndsWithRun, External};
use millstream_core::Item;
use millstream_core::failure::fail;
use std::collections::VecDeque;
use std::fmt;

/// A poller is the source of a job. On [`Rings`](crate::Rings) a worker moves what the producers send into the first
/// ring of the pipeline; everywhere else it is an iterator, [`PolledValues`].
///
/// ```
/// use millstream::prelude::*;
/// let (senders, poller) = fan_in(2).round_robin().open(&Rings::new())?;
/// for (sender, first) in senders.into_iter().zip([1, 10]) {
///     std::thread::spawn(move || sender.send_all([first, first + 1]));
/// }
/// let doubled = pipeline::<u64>().map(|x| x * 2);
/// assert_eq!(Queues::new().collect(doubled.from(poller))?, [2, 20, 4, 22]);
/// # Ok::<(), RunError>(())
/// ```
impl<T: Item, O: ItemFormat<T>> Source<O::Item> for Poller<T, O> {
    type Values = PolledValues<T, O>;
    const WAITS: bool = true;

    fn into_values(self) -> PolledValues<T, O> {
        PolledValues { poller: self, polled: VecDeque::new(), ends: EndsWithRun::default(), ended: false }
    }

    fn external(self) -> Result<External<O::Item>, Self> {
        Ok(External(Box::new(self)))
    }

    fn external_feed(&self) -> Option<Feed> {
        Some(Connect::feed(self))
    }

    fn closer(&self) -> Option<Closer> {
        Some(Poller::closer(self))
    }
}

/// The values of a [`Poller`], as an iterator. It waits while no value is there, and ends when all senders are gone, or
/// once the run whose source it is takes no more. A fan-in can therefore feed any deployment, as any iterator can:
/// queues, or a single thread.
///
/// It polls at most a batch of the [`Rings`](crate::Rings) that it was opened with, and keeps it until it is asked for.
/// Values that were sent and not asked for are dropped with the iterator.
///
/// # Panics
///
/// If polling fails. Inside a run this is a failure of the source, with the error as its cause.
pub struct PolledValues<T: Item, O: ItemFormat<T> = Plain> {
    poller: Poller<T, O>,
    polled: VecDeque<O::Item>,
    ends: EndsWithRun,
    ended: bool,
}

impl<T: Item, O: ItemFormat<T>> Iterator for PolledValues<T, O> {
    type Item = O::Item;

    fn next(&mut self) -> Option<O::Item> {
        if self.polled.is_empty() && !self.ended {
            match self.poller.poll_in_source(&mut self.ends, |_, value| self.polled.push_back(value)) {
                Ok(polled) => self.ended = polled == Polled::Ended,
                Err(error) => fail(error),
            }
        }
        self.polled.pop_front()
    }
}

impl<T: Item, O: ItemFormat<T>> std::iter::FusedIterator for PolledValues<T, O> {}

impl<T: Item, O: ItemFormat<T>> fmt::Debug for PolledValues<T, O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PolledValues").field("poller", &self.poller).finish_non_exhaustive()
    }
}
