//! Marks of a run: one thread asks for a mark, the owner of the source's clock lays it at the number that it publishes
//! next, and every tasklet passes it, once, before it takes that number.
//!
//! A tasklet that has passed the mark leaves a copy of its state here. When all have, the copies are a [`Snapshot`].
//! One mark is under way at a time: the next one is laid when all have passed it. The stream does not pause.
//!
//! While no mark is asked for, the cost is one load a batch at the source, and one a step of the other tasklets.

use crate::kept::Kept;
use crate::shared::Shared;
use crate::snapshot::Snapshot;
use crate::tasklet::Tasklet;
use crate::watched::Role;
use millstream_core::{Item, SequenceNumber};
use millstream_ring::{Mark, Producer};
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
    /// Whether there is a snapshot that the policy has not got.
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
    every: Option<Every>,
    /// The mark under way.
    passing: Option<Passing>,
    /// The last one that all have passed.
    last: Option<(u64, Snapshot)>,
}

/// A mark that some tasklets have passed.
struct Passing {
    id: u64,
    at: SequenceNumber,
    output: Option<SequenceNumber>,
    /// The tasklets that have passed it, with their names, their clocks' numbers and their states.
    passed: Vec<(usize, String, SequenceNumber, Option<Kept>)>,
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

impl Marks {
    pub(crate) fn new() -> Self {
        let (under_way, news) = (AtomicBool::new(false), AtomicBool::new(false));
        Marks { due: AtomicU64::new(NEVER), under_way, news, book: Mutex::default() }
    }

    /// No user code runs under this lock.
    fn book(&self) -> MutexGuard<'_, Book> {
        self.book.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The run begins at this number; `expected` of its tasklets pass marks.
    pub(crate) fn begin(&self, SequenceNumber(first): SequenceNumber, expected: usize, every: Option<Every>) {
        let mut book = self.book();
        book.expected = expected;
        if let Some(every) = &every {
            self.due.store(first + every.numbers, Ordering::Relaxed);
        }
        book.every = every;
    }

    /// Asks for a mark. Returns its id, or that of one that is asked for already.
    pub(crate) fn ask(&self) -> u64 {
        let mut book = self.book();
        book.asked = book.laid + 1;
        if book.passing.is_none() {
            self.due.store(0, Ordering::Relaxed);
        }
        book.asked
    }

    /// The snapshot at this mark or a later one, once all have passed it.
    pub(crate) fn passed(&self, id: u64) -> Option<Snapshot> {
        self.book().last.as_ref().filter(|(last, _)| *last >= id).map(|(_, snapshot)| snapshot.clone())
    }

    /// Lays a mark at the next number if one is due. The owner of the source's clock calls this before it publishes; if
    /// it returns true and publishes nothing, other threads have to be woken for the mark.
    #[inline]
    pub(crate) fn lay<T: Item>(&self, output: &mut Producer<T>) -> bool {
        self.due.load(Ordering::Relaxed) <= output.next().0 && self.lay_now(output)
    }

    #[cold]
    fn lay_now<T: Item>(&self, output: &mut Producer<T>) -> bool {
        let mut book = self.book();
        if output.ended() || book.passing.is_some() {
            return false;
        }
        let id = book.laid + 1;
        // Before the mark can be seen: a tasklet that passes it at once must find this.
        book.passing = Some(Passing { id, at: output.next(), output: None, passed: Vec::new() });
        self.under_way.store(true, Ordering::Release);
        output.mark(id);
        book.laid = id;
        self.due.store(NEVER, Ordering::Relaxed);
        if book.expected == 0 {
            self.complete(&mut book);
        }
        true
    }

    /// Whether some tasklet has not passed the mark.
    #[inline]
    pub(crate) fn under_way(&self) -> bool {
        self.under_way.load(Ordering::Relaxed)
    }

    /// Passes the marks that a tasklet has reached. Returns whether there were any. May run the `Clone` of a state,
    /// which is the user's code.
    #[cold]
    pub(crate) fn pass(&self, passer: Passer<'_>, tasklet: &mut dyn Tasklet) -> bool {
        let Some(tasklet) = tasklet.at_marks() else { return false };
        let mut any = false;
        while let Some(mark) = tasklet.pass() {
            any = true;
            self.put(passer, mark, tasklet.state());
        }
        any
    }

    fn put(&self, Passer { task, name, role }: Passer<'_>, mark: Mark, state: Option<Kept>) {
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
        passing.passed.push((task, name.to_owned(), mark.at, state));
        if passing.passed.len() == expected {
            self.complete(&mut book);
        }
    }

    fn complete(&self, book: &mut Book) {
        let Some(Passing { id, at, output, mut passed }) = book.passing.take() else { return };
        passed.sort_unstable_by_key(|(task, ..)| *task);
        let passed = passed.into_iter().map(|(_, name, at, state)| (name, at, state));
        book.last = Some((id, Snapshot::new(at, output, passed)));
        self.news.store(book.every.is_some(), Ordering::Relaxed);
        self.under_way.store(false, Ordering::Relaxed);
        let due =
            if book.asked > book.laid { 0 } else { book.every.as_ref().map_or(NEVER, |every| at.0 + every.numbers) };
        self.due.store(due, Ordering::Relaxed);
    }

    /// Gives the policy its snapshot, if there is a new one. The caller holds no lock: that is the user's code.
    #[inline]
    pub(crate) fn tell(&self) {
        if self.news.load(Ordering::Relaxed) {
            self.tell_news();
        }
    }

    #[cold]
    fn tell_news(&self) {
        if !self.news.swap(false, Ordering::Relaxed) {
            return;
        }
        let told = {
            let book = self.book();
            book.every.clone().zip(book.last.clone())
        };
        if let Some((every, (_, snapshot))) = told {
            (every.take)(snapshot);
        }
    }
}

impl Shared {
    /// Waits for a snapshot; none if the run ends before.
    pub(crate) fn snapshot(&self, ended: impl Fn() -> bool, lay: impl FnOnce()) -> Option<Snapshot> {
        let id = self.marks.ask();
        lay();
        self.wake();
        self.wait_for(|| self.marks.passed(id).map(Some).or_else(|| ended().then_some(None))).flatten()
    }
}
