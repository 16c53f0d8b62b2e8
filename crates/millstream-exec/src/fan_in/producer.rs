use super::desk::Desk;
use crate::RunError;
use crate::feed::Offer;
use crate::sender::JoinError;
use crate::shared::Shared;
use millstream_core::{Event, SequenceNumber};
use millstream_ring::{Given, Giver, SharedGiver};
use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// What a [`Sender`](crate::Sender) sends to: a ring of its own, or its part of a shared one.
pub(super) enum Ring<T: Event> {
    Own(Giver<T>),
    /// A giver, how many values it has given, and whether it gives no more.
    Several(SharedGiver<T>, u64, bool),
}

impl<T: Event> Ring<T> {
    pub(super) fn own(giver: Giver<T>) -> Self {
        Ring::Own(giver)
    }

    pub(super) fn several(giver: SharedGiver<T>) -> Self {
        Ring::Several(giver, 0, false)
    }

    fn offer(&mut self, value: T) -> Offer<T> {
        match self {
            Ring::Own(giver) => {
                let mut value = Some(value);
                let given = giver.give(&mut std::iter::from_fn(|| value.take()).fuse(), 1);
                match (given, value) {
                    (Given::Ended, Some(value)) => Offer::Ended(value),
                    (_, Some(value)) => Offer::Full(value),
                    (_, None) => Offer::Published,
                }
            }
            Ring::Several(..) => {
                let mut values = VecDeque::from([value]);
                let ended = self.give_buffered(&mut values).is_none();
                match values.pop_front() {
                    None => Offer::Published,
                    Some(value) if ended => Offer::Ended(value),
                    Some(value) => Offer::Full(value),
                }
            }
        }
    }

    /// Moves values in, the first ones first; how many, or none if it takes no more.
    fn give_buffered(&mut self, values: &mut VecDeque<T>) -> Option<usize> {
        match self {
            Ring::Own(giver) => {
                let before = values.len();
                let given = giver.give(&mut std::iter::from_fn(|| values.pop_front()), before.max(1));
                (given != Given::Ended).then(|| before - values.len())
            }
            Ring::Several(.., true) => None,
            Ring::Several(giver, sent, false) => {
                let given = giver.give(values)?;
                *sent += given as u64;
                Some(given)
            }
        }
    }

    pub(super) fn end(&mut self) {
        match self {
            Ring::Own(giver) => giver.end(),
            Ring::Several(.., ended) => *ended = true,
        }
    }

    fn ended(&self) -> bool {
        match self {
            Ring::Own(giver) => giver.ended(),
            Ring::Several(giver, _, ended) => *ended || giver.closed(),
        }
    }

    fn sent(&self) -> u64 {
        match self {
            Ring::Own(giver) => giver.given(),
            Ring::Several(_, sent, _) => *sent,
        }
    }

    fn free(&mut self) -> usize {
        match self {
            Ring::Own(giver) => giver.free(),
            Ring::Several(giver, ..) => giver.free(),
        }
    }
}

/// A producer of a fan-in.
pub(crate) struct Member<T: Event> {
    id: u32,
    ring: Arc<Mutex<Ring<T>>>,
    watermark: Arc<AtomicU64>,
    desk: Arc<Desk<T>>,
}

impl<T: Event> Member<T> {
    pub(super) fn new(id: u32, ring: Arc<Mutex<Ring<T>>>, watermark: Arc<AtomicU64>, desk: Arc<Desk<T>>) -> Self {
        Member { id, ring, watermark, desk }
    }

    fn lock(&self) -> MutexGuard<'_, Ring<T>> {
        self.ring.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn id(&self) -> u32 {
        self.id
    }

    pub(crate) fn shared(&self) -> &Arc<Shared> {
        &self.desk.shared
    }

    /// As [`Output::offer`](crate::feed::Output::offer).
    pub(crate) fn offer(&self, value: T) -> Offer<T> {
        if self.desk.shared.stopped() { Offer::Ended(value) } else { self.lock().offer(value) }
    }

    /// Moves values from an iterator into the ring, at most so many; none if the ring is not its own.
    pub(crate) fn give(&self, values: &mut impl Iterator<Item = T>, most: usize) -> Option<Given> {
        let mut ring = self.lock();
        match &mut *ring {
            Ring::Own(_) if self.desk.shared.stopped() => Some(Given::Ended),
            // A part of the ring, so that the other end is at work meanwhile.
            Ring::Own(giver) => Some(giver.give(values, most.min(giver.capacity() / 4).max(1))),
            Ring::Several(..) => None,
        }
    }

    /// Moves values in, the first ones first; how many, or none if the run takes no more.
    pub(crate) fn give_buffered(&self, values: &mut VecDeque<T>) -> Option<usize> {
        if self.desk.shared.stopped() { None } else { self.lock().give_buffered(values) }
    }

    pub(crate) fn ended(&self) -> bool {
        self.lock().ended()
    }

    pub(crate) fn free(&self) -> usize {
        self.lock().free()
    }

    pub(crate) fn sent(&self) -> u64 {
        self.lock().sent()
    }

    /// Nothing earlier than this comes any more.
    pub(crate) fn advance(&self, time: u64) {
        self.watermark.fetch_max(time, Ordering::Release);
    }

    pub(crate) fn another(&self) -> Result<Self, JoinError> {
        self.desk.join()
    }
}

impl<T: Event> Drop for Member<T> {
    fn drop(&mut self) {
        let sent = {
            let mut ring = self.lock();
            ring.end();
            ring.sent()
        };
        if std::thread::panicking() {
            let thread = std::thread::current();
            let cause =
                format!("its thread{} panicked", thread.name().map_or(String::new(), |name| format!(" {name:?}")));
            let (stage, number) = (format!("producer {}", self.id), Some(SequenceNumber(sent)));
            self.desk.shared.fail_with(RunError::Stage { stage, number, cause });
        }
        self.desk.leave(self.id);
        self.desk.shared.signal.notify();
    }
}
