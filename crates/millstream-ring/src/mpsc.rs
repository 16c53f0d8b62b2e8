//! A ring with several senders and one receiver, which moves the values out.

use crate::error::CapacityError;
use crate::gate::Counter;
use crate::slots::Slots;
use crate::spsc::received::{Moved, Received};
use crate::sync::{Arc, AtomicU64, Ordering};
use crossbeam_utils::CachePadded;
use millstream_core::Item;
use std::collections::VecDeque;
use std::mem::ManuallyDrop;

/// Set in `claimed` when the ring is closed to further claims.
const CLOSED: u64 = 1 << 63;

/// A ring that any number of senders fill and one receiver empties.
///
/// Every sender claims numbers by compare-and-swap, and every slot has a flag that it is filled; therefore no sender
/// waits for a slower one, and only the receiver does. Memory does not grow with the number of senders, but they
/// contend for the same counter: for a few senders, an [`spsc::ring`](crate::spsc::ring) each is several times faster.
/// Anchor: the multi-producer sequencer of the LMAX Disruptor.
///
/// ```
/// use millstream::ring::mpsc::ring;
/// use std::collections::VecDeque;
///
/// let (mut first, mut receiver) = ring::<char>(4)?;
/// let mut second = first.another(7);
/// assert_eq!(first.give(&mut VecDeque::from(['a', 'b'])), Some(2));
/// assert_eq!(second.give(&mut VecDeque::from(['c'])), Some(1));
/// let (sender, values) = receiver.take_run(8);
/// assert_eq!((sender, values.collect::<String>()), (0, "ab".to_owned()));
/// assert_eq!(receiver.take(8).collect::<String>(), "c");
/// first.close();
/// assert_eq!(second.give(&mut VecDeque::from(['d'])), None);
/// assert!(receiver.ended());
/// # Ok::<(), millstream::ring::CapacityError>(())
/// ```
///
/// # Errors
///
/// If `capacity` is not a power of two.
pub fn ring<T: Item>(capacity: usize) -> Result<(Sender<T>, Receiver<T>), CapacityError> {
    if !capacity.is_power_of_two() {
        return Err(CapacityError { slots: capacity });
    }
    let several = Arc::new(Several {
        slots: Slots::new(capacity),
        filled: (0..capacity).map(|_| AtomicU64::new(0)).collect(),
        claimed: CachePadded::new(AtomicU64::new(0)),
        taken: Counter::new(CachePadded::new(AtomicU64::new(0))),
    });
    let sender = Sender { several: several.clone(), id: 0, known: 0 };
    Ok((sender, Receiver { several, position: 0 }))
}

struct Several<T> {
    slots: Slots<ManuallyDrop<T>>,
    /// Of every slot: the lap in which it was filled last, counted from 1, and the id of its sender.
    filled: Box<[AtomicU64]>,
    /// The next number that is not claimed.
    claimed: CachePadded<AtomicU64>,
    /// Every number below was taken. The receiver alone writes it.
    taken: Counter,
}

impl<T> Several<T> {
    fn filled(&self, n: u64) -> &AtomicU64 {
        &self.filled[(n & (self.slots.capacity() - 1)) as usize]
    }

    /// The value of `filled` once number `n` is filled, without the sender's id. In the lap before it always differs:
    /// no sender fills a slot again before its value is taken.
    fn lap(&self, n: u64) -> u64 {
        (n / self.slots.capacity() + 1) << 32
    }

    /// The id of the sender that has filled number `n`, if it is filled. Acquires the value.
    #[inline]
    fn filler(&self, n: u64) -> Option<u32> {
        let filled = self.filled(n).load(Ordering::Acquire);
        (filled >> 32 == self.lap(n) >> 32).then_some(filled as u32)
    }
}

/// A sender of a [`ring`].
pub struct Sender<T> {
    several: Arc<Several<T>>,
    id: u32,
    /// Every number below was taken at the last look.
    known: u64,
}

impl<T: Item> Sender<T> {
    /// Another sender, with this id for the receiver; the first sender's id is 0.
    #[must_use]
    pub fn another(&self, id: u32) -> Self {
        Sender { several: self.several.clone(), id, known: self.known }
    }

    /// Moves values in from the front, as far as there is room. Returns how many, or none if the ring is closed.
    ///
    /// Between the claim and the last value nothing runs that can fail: a sender that stopped there would block the
    /// ring.
    pub fn give(&mut self, values: &mut VecDeque<T>) -> Option<usize> {
        let (first, len) = self.claim(values.len() as u64)?;
        let ring = &*self.several;
        let sent = (first..first + len).zip(values.drain(..len as usize));
        for (n, value) in sent {
            // SAFETY: this sender alone has claimed the number, and the former value of its cell was taken, which
            // `room` has acquired; the receiver does not look at the cell before `filled` says so.
            unsafe { ring.slots.cells(n).write(0, ManuallyDrop::new(value)) };
            ring.filled(n).store(ring.lap(n) | u64::from(self.id), Ordering::Release);
        }
        Some(len as usize)
    }

