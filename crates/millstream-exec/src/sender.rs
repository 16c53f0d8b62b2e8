mod batches;
mod error;
mod whole;

pub use batches::BatchSender;
pub use error::{JoinError, SendError, TrySendError};

use crate::external_source::ExternalSource;
use crate::fan_in::ProducerEnd;
use crate::feed::{Offer, Output};
use crate::shared::Shared;
use crate::{Room, RunError, Sending};
use millstream_core::Item;
use millstream_ring::spsc;
use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The most values that [`Sender::send_all`] publishes at once, so that the consumer works meanwhile.
const CHUNK: usize = 1024;

/// Feeds a running pipeline from any thread or async task.
///
/// Dropping it ends the stream; in a [`fan_in`](crate::fan_in) it ends this producer, and the stream ends with the last
/// producer. If a thread panics while it owns the sender, the run fails, unless the run takes no more values: part of
/// an input must not pass for the whole.
///
/// Threads may share a sender. Its methods wait for their turn to send (`send`, `send_all` and `send_slice`), but never
/// for user code that another method has called. Therefore the async methods never block their executor.
///
/// The drop of a value may use the sender that sent it, since no lock is held then. It should not wait for room: its
/// own thread is about to make that room, so such a wait ends only with the run.
///
/// ```
/// use millstream::prelude::*;
///
/// let sum = pipeline::<u64>().fold(0, |sum, x| *sum += x, |sum| sum);
/// let (sender, receiver) = source::channel(64);
/// let run = Rings::new().start(sum.from(receiver).to_fold(0, |last, _, x| *last = *x))?;
/// sender.send(1)?;
/// sender.send(2)?;
/// drop(sender);
/// assert_eq!(run.wait()?.0, 3);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Sender<T: Item> {
    route: Route<T>,
    shared: Arc<Shared>,
    /// The emptied buffer of `send_all`, reused so that it is allocated once.
    spare: Mutex<VecDeque<T>>,
}

/// Where values go.
enum Route<T: Item> {
    /// Into the source's ring.
    Source(Output<T>),
    /// Into a ring before the source's.
    FanIn(ProducerEnd<T>),
}

impl<T: Item> Route<T> {
    fn give(&self, values: &mut VecDeque<T>) -> Option<usize> {
        match self {
            Route::Source(output) => output.give(values),
            Route::FanIn(producer) => producer.give_buffered(values),
        }
    }
}

impl<T: Item> Sender<T> {
    pub(crate) fn new(output: Output<T>, shared: Arc<Shared>) -> Self {
        Sender { route: Route::Source(output), shared, spare: Mutex::default() }
    }

    /// One producer of a fan-in.
    pub(crate) fn of_many(producer: ProducerEnd<T>) -> Self {
        Sender { shared: producer.shared().clone(), route: Route::FanIn(producer), spare: Mutex::default() }
    }

    /// Sends a value if there is room for it now. Never waits.
    ///
    /// # Errors
    ///
    /// Returns the value if the ring is full, or if the run takes no more values. While another thread's
    /// [`send_all`](Sender::send_all) on this sender is in its iterator, the ring counts as full.
    pub fn try_send(&self, value: T) -> Result<(), TrySendError<T>> {
        self.try_send_then(value, || self.shared.wake())
    }

    /// As [`try_send`](Sender::try_send). `published` notifies the run of the value.
    pub(crate) fn try_send_then(&self, value: T, published: impl FnOnce()) -> Result<(), TrySendError<T>> {
        let offered = match &self.route {
            Route::Source(output) => output.offer(value),
            Route::FanIn(producer) => producer.offer(value),
        };
        match offered {
            Offer::Published => {
                published();
                Ok(())
            }
            Offer::Full(value) => Err(TrySendError::Full { value, missing: 1 }),
            Offer::Ended(value) => Err(TrySendError::Ended(value)),
        }
    }

    /// Sends a value, as soon as there is room for it.
    ///
    /// # Errors
    ///
    /// Returns the value if the run takes no more: it was drained or stopped, or it has failed.
    pub fn send(&self, value: T) -> Result<(), SendError<T>> {
        let mut unsent = Some(value);
        let sent = self.shared.wait_for(|| match self.try_send(unsent.take()?) {
            Ok(()) => Some(true),
            Err(TrySendError::Full { value, .. }) => {
                unsent = Some(value);
                None
            }
            Err(TrySendError::Ended(value)) => {
                unsent = Some(value);
                Some(false)
            }
        });
        match (sent, unsent) {
            (_, Some(value)) => Err(SendError(value)),
            _ => Ok(()),
        }
    }

