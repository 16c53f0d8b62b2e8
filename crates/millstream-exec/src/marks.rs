//! Marks of a run: one thread asks for a mark, the owner of the source's clock lays it at the number that it publishes
//! next, and every tasklet passes it, once, before it takes that number.
//!
//! A tasklet that has passed the mark leaves a copy of its state here. When all have, the copies are a [`Snapshot`].
//! One mark is under way at a time: the next one is laid when all have passed it. Cuts alone, at which no state is
//! copied, can follow each other. At a snapshot the stream does not pause. At a [`Change`] each tasklet takes nothing
//! from the mark's number on, and keeps its state; when all have come that far, one of them carries the change out.
//!
//! A change that was planned for a number begins there, or at the beginning of a run that begins after it. While an
//! earlier mark is under way, the source publishes nothing from that number on, not even END.
//!
//! While no mark is asked for, the cost is one load a batch at the source, and one a step of the other tasklets.

mod before_end;
mod change;
mod cuts;
mod news;
mod planning;

pub(crate) use before_end::AtEnd;
pub(crate) use change::{Change, Passed, Passer, Retired};

use crate::snapshot::Snapshot;
use crate::source_ring::SourceRing;
use crate::tasklet::Tasklet;
use crate::upgrade::ShadowEnd;
use crate::upgrade::shadow_state::ShadowState;
use crate::watched::Role;
use before_end::BeforeEnd;
use change::PassedMark;
use millstream_core::failure::{caught, discard};
use millstream_core::{Item, SequenceNumber};
use millstream_ring::{Mark, MarkKind};
use std::collections::VecDeque;
use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Instant;

/// No mark is due.
const NEVER: u64 = u64::MAX;

/// Lays a mark that is due where no tasklet does, and wakes the run for it.
pub(crate) type LaysMarks = Box<dyn Fn() + Send + Sync>;

pub(crate) struct Marks {
    /// The least number at which the source has to look here before it publishes.
    due: AtomicU64,
    /// How a thread that is not the source's lays a mark.
    lays: OnceLock<LaysMarks>,
    /// Whether some tasklet has not passed the mark.
    under_way: AtomicBool,
    /// Whether there is something to do: pass a snapshot to the policy, carry out a change, or drop a snapshot.
    news: AtomicBool,
    /// The last mark that all have passed, for a look without the lock.
    noted: AtomicU64,
    book: Mutex<Book>,
}

#[derive(Default)]
struct Book {
    /// How many marks were asked for, and the id of the last one laid; ids count from 1.
    asked: u64,
    laid: u64,
    /// Whether the next mark was asked for with the states, and how many threads wait for a snapshot.
    wants_states: bool,
    askers: usize,
    /// How many tasklets pass each mark, and how many of a version beside them do.
    expected: usize,
    shadows: usize,
    /// The version beside them.
    beside: Option<Arc<ShadowState>>,
    /// The policy, and the least number of its next snapshot.
    every: Option<(Every, u64)>,
    before_end: BeforeEnd,
    /// The changes that begin at a number, by their numbers; and one that begins as soon as can be.
    planned: VecDeque<(SequenceNumber, Box<dyn Change>)>,
    wanted: Option<Box<dyn Change>>,
    /// The marks under way, in order: one, or several cuts.
    passing: VecDeque<Passing>,
    /// The change whose mark all have passed, and whether there is one that is not over.
    ready: Option<(Box<dyn Change>, Retired)>,
    changing: bool,
    /// The last snapshot, until those that wait for it have it, and earlier ones: dropping their states runs the user's
    /// code, which must not run under the lock.
    last: Option<(u64, Snapshot)>,
    earlier: Vec<Snapshot>,
    /// Why shadow versions have ended, until that is reported.
    over: Vec<ShadowEnd>,
    /// Whether the policy has yet to get the last snapshot.
    untold: bool,
    /// The last marks that all have passed, in order.
    cuts: VecDeque<(u64, Cut)>,
    /// Whether the run is over. No tasklet passes a mark any more, and the source's ring may still be there.
    closed: bool,
}

