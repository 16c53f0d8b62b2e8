//! Marks of a run: one thread asks for a mark, the owner of the source's clock lays it at the number that it publishes
//! next, and every tasklet passes it, once, before it takes that number.
//!
//! A tasklet that has passed the mark leaves a copy of its state here. When all have, the copies are a [`Snapshot`].
//! One mark is under way at a time: the next one is laid when all have passed it. At a snapshot the stream does not
//! pause. At a [`Change`] each tasklet takes nothing from the mark's number on; when all have come that far, one of
//! them carries the change out.
//!
//! While no mark is asked for, the cost is one load a batch at the source, and one a step of the other tasklets.

use crate::kept::Kept;
use crate::shared::Shared;
use crate::snapshot::Snapshot;
use crate::source_ring::SourceRing;
use crate::tasklet::Tasklet;
use crate::watched::Role;
use millstream_core::failure::{caught, discard};
use millstream_core::{Item, SequenceNumber};
use millstream_ring::{Mark, MarkKind};
use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// No mark is due.
const NEVER: u64 = u64::MAX;

pub(crate) struct Marks {
    /// The least number at which the next mark is to be laid.
    due: AtomicU64,
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
    /// How many tasklets pass each mark.
    expected: usize,
    /// The policy, and the least number of its next snapshot.
    every: Option<(Every, u64)>,
    /// The changes to come, by their numbers.
    changes: Vec<(SequenceNumber, Box<dyn Change>)>,
    /// The mark under way.
    passing: Option<Passing>,
    /// The change whose mark all have passed, and whether there is one that is not over.
    ready: Option<(Box<dyn Change>, Snapshot)>,
    changing: bool,
    /// The last snapshot, and earlier ones: to drop their states is the user's code, which does not run under the lock.
    last: Option<(u64, Snapshot)>,
    earlier: Vec<Snapshot>,
    /// Whether the policy has not got it.
    untold: bool,
}

/// A mark that some tasklets have passed.
struct Passing {
    id: u64,
    at: SequenceNumber,
    output: Option<SequenceNumber>,
    /// What is done when all have passed it.
    change: Option<Box<dyn Change>>,
    /// The tasklets that have passed it, with their names, their clocks' numbers and their states.
    passed: Vec<(usize, String, SequenceNumber, Option<Kept>)>,
}

/// What is done to a run at a number, while its stages take nothing from that number on.
pub(crate) trait Change: Send {
    /// Carries it out, and lets the run go on. The caller is a thread of the run, and holds no lock. Returns how many
    /// tasklets pass marks from now on; none if that is as before.
    fn carry_out(self: Box<Self>, snapshot: Snapshot) -> Option<usize>;
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
    /// The least number at which the next mark is to be laid.
    fn due(&self) -> u64 {
        if self.passing.is_some() || self.changing {
            return NEVER;
        }
        let asked = if self.asked > self.laid { 0 } else { NEVER };
        let every = self.every.as_ref().map_or(NEVER, |(_, next)| *next);
        let change = self.changes.first().map_or(NEVER, |(at, _)| at.0);
        asked.min(every).min(change)
    }
}

impl Marks {
    pub(crate) fn new() -> Self {
        let (under_way, news) = (AtomicBool::new(false), AtomicBool::new(false));
        Marks { due: AtomicU64::new(NEVER), under_way, news, book: Mutex::default() }
    }

    /// No user code runs under this lock.
    fn book(&self) -> MutexGuard<'_, Book> {
        self.book.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn settle(&self, book: &Book) {
        self.due.store(book.due(), Ordering::Relaxed);
    }

    /// The run begins at this number; `expected` of its tasklets pass marks.
    pub(crate) fn begin(&self, SequenceNumber(first): SequenceNumber, expected: usize, every: Option<Every>) {
        let mut book = self.book();
        book.expected = expected;
        book.every = every.map(|every| {
            let next = first + every.numbers;
            (every, next)
        });
        self.settle(&book);
    }

    /// Asks for a mark. Returns its id, or that of one that is asked for already.
    pub(crate) fn ask(&self) -> u64 {
        let mut book = self.book();
        book.asked = book.laid + 1;
        self.settle(&book);
        book.asked
    }

    /// Asks for a change at this number, or as soon as can be behind it.
    pub(crate) fn ask_change(&self, at: SequenceNumber, change: Box<dyn Change>) {
        let mut book = self.book();
        let place = book.changes.partition_point(|(other, _)| *other <= at);
        book.changes.insert(place, (at, change));
        self.settle(&book);
    }