    /// Sends all of these values in order, each as soon as there is room for it. Of all ways to send many values, only
    /// copying a [slice](Sender::send_slice) is faster. Values are published in runs, the first ones while the iterator
    /// goes on.
    ///
    /// The iterator should return values that are ready. While it waits, values that it returned before may not be
    /// visible yet; if a consumer waits for them, send values one by one with [`send`](Sender::send). Draining or
    /// stopping the run does not wait for the iterator; values it returns afterwards come back as an error. Meanwhile
    /// the ring is full for all other users of this sender, and for the iterator itself: `try_send` returns an error
    /// and `send` waits. If the iterator panics, up to 1024 of its latest values are dropped; earlier ones are sent.
    ///
    /// ```
    /// use millstream::prelude::*;
    /// let (sender, receiver) = source::channel(64);
    /// let run = Rings::new().start(pipeline().from(receiver).to_fold(0, |sum, _, x| *sum += x))?;
    /// sender.send_all(1..=1000)?;
    /// drop(sender);
    /// assert_eq!(run.wait()?.0, 500_500);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If the run takes no more values: returns the values taken from the iterator and not sent.
    pub fn send_all(&self, values: impl IntoIterator<Item = T>) -> Result<(), SendError<Vec<T>>> {
        let mut values = values.into_iter();
        let sent = self.send_from(&mut values);
        // The iterator's drop may panic, and would then leak the values being returned (rust-lang/rust#47949).
        drop(values);
        sent
    }

    fn send_from(&self, values: &mut impl Iterator<Item = T>) -> Result<(), SendError<Vec<T>>> {
        if let Route::FanIn(producer) = &self.route
            && let Some(sent) = self.send_directly(producer, values)
        {
            return sent;
        }
        let mut buffer = std::mem::take(&mut *self.spare());
        loop {
            buffer.extend(values.by_ref().take(CHUNK));
            if buffer.is_empty() {
                *self.spare() = buffer;
                return Ok(());
            }
            if !self.give_all(&mut buffer) {
                return Err(SendError(buffer.into()));
            }
        }
    }

    /// Whether the run has taken all of them.
    fn give_all(&self, buffer: &mut VecDeque<T>) -> bool {
        while !buffer.is_empty() {
            let given = self.shared.wait_for(|| match self.route.give(buffer) {
                Some(0) => None,
                given => Some(given),
            });
            self.shared.wake();
            if given.flatten().is_none() {
                return false;
            }
        }
        true
    }

