//! Rings whose values are handed over: one end moves values in, the other moves them out.
//!
//! On the other rings of this crate any number of readers borrow what a slot holds. Here there is one receiver, which
//! owns what it takes. That is what joining the rings of many producers needs: a value moves on into another ring.

mod shared_ring;
mod taken;

pub use shared_ring::{SharedGiver, SharedTaker, shared_ring};
pub use taken::Taken;

use crate::claim::Claim;
use crate::error::CapacityError;
use crate::gate::{Counter, Gate};
use crate::producer::Producer;
use crate::shared::{Published, Shared};
use crate::sync::{Arc, AtomicU64, Ordering};
use crossbeam_utils::CachePadded;
use millstream_core::Event;
use std::mem::ManuallyDrop;
use taken::Moved;

/// A ring with one giver and one taker.
///
/// ```
/// use millstream_ring::{Given, moving_ring};
///
/// let (mut giver, mut taker) = moving_ring::<String>(2)?;
/// let mut words = ["a", "b", "c"].map(String::from).into_iter();
/// assert_eq!(giver.give(&mut words, 8), Given::Some(2));
/// assert_eq!(giver.give(&mut words, 8), Given::Full);
/// assert_eq!(taker.take(8).collect::<String>(), "ab");
/// assert_eq!(giver.give(&mut words, 8), Given::All(1));
/// giver.end();
/// assert_eq!(taker.take(8).collect::<String>(), "c");
/// assert!(taker.ended());
/// # Ok::<(), millstream_ring::CapacityError>(())
/// ```
///
/// # Errors
///
/// If `capacity` is not a power of two, and at least 1.
pub fn moving_ring<T: Event>(capacity: usize) -> Result<(Giver<T>, Taker<T>), CapacityError> {
    // Nobody drops what is in such a slot but who takes it out, so the producer never sweeps.
    let ring = Shared::new(capacity, 0, Published::producer(0))?;
    let taken = Counter::new(CachePadded::new(AtomicU64::new(0)));
    ring.gates.add(Gate::Reader(taken.clone()));
    let rest = Arc::new(Rest { ring: ring.clone(), taken });
    let giver = Giver { producer: Producer::new(ring), _rest: rest.clone() };
    Ok((giver, Taker { rest, position: 0, seen: 0 }))
}

/// What came of giving values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Given {
    /// So many went in, and the ring is full or as much went in as was asked for.
    Some(usize),
    /// So many went in, and there are no more of them.
    All(usize),
    /// The ring is full.
    Full,
    /// The stream has ended: no value was asked for.
    Ended,
}

/// The end of a [`moving_ring`] that gives values.
pub struct Giver<T: Event> {
    producer: Producer<ManuallyDrop<T>>,
    /// Keeps the rest from being dropped while values can still come.
    _rest: Arc<Rest<T>>,
}

impl<T: Event> Giver<T> {
    /// Moves values in, as far as there is room, `most` at most; they show together. If the iterator panics, what it gave
    /// before is in the ring.
    ///
    /// # Panics
    ///
    /// If `most` is 0.
    #[inline]
    pub fn give(&mut self, values: &mut impl Iterator<Item = T>, most: usize) -> Given {
        self.give_if(values, most, || true).unwrap_or(Given::Ended)
    }