    /// The run is over. Drops the states that are kept here, and the changes that have not been carried out.
    pub(crate) fn clear(&self) {
        let Book { changes, passing, ready, last, earlier, .. } = std::mem::take(&mut *self.book());
        if let Err(payload) = caught(|| drop((changes, passing, ready, last, earlier))) {
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

    /// How many numbers from `next` on there are before the one at which the next mark is due.
    #[inline]
    pub(crate) fn distance(&self, SequenceNumber(next): SequenceNumber) -> usize {
        match self.due.load(Ordering::Relaxed).checked_sub(next) {
            None | Some(0) => usize::MAX,
            Some(numbers) => usize::try_from(numbers).unwrap_or(usize::MAX),
        }
    }

    /// Lays a mark at the next number of the source's clock. Returns whether it has.
    #[cold]
    pub(crate) fn lay<T: Item>(&self, source: &mut SourceRing<T>) -> bool {
        let mut book = self.book();
        let at = source.producer.next();
        if source.producer.ended() || book.due() > at.0 {
            return false;
        }
        let change = book.changes.first().is_some_and(|(due, _)| *due <= at).then(|| book.changes.remove(0).1);
        let (id, kind) = (book.laid + 1, change.as_ref().map_or(MarkKind::Snapshot, |_| MarkKind::Retire));
        // Before the mark can be seen: a tasklet that passes it at once must find this.
        book.passing = Some(Passing { id, at, output: None, change, passed: Vec::new() });
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
            let retires = self.put(passer, mark, tasklet.state());
            if retires && cut {
                tasklet.resume();
            } else if retires {
                passed.retires = true;
                break;
            }
        }
        passed
    }

    /// Returns whether the tasklet retires.
    fn put(&self, Passer { task, name, role }: Passer<'_>, mark: Mark, state: Option<Kept>) -> bool {
        let mut book = self.book();
        let expected = book.expected;
        let Some(passing) = book.passing.as_mut().filter(|passing| passing.id == mark.id) else { return false };
        debug_assert!(
            passing.passed.iter().all(|(passed, ..)| *passed != task),
            "stage {name:?} passes {mark:?} twice"
        );
        if role == Role::Sink {
            passing.output = Some(mark.at);
        }
        passing.passed.push((task, name.to_owned(), mark.at, state));
        if passing.passed.len() == expected {
            self.complete(&mut book);
        }
        mark.kind == MarkKind::Retire
    }

    fn complete(&self, book: &mut Book) {
        let Some(Passing { id, at, output, change, mut passed }) = book.passing.take() else { return };
        passed.sort_unstable_by_key(|(task, ..)| *task);
        let passed = passed.into_iter().map(|(_, name, at, state)| (name, at, state));
        let snapshot = Snapshot::new(at, output, passed);
        book.changing = change.is_some();
        book.ready = change.map(|change| (change, snapshot.clone()));
        if let Some((every, next)) = &mut book.every {
            *next = at.0 + every.numbers;
            book.untold = true;
        }
        let before = book.last.replace((id, snapshot));
        book.earlier.extend(before.map(|(_, snapshot)| snapshot));
        let news = book.untold || book.changing || !book.earlier.is_empty();
        self.news.store(news, Ordering::Relaxed);
        self.under_way.store(false, Ordering::Relaxed);
        self.settle(book);
    }

    /// Gives the policy its snapshot, if there is a new one, and carries out a change that is ready. Both are the
    /// user's code: the caller holds no lock.
    #[inline]
    pub(crate) fn tell(&self) {
        if self.news.load(Ordering::Relaxed) {
            self.tell_news();
        }
    }

    #[cold]
    fn tell_news(&self) {
        let (told, change, earlier) = {
            let mut book = self.book();
            self.news.store(false, Ordering::Relaxed);
            let untold = std::mem::take(&mut book.untold);
            let every = book.every.as_ref().filter(|_| untold).map(|(every, _)| every.clone());
            (every.zip(book.last.clone()), book.ready.take(), std::mem::take(&mut book.earlier))
        };
        drop(earlier);
        if let Some((change, snapshot)) = change {
            let expected = change.carry_out(snapshot);
            let mut book = self.book();
            (book.expected, book.changing) = (expected.unwrap_or(book.expected), false);
            self.settle(&book);
        }
        if let Some((every, (_, snapshot))) = told {
            (every.take)(snapshot);
        }
    }
}

impl Shared {
    /// Waits for a snapshot; none if the run ends before.
    pub(crate) fn snapshot(&self, ended: impl Fn() -> bool, lay: impl Fn()) -> Option<Snapshot> {
        let id = self.marks.ask();
        self.wake();
        let passed = || {
            // Once more if another mark was under way.
            lay();
            self.marks.passed(id).map(Some).or_else(|| ended().then_some(None))
        };
        self.wait_for(passed).flatten()
    }
}