/// The numbers of a mark.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Cut {
    /// On the source's clock.
    pub(crate) at: SequenceNumber,
    /// On the output's clock.
    pub(crate) output: SequenceNumber,
}

/// A mark that some tasklets have passed.
struct Passing {
    id: u64,
    kind: MarkKind,
    at: SequenceNumber,
    output: Option<SequenceNumber>,
    /// How many tasklets of a version beside the run's have passed it.
    shadows: usize,
    /// The change that is carried out when all have passed it.
    change: Option<Box<dyn Change>>,
    passed: Vec<PassedMark>,
}

/// A snapshot after each `numbers` numbers, and the function that takes it.
#[derive(Clone)]
pub(crate) struct Every {
    pub(crate) numbers: u64,
    pub(crate) take: Arc<dyn Fn(Snapshot) + Send + Sync>,
}

impl PartialEq for Every {
    fn eq(&self, other: &Self) -> bool {
        self.numbers == other.numbers && Arc::ptr_eq(&self.take, &other.take)
    }
}

impl Eq for Every {}

impl fmt::Debug for Every {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Every").field("numbers", &self.numbers).finish_non_exhaustive()
    }
}

impl Book {
    /// The least number at which the source has to look here before it publishes.
    fn due(&self) -> u64 {
        let planned = self.planned.front().map_or(NEVER, |(at, _)| at.0);
        if self.changing || !self.takes_another() {
            return planned;
        }
        let asked = if self.asks() { 0 } else { NEVER };
        let every = self.every.as_ref().map_or(NEVER, |(_, next)| *next);
        planned.min(asked).min(every)
    }

    /// Whether this version is the one beside the run's.
    fn is_beside(&self, version: &ShadowState) -> bool {
        self.beside.as_ref().is_some_and(|beside| std::ptr::eq(&**beside, version))
    }

    /// How many numbers from `next` on there are before that of a change.
    fn before_change(&self, SequenceNumber(next): SequenceNumber) -> u64 {
        self.planned.front().map_or(NEVER, |(at, _)| at.0.saturating_sub(next))
    }
}

impl Marks {
    pub(crate) fn new() -> Self {
        let (under_way, news) = (AtomicBool::new(false), AtomicBool::new(false));
        let (due, noted) = (AtomicU64::new(NEVER), AtomicU64::new(0));
        Marks { due, lays: OnceLock::new(), under_way, news, noted, book: Mutex::default() }
    }

    /// No user code runs under this lock.
    fn book(&self) -> MutexGuard<'_, Book> {
        self.book.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn settle(&self, book: &Book) {
        self.due.store(book.due(), Ordering::Relaxed);
    }

    /// Begins the run at this number; `expected` of its tasklets pass marks. `lays` is for a source that is not a
    /// tasklet.
    pub(crate) fn begin(
        &self,
        SequenceNumber(first): SequenceNumber,
        expected: usize,
        (every, at_end): (Option<Every>, Option<AtEnd>),
        lays: Option<LaysMarks>,
    ) {
        lays.into_iter().for_each(|lays| _ = self.lays.set(lays));
        let mut book = self.book();
        (book.expected, book.before_end) = (expected, BeforeEnd::of(at_end));
        book.every = every.map(|every| {
            let next = first.saturating_add(every.numbers);
            (every, next)
        });
        self.settle(&book);
    }

    /// Asks for a mark. Returns its id, or that of one that is asked for already.
    pub(crate) fn ask(&self, states: bool) -> u64 {
        let mut book = self.book();
        book.asked = book.laid + 1;
        book.wants_states |= states;
        book.askers += usize::from(states);
        self.settle(&book);
        book.asked
    }

    /// A thread that has asked for a snapshot has it, or waits for it no longer. The run keeps a snapshot only for
    /// those that wait for it.
    pub(crate) fn has_taken(&self) {
        let mut book = self.book();
        book.askers = book.askers.saturating_sub(1);
        let unwanted = if book.askers == 0 && !book.untold { book.last.take() } else { None };
        drop(book);
        drop(unwanted);
    }

