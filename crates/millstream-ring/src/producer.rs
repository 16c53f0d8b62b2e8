use crate::claim::Claim;
use crate::error::ClaimError;
use crate::gate::{Counter, Gate, Gating};
use crate::last::Last;
use crate::mark::{Mark, MarkKind};
use crate::probe::RingProbe;
use crate::reader::Reader;
use crate::shared::Shared;
use crate::sweeper::Sweeper;
use crate::sync::{Arc, AtomicU64};
use crate::view::Leaf;
use crate::wiring::reader_at;
use crossbeam_utils::CachePadded;
use millstream_core::{Density, Item, SequenceNumber, Val};

/// The writing end of a ring: there is one, and it never overtakes a reader.
///
/// It also drops the values. Each is dropped exactly once, when every reader has released it and the producer takes its
/// next step ([`try_claim`](Producer::try_claim), [`sweep`](Producer::sweep) or [`try_end`](Producer::try_end)), or
/// with the ring. If the drop of one panics, the others are dropped all the same. A [`Sweeper`] can do this in its
/// place. The value of END on an edge that is filled only [at END](millstream_core::AtEnd) is dropped with the ring.
pub struct Producer<S: Item> {
    pub(crate) shared: Arc<Shared<S>>,
    gating: Gating,
    /// The next number to publish.
    pub(crate) next: u64,
    /// Numbers below this one can be claimed without reading the gates.
    limit: u64,
    ended: bool,
    pub(crate) abandoned: Option<u64>,
    /// A [`Sweeper`] drops the values; `swept` is how far it is.
    apart: bool,
}

impl<S: Item> Producer<S> {
    /// The only producer of a ring whose first number is `first`.
    pub(crate) fn new(shared: Arc<Shared<S>>, first: u64) -> Self {
        let (next, limit) = (first, first);
        Producer { shared, gating: Gating::new(), next, limit, ended: false, abandoned: None, apart: false }
    }

