//! Rings whose values are handed over: one end moves values in, the other moves them out.
//!
//! On the other rings of this crate any number of readers borrow what a slot holds. Here there is one receiver, which
//! owns what it takes. That is what joining the rings of many producers needs: a value moves on into another ring.

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
/// use millstream_ring::spsc::{Sent, ring};
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
/// # Ok::<(), millstream_ring::CapacityError>(())
/// ```
///
/// # Errors
///
/// If `capacity` is not a power of two, and at least 1.
pub fn ring<T: Item>(capacity: usize) -> Result<(Sender<T>, Receiver<T>), CapacityError> {
    // Nobody drops what is in such a slot but who takes it out, so the producer never sweeps.
    let ring = Shared::new(capacity, 0, Published::producer(0))?;
    let taken = Counter::new(CachePadded::new(AtomicU64::new(0)));
    ring.gates.add(Gate::Reader(taken.clone()));
    let rest = Arc::new(Rest { ring: ring.clone(), taken });
    let sender = Sender { producer: Producer::new(ring), _rest: rest.clone() };
    Ok((sender, Receiver { rest, position: 0, seen: 0 }))
}

/// What came of giving values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sent {
    /// So many went in, and the ring is full or as much went in as was asked for.
    Some(usize),
    /// So many went in, and there are no more of them.
    All(usize),
    /// The ring is full.
    Full,
    /// The stream has ended: no value was asked for.
    Ended,
}

/// The end of a [`ring`] that gives values.
pub struct Sender<T: Item> {
    producer: Producer<ManuallyDrop<T>>,
    /// Keeps the rest from being dropped while values can still come.
    _rest: Arc<Rest<T>>,
}

impl<T: Item> Sender<T> {
    /// Moves values in, as far as there is room, `most` at most; they show together. If the iterator panics, what it gave
    /// before is in the ring.
    ///
    /// # Panics
    ///
    /// If `most` is 0.
    #[inline]
    pub fn give(&mut self, values: &mut impl Iterator<Item = T>, most: usize) -> Sent {
        self.give_if(values, most, || true).unwrap_or(Sent::Ended)
    }

    /// As [`give`](Sender::give), but the values show only if they `may_show`. That is asked once the iterator has come back: so
    /// whoever says no need not wait for it.
    ///
    /// ```
    /// use millstream_ring::spsc::{Sent, ring};
    /// let (mut sender, mut receiver) = ring(4)?;
    /// assert_eq!(sender.give_if(&mut ["a", "b"].into_iter(), 4, || false), Err(vec!["a", "b"]));
    /// assert_eq!(sender.give_if(&mut ["c"].into_iter(), 4, || true), Ok(Sent::All(1)));
    /// assert_eq!(receiver.take(8).collect::<String>(), "c");
    /// # Ok::<(), millstream_ring::CapacityError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If they may not: gives the values back. If the iterator has panicked they are dropped.
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
        assert!(most > 0, "at most 0 values to give");
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

    /// Copies values in, as far as there is room, the first ones first; they show together.
    ///
    /// ```
    /// use millstream_ring::spsc::{Sent, ring};
    /// let (mut sender, mut receiver) = ring(2)?;
    /// assert_eq!(sender.give_slice(&[1, 2, 3]), Sent::Some(2));
    /// assert_eq!(receiver.take(8).sum::<i32>(), 3);
    /// assert_eq!(sender.give_slice(&[3]), Sent::All(1));
    /// # Ok::<(), millstream_ring::CapacityError>(())
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

    /// Free slots.
    pub fn free(&mut self) -> usize {
        self.producer.free()
    }

    /// How many slots the ring has.
    #[must_use]
    pub fn capacity(&self) -> usize {
        self.producer.capacity()
    }

    /// How many values were given.
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

/// What was written, and who says whether it shows; asked also when the function that writes panics.
struct Written<'p, T: Item, F: FnOnce() -> bool>(Option<(Claim<'p, ManuallyDrop<T>>, F)>);

impl<T: Item, F: FnOnce() -> bool> Written<'_, T, F> {
    /// Shows it, if that may be, and gives it back otherwise.
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

/// The end of a [`ring`] that takes values out: there is one. What it leaves is dropped when both ends are gone; until
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

    /// As [`ready`](Receiver::ready), but looks at the other end only where that is less than `want`.
    #[inline]
    fn ready_for(&mut self, want: u64) -> u64 {
        let ring = &self.rest.ring;
        if self.seen - self.position < want {
            self.seen = ring.cursor();
        }
        // END is not a value.
        self.seen.min(ring.end()).saturating_sub(self.position)
    }

    /// Takes at most `most` values out: those that are there and lie side by side. What is not taken from the iterator stays
    /// in the ring.
    #[inline]
    pub fn take(&mut self, most: usize) -> Received<'_, T> {
        let ready = self.ready_for(most as u64).min(most as u64);
        let Rest { ring, taken } = &*self.rest;
        let len = ring.slots.contiguous(self.position, ready);
        // SAFETY: these numbers are below the cursor and not below what was taken, so they hold values; the sender does not
        // write them before `taken` is beyond them, and this is the only receiver, which is borrowed.
        unsafe { Received::new(&ring.slots, &mut self.position, taken, len) }
    }

    /// The next value, where it is.
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

    /// Whether everything was taken and nothing more will come.
    pub fn ended(&mut self) -> bool {
        self.ready_for(1) == 0 && self.seen > self.position
    }

    /// How many values were taken.
    #[must_use]
    pub fn taken(&self) -> u64 {
        self.position
    }

    /// How many values can be taken, for whoever does not take them now.
    #[must_use]
    pub fn backlog(&self) -> u64 {
        let ring = &self.rest.ring;
        ring.cursor().min(ring.end()).saturating_sub(self.position)
    }
}

impl<T: Item> Drop for Receiver<T> {
    fn drop(&mut self) {
        // Also where an iterator was forgotten: what it took is not taken again.
        self.rest.taken.store(self.position, Ordering::Release);
    }
}

impl<T: Item> std::fmt::Debug for Receiver<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Receiver").field("taken", &self.position).finish_non_exhaustive()
    }
}

/// What both ends keep: the last one that goes drops what nobody took.
struct Rest<T: Item> {
    ring: Arc<Shared<ManuallyDrop<T>>>,
    /// Every number below was taken: the sender's gate. The receiver alone writes it.
    taken: Counter,
}

impl<T: Item> Drop for Rest<T> {
    fn drop(&mut self) {
        let from = self.taken.load(Ordering::Acquire);
        let upto = self.ring.cursor().min(self.ring.end());
        // SAFETY: both ends are gone. Below the cursor every number from `taken` on holds a value that nobody took.
        unsafe { Moved::new(&self.ring.slots, from..upto).drop_all() };
    }
}
