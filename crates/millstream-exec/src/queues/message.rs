use super::control::Activity;
use crossbeam_channel::{Receiver, Sender};
use millstream_core::failure::drop_all;

/// One slot in a queue, with its number: a lane of a choice receives only the slots with a value for it.
pub(crate) struct Message<T>(Kind<T>);

/// Flat, since every slot of every queue holds one.
enum Kind<T> {
    Value(u64, T),
    Empty(u64),
    EndValue(u64, T),
    End(u64),
}

/// The position of a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct At {
    pub(crate) number: u64,
    /// Whether it is END.
    pub(crate) end: bool,
}

impl<T> Message<T> {
    pub(crate) fn new(at: At, value: Option<T>) -> Self {
        Message(match (at.end, value) {
            (false, Some(value)) => Kind::Value(at.number, value),
            (false, None) => Kind::Empty(at.number),
            (true, Some(value)) => Kind::EndValue(at.number, value),
            (true, None) => Kind::End(at.number),
        })
    }

    pub(crate) fn at(&self) -> At {
        let (number, end) = match &self.0 {
            Kind::Value(number, _) | Kind::Empty(number) => (*number, false),
            Kind::EndValue(number, _) | Kind::End(number) => (*number, true),
        };
        At { number, end }
    }

    pub(crate) fn into_value(self) -> Option<T> {
        match self.0 {
            Kind::Value(_, value) | Kind::EndValue(_, value) => Some(value),
            Kind::Empty(_) | Kind::End(_) => None,
        }
    }
}

/// The reading end of a queue: an edge of the deployment on [`Queues`](crate::Queues).
#[derive(Debug)]
pub struct Queue<T> {
    receiver: Receiver<Message<T>>,
    /// The number after the last one received.
    next: u64,
    ended: bool,
}

impl<T> std::fmt::Debug for Message<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.at().fmt(f)
    }
}

impl<T> Queue<T> {
    /// Waits for the next slot. None after END, and in a run that was stopped.
    ///
    /// A queue whose writer is gone without END has ended as well: this ends the stream of a source that waits for a
    /// value while the run is drained.
    pub(crate) fn take(&mut self, activity: &Activity) -> Option<Message<T>> {
        if self.ended || activity.stopped() {
            activity.rests();
            return None;
        }
        let message = match self.receiver.recv() {
            Ok(message) => message,
            // A stage that fails stops the run before its queues are dropped.
            Err(_) if activity.stopped() => return None,
            Err(_) => Message::new(At { number: self.next, end: true }, None),
        };
        let At { number, end } = message.at();
        (self.next, self.ended) = (number + 1, end);
        activity.works_on(number);
        Some(message)
    }

    /// How many slots it holds.
    pub(crate) fn len(&self) -> usize {
        self.receiver.len()
    }
}

impl<T> Drop for Queue<T> {
    /// Receives and drops the messages one by one: the channel's own drop would leak those after a value whose drop
    /// panics.
    fn drop(&mut self) {
        drop_all(|| self.receiver.try_recv().is_ok());
    }
}

/// The writing end of a queue.
pub(crate) struct Outlet<T>(Sender<Message<T>>);

impl<T> Outlet<T> {
    /// Puts a slot in as soon as there is room. Returns false if the reader is gone.
    #[must_use]
    pub(crate) fn put(&self, at: At, value: Option<T>) -> bool {
        self.0.send(Message::new(at, value)).is_ok()
    }
}

/// A queue of `slots` slots.
pub(crate) fn queue<T>(slots: usize) -> (Outlet<T>, Queue<T>) {
    let (sender, receiver) = crossbeam_channel::bounded(slots);
    (Outlet(sender), Queue { receiver, next: 0, ended: false })
}

/// Bytes of a queue: the channel stores a stamp with every message.
pub(crate) fn queue_bytes<T>(slots: usize) -> usize {
    slots * (size_of::<Message<T>>() + size_of::<usize>())
}
