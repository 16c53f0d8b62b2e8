use crate::feed::{Offer, Output};
use crate::handle::Outside;
use crate::shared::Shared;
use crate::{Room, Sending};
use millstream_core::Event;
use std::fmt;
use std::sync::Arc;

/// Feeds a running pipeline from any thread or async task. Dropping it ends the stream.
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
pub struct Sender<T: Event> {
    output: Output<T>,
    shared: Arc<Shared>,
}

impl<T: Event> Sender<T> {
    pub(crate) fn new(output: Output<T>, shared: Arc<Shared>) -> Self {
        Sender { output, shared }
    }

    /// Sends a value if there is room for it now.
    ///
    /// # Errors
    ///
    /// Gives the value back if the ring is full, or if the run takes no more.
    pub fn try_send(&self, value: T) -> Result<(), TrySendError<T>> {
        match self.output.offer(value) {
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
        self.shared.stopped() || self.output.ended()
    }

    /// Free slots, as far as one can know.
    #[must_use]
    pub fn free(&self) -> usize {
        self.output.free()
    }
}

impl<T: Event> Drop for Sender<T> {
    fn drop(&mut self) {
        self.output.end();
        self.shared.signal.notify();
    }
}

impl<T: Event> fmt::Debug for Sender<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sender").finish_non_exhaustive()
    }
}

/// Why a value was not sent, and the value.
#[derive(Clone, PartialEq, Eq)]
pub enum TrySendError<T> {
    /// The ring is full.
    Full {
        /// What was to be sent.
        value: T,
        /// How many slots it would take.
        missing: usize,
    },
    /// The run takes no more.
    Ended(T),
}

/// The run takes no more; the value that was to be sent.
#[derive(Clone, PartialEq, Eq)]
pub struct SendError<T>(pub T);

impl<T> fmt::Display for TrySendError<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TrySendError::Full { missing, .. } => write!(f, "the ring is full: {missing} more slots are needed"),
            TrySendError::Ended(_) => f.write_str("the run takes no more values"),
        }
    }
}

impl<T> fmt::Display for SendError<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the run takes no more values")
    }
}

// Without the value: it need not be Debug.
impl<T> fmt::Debug for TrySendError<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
impl<T> fmt::Debug for SendError<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
impl<T> std::error::Error for TrySendError<T> {}
impl<T> std::error::Error for SendError<T> {}
