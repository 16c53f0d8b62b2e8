//! Marks at which no state is copied: several are under way at once, so that a stage works at what is behind one while
//! later stages work at what is before it.

use super::{Book, Cut, Marks};
use millstream_ring::MarkKind;
use std::sync::atomic::Ordering;

/// The most cuts that are under way at once: half of the marks that a ring keeps, since cuts without a value between
/// them stay there together with those that all have passed.
const MOST: usize = 8;

/// How many passed marks' numbers are kept.
const KEPT: usize = 4 * MOST;

impl Book {
    /// Whether the mark that is asked for can be laid behind those under way. The policy's snapshots are not asked for,
    /// and may be next.
    pub(super) fn takes_another(&self) -> bool {
        let asks_for_states = self.wants_states || self.every.is_some() || self.before_end.end_waits();
        let asks_for_cut = self.wanted.is_none() && !asks_for_states;
        self.passing.is_empty() || (asks_for_cut && self.only_cuts() && self.passing.len() < MOST)
    }

    fn only_cuts(&self) -> bool {
        self.passing.iter().all(|passing| passing.kind == MarkKind::Cut)
    }

    /// Keeps the numbers of a mark that all have passed.
    pub(super) fn note(&mut self, id: u64, cut: Cut) {
        if self.cuts.len() == KEPT {
            self.cuts.pop_front();
        }
        self.cuts.push_back((id, cut));
    }
}

impl Marks {
    /// Whether no other marks are under way than those at which no state is copied and nothing is carried out.
    pub(crate) fn only_cuts(&self) -> bool {
        self.book().only_cuts()
    }

    /// Whether this mark is laid.
    pub(crate) fn has_laid(&self, id: u64) -> bool {
        self.book().laid >= id
    }

    /// Whether all have passed this mark, or a later one: a mark at the same number may be passed before it.
    pub(crate) fn may_have_passed(&self, id: u64) -> bool {
        self.noted.load(Ordering::Relaxed) >= id
    }

    /// The numbers of this mark, or else of the first later one that is kept, once all have passed it.
    pub(crate) fn passed_cut(&self, id: u64) -> Option<Cut> {
        self.book().cuts.iter().find(|(of, _)| *of >= id).map(|(_, cut)| *cut)
    }

    /// The numbers of this mark, once all have passed it. If they are no longer kept, the inner value is `None`.
    pub(crate) fn passed_this_cut(&self, id: u64) -> Option<Option<Cut>> {
        let book = self.book();
        // Two marks at one number may be passed in another order.
        let passed = book.cuts.iter().find(|(of, _)| *of == id).map(|(_, cut)| *cut);
        let waits = id > book.laid || book.passing.iter().any(|passing| passing.id == id);
        if passed.is_none() && waits { None } else { Some(passed) }
    }
}
