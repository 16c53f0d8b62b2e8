//! Rings that move values: one end moves values in, the other moves them out.
//!
//! On the other rings of this crate any number of readers borrow the values of slots. Here there is one receiver, which
//! owns the values that it takes. Fan-in needs this: a value from the ring of one of many producers moves on into
//! another ring.

pub(crate) mod received;

pub use received::Received;

use crate::claim::Claim;
use crate::error::CapacityError;
use crate::gate::{Counter, Gate};
use crate::producer::Producer;
use crate::shared::{Published, Shared};
use crate::sync::{Arc, AtomicU64, Ordering};
use crossbeam_utils::CachePadded;
use millstream_core::Item;
use received::Moved;
use std::mem::ManuallyDrop;

/// A ring with one sender and one receiver.
///
/// ```
/// use millstream::ring::spsc::{Sent, ring};
///
/// let (mut sender, mut receiver) = ring::<String>(2)?;
/// let mut words = ["a", "b", "c"].map(String::from).into_iter();
/// assert_eq!(sender.give(&mut words, 8), Sent::Some(2));
/// assert_eq!(sender.give(&mut words, 8), Sent::Full);
/// assert_eq!(receiver.take(8).collect::<String>(), "ab");
/// assert_eq!(sender.give(&mut words, 8), Sent::All(1));
/// sender.end();
/// assert_eq!(receiver.take(8).collect::<String>(), "c");
/// assert!(receiver.ended());
/// # Ok::<(), millstream::ring::CapacityError>(())
/// ```
///
/// # Errors
///
/// If `capacity` is not a power of two.
pub fn ring<T: Item>(capacity: usize) -> Result<(Sender<T>, Receiver<T>), CapacityError> {
    // Only the receiver drops the value of such a slot, so the producer never sweeps.
    let ring = Shared::new(capacity, 0, Published::producer(0))?;
    let taken = Counter::new(CachePadded::new(AtomicU64::new(0)));
    ring.gates.add(Gate::Reader(taken.clone()));
    let rest = Arc::new(Rest { ring: ring.clone(), taken });
    let sender = Sender { producer: Producer::new(ring, 0), _rest: rest.clone() };
    Ok((sender, Receiver { rest, position: 0, seen: 0 }))
}

/// The result of sending values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sent {
    /// This many were sent; the ring is full, or the limit is reached.
    Some(usize),
    /// This many were sent, and the source has no more.
    All(usize),
    /// The ring is full.
    Full,
    /// The stream has ended. No value was taken from the source.
    Ended,
}

/// The sending end of a [`ring`].
pub struct Sender<T: Item> {
    producer: Producer<ManuallyDrop<T>>,
    /// Keeps the remaining values from being dropped while further ones can follow.
    _rest: Arc<Rest<T>>,
}

impl<T: Item> Sender<T> {
    /// Moves values in, as far as there is room, `most` at most. They are published together. If the iterator panics,
    /// the values that it yielded before are published.
    ///
    /// # Panics
    ///
    /// If `most` is 0.
    #[inline]
    pub fn give(&mut self, values: &mut impl Iterator<Item = T>, most: usize) -> Sent {
        self.give_if(values, most, || true).unwrap_or(Sent::Ended)
    }

    /// As [`give`](Sender::give), but publishes the values only if `may_show` returns true. It is called after the
    /// iterator has returned; so a thread that forbids it need not wait for the iterator.
    ///
    /// ```
    /// use millstream::ring::spsc::{Sent, ring};
    /// let (mut sender, mut receiver) = ring(4)?;
    /// assert_eq!(sender.give_if(&mut ["a", "b"].into_iter(), 4, || false), Err(vec!["a", "b"]));
    /// assert_eq!(sender.give_if(&mut ["c"].into_iter(), 4, || true), Ok(Sent::All(1)));
    /// assert_eq!(receiver.take(8).collect::<String>(), "c");
    /// # Ok::<(), millstream::ring::CapacityError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// The values, if `may_show` returns false. If the iterator has panicked as well, they are dropped.
    ///
    /// # Panics
    ///
    /// If `most` is 0.
    #[inline]
    pub fn give_if(
        &mut self,
        values: &mut impl Iterator<Item = T>,
        most: usize,
        may_show: impl FnOnce() -> bool,
    ) -> Result<Sent, Vec<T>> {
        assert!(most > 0, "at most 0 values to send");
        let claim = match self.producer.try_claim(most) {
            Ok(Some(claim)) => claim,
            Ok(None) => return Ok(Sent::Full),
            Err(_) => return Ok(Sent::Ended),
        };
        let room = claim.len();
        let mut written = Written(Some((claim, may_show)));
        let moved = written.0.as_mut().map_or(0, |(claim, _)| claim.extend_with(values, ManuallyDrop::new));
        let refused = written.show();
        if !refused.is_empty() {
            return Err(refused);
        }
        Ok(if moved < room { Sent::All(moved) } else { Sent::Some(moved) })
    }

    /// Copies values in from the front, as far as there is room. They are published together.
    ///
    /// ```
    /// use millstream::ring::spsc::{Sent, ring};
    /// let (mut sender, mut receiver) = ring(2)?;
    /// assert_eq!(sender.give_slice(&[1, 2, 3]), Sent::Some(2));
    /// assert_eq!(receiver.take(8).sum::<i32>(), 3);
    /// assert_eq!(sender.give_slice(&[3]), Sent::All(1));
    /// # Ok::<(), millstream::ring::CapacityError>(())
    /// ```
    #[inline]
    pub fn give_slice(&mut self, values: &[T]) -> Sent
    where
        T: Copy,
    {
        if values.is_empty() {
            return Sent::All(0);
        }
        let mut claim = match self.producer.try_claim(values.len()) {
            Ok(Some(claim)) => claim,
            Ok(None) => return Sent::Full,
            Err(_) => return Sent::Ended,
        };
        let copied = claim.extend_with(&mut values.iter().copied(), ManuallyDrop::new);
        claim.publish();
        if copied == values.len() { Sent::All(copied) } else { Sent::Some(copied) }
    }

