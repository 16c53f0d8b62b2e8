//! Which changes are asked for, and when a version beside the run's no longer counts.

use super::{Book, Change, Marks};
use crate::UpgradeError;
use crate::upgrade::ShadowEnd;
use crate::upgrade::shadow_state::ShadowState;
use millstream_core::SequenceNumber;
use std::sync::Arc;
use std::sync::atomic::Ordering;

impl Book {
    pub(super) fn plan(&mut self, at: SequenceNumber, change: Box<dyn Change>) {
        let place = self.planned.partition_point(|(other, _)| *other <= at);
        self.planned.insert(place, (at, change));
    }

    /// Plans the change that follows an earlier one: it comes before others at its number.
    pub(super) fn plan_next(&mut self, at: SequenceNumber, change: Box<dyn Change>) {
        let place = self.planned.partition_point(|(other, _)| *other < at);
        self.planned.insert(place, (at, change));
    }

    /// The planned changes that have nothing to carry out any more, which are planned no longer.
    pub(super) fn take_moot(&mut self) -> Vec<Box<dyn Change>> {
        let planned = std::mem::take(&mut self.planned);
        let (moot, planned) = planned.into_iter().partition(|(_, change)| change.is_moot());
        self.planned = planned;
        moot.into_iter().map(|(_, change)| change).collect()
    }
}

impl Marks {
    /// Plans a change at this number.
    pub(crate) fn plan_change(&self, at: SequenceNumber, change: Box<dyn Change>) {
        let mut book = self.book();
        book.plan(at, change);
        self.settle(&book);
    }

    /// Drops the planned changes that are moot.
    pub(crate) fn drop_moot(&self) {
        let mut book = self.book();
        let moot = book.take_moot();
        self.settle(&book);
        drop(book);
        drop(moot);
    }

    /// Asks for a change as soon as can be.
    ///
    /// # Errors
    ///
    /// If another one is under way, or the run is over.
    pub(crate) fn ask_change(&self, change: Box<dyn Change>) -> Result<(), UpgradeError> {
        let mut book = self.book();
        if book.closed {
            return Err(UpgradeError::Ended);
        }
        let passing = book.passing.iter().any(|passing| passing.change.is_some());
        if passing || book.changing || book.wanted.is_some() || (book.shadows > 0 && !change.of_shadow()) {
            return Err(UpgradeError::UnderWay);
        }
        book.wanted = Some(change);
        self.settle(&book);
        Ok(())
    }

    /// Whether a change is asked for whose mark is not laid.
    pub(crate) fn wants_change(&self) -> bool {
        self.book().wanted.is_some()
    }

    /// Takes back the change that is asked for and will not come.
    pub(crate) fn take_back_change(&self) {
        let mut book = self.book();
        let wanted = book.wanted.take();
        self.settle(&book);
        drop(book);
        drop(wanted);
    }

    /// Sets how many tasklets of this version beside the run's pass each mark from now on.
    pub(crate) fn shadow_tasks(&self, shadows: usize, beside: &Arc<ShadowState>) {
        let mut book = self.book();
        (book.shadows, book.beside) = (shadows, Some(beside.clone()));
    }

    /// Ends the version beside the run's, unless it has ended before. All tasklets may thereby have passed a mark. The
    /// next step of a tasklet reports it, since the caller may hold a lock.
    pub(crate) fn end_shadow(&self, version: &ShadowState, end: ShadowEnd) {
        if !version.finish(&end) {
            return;
        }
        let mut book = self.book();
        // The next one may have begun by now.
        if book.is_beside(version) {
            (book.shadows, book.beside) = (0, None);
        }
        book.over.push(end);
        self.news.store(true, Ordering::Relaxed);
        let expected = book.expected;
        while book.passing.front().is_some_and(|passing| passing.passed.len() == expected) {
            self.complete(&mut book, 0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::marks::{Passer, Passing};
    use crate::watched::Role;
    use millstream_ring::{Mark, MarkKind};

    /// A tasklet that is left of an earlier version, and the end of that version, if it is noted late.
    #[test]
    fn an_earlier_version_says_nothing_of_the_one_beside_the_run() {
        let (marks, [earlier, beside]) = (Marks::new(), [ShadowState::new(), ShadowState::new()]);
        let at = SequenceNumber(3);
        marks.shadow_tasks(2, &beside);
        marks.end_shadow(&earlier, ShadowEnd::Dropped);
        let (change, passed) = (None, Vec::new());
        let passing = Passing { id: 1, kind: MarkKind::Retire, at, output: None, shadows: 0, change, passed };
        marks.book().passing.push_back(passing);
        for (version, shadows) in [(&earlier, 0), (&beside, 1)] {
            let passer = Passer { task: 0, name: "map-1", role: Role::SideOutput, beside: Some(version) };
            marks.put(passer, Mark { at, id: 1, kind: MarkKind::Retire }, None);
            let book = marks.book();
            assert_eq!((book.passing[0].shadows, book.shadows), (shadows, 2));
        }
        marks.end_shadow(&beside, ShadowEnd::Dropped);
        assert_eq!(marks.book().shadows, 0);
    }
}
