//! Marks of a run: one thread asks for a mark, the owner of the source's clock lays it at the number that it publishes
//! next, and every tasklet passes it, once, before it takes that number.
//!
//! A tasklet that has passed the mark leaves a copy of its state here. When all have, the copies are a [`Snapshot`].
//! One mark is under way at a time: the next one is laid when all have passed it. At a snapshot the stream does not
//! pause. At a [`Change`] each tasklet takes nothing from the mark's number on; when all have come that far, one of
//! them carries the change out.
//!
//! A change that was planned for a number begins there, or where a run begins that begins behind it: while an earlier
//! mark is under way the source publishes nothing from that number on, END neither.
//!
//! While no mark is asked for, the cost is one load a batch at the source, and one a step of the other tasklets.

mod news;

use crate::kept::Kept;
use crate::snapshot::{Snapshot, SnapshotMismatch};
use crate::source_ring::SourceRing;
use crate::tasklet::Tasklet;
use crate::watched::Role;
use millstream_core::failure::{caught, discard};
use millstream_core::{Item, SequenceNumber};
use millstream_ring::{Mark, MarkKind};
use std::collections::VecDeque;
use std::fmt;
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

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
    /// Whether there is something to do: to tell the policy of a snapshot, to carry out a change, to drop a snapshot.
    news: AtomicBool,
    book: Mutex<Book>,
}

#[derive(Default)]
struct Book {
    /// How many marks were asked for, and the id of the last one laid; ids count from 1.
    asked: u64,
    laid: u64,
    /// Whether who asked for the next mark wants the states.
    wants_states: bool,
    /// How many tasklets pass each mark.
    expected: usize,
    /// The policy, and the least number of its next snapshot.
    every: Option<(Every, u64)>,
    /// The changes that begin at a number, by their numbers; and those that begin as soon as can be.
    planned: VecDeque<(SequenceNumber, Box<dyn Change>)>,
    wanted: VecDeque<Box<dyn Change>>,
    /// The mark under way.
    passing: Option<Passing>,
    /// The change whose mark all have passed, and whether there is one that is not over.
    ready: Option<(Box<dyn Change>, Result<Snapshot, SnapshotMismatch>)>,
    changing: bool,
    /// The last snapshot, and earlier ones: to drop their states is the user's code, which does not run under the lock.
    last: Option<(u64, Snapshot)>,
    earlier: Vec<Snapshot>,
    /// Whether the policy has not got it.
    untold: bool,
    /// The last mark that all have passed.
    cut: Option<(u64, Cut)>,
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
    /// What is done when all have passed it.
    change: Option<Box<dyn Change>>,
    /// The tasklets that have passed it, with their names, their clocks' numbers and their states.
    passed: Vec<(usize, String, SequenceNumber, Option<Kept>)>,
    /// A state that cannot be copied.
    lacks: Option<SnapshotMismatch>,
    /// The longest time that a tasklet took to leave its state.
    stop: Duration,
}

/// What is done to a run at a number, while its stages take nothing from that number on.
pub(crate) trait Change: Send {
    /// Carries it out, with the states at the number, and lets the run go on. The caller is a thread of the run, and
    /// holds no lock. Returns how many tasklets pass marks from now on; none if that is as before.
    fn carry_out(self: Box<Self>, states: Result<Snapshot, SnapshotMismatch>) -> Option<usize>;
}

/// A snapshot after this many numbers, and what is done with it.
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

/// A tasklet, as a mark knows it.
#[derive(Clone, Copy)]
pub(crate) struct Passer<'a> {
    pub(crate) task: usize,
    pub(crate) name: &'a str,
    pub(crate) role: Role,
}

/// The marks that a tasklet has passed in one step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Passed {
    /// Whether there were any.
    pub(crate) any: bool,
    /// Whether it takes nothing behind them.
    pub(crate) retires: bool,
}

