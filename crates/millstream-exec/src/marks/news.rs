//! The work that follows once all tasklets have passed a mark.

use super::{Cut, Marks};
use crate::shared::Shared;
use crate::signal::Condition;
use crate::snapshot::Snapshot;
use std::sync::atomic::Ordering;

impl Marks {
    /// Passes on the snapshots of the policy and before END, if there is a new one, and carries out a change that is
    /// ready. All of that is the user's code: the caller holds no lock.
    #[inline]
    pub(crate) fn tell(&self, shared: &Shared) {
        // Carrying out a change may end a version beside the run's, which is news.
        while self.news.load(Ordering::Relaxed) {
            self.tell_news(shared);
        }
    }

    #[cold]
    fn tell_news(&self, shared: &Shared) {
        let (every, last, before_end, change, earlier, over, moot) = {
            let mut book = self.book();
            self.news.store(false, Ordering::Relaxed);
            let untold = std::mem::take(&mut book.untold);
            let every = book.every.as_ref().filter(|_| untold).map(|(every, _)| every.clone());
            // Kept only for threads that wait for it.
            let last = match book.askers {
                0 => book.last.take(),
                _ => book.last.as_ref().filter(|_| untold).cloned(),
            };
            let (over, moot) = (std::mem::take(&mut book.over), book.take_moot());
            let before_end = book.before_end.take_ready();
            self.settle(&book);
            (every, last, before_end, book.ready.take(), std::mem::take(&mut book.earlier), over, moot)
        };
        let told = every.zip(last);
        drop(earlier);
        if !over.is_empty() {
            // Their stages may be in a pause.
            shared.surplus.notify();
        }
        over.iter().for_each(|end| shared.trace.shadow_over(end));
        moot.into_iter().for_each(|change| change.withdraw());
        if let Some((change, retired)) = change {
            let expected = change.carry_out(retired);
            let mut book = self.book();
            (book.expected, book.changing) = (expected.unwrap_or(book.expected), false);
            self.settle(&book);
        }
        self.lay_outside();
        // A source that is a tasklet may wait as well, and the user's function may take long.
        shared.wake();
        if let Some((every, (_, snapshot))) = told {
            (every.take)(snapshot);
        }
        if let Some((at_end, snapshot)) = before_end {
            (at_end.0)(snapshot);
        }
    }

    /// Lays a mark that is due, if the source is not a tasklet: it may be silent, or wait for a mark to be passed.
    pub(crate) fn lay_outside(&self) {
        self.lays.get().into_iter().for_each(|lays| lays());
    }
}

impl Shared {
    /// Waits for a snapshot; none if the run ends before.
    pub(crate) fn snapshot(&self, ended: impl Fn() -> bool) -> Option<Snapshot> {
        self.wait_for_mark(true, |marks, id| marks.passed(id), ended)
    }

    /// Waits for a mark at which no state is cloned; none if the run ends before.
    pub(crate) fn cut(&self, ended: impl Fn() -> bool) -> Option<Cut> {
        self.wait_for_mark(false, Marks::passed_cut, ended)
    }

    /// Lays a mark at which no state is cloned, and returns its id; none if the run ends before.
    pub(crate) fn lay_cut(&self, ended: impl Fn() -> bool) -> Option<u64> {
        let id = self.marks.ask(false);
        self.wake();
        let laid = || {
            self.marks.lay_outside();
            self.marks.has_laid(id).then_some(Some(id)).or_else(|| ended().then_some(None))
        };
        self.wait_for(laid).flatten()
    }

    /// Waits until all have passed the mark of this id, which is none until the mark is laid; none if the run ends
    /// before, or if its numbers are not kept. The run's progress wakes the thread only where `condition` is met.
    pub(crate) fn passed_cut(
        &self,
        id: impl Fn() -> Option<u64>,
        ended: impl Fn() -> bool,
        condition: &Condition,
    ) -> Option<Cut> {
        let passed = || id().and_then(|id| self.marks.passed_this_cut(id)).or_else(|| ended().then_some(None));
        self.wait_for_if(passed, Some(condition)).flatten()
    }

    fn wait_for_mark<T>(
        &self,
        states: bool,
        passed: impl Fn(&Marks, u64) -> Option<T>,
        ended: impl Fn() -> bool,
    ) -> Option<T> {
        let id = self.marks.ask(states);
        self.wake();
        let passed = || {
            // Repeated if another mark was under way.
            self.marks.lay_outside();
            passed(&self.marks, id).map(Some).or_else(|| ended().then_some(None))
        };
        let passed = self.wait_for(passed).flatten();
        if states {
            self.marks.has_taken();
        }
        passed
    }
}