    /// Ends the stream, unless it has ended.
    pub fn end(&mut self) {
        if !self.producer.ended() {
            // Without a slot, END needs no room.
            let _ = self.producer.try_end(None);
        }
    }

    /// Whether the stream has ended.
    #[must_use]
    pub fn ended(&self) -> bool {
        self.producer.ended()
    }

    /// The number of free slots.
    pub fn free(&mut self) -> usize {
        self.producer.free()
    }

    /// The number of slots of the ring.
    #[must_use]
    pub fn capacity(&self) -> usize {
        self.producer.capacity()
    }

    /// How many values were sent.
    #[must_use]
    pub fn given(&self) -> u64 {
        self.producer.next().0 - u64::from(self.producer.ended())
    }
}

impl<T: Item> std::fmt::Debug for Sender<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Sender").field("given", &self.given()).finish_non_exhaustive()
    }
}

/// The written values, and the function that decides whether they are published; it is also called if the iterator
/// panics.
struct Written<'p, T: Item, F: FnOnce() -> bool>(Option<(Claim<'p, ManuallyDrop<T>>, F)>);

impl<T: Item, F: FnOnce() -> bool> Written<'_, T, F> {
    /// Publishes the values if that is allowed. Otherwise returns them.
    #[inline]
    fn show(&mut self) -> Vec<T> {
        let Some((claim, may_show)) = self.0.take() else { return Vec::new() };
        if may_show() {
            claim.publish();
            return Vec::new();
        }
        claim.take_back().into_iter().map(ManuallyDrop::into_inner).collect()
    }
}

impl<T: Item, F: FnOnce() -> bool> Drop for Written<'_, T, F> {
    #[inline]
    fn drop(&mut self) {
        drop(self.show());
    }
}

/// The receiving end of a [`ring`]: there is one. Values that it leaves are dropped when both ends are dropped; until
/// then the ring stays as full as it is.
pub struct Receiver<T: Item> {
    rest: Arc<Rest<T>>,
    position: u64,
    seen: u64,
}

impl<T: Item> Receiver<T> {
    /// How many values can be taken.
    #[inline]
    pub fn ready(&mut self) -> u64 {
        self.ready_for(u64::MAX)
    }

    /// As [`ready`](Receiver::ready), but reads the sender's cursor only if fewer than `want` values are known.
    #[inline]
    fn ready_for(&mut self, want: u64) -> u64 {
        let ring = &self.rest.ring;
        if self.seen - self.position < want {
            self.seen = ring.cursor();
        }
        // END is not a value.
        self.seen.min(ring.end()).saturating_sub(self.position)
    }

    /// Takes at most `most` values out: the contiguous ones that are published. A value that is not taken from the
    /// iterator stays in the ring.
    #[inline]
    pub fn take(&mut self, most: usize) -> Received<'_, T> {
        let ready = self.ready_for(most as u64).min(most as u64);
        let Rest { ring, taken } = &*self.rest;
        let len = ring.slots.contiguous(self.position, ready);
        // SAFETY: these numbers are below the cursor and not below `taken`, so they hold values; the sender does not
        // write them before `taken` is beyond them, and this is the only receiver, which is borrowed.
        unsafe { Received::new(&ring.slots, &mut self.position, taken, len) }
    }

    /// The next value, left in its slot.
    #[inline]
    pub fn head(&mut self) -> Option<&T> {
        (self.ready_for(1) > 0).then(|| {
            // SAFETY: as in `take`, of one number.
            let slice = unsafe { self.rest.ring.slots.slice(self.position) };
            // SAFETY: the slice was made for one slot, and the receiver is borrowed for as long as the value is.
            let value: &ManuallyDrop<T> = unsafe { slice.get(0) };
            &**value
        })
    }

    /// Whether the stream has ended and everything was taken.
    pub fn ended(&mut self) -> bool {
        self.ready_for(1) == 0 && self.seen > self.position
    }

    /// How many values were taken.
    #[must_use]
    pub fn taken(&self) -> u64 {
        self.position
    }

    /// How many values can be taken, by a fresh look that changes nothing.
    #[must_use]
    pub fn backlog(&self) -> u64 {
        let ring = &self.rest.ring;
        ring.cursor().min(ring.end()).saturating_sub(self.position)
    }
}

impl<T: Item> Drop for Receiver<T> {
    fn drop(&mut self) {
        // Also if an iterator was forgotten: the values that it covered are not taken again.
        self.rest.taken.store(self.position, Ordering::Release);
    }
}

impl<T: Item> std::fmt::Debug for Receiver<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Receiver").field("taken", &self.position).finish_non_exhaustive()
    }
}

/// Shared by both ends: the last one to be dropped drops the values that were not taken.
struct Rest<T: Item> {
    ring: Arc<Shared<ManuallyDrop<T>>>,
    /// Every number below was taken: the sender's gate. The receiver alone writes it.
    taken: Counter,
}

impl<T: Item> Drop for Rest<T> {
    fn drop(&mut self) {
        let from = self.taken.load(Ordering::Acquire);
        let upto = self.ring.cursor().min(self.ring.end());
        // SAFETY: both ends are dropped. Below the cursor every number from `taken` on holds a value that was not
        // taken.
        unsafe { Moved::new(&self.ring.slots, from..upto).drop_all() };
    }
}
