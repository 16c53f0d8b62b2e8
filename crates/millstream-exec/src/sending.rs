//! Sending from async tasks, on any executor.

use crate::signal::WakerSlot;
use crate::{SendError, Sender, TrySendError};
use millstream_core::Item;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

/// A value being sent to a run: the future of [`Sender::send_async`].
///
/// If the run takes no more values, it returns the value in a [`SendError`].
#[must_use = "a future does nothing before it is awaited"]
pub struct Sending<'s, T: Item> {
    sender: &'s Sender<T>,
    value: Option<T>,
    place: WakerSlot,
}

// The future does not pin its value.
impl<T: Item> Unpin for Sending<'_, T> {}

impl<'s, T: Item> Sending<'s, T> {
    pub(crate) fn new(sender: &'s Sender<T>, value: T) -> Self {
        Sending { sender, value: Some(value), place: WakerSlot::default() }
    }

    /// Takes the value out if it was not sent, so that a cancelled send does not lose it.
    pub fn take(&mut self) -> Option<T> {
        self.value.take()
    }
}

impl<T: Item> Future for Sending<'_, T> {
    type Output = Result<(), SendError<T>>;

    /// # Panics
    ///
    /// If the value was sent or taken out.
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let Sending { sender, value, place } = self.get_mut();
        assert!(value.is_some(), "the value was sent or taken out");
        sender.shared().signal.poll(place, cx, || match sender.try_send(value.take()?) {
            Ok(()) => Some(Ok(())),
            Err(TrySendError::Full { value: unsent, .. }) => {
                *value = Some(unsent);
                None
            }
            Err(TrySendError::Ended(unsent)) => Some(Err(SendError(unsent))),
        })
    }
}

impl<T: Item> Drop for Sending<'_, T> {
    fn drop(&mut self) {
        self.sender.shared().signal.leave(&mut self.place);
    }
}

impl<T: Item> fmt::Debug for Sending<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sending").field("sent", &self.value.is_none()).finish_non_exhaustive()
    }
}

/// Room in a run's ring: the future of [`Sender::room`].
///
/// It returns an error if the run takes no more values.
#[must_use = "a future does nothing before it is awaited"]
pub struct Room<'s, T: Item> {
    sender: &'s Sender<T>,
    place: WakerSlot,
}

impl<'s, T: Item> Room<'s, T> {
    pub(crate) fn new(sender: &'s Sender<T>) -> Self {
        Room { sender, place: WakerSlot::default() }
    }
}

impl<T: Item> Future for Room<'_, T> {
    type Output = Result<(), SendError<()>>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let Room { sender, place } = self.get_mut();
        sender.shared().signal.poll(place, cx, || match sender.free() {
            _ if sender.ended() => Some(Err(SendError(()))),
            0 => None,
            _ => Some(Ok(())),
        })
    }
}

impl<T: Item> Drop for Room<'_, T> {
    fn drop(&mut self) {
        self.sender.shared().signal.leave(&mut self.place);
    }
}

impl<T: Item> fmt::Debug for Room<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Room").finish_non_exhaustive()
    }
}