    /// Sends copies of all of these values in order, each as soon as there is room for it. It is faster than
    /// [`send_all`](Sender::send_all), since no user code runs in between.
    ///
    /// ```
    /// use millstream::prelude::*;
    /// let (senders, mut poller) = fan_in(2).open(&Rings::new())?;
    /// for sender in senders {
    ///     std::thread::spawn(move || sender.send_slice(&[1, 2, 3]).is_ok());
    /// }
    /// assert_eq!(poller.fold(0, |sum, _, x| *sum += x)?, 12);
    /// # Ok::<(), RunError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If the run takes no more values: returns those that were not sent.
    pub fn send_slice<'v>(&self, values: &'v [T]) -> Result<(), SendError<&'v [T]>>
    where
        T: Copy,
    {
        let mut left = values;
        while let Route::FanIn(producer) = &self.route
            && !left.is_empty()
        {
            let given = self.shared.wait_for(|| match producer.give_slice(&left[..left.len().min(CHUNK)]) {
                Some(spsc::Sent::Full) => None,
                given => Some(given),
            });
            match given {
                // All producers share one ring.
                Some(None) => break,
                Some(Some(spsc::Sent::Some(sent) | spsc::Sent::All(sent))) => {
                    left = &left[sent..];
                    self.shared.wake();
                }
                Some(Some(spsc::Sent::Full | spsc::Sent::Ended)) | None => return Err(SendError(left)),
            }
        }
        let mut unasked = left.iter();
        self.send_all(unasked.by_ref().copied())
            .map_err(|SendError(refused)| SendError(&left[left.len() - unasked.len() - refused.len()..]))
    }

    fn spare(&self) -> MutexGuard<'_, VecDeque<T>> {
        self.spare.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Moves values from the iterator straight into their slots, if the sender has a ring of its own. None if it has
    /// not.
    fn send_directly(
        &self,
        producer: &ProducerEnd<T>,
        values: &mut impl Iterator<Item = T>,
    ) -> Option<Result<(), SendError<Vec<T>>>> {
        loop {
            // An exhausted iterator must not wait for room.
            if values.size_hint().1 == Some(0) {
                return Some(Ok(()));
            }
            if values.size_hint().0 == 0 {
                match values.next().map(|value| self.send(value)) {
                    None => return Some(Ok(())),
                    Some(Ok(())) => (),
                    Some(Err(SendError(value))) => return Some(Err(SendError(vec![value]))),
                }
            }
            // An iterator that may be exhausted is asked before room is waited for.
            let has_more = values.size_hint().0 > 0;
            let given = {
                // Notifies of new values, and that the iterator no longer occupies the ring.
                let _others = Notifies(&self.shared);
                self.shared.wait_for(|| match producer.give(values, CHUNK) {
                    Some(Ok(spsc::Sent::Full)) if has_more => None,
                    given => Some(given),
                })
            };
            match given {
                // In a shared ring no user code may run between a claim and its values.
                Some(None) => return None,
                Some(Some(Ok(spsc::Sent::All(_)))) => return Some(Ok(())),
                Some(Some(Ok(spsc::Sent::Some(_) | spsc::Sent::Full))) => (),
                Some(Some(Ok(_))) | None => return Some(Err(SendError(Vec::new()))),
                Some(Some(Err(refused))) => return Some(Err(SendError(refused))),
            }
        }
    }

    /// Adds a producer to the same [`fan_in`](crate::fan_in) during the run. It gets the next number.
    ///
    /// # Errors
    ///
    /// If there are as many producers as `at_most` allows, if the run takes no more values, or if it has a single
    /// producer.
    pub fn add_producer(&self) -> Result<Self, JoinError> {
        match &self.route {
            Route::Source(_) => Err(JoinError::One),
            Route::FanIn(producer) => Ok(Sender::of_many(producer.another()?)),
        }
    }

    /// The number of this producer: 0, 1, ... in the order in which they began.
    #[must_use]
    pub fn producer(&self) -> u32 {
        match &self.route {
            Route::Source(_) => 0,
            Route::FanIn(producer) => producer.id(),
        }
    }

    /// How many values were sent: the number of the next one. Never waits.
    #[must_use]
    pub fn sent(&self) -> u64 {
        match &self.route {
            Route::Source(output) => output.sent(),
            Route::FanIn(producer) => producer.sent(),
        }
    }

    /// Promises that from now on this producer sends nothing earlier than `time`.
    /// [`FanIn::by_timestamp`](crate::FanIn::by_timestamp) then does not wait for it up to that time.
    pub fn advance(&self, time: u64) {
        if let Route::FanIn(producer) = &self.route {
            producer.advance(time);
            self.shared.wake();
        }
    }

    /// As [`send`](Sender::send), for async tasks on any executor, without a runtime.
    ///
    /// The value is sent as a whole or not at all. Dropping the future before it is done drops the value, unless
    /// [`Sending::take`] takes it out. To wait without holding a value, use [`room`](Sender::room).
    pub fn send_async(&self, value: T) -> Sending<'_, T> {
        Sending::new(self, value)
    }

    /// Waits in an async task until there is room for a value. Other users of this sender may take the room first, so
    /// follow it with [`try_send`](Sender::try_send), in a loop. Dropping the future loses nothing.
    pub fn room(&self) -> Room<'_, T> {
        Room::new(self)
    }

    pub(crate) fn shared(&self) -> &Shared {
        &self.shared
    }

    /// Whether the run takes no more values.
    pub(crate) fn ended(&self) -> bool {
        let ended = || match &self.route {
            Route::Source(output) => output.ended(),
            Route::FanIn(producer) => producer.ended(),
        };
        self.shared.stopped() || ended()
    }

    /// Free slots at this moment; 0 while another thread's [`send_all`](Sender::send_all) on this sender is in its
    /// iterator. Never waits.
    #[must_use]
    pub fn free(&self) -> usize {
        match &self.route {
            Route::Source(output) => output.free(),
            Route::FanIn(producer) => producer.free(),
        }
    }
}

impl<T: Item> Drop for Sender<T> {
    fn drop(&mut self) {
        // A producer of a fan-in ends its own ring, and notifies.
        if let Route::Source(output) = &self.route {
            if std::thread::panicking() && !self.ended() {
                self.shared.fail_with(RunError::panicked("source".to_owned(), output.sent()));
            }
            output.end();
            self.shared.wake();
        }
    }
}

/// Notifies when it is dropped, also if an iterator has panicked.
struct Notifies<'s>(&'s Shared);

impl Drop for Notifies<'_> {
    fn drop(&mut self) {
        self.0.wake();
    }
}

impl<T: Item> fmt::Debug for Sender<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sender").finish_non_exhaustive()
    }
}