impl Book {
    /// The least number at which the source has to look here before it publishes.
    fn due(&self) -> u64 {
        let planned = self.planned.front().map_or(NEVER, |(at, _)| at.0);
        if self.passing.is_some() || self.changing {
            return planned;
        }
        let asked = if self.asked > self.laid || !self.wanted.is_empty() { 0 } else { NEVER };
        let every = self.every.as_ref().map_or(NEVER, |(_, next)| *next);
        planned.min(asked).min(every)
    }

    /// How many numbers from `next` on there are before that of a change.
    fn before_change(&self, SequenceNumber(next): SequenceNumber) -> u64 {
        self.planned.front().map_or(NEVER, |(at, _)| at.0.saturating_sub(next))
    }
}

impl Marks {
    pub(crate) fn new() -> Self {
        let (under_way, news) = (AtomicBool::new(false), AtomicBool::new(false));
        Marks { due: AtomicU64::new(NEVER), lays: OnceLock::new(), under_way, news, book: Mutex::default() }
    }

    /// No user code runs under this lock.
    fn book(&self) -> MutexGuard<'_, Book> {
        self.book.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn settle(&self, book: &Book) {
        self.due.store(book.due(), Ordering::Relaxed);
    }

    /// The run begins at this number; `expected` of its tasklets pass marks. `lays` is for a source that is not a
    /// tasklet.
    pub(crate) fn begin(
        &self,
        SequenceNumber(first): SequenceNumber,
        expected: usize,
        every: Option<Every>,
        lays: Option<LaysMarks>,
    ) {
        lays.into_iter().for_each(|lays| _ = self.lays.set(lays));
        let mut book = self.book();
        book.expected = expected;
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
        self.settle(&book);
        book.asked
    }

    /// Plans a change at this number.
    pub(crate) fn plan_change(&self, at: SequenceNumber, change: Box<dyn Change>) {
        let mut book = self.book();
        let place = book.planned.partition_point(|(other, _)| *other <= at);
        book.planned.insert(place, (at, change));
        self.settle(&book);
    }

    /// Asks for a change as soon as can be.
    pub(crate) fn ask_change(&self, change: Box<dyn Change>) {
        let mut book = self.book();
        book.wanted.push_back(change);
        self.settle(&book);
    }

    /// The run is over. Drops the states that are kept here, and the changes that have not been carried out.
    pub(crate) fn clear(&self) {
        let book = std::mem::take(&mut *self.book());
        if let Err(payload) = caught(|| drop(book)) {
            discard(payload);
        }
    }

    /// The snapshot at this mark or a later one, once all have passed it.
    pub(crate) fn passed(&self, id: u64) -> Option<Snapshot> {
        self.book().last.as_ref().filter(|(last, _)| *last >= id).map(|(_, snapshot)| snapshot.clone())
    }

