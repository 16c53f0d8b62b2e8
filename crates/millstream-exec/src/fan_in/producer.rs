use super::cuts::WantedCut;
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

/// A [`Sender`](crate::Sender)'s ring, or its part of a shared ring.
pub(super) enum Ring<T: Item> {
    Own(spsc::Sender<T>),
    /// A sender, the number of values it has sent, and its entry in the table of producers.
    Several(mpsc::Sender<T>, u64, u32),
}

impl<T: Item> Ring<T> {
    pub(super) fn own(sender: spsc::Sender<T>) -> Self {
        Ring::Own(sender)
    }

    /// Another producer on the same ring.
    pub(super) fn several(sender: &mpsc::Sender<T>, entry: u32) -> Self {
        Ring::Several(sender.another(entry), 0, entry)
    }

    fn entry(&self) -> Option<u32> {
        match self {
            Ring::Own(_) => None,
            Ring::Several(.., entry) => Some(*entry),
        }
    }

    /// Moves a value in, if there is room. Returns false if the ring takes no more.
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

    /// Moves the first of these values in. Returns how many; none if the ring takes no more.
    fn give_buffered(&mut self, values: &mut VecDeque<T>) -> Option<usize> {
        let Ring::Several(sender, sent, _) = self else { unreachable!("only a shared ring takes buffered values") };
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

/// The most values sent at once, a quarter of the ring, so that the consumer works meanwhile.
fn part_of<T: Item>(sender: &spsc::Sender<T>) -> usize {
    (sender.capacity() / 4).max(1)
}

/// A producer of a fan-in.
pub(crate) struct ProducerEnd<T: Item> {
    id: u32,
    gate: Arc<Gate<Ring<T>>>,
    watermark: Arc<AtomicU64>,
    /// How many values were sent when an iterator last took the ring.
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
        // An ended ring has no reader, and may be full.
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

    /// Moves at most `most` values from an iterator into the ring. None if the ring is shared. Values the iterator
    /// returns after the end come back. While another iterator holds the ring, it counts as full.
    pub(crate) fn give(&self, values: &mut impl Iterator<Item = T>, most: usize) -> Option<Result<spsc::Sent, Vec<T>>> {
        // A sender that waits for room notices the end, even while another one holds the ring.
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

    /// Copies the first of these values into the ring, as far as there is room. None if the ring is shared. While an
    /// iterator holds the ring, it counts as full.
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

    /// Moves values in, the first ones first. Returns how many; none if the run takes no more.
    pub(crate) fn give_buffered(&self, values: &mut VecDeque<T>) -> Option<usize> {
        if self.registry.shared.stopped() { None } else { self.gate.with(|ring| ring.give_buffered(values)) }
    }

    /// Whether an iterator's values are accepted.
    fn pass(&self) -> bool {
        !self.registry.shared.stopped() && self.gate.pass()
    }

    pub(crate) fn ended(&self) -> bool {
        self.registry.shared.stopped() || self.gate.is_closed()
    }

    pub(crate) fn free(&self) -> usize {
        self.gate.try_with(Ring::free).unwrap_or(0)
    }

    /// While an iterator holds the ring, its values do not count.
    pub(crate) fn sent(&self) -> u64 {
        self.gate.try_with(|ring| ring.sent()).unwrap_or_else(|| self.sent.load(Ordering::Relaxed))
    }

    /// Wants a mark behind everything that was sent.
    pub(crate) fn want_cut(&self) -> WantedCut {
        self.registry.want_cut(self.id, self.sent())
    }

    /// Sets the time before which no further value comes.
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
        // A panic after the end is not part of the run.
        if std::thread::panicking() && !self.ended() {
            self.registry.panicked(ProducerPanic::now(self.id, sent));
        }
        self.registry.leave(self.id, entry, sent);
        self.registry.shared.wake();
    }
}
