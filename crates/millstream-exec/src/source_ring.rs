//! The source's end of its ring: it owns the clock on which marks are laid, and forks the ring for a new version of the
//! pipeline.

use crate::marks::Marks;
use millstream_core::{Dense, Item, SequenceNumber, Val};
use millstream_ring::{Claim, ClaimError, MarkKind, Producer, Reader};
use std::sync::{Arc, Mutex, PoisonError};

/// The producer of a source's ring.
pub(crate) struct SourceRing<T: Item> {
    pub(crate) producer: Producer<T>,
    /// The run's first number.
    pub(crate) first: SequenceNumber,
    fork: Arc<dyn Forks<T>>,
}

/// Keeps a new reader of the source's ring. A trait object, so that a type whose values hold senders of their own type
/// is `Send`: whether a reader of them is, depends on that.
trait Forks<T: Item>: Send + Sync {
    /// Keeps a reader from the producer's next number on.
    fn fork(&self, producer: &mut Producer<T>);
}

impl<T: Item> SourceRing<T> {
    pub(crate) fn new(producer: Producer<T>, fork: Arc<SourceFork<T>>) -> Self {
        SourceRing { first: producer.next(), producer, fork }
    }

    /// Lays a mark at the next number if one is due. The source calls this before it publishes; if it returns true and
    /// publishes nothing, other threads have to be woken for the mark.
    #[inline]
    pub(crate) fn lay(&mut self, marks: &Marks) -> bool {
        if !marks.is_due(self.producer.next()) {
            return false;
        }
        marks.lay(self)
    }

    /// Free slots, at most `n`, and none from the number on at which the next mark is due. None if the ring is full, or
    /// if the next number has to wait for the mark of a change. Drops released values, as the producer does.
    #[inline]
    pub(crate) fn try_claim(&mut self, marks: &Marks, n: usize) -> Result<Option<Claim<'_, T>>, ClaimError> {
        match marks.distance(self.producer.next()) {
            0 => {
                self.producer.sweep();
                Ok(None)
            }
            most => self.producer.try_claim(n.min(most)),
        }
    }

    /// How many numbers could be published now.
    pub(crate) fn free(&mut self, marks: &Marks) -> usize {
        self.producer.free().min(marks.distance(self.producer.next()))
    }

    /// Publishes END, unless its number has to wait for the mark of a change, or of the snapshot before it. Returns
    /// whether END is published.
    #[must_use]
    pub(crate) fn try_end(&mut self, marks: &Marks) -> bool {
        if !self.producer.ended() {
            if marks.distance(self.producer.next()) == 0 || !marks.lay_before_end(self) {
                self.producer.sweep();
                return false;
            }
            // END without a slot needs no room.
            let _ = self.producer.try_end(None);
        }
        true
    }

    /// Lays this mark at the next number, and leaves a reader that begins there if it `forks`.
    pub(crate) fn mark(&mut self, id: u64, kind: MarkKind, forks: bool) {
        self.producer.mark(id, kind);
        if forks {
            self.fork.fork(&mut self.producer);
        }
    }
}

/// A reader of the source's ring that begins at the mark at which the present readers end.
pub(crate) struct SourceFork<T: Item>(Mutex<Option<Reader<Val<T, Dense>>>>);

impl<T: Item> SourceFork<T> {
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(SourceFork(Mutex::new(None)))
    }

    pub(crate) fn take(&self) -> Option<Reader<Val<T, Dense>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

impl<T: Item> Forks<T> for SourceFork<T> {
    fn fork(&self, producer: &mut Producer<T>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(producer.reader());
    }
}
