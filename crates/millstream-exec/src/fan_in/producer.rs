use super::gate::{Gate, Shown};
use super::panics::ProducerPanic;
use super::registry::Registry;
use crate::feed::Offer;
use crate::sender::JoinError;
use crate::shared::Shared;
use millstream_core::Item;
use millstream_ring::{mpsc, spsc};
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// What a [`Sender`](crate::Sender) sends to: a ring of its own, or its part of a shared one.
pub(super) enum Ring<T: Item> {
    Own(spsc::Sender<T>),
    /// A sender, how many values it has given, and its entry in the table of those who give.
    Several(mpsc::Sender<T>, u64, u32),
}

impl<T: Item> Ring<T> {
    pub(super) fn own(sender: spsc::Sender<T>) -> Self {
        Ring::Own(sender)
    }

    /// Another one who gives by the ring of this one.
    pub(super) fn several(sender: &mpsc::Sender<T>, entry: u32) -> Self {
        Ring::Several(sender.another(entry), 0, entry)
    }

    fn entry(&self) -> Option<u32> {
        match self {
            Ring::Own(_) => None,
            Ring::Several(.., entry) => Some(*entry),
        }
    }

    /// Moves a value in, if there is room; whether it takes any more.
    fn give_one(&mut self, value: &mut Option<T>) -> bool {
        match self {
            Ring::Own(sender) => sender.give(&mut std::iter::from_fn(|| value.take()).fuse(), 1) != spsc::Sent::Ended,
            Ring::Several(..) => {
                let mut values: VecDeque<T> = value.take().into_iter().collect();
                let given = self.give_buffered(&mut values);
                *value = values.pop_front();
                given.is_some()
            }
        }
    }

    /// Moves values in, the first ones first; how many, or none if it takes no more.
    fn give_buffered(&mut self, values: &mut VecDeque<T>) -> Option<usize> {
        let Ring::Several(sender, sent, _) = self else {
            unreachable!("only a shared ring is given what was gathered")
        };
        let given = sender.give(values)?;
        *sent += given as u64;
        Some(given)
    }

    fn end(&mut self) {
        if let Ring::Own(sender) = self {
            sender.end();
        }
    }

    fn sent(&self) -> u64 {
        match self {
            Ring::Own(sender) => sender.given(),
            Ring::Several(_, sent, _) => *sent,
        }
    }

    fn free(&mut self) -> usize {
        match self {
            Ring::Own(sender) => sender.free(),
            Ring::Several(sender, ..) => sender.free(),
        }
    }
}

/// So much of the ring at once, at most, that the other end is at work meanwhile.
fn part_of<T: Item>(sender: &spsc::Sender<T>) -> usize {
    (sender.capacity() / 4).max(1)
}

/// A producer of a fan-in.
pub(crate) struct ProducerEnd<T: Item> {
    id: u32,
    gate: Arc<Gate<Ring<T>>>,
    watermark: Arc<AtomicU64>,
    /// How many values were sent when an iterator took the ring last.
    sent: AtomicU64,
    registry: Arc<Registry<T>>,
}

impl<T: Item> ProducerEnd<T> {
    pub(super) fn new(
        id: u32,
        gate: Arc<Gate<Ring<T>>>,
        watermark: Arc<AtomicU64>,
        registry: Arc<Registry<T>>,
    ) -> Self {
        ProducerEnd { id, gate, watermark, sent: AtomicU64::new(0), registry }
    }

    pub(crate) fn id(&self) -> u32 {
        self.id
    }

    pub(crate) fn shared(&self) -> &Arc<Shared> {
        &self.registry.shared
    }

    /// As [`Output::offer`](crate::feed::Output::offer).
    pub(crate) fn offer(&self, value: T) -> Offer<T> {
        // Nobody takes from a ring any more that has ended, and it may be full.
        if self.ended() {
            return Offer::Ended(value);
        }
        let mut value = Some(value);
        let accepted = self.gate.show(|ring| ring.give_one(&mut value));
        match value {
            None => Offer::Published,
            Some(value) if matches!(accepted, Shown::Did(true) | Shown::Taken) => Offer::Full(value),
            Some(value) => Offer::Ended(value),
        }
    }

    /// Moves values from an iterator into the ring, at most so many; none if the ring is not its own. What the iterator has
    /// given when nothing is accepted any more comes back. While another iterator has the ring, that is full.
    pub(crate) fn give(&self, values: &mut impl Iterator<Item = T>, most: usize) -> Option<Result<spsc::Sent, Vec<T>>> {
        // Whoever waits for room hears of the end, whoever else has the ring.
        if self.ended() {
            return Some(Ok(spsc::Sent::Ended));
        }
        let given = self.gate.iterate(|ring| {
            self.sent.store(ring.sent(), Ordering::Relaxed);
            match ring {
                Ring::Own(sender) => Some(sender.give_if(values, most.min(part_of(sender)), || self.pass())),
                Ring::Several(..) => None,
            }
        });
        given.unwrap_or(Some(Ok(spsc::Sent::Full)))
    }

    /// Copies values into the ring, as many as there is room for, the first ones first; nothing if the ring is not its
    /// own. While an iterator has the ring, that is full.
    pub(crate) fn give_slice(&self, values: &[T]) -> Option<spsc::Sent>
    where
        T: Copy,
    {
        if self.ended() {
            return Some(spsc::Sent::Ended);
        }
        let given = self.gate.show(|ring| match ring {
            Ring::Own(sender) => {
                let most = values.len().min(part_of(sender));
                Some(sender.give_slice(&values[..most]))
            }
            Ring::Several(..) => None,
        });
        match given {
            Shown::Did(given) => given,
            Shown::Taken => Some(spsc::Sent::Full),
            Shown::Closed => Some(spsc::Sent::Ended),
        }
    }

    /// Moves values in, the first ones first; how many, or none if the run takes no more.
    pub(crate) fn give_buffered(&self, values: &mut VecDeque<T>) -> Option<usize> {
        if self.registry.shared.stopped() { None } else { self.gate.with(|ring| ring.give_buffered(values)) }
    }

    /// Whether values that an iterator gave are accepted.
    fn pass(&self) -> bool {
        !self.registry.shared.stopped() && self.gate.pass()
    }

    pub(crate) fn ended(&self) -> bool {
        self.registry.shared.stopped() || self.gate.is_closed()
    }

    pub(crate) fn free(&self) -> usize {
        self.gate.try_with(Ring::free).unwrap_or(0)
    }

    /// Nothing shows while an iterator has the ring.
    pub(crate) fn sent(&self) -> u64 {
        self.gate.try_with(|ring| ring.sent()).unwrap_or_else(|| self.sent.load(Ordering::Relaxed))
    }

    /// Nothing earlier than this comes any more.
    pub(crate) fn advance(&self, time: u64) {
        self.watermark.fetch_max(time, Ordering::Release);
    }

    pub(crate) fn another(&self) -> Result<Self, JoinError> {
        self.registry.join()
    }
}

impl<T: Item> Drop for ProducerEnd<T> {
    fn drop(&mut self) {
        let (sent, entry) = self.gate.with(|ring| {
            ring.end();
            (ring.sent(), ring.entry())
        });
        // What comes after the end is not part of the run.
        if std::thread::panicking() && !self.ended() {
            self.registry.panicked(ProducerPanic::now(self.id, sent));
        }
        self.registry.leave(self.id, entry, sent);
        self.registry.shared.signal.notify();
    }
}
