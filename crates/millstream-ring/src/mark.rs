//! Marks: requests beside the data, each at a number. Every reader sees a mark before it reads that number.
//!
//! The owner of a clock lays a mark at the number that it publishes next. Each stage copies the marks of its input to
//! its output before it publishes their numbers. So all rings of one clock show a mark at one number. A stage that acts
//! at marks reads by a reader that [stops](crate::Reader::stops_at_marks) at each: it lends the mark's number when the
//! stage has [passed](crate::Reader::pass_mark) the mark. Such a stage sees each mark once, after everything below its
//! number and before the number itself. A reader that begins late ignores the marks before its beginning.

use crate::sync::{AtomicU64, Mutex, Ordering, lock};
use millstream_core::SequenceNumber;

/// How many marks a ring keeps.
pub(crate) const MARKS: usize = 16;

/// A request at a number: it concerns everything below the number, and nothing from the number on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mark {
    /// Its number: the first one after the mark. It differs from clock to clock.
    pub at: SequenceNumber,
    /// The id of the request, which is the same on all clocks.
    pub id: u64,
    /// The request.
    pub kind: MarkKind,
}

/// The request of a [`Mark`] to a stage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum MarkKind {
    /// To show its state and to go on.
    Snapshot,
    /// To go on: only the mark's number on each clock matters.
    Cut,
    /// To show its state and to take nothing from the mark's number on.
    Retire,
}

/// The marks of one ring, in the order in which they were laid. Their numbers can be in another order.
pub(crate) struct MarkList {
    /// The last marks, and those before them that some reader has not gone beyond, each with how many were laid before
    /// it.
    marks: Mutex<Vec<(u64, Mark)>>,
    /// The count of marks laid. Stored before the cursor that shows the mark's number.
    laid: AtomicU64,
}

impl MarkList {
    pub(crate) fn new() -> Self {
        MarkList { marks: Mutex::new(Vec::with_capacity(MARKS)), laid: AtomicU64::new(0) }
    }

    /// Lays a mark. Marks below `released` give way, except the last ones: writers that share a gate let it go beyond a
    /// mark that one of them has not seen, since it had nothing to write. If there are too many others, the first one
    /// gives way.
    pub(crate) fn lay(&self, mark: Mark, released: u64) {
        let mut marks = lock(&self.marks);
        let mut before_last = marks.len().saturating_sub(MARKS / 2);
        marks.retain(|(_, mark)| {
            let last = before_last == 0;
            before_last = before_last.saturating_sub(1);
            last || mark.at.0 >= released
        });
        if marks.len() == MARKS {
            marks.remove(0);
        }
        // It is only stored under this lock.
        let before = self.laid.load(Ordering::Relaxed);
        marks.push((before, mark));
        self.laid.store(before + 1, Ordering::Release);
    }

    /// Removes all marks.
    pub(crate) fn forget(&self) {
        lock(&self.marks).clear();
    }

    /// How many marks were laid. A reader calls this after it has acquired the cursor.
    #[inline(always)]
    pub(crate) fn laid(&self) -> u64 {
        self.laid.load(Ordering::Acquire)
    }

    /// Calls `f` with every mark from the `known`-th on. Returns how many are known then.
    pub(crate) fn after(&self, known: u64, f: impl FnMut(Mark)) -> u64 {
        let (laid, coming) = self.listed(known);
        coming.into_iter().flatten().for_each(f);
        laid
    }

    /// How many marks were laid, and those from the `known`-th on that are still listed. It is a copy, since the caller
    /// may lay marks on this list meanwhile.
    fn listed(&self, known: u64) -> (u64, [Option<Mark>; MARKS]) {
        let marks = lock(&self.marks);
        let mut coming = [None; MARKS];
        let new = marks.iter().filter(|(before, _)| *before >= known);
        for (place, (_, mark)) in coming.iter_mut().zip(new) {
            *place = Some(*mark);
        }
        (known.max(self.laid.load(Ordering::Relaxed)), coming)
    }
}

/// The marks from a reader's position on that it knows of.
pub(crate) struct Coming {
    known: u64,
    /// Those that it has not passed.
    marks: Vec<Mark>,
    /// Whether the reader lends no number whose marks it has not passed.
    pub(crate) stops: bool,
}

impl Coming {
    pub(crate) fn new() -> Self {
        Coming { known: 0, marks: Vec::with_capacity(MARKS), stops: false }
    }

    /// The first mark at `position` that was not passed, if there is one. Drops the marks before it.
    pub(crate) fn here(&mut self, list: &MarkList, position: u64) -> Option<Mark> {
        self.refresh(list, position);
        self.marks.iter().copied().find(|mark| mark.at.0 == position)
    }

    /// Passes a mark that [`here`](Coming::here) returned.
    pub(crate) fn pass(&mut self, passed: Mark) {
        self.marks.iter().position(|mark| *mark == passed).map(|place| self.marks.remove(place));
    }

    /// The first mark ahead of `position`, or `position` if the reader stops there: a batch ends before it.
    #[inline(always)]
    pub(crate) fn limit(&mut self, list: &MarkList, position: u64) -> u64 {
        if list.laid() == self.known && self.marks.is_empty() {
            return u64::MAX;
        }
        self.next(list, position)
    }

    #[cold]
    fn next(&mut self, list: &MarkList, position: u64) -> u64 {
        if self.here(list, position).is_some() && self.stops {
            return position;
        }
        self.marks.iter().map(|mark| mark.at.0).filter(|at| *at > position).min().unwrap_or(u64::MAX)
    }

    fn refresh(&mut self, list: &MarkList, position: u64) {
        self.marks.retain(|mark| mark.at.0 >= position);
        let marks = &mut self.marks;
        self.known = list.after(self.known, |mark| {
            if mark.at.0 >= position {
                // One that does not stop may not pass any.
                if marks.len() == MARKS {
                    marks.remove(0);
                }
                marks.push(mark);
            }
        });
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::{MARKS, Mark, MarkKind, MarkList};
    use millstream_core::SequenceNumber;

    #[test]
    fn the_last_marks_stay_however_far_readers_are() {
        let list = MarkList::new();
        let mark = |at: u64| Mark { at: SequenceNumber(at), id: at, kind: MarkKind::Cut };
        let known = |from: u64| {
            let mut known = Vec::new();
            list.after(from, |mark| known.push(mark.id));
            known
        };
        // A writer that had nothing to write has seen none of them, and its group's gate is beyond.
        (1..=4).for_each(|at| list.lay(mark(at), at));
        assert_eq!(known(0), [1, 2, 3, 4]);
        assert_eq!(known(3), [4]);
        // Earlier ones give way if every reader has gone beyond them.
        (5..=100).for_each(|at| list.lay(mark(at), at));
        assert_eq!(known(0), Vec::from_iter(100 - MARKS as u64 / 2..=100));
        // Otherwise they stay, as many as there is room for.
        let list = MarkList::new();
        (1..=100).for_each(|at| list.lay(mark(at), 0));
        let mut count = 0;
        list.after(0, |_| count += 1);
        assert_eq!(count, MARKS);
    }
}