    /// Claims the free slots, at most `n`, or returns none if the ring is full.
    ///
    /// A claim can be partial, and `n` can exceed the ring's capacity: a stage whose batch is larger than the ring
    /// moves as much as fits, so rings of any size do not deadlock. [`try_claim_all`](Producer::try_claim_all) claims
    /// no less than `n`.
    ///
    /// # Errors
    ///
    /// If `n` is 0, or the stream has ended.
    #[inline]
    pub fn try_claim(&mut self, n: usize) -> Result<Option<Claim<'_, S>>, ClaimError> {
        let room = self.room_for_claim(n)?;
        Ok((room > 0).then(|| Claim::new(self, room)))
    }

    /// Claims `n` free slots, or returns none if fewer are free.
    ///
    /// # Errors
    ///
    /// If `n` is 0, or the stream has ended, or `n` exceeds the ring's capacity: there would never be room.
    #[inline]
    pub fn try_claim_all(&mut self, n: usize) -> Result<Option<Claim<'_, S>>, ClaimError> {
        let capacity = self.capacity();
        if n > capacity {
            return Err(ClaimError::TooLarge { slots: n, capacity });
        }
        let room = self.room_for_claim(n)?;
        Ok((room == n).then(|| Claim::new(self, room)))
    }

    /// Free slots, at most `n`.
    #[inline]
    fn room_for_claim(&mut self, n: usize) -> Result<usize, ClaimError> {
        if n == 0 {
            return Err(ClaimError::Zero);
        }
        if self.ended {
            return Err(ClaimError::Ended);
        }
        Ok(self.room(n as u64) as usize)
    }

    /// Publishes the free slots, at most `n`, in one call: `f` of 0, 1, ... in order. Returns their number: 0 if the
    /// ring is full.
    ///
    /// If `f` panics, none of them is published, and the values that it returned are dropped.
    ///
    /// # Errors
    ///
    /// As [`try_claim`](Producer::try_claim).
    #[inline]
    pub fn fill(&mut self, n: usize, f: impl FnMut(usize) -> S) -> Result<usize, ClaimError> {
        let Some(mut claim) = self.try_claim(n)? else { return Ok(0) };
        let len = claim.len();
        claim.fill(len, f);
        claim.publish();
        Ok(len)
    }

    /// Free slots, at most `want`.
    #[inline]
    fn room(&mut self, want: u64) -> u64 {
        if std::mem::needs_drop::<S>() && !self.apart || self.limit.saturating_sub(self.next) < want {
            self.read_gates();
        }
        want.min(self.limit.saturating_sub(self.next))
    }

    fn read_gates(&mut self) {
        let released = self.gating.released(&self.shared.gates, self.next);
        if self.apart {
            // Acquires the gates through the sweeper, which has read them.
            self.limit = self.shared.swept() + self.shared.slots.capacity();
            return;
        }
        // SAFETY: all readers have released the numbers below `released`, which are published, so each slot holds a
        // value that no reader looks at; the single producer is the only one that sweeps, unless it has left that to a
        // sweeper.
        unsafe { self.shared.sweep(released) };
        self.limit = released + self.shared.slots.capacity();
    }

    /// Drops the values that every reader has released. A step with nothing to publish calls this, so that an idle ring
    /// keeps no values alive.
    #[inline]
    pub fn sweep(&mut self) {
        if std::mem::needs_drop::<S>() && !self.apart && self.gating.cached() < self.next {
            self.read_gates();
        }
    }

    /// Moves the dropping of values to a [`Sweeper`]: for a producer that is used under a lock, so that no value's drop
    /// runs under that lock. From now on the producer has room up to the last swept number, and its own steps drop
    /// nothing. A ring has one sweeper: a second call returns none. Types without `Drop` need none, since their slots
    /// are free once released, so for them this also returns none.
    ///
    /// ```
    /// use millstream::{prelude::*, ring::ring};
    /// let (mut producer, mut reader) = ring::<String, Dense>(1)?;
    /// let mut sweeper = producer.sweep_apart().expect("this is the first call");
    /// let mut claim = producer.try_claim(1)?.expect("the ring is empty");
    /// claim.write("a".to_owned());
    /// claim.publish();
    /// drop(reader.batch(1));
    /// assert_eq!(producer.free(), 0);
    /// assert!(sweeper.sweep());
    /// assert_eq!(producer.free(), 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn sweep_apart(&mut self) -> Option<Sweeper<S>> {
        if self.apart || !std::mem::needs_drop::<S>() {
            return None;
        }
        self.apart = true;
        Some(Sweeper::new(self.shared.clone()))
    }

    /// Lays a mark at the next number to be published. Every reader sees it when it reaches that number. This drops no
    /// value, so it may be done under a lock.
    ///
    /// The ring keeps the last sixteen marks that some reader has not gone beyond. Lay a further one when every reader
    /// has seen the one sixteen before.
    pub fn mark(&mut self, id: u64, kind: MarkKind) -> Mark {
        let mark = Mark { at: SequenceNumber(self.next), id, kind };
        self.copy_mark(mark);
        mark
    }

    /// As [`mark`](Producer::mark), a mark of another ring of the same clock at its own number.
    ///
    /// # Panics
    ///
    /// If that number was published already: whatever happens at N is decided before N is published.
    pub fn copy_mark(&mut self, mark: Mark) {
        assert!(mark.at.0 >= self.next, "a mark at number {}, but number {} comes next", mark.at, self.next);
        let released = self.shared.gates.least().map_or(self.next, |least| least.min(self.next));
        self.shared.marks().0.lay(mark, released);
    }

    /// Publishes END. A slot in `last` needs room in the ring.
    ///
    /// # Errors
    ///
    /// Returns the slot if the ring is full: try again later.
    ///
    /// # Panics
    ///
    /// If the stream has ended already.
    pub fn try_end(&mut self, last: Option<S>) -> Result<(), S> {
        self.try_end_with(last.map(Last::from)).map_err(|last| last.slot.expect("END without a slot needs no room"))
    }

    /// As [`try_end`](Producer::try_end), on an edge of any density. A value of END that is kept beside the slots needs
    /// no room.
    ///
    /// # Errors
    ///
    /// As [`try_end`](Producer::try_end).
    ///
    /// # Panics
    ///
    /// As [`try_end`](Producer::try_end).
    pub fn try_end_with(&mut self, last: Option<Last<S>>) -> Result<(), Last<S>> {
        assert!(!self.ended, "a stream ends once");
        self.sweep();
        let end = self.next;
        match last {
            Some(last) if last.slot.is_some() && self.room(1) == 0 => return Err(last),
            // SAFETY: if END has a slot there is room, so every reader has released the former value of its cell, the
            // sweep has dropped it, and no reader looks at this number before it is published.
            last => unsafe { self.shared.write_end(end, last) },
        }
        self.ended = true;
        self.next = end + 1;
        self.shared.publish(self.next);
        Ok(())
    }

    /// Whether nothing is in this ring, and it has not ended: every reader has released everything. Drops what they
    /// have released.
    pub(crate) fn is_drained(&mut self) -> bool {
        if self.ended || self.apart {
            return false;
        }
        self.read_gates();
        self.gating.cached() == self.next
    }

    /// The gates of its readers that were not dropped, as they were read last.
    pub(crate) fn gates(&self) -> impl Iterator<Item = &Gate> {
        self.gating.gates()
    }

    /// The next `n` numbers pass without slots, in a ring that is [drained](Producer::is_drained) and whose readers
    /// pass them too. `filled` of them have a value; none if it is not known.
    pub(crate) fn pass_by(&mut self, n: usize, filled: Option<usize>) {
        if let (Some(filled), Some(sampler)) = (filled, self.shared.sampler().filter(|sampler| sampler.takes_this())) {
            sampler.count(n, n - filled);
        }
        self.next += n as u64;
        self.shared.pass_by(self.next);
    }

    /// Adds a reader from the next number on. (A [`Reader`] can be forked at its own number.)
    pub fn reader<T: Item, D: Density<Slot<T> = S>>(&mut self) -> Reader<Val<T, D>> {
        reader_at(&self.shared, self.next)
    }

    /// The next number to be published.
    #[must_use]
    pub fn next(&self) -> SequenceNumber {
        SequenceNumber(self.next)
    }

    /// Whether END is published, and no value of the numbers up to it is left in the ring.
    #[must_use]
    pub fn is_swept(&self) -> bool {
        self.ended && (!std::mem::needs_drop::<S>() || self.shared.swept() >= self.shared.slots_below(self.next))
    }

    /// Whether END is published.
    #[must_use]
    pub fn ended(&self) -> bool {
        self.ended
    }

    /// The number of slots of the ring.
    #[must_use]
    pub fn capacity(&self) -> usize {
        self.shared.slots.capacity() as usize
    }

    /// Whether a slot is free. The gates are read only if none was free when they were read last.
    #[inline]
    pub fn has_room(&mut self) -> bool {
        self.room(1) > 0
    }

    /// The number of free slots, by the current gates.
    pub fn free(&mut self) -> usize {
        self.room(u64::MAX) as usize
    }

    /// The ring's counters, for observers.
    #[must_use]
    pub fn probe(&self) -> RingProbe {
        self.shared.probe()
    }

    /// How often the gates were read. The cached minimum makes this about once a lap for values without `Drop`. Values
    /// with `Drop` are dropped at the next claim after their release, so each claim reads the gates: claim many slots
    /// at a time.
    #[must_use]
    pub fn gate_scans(&self) -> u64 {
        self.gating.scans()
    }

    /// The number at which the last claim was dropped without being published: the number at which a stage panicked.
    #[must_use]
    pub fn abandoned_at(&self) -> Option<SequenceNumber> {
        self.abandoned.map(SequenceNumber)
    }
}

/// A reader's end of `shared` from number `position` on, and its gate, which the caller adds.
pub(crate) fn leaf_at<S: Item>(shared: &Arc<Shared<S>>, position: u64) -> (Gate, Leaf<S>) {
    let counter = Counter::new(CachePadded::new(AtomicU64::new(position)));
    (Gate::Reader(counter.clone()), Leaf::new(shared.clone(), Gate::Reader(counter)))
}

impl<S: Item> std::fmt::Debug for Producer<S> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Producer").field("next", &self.next).field("ended", &self.ended).finish_non_exhaustive()
    }
}
