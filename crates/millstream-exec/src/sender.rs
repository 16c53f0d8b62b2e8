mod error;

pub use error::{JoinError, SendError, TrySendError};

use crate::fan_in::ProducerEnd;
use crate::feed::{Offer, Output};
use crate::handle::ExternalSource;
use crate::shared::Shared;
use crate::{Room, RunError, Sending, Signal};
use millstream_core::Item;
use millstream_ring::spsc;
use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// How many values [`Sender::send_all`] shows at once, at most: so the other end is at work while it goes on.
const CHUNK: usize = 1024;

/// Feeds a running pipeline from any thread or async task. Dropping it ends the stream; of a [`fan_in`](crate::fan_in), its
/// part of it, and the last one's drop the stream. A thread that panics with it in its hands fails the run, unless the
/// run takes no more: half of an input does not pass for the whole.
///
/// Threads may share a sender. None of its methods waits for user code that another one has called, but for its turn to
/// send: `send`, `send_all` and `send_slice`. So the async ones never block their executor.
///
/// The drop of a value may use the sender that it was sent by: no lock is held while it runs. It should not wait for
/// room there, which is what its thread is about to make; such a wait ends when the run does.
///
/// ```
/// use millstream_core::{Arrow, pipeline};
/// use millstream_exec::{Rings, Run};
///
/// let sum = pipeline::<u64>().fold(0, |sum, x| *sum += x, |sum| sum);
/// let (sender, run) = sum.start_fed(&Rings::new(), 0, |last, _, x| *last = *x)?;
/// sender.send(1)?;
/// sender.send(2)?;
/// drop(sender);
/// assert_eq!(run.wait()?.0, 3);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Sender<T: Item> {
    way: Route<T>,
    shared: Arc<Shared>,
    /// What `send_all` has given back: empty, so that it allocates once.
    spare: Mutex<VecDeque<T>>,
}

/// Where values go.
enum Route<T: Item> {
    /// Into the source's ring.
    Source(Output<T>),
    /// Into a ring in front of it.
    FanIn(ProducerEnd<T>),
}

impl<T: Item> Route<T> {
    fn give(&self, values: &mut VecDeque<T>) -> Option<usize> {
        match self {
            Route::Source(output) => output.give(values),
            Route::FanIn(member) => member.give_buffered(values),
        }
    }
}

impl<T: Item> Sender<T> {
    pub(crate) fn new(output: Output<T>, shared: Arc<Shared>) -> Self {
        Sender { way: Route::Source(output), shared, spare: Mutex::default() }
    }

    /// One of many.
    pub(crate) fn of_many(member: ProducerEnd<T>) -> Self {
        Sender { shared: member.shared().clone(), way: Route::FanIn(member), spare: Mutex::default() }
    }