    /// Called when the run is over. Drops the states that are kept here, and the changes that have not been carried
    /// out. No mark is laid from now on.
    pub(crate) fn clear(&self) {
        let book = std::mem::replace(&mut *self.book(), Book { closed: true, ..Book::default() });
        if let Err(payload) = caught(|| drop(book)) {
            discard(payload);
        }
    }

    /// The snapshot at this mark or a later one, once all have passed it.
    pub(crate) fn passed(&self, id: u64) -> Option<Snapshot> {
        self.book().last.as_ref().filter(|(last, _)| *last >= id).map(|(_, snapshot)| snapshot.clone())
    }

    /// Whether a mark is due at the next number, `next`, of the source's clock.
    #[inline]
    pub(crate) fn is_due(&self, next: SequenceNumber) -> bool {
        self.due.load(Ordering::Relaxed) <= next.0
    }

    /// How many numbers may be published from `next` on, before the source looks here again. None at the number of a
    /// change whose mark is not laid.
    #[inline]
    pub(crate) fn distance(&self, next: SequenceNumber) -> usize {
        let numbers = match self.due.load(Ordering::Relaxed).checked_sub(next.0) {
            None | Some(0) => self.before_change(next),
            Some(numbers) => numbers,
        };
        usize::try_from(numbers).unwrap_or(usize::MAX)
    }

    #[cold]
    fn before_change(&self, next: SequenceNumber) -> u64 {
        self.book().before_change(next)
    }

    /// Lays a mark at the next number of the source's clock. Returns whether it has.
    #[cold]
    pub(crate) fn lay<T: Item>(&self, source: &mut SourceRing<T>) -> bool {
        self.lay_in(&mut self.book(), source)
    }

    fn lay_in<T: Item>(&self, book: &mut Book, source: &mut SourceRing<T>) -> bool {
        let at = source.producer.next();
        let planned = book.before_change(at) == 0;
        let behind = if planned { book.passing.is_empty() } else { book.takes_another() };
        let waits = !behind || book.changing || book.due() > at.0;
        if waits || book.closed || source.producer.ended() {
            return false;
        }
        let mut change = if planned { book.planned.pop_front().map(|(_, change)| change) } else { book.wanted.take() };
        if let Some((at, next)) = change.as_mut().and_then(|change| change.laid(at)) {
            book.plan_next(at, next);
        }
        let by_policy = book.every.as_ref().is_some_and(|(_, next)| *next <= at.0);
        let id = book.laid + 1;
        let before_end = change.is_none() && book.before_end.lay(id);
        let kind = match &change {
            Some(change) => change.kind(),
            None if before_end || by_policy || std::mem::take(&mut book.wants_states) => MarkKind::Snapshot,
            None => MarkKind::Cut,
        };
        let forks = change.as_ref().is_some_and(|change| change.forks());
        // Before the mark can be seen: a tasklet that passes it at once must find this.
        book.passing.push_back(Passing { id, kind, at, output: None, shadows: 0, change, passed: Vec::new() });
        self.under_way.store(true, Ordering::Release);
        source.mark(id, kind, forks);
        book.laid = id;
        if book.expected == 0 {
            self.complete(book, 0);
        }
        self.settle(book);
        true
    }

    /// Whether all have passed the mark of a change that is not over.
    pub(crate) fn changing(&self) -> bool {
        self.book().changing
    }

    /// Whether some tasklet has not passed the mark.
    #[inline]
    pub(crate) fn under_way(&self) -> bool {
        self.under_way.load(Ordering::Relaxed)
    }