    /// The numbers of this mark or a later one, once all have passed it.
    pub(crate) fn passed_cut(&self, id: u64) -> Option<Cut> {
        self.book().cut.filter(|(last, _)| *last >= id).map(|(_, cut)| cut)
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
        let mut book = self.book();
        let at = source.producer.next();
        if source.producer.ended() || book.passing.is_some() || book.changing || book.due() > at.0 {
            return false;
        }
        let planned = book.before_change(at) == 0;
        let change = if planned { book.planned.pop_front().map(|(_, change)| change) } else { book.wanted.pop_front() };
        let by_policy = book.every.as_ref().is_some_and(|(_, next)| *next <= at.0);
        let id = book.laid + 1;
        let kind = match change {
            Some(_) => MarkKind::Retire,
            None if by_policy || std::mem::take(&mut book.wants_states) => MarkKind::Snapshot,
            None => MarkKind::Cut,
        };
        // Before the mark can be seen: a tasklet that passes it at once must find this.
        let (passed, stop) = (Vec::new(), Duration::ZERO);
        book.passing = Some(Passing { id, kind, at, output: None, change, passed, lacks: None, stop });
        self.under_way.store(true, Ordering::Release);
        source.mark(id, kind);
        book.laid = id;
        if book.expected == 0 {
            self.complete(&mut book);
        }
        self.settle(&book);
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
    /// stream has been `cut`, some tasklets do not come to the mark, and none retires.
    #[cold]
    pub(crate) fn pass(&self, passer: Passer<'_>, tasklet: &mut dyn Tasklet, cut: bool) -> Passed {
        let mut passed = Passed::default();
        let Some(tasklet) = tasklet.at_marks() else { return passed };
        while let Some(mark) = tasklet.pass() {
            passed.any = true;
            let retires = mark.kind == MarkKind::Retire;
            if mark.kind == MarkKind::Cut {
                self.put(passer, mark, Ok(None), Duration::ZERO);
                continue;
            }
            let began = Instant::now();
            let state = caught(|| tasklet.state());
            let stop = began.elapsed();
            let state = match state {
                Ok(state) => Ok(state),
                // The present pipeline needs no copy: it goes on.
                Err(payload) if retires => Err(SnapshotMismatch::not_cloned(passer.name, payload)),
                Err(payload) => resume_unwind(payload),
            };
            self.put(passer, mark, state, stop);
            if retires && cut {
                tasklet.resume();
            } else if retires {
                passed.retires = true;
                break;
            }
        }
        passed
    }

    fn put(
        &self,
        Passer { task, name, role }: Passer<'_>,
        mark: Mark,
        state: Result<Option<Kept>, SnapshotMismatch>,
        stop: Duration,
    ) {
        let mut book = self.book();
        let expected = book.expected;
        let Some(passing) = book.passing.as_mut().filter(|passing| passing.id == mark.id) else { return };
        debug_assert!(
            passing.passed.iter().all(|(passed, ..)| *passed != task),
            "stage {name:?} passes {mark:?} twice"
        );
        if role == Role::Sink {
            passing.output = Some(mark.at);
        }
        let state = state.unwrap_or_else(|lacks| {
            passing.lacks.get_or_insert(lacks);
            None
        });
        passing.stop = passing.stop.max(stop);
        passing.passed.push((task, name.to_owned(), mark.at, state));
        if passing.passed.len() == expected {
            self.complete(&mut book);
        }
    }

    fn complete(&self, book: &mut Book) {
        let Some(Passing { id, kind, at, output, change, mut passed, lacks, stop }) = book.passing.take() else { return };
        book.cut = Some((id, Cut { at, output: output.unwrap_or(at) }));
        if kind == MarkKind::Cut {
            let news = !book.planned.is_empty();
            self.news.fetch_or(news, Ordering::Relaxed);
            self.under_way.store(false, Ordering::Relaxed);
            return self.settle(book);
        }
        passed.sort_unstable_by_key(|(task, ..)| *task);
        let passed = passed.into_iter().map(|(_, name, at, state)| (name, at, state));
        let snapshot = Snapshot::new(at, output, passed, stop);
        let states = lacks.map_or_else(|| Ok(snapshot.clone()), Err);
        let whole = states.is_ok();
        book.changing = change.is_some();
        book.ready = change.map(|change| (change, states));
        if whole && let Some((every, next)) = &mut book.every {
            *next = at.0.saturating_add(every.numbers);
            book.untold = true;
        }
        if whole {
            let before = book.last.replace((id, snapshot));
            book.earlier.extend(before.map(|(_, snapshot)| snapshot));
        } else {
            book.earlier.push(snapshot);
            // Who asked for a snapshot gets the next one.
            let asks_again = book.asked == id;
            book.asked += u64::from(asks_again);
            book.wants_states |= asks_again;
        }
        // The source may wait for this at the number of a change.
        let news = book.untold || book.changing || !book.earlier.is_empty() || !book.planned.is_empty();
        self.news.store(news, Ordering::Relaxed);
        self.under_way.store(false, Ordering::Relaxed);
        self.settle(book);
    }
}