    /// Sends a value if there is room for it now. It does not wait.
    ///
    /// # Errors
    ///
    /// Gives the value back if the ring is full, or if the run takes no more. While another thread's
    /// [`send_all`](Sender::send_all) on this sender is in its iterator, the ring counts as full.
    pub fn try_send(&self, value: T) -> Result<(), TrySendError<T>> {
        let offered = match &self.way {
            Route::Source(output) => output.offer(value),
            Route::FanIn(member) => member.offer(value),
        };
        match offered {
            Offer::Published => {
                self.shared.signal.notify();
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
    /// Gives the value back if the run takes no more: it was drained or stopped, or it has failed.
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

    /// Sends all of these values, in order, as soon as there is room for each: the fastest way to send many, but for copies of a
    /// [slice](Sender::send_slice). Runs of them show at once, the first ones while the iterator goes on.
    ///
    /// The iterator should give what is there: while it thinks, what it gave before may not show yet, so values that are waited
    /// for are [sent](Sender::send) one by one. Nobody waits for it who drains or stops the run: what it gives afterwards comes
    /// back. To whoever else has this sender, the iterator among them, the ring is full meanwhile: `try_send` says so,
    /// and `send` waits. If it panics, of what it gave before the last 1024 values at most are dropped, and the others
    /// are sent.
    ///
    /// ```
    /// use millstream_core::pipeline;
    /// use millstream_exec::{Rings, Run};
    /// let (sender, run) = pipeline().start_fed(&Rings::new(), 0, |sum, _, x| *sum += x)?;
    /// sender.send_all(1..=1000)?;
    /// drop(sender);
    /// assert_eq!(run.wait()?.0, 500_500);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If the run takes no more: gives the values back that the iterator had given and that were not sent.
    pub fn send_all(&self, values: impl IntoIterator<Item = T>) -> Result<(), SendError<Vec<T>>> {
        let mut values = values.into_iter();
        if let Route::FanIn(member) = &self.way
            && let Some(sent) = self.send_directly(member, &mut values)
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
            while !buffer.is_empty() {
                let given = self.shared.wait_for(|| match self.way.give(&mut buffer) {
                    Some(0) => None,
                    given => Some(given),
                });
                self.shared.signal.notify();
                if given.flatten().is_none() {
                    return Err(SendError(buffer.into()));
                }
            }
        }
    }

    /// Sends copies of all of these values, in order, as soon as there is room for each: faster still than
    /// [`send_all`](Sender::send_all), since nothing of the caller's runs in between.
    ///
    /// ```
    /// use millstream_exec::{Rings, fan_in};
    /// let (senders, mut poller) = fan_in(2).open(&Rings::new())?;
    /// for sender in senders {
    ///     std::thread::spawn(move || sender.send_slice(&[1, 2, 3]).is_ok());
    /// }
    /// assert_eq!(poller.fold(0, |sum, _, x| *sum += x)?, 12);
    /// # Ok::<(), millstream_exec::RunError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If the run takes no more: with those that were not sent.
    pub fn send_slice<'v>(&self, values: &'v [T]) -> Result<(), SendError<&'v [T]>>
    where
        T: Copy,
    {
        let mut left = values;
        while let Route::FanIn(member) = &self.way
            && !left.is_empty()
        {
            let given = self.shared.wait_for(|| match member.give_slice(&left[..left.len().min(CHUNK)]) {
                Some(spsc::Sent::Full) => None,
                given => Some(given),
            });
            match given {
                // All have one ring.
                Some(None) => break,
                Some(Some(spsc::Sent::Some(sent) | spsc::Sent::All(sent))) => {
                    left = &left[sent..];
                    self.shared.signal.notify();
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

    /// Values from the iterator to their slots, if the ring is this sender's own.
    fn send_directly(
        &self,
        member: &ProducerEnd<T>,
        values: &mut impl Iterator<Item = T>,
    ) -> Option<Result<(), SendError<Vec<T>>>> {
        loop {
            // Whoever has no more waits for no more room.
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
            let given = {
                // Of what came, or that the ring is free again.
                let _others = Notifies(&self.shared.signal);
                self.shared.wait_for(|| match member.give(values, CHUNK) {
                    Some(Ok(spsc::Sent::Full)) => None,
                    given => Some(given),
                })
            };
            match given {
                // Nothing of the user's runs between a claim in a shared ring and its values.
                Some(None) => return None,
                Some(Some(Ok(spsc::Sent::All(_)))) => return Some(Ok(())),
                Some(Some(Ok(spsc::Sent::Some(_)))) => (),
                Some(Some(Ok(_))) | None => return Some(Err(SendError(Vec::new()))),
                Some(Some(Err(refused))) => return Some(Err(SendError(refused))),
            }
        }
    }

    /// One more producer of the same [`fan_in`](crate::fan_in), while it runs. Its number is the next one.
    ///
    /// # Errors
    ///
    /// If there are as many as there may be, or the run takes no more, or has one producer by its nature.
    pub fn add_producer(&self) -> Result<Self, JoinError> {
        match &self.way {
            Route::Source(_) => Err(JoinError::One),
            Route::FanIn(member) => Ok(Sender::of_many(member.another()?)),
        }
    }

    /// Which producer this is: 0, 1, ... in the order in which they began.
    #[must_use]
    pub fn producer(&self) -> u32 {
        match &self.way {
            Route::Source(_) => 0,
            Route::FanIn(member) => member.id(),
        }
    }

    /// How many values were sent: the number of the next one. It does not wait.
    #[must_use]
    pub fn sent(&self) -> u64 {
        match &self.way {
            Route::Source(output) => output.next() - u64::from(output.ended()),
            Route::FanIn(member) => member.sent(),
        }
    }

    /// Says that nothing earlier than `time` comes any more from this producer: for
    /// [`FanIn::by_timestamp`](crate::FanIn::by_timestamp), which then does not wait for it up to there.
    pub fn advance(&self, time: u64) {
        if let Route::FanIn(member) = &self.way {
            member.advance(time);
            self.shared.signal.notify();
        }
    }

    /// As [`send`](Sender::send), for async tasks: on any executor, it needs no runtime.
    ///
    /// The value is sent whole or not at all. Dropping the future before it is done drops the value with it, unless
    /// [`Sending::take`] takes it out; [`room`](Sender::room) waits without a value in hand.
    pub fn send_async(&self, value: T) -> Sending<'_, T> {
        Sending::new(self, value)
    }

    /// Waits, in an async task, until there is room for a value. Others who hold this sender may take the room first,
    /// so a [`try_send`](Sender::try_send) follows, in a loop. Nothing is lost where the future is dropped.
    pub fn room(&self) -> Room<'_, T> {
        Room::new(self)
    }

    pub(crate) fn shared(&self) -> &Shared {
        &self.shared
    }

    /// Whether the run takes no more.
    pub(crate) fn ended(&self) -> bool {
        let ended = || match &self.way {
            Route::Source(output) => output.ended(),
            Route::FanIn(member) => member.ended(),
        };
        self.shared.stopped() || ended()
    }

    /// Free slots, as far as one can know: none while another thread's [`send_all`](Sender::send_all) on this sender is
    /// in its iterator. It does not wait.
    #[must_use]
    pub fn free(&self) -> usize {
        match &self.way {
            Route::Source(output) => output.free(),
            Route::FanIn(member) => member.free(),
        }
    }
}

impl<T: Item> Drop for Sender<T> {
    fn drop(&mut self) {
        // One of many ends its ring itself, and says so.
        if let Route::Source(output) = &self.way {
            if std::thread::panicking() && !self.ended() {
                self.shared.fail_with(RunError::panicked("source".to_owned(), output.next()));
            }
            output.end();
            self.shared.signal.notify();
        }
    }
}

/// Notifies when it is dropped, also where an iterator has panicked.
struct Notifies<'s>(&'s Signal);

impl Drop for Notifies<'_> {
    fn drop(&mut self) {
        self.0.notify();
    }
}

impl<T: Item> fmt::Debug for Sender<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sender").finish_non_exhaustive()
    }
}
