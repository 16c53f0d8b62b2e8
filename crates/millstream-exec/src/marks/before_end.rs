//! The snapshot before END: its mark is laid at END's number, once there is no further value, and END waits until it
//! can be laid.

use super::{Book, Marks};
use crate::snapshot::Snapshot;
use crate::source_ring::SourceRing;
use millstream_core::{Item, SequenceNumber};
use std::fmt;
use std::sync::Arc;

/// The function that takes the snapshot before END.
#[derive(Clone)]
pub(crate) struct AtEnd(pub(crate) Arc<dyn Fn(Snapshot) + Send + Sync>);

impl PartialEq for AtEnd {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for AtEnd {}

impl fmt::Debug for AtEnd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AtEnd").finish_non_exhaustive()
    }
}

/// How far the snapshot before END is.
#[derive(Default)]
pub(super) enum BeforeEnd {
    /// There is to be none, or it is taken.
    #[default]
    Over,
    /// Its mark is not laid.
    Wanted {
        take: AtEnd,
        end_waits: bool,
    },
    /// The mark with this id is laid, and some tasklet has not passed it.
    Laid(u64, AtEnd),
    Ready(AtEnd, Snapshot),
}

impl BeforeEnd {
    pub(super) fn of(take: Option<AtEnd>) -> Self {
        take.map_or(BeforeEnd::Over, |take| BeforeEnd::Wanted { take, end_waits: false })
    }

    /// There is no further value. Returns whether END has to wait.
    fn wait(&mut self) -> bool {
        match self {
            BeforeEnd::Wanted { end_waits, .. } => {
                *end_waits = true;
                true
            }
            _ => false,
        }
    }

    /// Whether END waits until its mark is laid.
    pub(super) fn end_waits(&self) -> bool {
        matches!(self, BeforeEnd::Wanted { end_waits: true, .. })
    }

    /// The mark with this id is about to be laid. Returns whether it is the one for which END waits.
    pub(super) fn lay(&mut self, id: u64) -> bool {
        if !self.end_waits() {
            return false;
        }
        if let BeforeEnd::Wanted { take, .. } = std::mem::take(self) {
            *self = BeforeEnd::Laid(id, take);
        }
        true
    }

    /// All have passed the mark with this id. Returns whether it was the one before END.
    pub(super) fn pass(&mut self, id: u64, snapshot: &Snapshot) -> bool {
        match std::mem::take(self) {
            BeforeEnd::Laid(laid, take) if laid == id => *self = BeforeEnd::Ready(take, snapshot.clone()),
            other => {
                *self = other;
                return false;
            }
        }
        true
    }

    /// Whether [`Marks::tell`] has something to do.
    pub(super) fn is_news(&self) -> bool {
        self.end_waits() || matches!(self, BeforeEnd::Ready(..))
    }

    pub(super) fn take_ready(&mut self) -> Option<(AtEnd, Snapshot)> {
        match std::mem::take(self) {
            BeforeEnd::Ready(take, snapshot) => Some((take, snapshot)),
            other => {
                *self = other;
                None
            }
        }
    }
}

impl Marks {
    /// Called when there is no further value. Lays the mark of the snapshot before END, if there is to be one. Returns
    /// whether END may follow: not while an earlier mark is under way, or a change is to be made at this number.
    #[cold]
    pub(crate) fn lay_before_end<T: Item>(&self, source: &mut SourceRing<T>) -> bool {
        let mut book = self.book();
        if book.closed || !book.before_end.wait() {
            return true;
        }
        // The mark of a change is laid where other threads are woken for it.
        if !book.changes_at(source.producer.next()) {
            self.lay_in(&mut book, source);
        }
        self.settle(&book);
        !book.before_end.end_waits()
    }
}

impl Book {
    /// Whether a mark is wanted at the next number, whichever that is.
    pub(super) fn asks(&self) -> bool {
        self.asked > self.laid || self.wanted.is_some() || self.before_end.end_waits()
    }

    /// Whether a change is to be made at this number, the next one.
    fn changes_at(&self, next: SequenceNumber) -> bool {
        self.wanted.is_some() || self.before_change(next) == 0
    }
}