    /// Passes the marks that a tasklet has reached. May run the `Clone` of a state, which is the user's code. If the
    /// stream has been `cut`, some tasklets never reach the mark, and none retires.
    #[cold]
    pub(crate) fn pass(&self, passer: Passer<'_>, tasklet: &mut dyn Tasklet, cut: bool) -> Passed {
        let mut passed = Passed::default();
        let Some(tasklet) = tasklet.at_marks() else { return passed };
        while let Some(mark) = tasklet.pass() {
            passed.any = true;
            let retires = mark.kind == MarkKind::Retire;
            let (task, stage, at) = (passer.task, passer.name.to_owned(), mark.at);
            let began = Instant::now();
            let passed_mark = passer.beside.is_none().then(|| {
                let (state, clock, since) = match mark.kind {
                    MarkKind::Retire => (None, tasklet.clock(), Some(began)),
                    MarkKind::Snapshot => (tasklet.state(), tasklet.clock(), None),
                    _ => (None, None, None),
                };
                PassedMark { task, stage, at, state, clock, since, stop: began.elapsed() }
            });
            self.put(passer, mark, passed_mark);
            if retires && cut {
                tasklet.resume();
            } else if retires {
                passed.retires = true;
                break;
            }
        }
        passed
    }

    fn put(&self, passer: Passer<'_>, mark: Mark, passed: Option<PassedMark>) {
        let mut book = self.book();
        let (expected, shadows) = (book.expected, book.shadows);
        // A tasklet that is left of an earlier version is not one of those that the mark waits for.
        let beside = passer.beside.is_some_and(|version| book.is_beside(version));
        let Some(place) = book.passing.iter().position(|passing| passing.id == mark.id) else { return };
        let passing = &mut book.passing[place];
        match passed {
            None => passing.shadows += usize::from(beside),
            Some(passed) => {
                debug_assert!(
                    passing.passed.iter().all(|other| other.task != passed.task),
                    "stage {:?} passes {mark:?} twice",
                    passed.stage
                );
                if passer.role == Role::Sink {
                    passing.output = Some(mark.at);
                }
                passing.passed.push(passed);
            }
        }
        if passing.passed.len() == expected && passing.shadows >= shadows {
            self.complete(&mut book, place);
        }
    }

    /// All have passed the mark at this place of those under way.
    fn complete(&self, book: &mut Book, place: usize) {
        let Some(Passing { id, kind, at, output, change, mut passed, .. }) = book.passing.remove(place) else { return };
        book.note(id, Cut { at, output: output.unwrap_or(at) });
        self.noted.fetch_max(id, Ordering::Relaxed);
        if kind == MarkKind::Cut {
            let news = !book.planned.is_empty() || book.before_end.is_news();
            self.news.fetch_or(news, Ordering::Relaxed);
            self.under_way.store(!book.passing.is_empty(), Ordering::Relaxed);
            return self.settle(book);
        }
        passed.sort_unstable_by_key(|passed| passed.task);
        book.changing = change.is_some();
        if let Some(change) = change {
            book.ready = Some((change, Retired::new(id, at, output, passed)));
            // The thread that asked for a snapshot gets the next one.
            let asks_again = book.asked == id;
            book.asked += u64::from(asks_again);
            book.wants_states |= asks_again;
        } else {
            let stop = passed.iter().map(|passed| passed.stop).max().unwrap_or_default();
            let passed = passed.into_iter().map(|PassedMark { stage, at, state, .. }| (stage, at, state));
            let snapshot = Snapshot::new(id, (at, output), passed, stop);
            if !book.before_end.pass(id, &snapshot)
                && let Some((every, next)) = &mut book.every
            {
                *next = at.0.saturating_add(every.numbers);
                book.untold = true;
            }
            let before = book.last.replace((id, snapshot));
            book.earlier.extend(before.map(|(_, snapshot)| snapshot));
        }
        // The source may wait for this at the number of a change.
        let unwanted = book.askers == 0 && book.last.is_some();
        let news = unwanted || book.untold || book.changing || !book.earlier.is_empty() || !book.planned.is_empty();
        self.news.store(news || !book.over.is_empty() || book.before_end.is_news(), Ordering::Relaxed);
        self.under_way.store(false, Ordering::Relaxed);
        self.settle(book);
    }
}