    /// Claims at most `want` numbers. Returns the first one and how many, or none if the ring is closed.
    fn claim(&mut self, want: u64) -> Option<(u64, u64)> {
        let mut next = self.several.claimed.load(Ordering::Relaxed);
        loop {
            if next & CLOSED != 0 {
                return None;
            }
            let len = want.min(self.room(next, want));
            if len == 0 {
                return Some((next, 0));
            }
            // A claim must see what the receiver has done, which `room` has acquired.
            let claimed = &self.several.claimed;
            match claimed.compare_exchange_weak(next, next + len, Ordering::Relaxed, Ordering::Relaxed) {
                Ok(_) => return Some((next, len)),
                Err(now) => next = now,
            }
        }
    }

    /// How many numbers from `next` on have free slots. The result is exact if it is less than `want`.
    fn room(&mut self, next: u64, want: u64) -> u64 {
        let capacity = self.several.slots.capacity();
        if (self.known + capacity).saturating_sub(next) < want {
            self.known = self.several.taken.load(Ordering::Acquire);
        }
        (self.known + capacity).saturating_sub(next)
    }

    /// The number of free slots; 0 if the ring is closed.
    pub fn free(&mut self) -> usize {
        let next = self.several.claimed.load(Ordering::Relaxed);
        if next & CLOSED != 0 { 0 } else { self.room(next, u64::MAX).min(self.several.slots.capacity()) as usize }
    }

    /// Closes the ring at once: numbers that are claimed already are still filled, and no further ones.
    pub fn close(&self) {
        self.several.claimed.fetch_or(CLOSED, Ordering::Relaxed);
    }

    /// Whether the ring is closed.
    #[must_use]
    pub fn closed(&self) -> bool {
        self.several.claimed.load(Ordering::Relaxed) & CLOSED != 0
    }

    /// How many numbers all senders together have claimed.
    #[must_use]
    pub fn claimed(&self) -> u64 {
        self.several.claimed.load(Ordering::Relaxed) & !CLOSED
    }
}

/// The receiver of a [`ring`]. Values that it leaves are dropped when all ends are dropped; until then the ring stays
/// as full as it is.
pub struct Receiver<T> {
    several: Arc<Several<T>>,
    position: u64,
}

impl<T: Item> Receiver<T> {
    /// Takes at most `most` values out: the contiguous ones that are filled.
    #[inline]
    pub fn take(&mut self, most: usize) -> Received<'_, T> {
        self.take_while(most, |_| true)
    }

    /// As [`take`](Receiver::take), of one sender, with that sender's id. If there are no values, the id has no
    /// meaning.
    #[inline]
    pub fn take_run(&mut self, most: usize) -> (u32, Received<'_, T>) {
        let sender = self.several.filler(self.position).unwrap_or(0);
        (sender, self.take_while(most, |id| id == sender))
    }

    #[inline]
    fn take_while(&mut self, most: usize, wanted: impl Fn(u32) -> bool) -> Received<'_, T> {
        let ring = &*self.several;
        let most = ring.slots.contiguous(self.position, most as u64);
        let is_wanted = |n: &u64| ring.filler(*n).is_some_and(&wanted);
        let len = (self.position..self.position + most).take_while(is_wanted).count() as u64;
        // SAFETY: these numbers are filled in this lap, which was acquired, and no sender writes them before `taken` is
        // beyond them; this is the only receiver, and it is borrowed.
        unsafe { Received::new(&ring.slots, &mut self.position, &ring.taken, len) }
    }

    /// Whether the next value is filled.
    #[must_use]
    pub fn is_ready(&self) -> bool {
        self.several.filler(self.position).is_some()
    }

    /// Whether the ring is closed and everything was taken.
    #[must_use]
    pub fn ended(&self) -> bool {
        self.several.claimed.load(Ordering::Relaxed) == self.position | CLOSED
    }

    /// How many values were claimed and not taken.
    #[must_use]
    pub fn backlog(&self) -> u64 {
        (self.several.claimed.load(Ordering::Relaxed) & !CLOSED) - self.position
    }
}

impl<T> Drop for Receiver<T> {
    fn drop(&mut self) {
        // Also if an iterator was forgotten: the values that it covered are not taken again.
        self.several.taken.store(self.position, Ordering::Release);
    }
}

impl<T> Drop for Several<T> {
    fn drop(&mut self) {
        let from = self.taken.load(Ordering::Relaxed);
        let upto = self.claimed.load(Ordering::Relaxed) & !CLOSED;
        // SAFETY: all ends are dropped, so every claimed number is filled, and the values from `taken` on were not
        // taken.
        unsafe { Moved::new(&self.slots, from..upto).drop_all() };
    }
}

impl<T> std::fmt::Debug for Sender<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Sender").field("id", &self.id).finish_non_exhaustive()
    }
}

impl<T> std::fmt::Debug for Receiver<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Receiver").field("taken", &self.position).finish_non_exhaustive()
    }
}
