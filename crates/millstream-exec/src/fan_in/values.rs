use super::{ItemFormat, Plain, Poller};
use millstream_core::Item;
use millstream_core::failure::fail;
use std::collections::VecDeque;
use std::fmt;
use std::time::Duration;

/// The values of a [`Poller`], one by one. It waits while there is none, and ends when all senders are dropped. A
/// fan-in is thus a source, as any iterator is, for every runner: queues, or a single thread.
///
/// It polls and buffers at most a batch of the [`Rings`](crate::Rings) at once. Values that were sent and not taken are
/// dropped with the iterator. If draining must finish them, start the run with
/// [`Run::start_fan_in`](crate::Run::start_fan_in).
///
/// ```
/// use millstream_core::{Arrow, pipeline};
/// use millstream_exec::{Queues, Rings, Runner, fan_in};
/// let (senders, poller) = fan_in(2).round_robin().open(&Rings::new())?;
/// for (sender, first) in senders.into_iter().zip([1, 10]) {
///     std::thread::spawn(move || sender.send_all([first, first + 1]));
/// }
/// let doubled = pipeline::<u64>().map(|x| x * 2);
/// assert_eq!(Queues::new().collect(&doubled, poller)?, [2, 20, 4, 22]);
/// # Ok::<(), millstream_exec::RunError>(())
/// ```
///
/// # Panics
///
/// If polling fails. Inside a run this is a failure of the source, with the error as its cause.
pub struct PolledValues<T: Item, O: ItemFormat<T> = Plain> {
    poller: Poller<T, O>,
    polled: VecDeque<O::Item>,
}

impl<T: Item, O: ItemFormat<T>> IntoIterator for Poller<T, O> {
    type Item = O::Item;
    type IntoIter = PolledValues<T, O>;

    fn into_iter(self) -> PolledValues<T, O> {
        PolledValues { poller: self, polled: VecDeque::new() }
    }
}

impl<T: Item, O: ItemFormat<T>> Iterator for PolledValues<T, O> {
    type Item = O::Item;

    fn next(&mut self) -> Option<O::Item> {
        if self.polled.is_empty() {
            let polled = self.poller.poll_for(Duration::MAX, |_, value| self.polled.push_back(value));
            if let Err(error) = polled {
                fail(error);
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