    /// As [`give`](Giver::give), but the values show only if they `may_show`. That is asked once the iterator has come back: so
    /// whoever says no need not wait for it.
    ///
    /// ```
    /// use millstream_ring::{Given, moving_ring};
    /// let (mut giver, mut taker) = moving_ring(4)?;
    /// assert_eq!(giver.give_if(&mut ["a", "b"].into_iter(), 4, || false), Err(vec!["a", "b"]));
    /// assert_eq!(giver.give_if(&mut ["c"].into_iter(), 4, || true), Ok(Given::All(1)));
    /// assert_eq!(taker.take(8).collect::<String>(), "c");
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
    ) -> Result<Given, Vec<T>> {
        assert!(most > 0, "at most 0 values to give");
        let claim = match self.producer.try_claim(most) {
            Ok(Some(claim)) => claim,
            Ok(None) => return Ok(Given::Full),
            Err(_) => return Ok(Given::Ended),
        };
        let room = claim.len();
        let mut written = Written(Some((claim, may_show)));
        let moved = written.0.as_mut().map_or(0, |(claim, _)| claim.extend_with(values, ManuallyDrop::new));
        let refused = written.show();
        if !refused.is_empty() {
            return Err(refused);
        }
        Ok(if moved < room { Given::All(moved) } else { Given::Some(moved) })
    }

    /// Copies values in, as far as there is room, the first ones first; they show together.
    ///
    /// ```
    /// use millstream_ring::{Given, moving_ring};
    /// let (mut giver, mut taker) = moving_ring(2)?;
    /// assert_eq!(giver.give_slice(&[1, 2, 3]), Given::Some(2));
    /// assert_eq!(taker.take(8).sum::<i32>(), 3);
    /// assert_eq!(giver.give_slice(&[3]), Given::All(1));
    /// # Ok::<(), millstream_ring::CapacityError>(())
    /// ```
    #[inline]
    pub fn give_slice(&mut self, values: &[T]) -> Given
    where
        T: Copy,
    {
        if values.is_empty() {
            return Given::All(0);
        }
        let mut claim = match self.producer.try_claim(values.len()) {
            Ok(Some(claim)) => claim,
            Ok(None) => return Given::Full,
            Err(_) => return Given::Ended,
        };
        let copied = claim.extend_with(&mut values.iter().copied(), ManuallyDrop::new);
        claim.publish();
        if copied == values.len() { Given::All(copied) } else { Given::Some(copied) }
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

impl<T: Event> std::fmt::Debug for Giver<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Giver").field("given", &self.given()).finish_non_exhaustive()
    }
}

/// What was written, and who says whether it shows; asked also when the function that writes panics.
struct Written<'p, T: Event, F: FnOnce() -> bool>(Option<(Claim<'p, ManuallyDrop<T>>, F)>);

impl<T: Event, F: FnOnce() -> bool> Written<'_, T, F> {
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

impl<T: Event, F: FnOnce() -> bool> Drop for Written<'_, T, F> {
    #[inline]
    fn drop(&mut self) {
        drop(self.show());
    }
}

/// The end of a [`moving_ring`] that takes values out: there is one. What it leaves is dropped when both ends are gone; until
/// then the ring stays as full as it is.
pub struct Taker<T: Event> {
    rest: Arc<Rest<T>>,
    position: u64,
    seen: u64,
}

impl<T: Event> Taker<T> {
    /// How many values can be taken.
    #[inline]
    pub fn ready(&mut self) -> u64 {
        self.ready_for(u64::MAX)
    }

    /// As [`ready`](Taker::ready), but looks at the other end only where that is less than `want`.
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
    pub fn take(&mut self, most: usize) -> Taken<'_, T> {
        let ready = self.ready_for(most as u64).min(most as u64);
        let Rest { ring, taken } = &*self.rest;
        let len = ring.slots.contiguous(self.position, ready);
        // SAFETY: these numbers are below the cursor and not below what was taken, so they hold values; the giver does not
        // write them before `taken` is beyond them, and this is the only taker, which is borrowed.
        unsafe { Taken::new(&ring.slots, &mut self.position, taken, len) }
    }

    /// The next value, where it is.
    #[inline]
    pub fn head(&mut self) -> Option<&T> {
        (self.ready_for(1) > 0).then(|| {
            // SAFETY: as in `take`, of one number.
            let slice = unsafe { self.rest.ring.slots.slice(self.position) };
            // SAFETY: the slice was made for one slot, and the taker is borrowed for as long as the value is.
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

impl<T: Event> Drop for Taker<T> {
    fn drop(&mut self) {
        // Also where an iterator was forgotten: what it took is not taken again.
        self.rest.taken.store(self.position, Ordering::Release);
    }
}

impl<T: Event> std::fmt::Debug for Taker<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Taker").field("taken", &self.position).finish_non_exhaustive()
    }
}

/// What both ends keep: the last one that goes drops what nobody took.
struct Rest<T: Event> {
    ring: Arc<Shared<ManuallyDrop<T>>>,
    /// Every number below was taken: the giver's gate. The taker alone writes it.
    taken: Counter,
}

impl<T: Event> Drop for Rest<T> {
    fn drop(&mut self) {
        let from = self.taken.load(Ordering::Acquire);
        let upto = self.ring.cursor().min(self.ring.end());
        // SAFETY: both ends are gone. Below the cursor every number from `taken` on holds a value that nobody took.
        unsafe { Moved::new(&self.ring.slots, from..upto).drop_all() };
    }
}
