//! Marks: notes beside the data, each at a number, that every reader sees when it comes to that number.

use crate::error::MarksFull;
use crate::sync::{AtomicU64, Mutex, Ordering, lock};
use millstream_core::SequenceNumber;
use std::collections::VecDeque;

/// How many marks a ring can hold that some reader has not come to.
pub(crate) const MARKS: usize = 16;

/// A note at a number: what it means is the business of whoever laid it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mark {
    /// The number it lies at: the first one that comes behind it.
    pub at: SequenceNumber,
    /// What it means.
    pub id: u64,
}

/// The marks of one ring, in the order of their numbers.
pub(crate) struct MarkList {
    /// The count of marks removed, and the marks that are left.
    marks: Mutex<(u64, VecDeque<Mark>)>,
    /// The count of marks laid. Stored before the cursor that shows the mark's number.
    laid: AtomicU64,
}

impl MarkList {
    pub(crate) fn new() -> Self {
        MarkList { marks: Mutex::new((0, VecDeque::with_capacity(MARKS))), laid: AtomicU64::new(0) }
    }

    /// Lays a mark. Marks below `released` have been seen by every reader and make room.
    pub(crate) fn lay(&self, mark: Mark, released: u64) -> Result<(), MarksFull> {
        let mut marks = lock(&self.marks);
        let (removed, list) = &mut *marks;
        while list.front().is_some_and(|oldest| oldest.at.0 < released) {
            list.pop_front();
            *removed += 1;
        }
        if list.len() == MARKS {
            return Err(MarksFull);
        }
        list.push_back(mark);
        self.laid.store(*removed + list.len() as u64, Ordering::Release);
        Ok(())
    }

    /// How many marks were laid, as far as a reader can know that has just acquired the cursor.
    #[inline(always)]
    pub(crate) fn laid(&self) -> u64 {
        self.laid.load(Ordering::Acquire)
    }

    /// Calls `f` with every mark from the `known`-th on, until it says stop; returns how many are known then.
    pub(crate) fn after(&self, known: u64, mut f: impl FnMut(Mark) -> bool) -> u64 {
        let (mut now, coming) = self.snapshot(known);
        for mark in coming.into_iter().flatten() {
            if !f(mark) {
                break;
            }
            now += 1;
        }
        now
    }

    /// The marks from the `known`-th on, or from the first one that is left; its count, too. A copy: what is done with
    /// them may lay marks here.
    fn snapshot(&self, known: u64) -> (u64, [Option<Mark>; MARKS]) {
        let marks = lock(&self.marks);
        let (removed, list) = &*marks;
        let first = known.max(*removed);
        let mut coming = [None; MARKS];
        for (place, mark) in coming.iter_mut().zip(list.iter().skip((first - removed) as usize)) {
            *place = Some(*mark);
        }
        (first, coming)
    }
}

/// The marks that a reader has seen coming.
pub(crate) struct Coming {
    known: u64,
    marks: VecDeque<Mark>,
}

impl Coming {
    pub(crate) fn new() -> Self {
        Coming { known: 0, marks: VecDeque::with_capacity(MARKS) }
    }

    /// A mark at `position`, without marks behind us.
    pub(crate) fn here(&mut self, list: &MarkList, position: u64) -> Option<Mark> {
        self.refresh(list, position);
        self.marks.front().copied().filter(|mark| mark.at.0 == position)
    }

    /// The first mark ahead of `position`: a batch ends there.
    #[inline(always)]
    pub(crate) fn limit(&mut self, list: &MarkList, position: u64) -> u64 {
        if list.laid() == self.known && self.marks.is_empty() {
            return u64::MAX;
        }
        self.refresh(list, position);
        self.marks.iter().map(|mark| mark.at.0).find(|at| *at > position).unwrap_or(u64::MAX)
    }

    #[cold]
    fn refresh(&mut self, list: &MarkList, position: u64) {
        while self.marks.front().is_some_and(|mark| mark.at.0 < position) {
            self.marks.pop_front();
        }
        let marks = &mut self.marks;
        self.known = list.after(self.known, |mark| {
            if mark.at.0 >= position {
                marks.push_back(mark);
            }
            true
        });
    }
}
