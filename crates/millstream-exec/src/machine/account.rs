//! How threads spent their time, by the system's own account.

use std::fs::File;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// The shortest time between two readings, unless there is a reason for one.
const SELDOM: Duration = Duration::from_millis(10);

/// A thread waited for another thread with work to do if its waits for a core took this long on average. Waking up
/// takes some microseconds even on a free core.
const LONG: Duration = Duration::from_micros(250);

/// The times of each thread of a run: on a core, and in long waits for one.
#[derive(Debug)]
pub(crate) struct Accounts {
    threads: Box<[Sums]>,
}

#[derive(Debug, Default)]
struct Sums {
    ran_ns: AtomicU64,
    waited_ns: AtomicU64,
}

impl Accounts {
    /// The accounts of at most `most` threads.
    pub(crate) fn new(most: usize) -> Self {
        Accounts { threads: (0..most).map(|_| Sums::default()).collect() }
    }

    /// The time that all threads together ran on a core, and waited for one; none if that is not known.
    pub(crate) fn sums(&self) -> Option<(Duration, Duration)> {
        let sum = |of: fn(&Sums) -> &AtomicU64| self.threads.iter().map(|sums| of(sums).load(Ordering::Relaxed)).sum();
        let (ran, waited) = (sum(|sums| &sums.ran_ns), sum(|sums| &sums.waited_ns));
        (ran > 0).then(|| (Duration::from_nanos(ran), Duration::from_nanos(waited)))
    }

    /// The time that the first `threads` threads waited for a core.
    pub(crate) fn waited(&self, threads: usize) -> Duration {
        let waited = |sums: &Sums| sums.waited_ns.load(Ordering::Relaxed);
        Duration::from_nanos(self.threads.iter().take(threads).map(waited).sum())
    }

    /// Adds the times of a thread. Only that thread calls it.
    fn add(&self, thread: usize, Did { ran_ns, waited_ns }: Did) {
        let Some(sums) = self.threads.get(thread) else { return };
        let add = |to: &AtomicU64, ns: u64| to.store(to.load(Ordering::Relaxed) + ns, Ordering::Relaxed);
        add(&sums.ran_ns, ran_ns);
        add(&sums.waited_ns, waited_ns);
    }
}

/// The calling thread's account.
pub(crate) struct Account {
    file: Option<File>,
    last: Statement,
    next: Instant,
}

/// The totals of an account since its thread began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Statement {
    ran_ns: u64,
    waited_ns: u64,
    turns: u64,
}

/// The times of a thread between two statements.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Did {
    ran_ns: u64,
    waited_ns: u64,
}

impl Account {
    /// Opens the account, which counts from the beginning of the thread.
    pub(crate) fn open() -> Self {
        Account { file: system::open(), last: Statement::default(), next: Instant::now() + SELDOM }
    }

    /// Settles the account if [`SELDOM`] has passed since the last time. Returns whether it has.
    pub(crate) fn look(&mut self, now: Instant, thread: usize, into: &Accounts) -> bool {
        let due = now >= self.next;
        if due {
            self.settle(now, thread, into);
        }
        due
    }

    /// Reads the account and adds the thread's times. Returns how long it waited for a core since the last time.
    pub(crate) fn settle(&mut self, now: Instant, thread: usize, into: &Accounts) -> Duration {
        self.next = now + SELDOM;
        let Some(statement) = self.read() else { return Duration::ZERO };
        let did = statement.since(self.last);
        self.last = statement;
        into.add(thread, did);
        Duration::from_nanos(did.waited_ns)
    }

    fn read(&self) -> Option<Statement> {
        system::read(self.file.as_ref()?)
    }
}

impl Statement {
    /// `RAN WAITED TURNS`, in nanoseconds.
    fn parse(text: &str) -> Option<Self> {
        let mut fields = text.split_ascii_whitespace().map(str::parse);
        let mut next = || fields.next()?.ok();
        Some(Statement { ran_ns: next()?, waited_ns: next()?, turns: next()? })
    }

    fn since(self, before: Statement) -> Did {
        let [ran_ns, waited_ns, turns] = [
            self.ran_ns.saturating_sub(before.ran_ns),
            self.waited_ns.saturating_sub(before.waited_ns),
            self.turns.saturating_sub(before.turns),
        ];
        let long = waited_ns >= turns.max(1).saturating_mul(LONG.as_nanos() as u64);
        Did { ran_ns, waited_ns: if long { waited_ns } else { 0 } }
    }
}

#[cfg(target_os = "linux")]
mod system {
    use super::Statement;
    use std::fs::File;
    use std::os::unix::fs::FileExt;

    pub(super) fn open() -> Option<File> {
        File::open("/proc/thread-self/schedstat").ok()
    }

    /// Does not allocate.
    pub(super) fn read(file: &File) -> Option<Statement> {
        let mut text = [0; 96];
        let read = file.read_at(&mut text, 0).ok()?;
        Statement::parse(str::from_utf8(&text[..read]).ok()?)
    }
}

#[cfg(not(target_os = "linux"))]
mod system {
    use super::Statement;
    use std::fs::File;

    pub(super) fn open() -> Option<File> {
        None
    }

    pub(super) fn read(_: &File) -> Option<Statement> {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::{Account, Accounts, Did, Statement};
    use std::time::{Duration, Instant};

    #[test]
    fn short_waits_do_not_count() {
        let at = |ran_ns, waited_ns, turns| Statement { ran_ns, waited_ns, turns };
        let before = Statement::parse("1000 2000 3\n").unwrap();
        assert_eq!(before, at(1000, 2000, 3));
        // It woke up a thousand times, and a core was free.
        assert_eq!(at(51_000, 5_002_000, 1003).since(before), Did { ran_ns: 50_000, waited_ns: 0 });
        assert_eq!(at(51_000, 6_002_000, 5).since(before), Did { ran_ns: 50_000, waited_ns: 6_000_000 });
        assert_eq!(before.since(before), Did::default());
        assert_eq!((Statement::parse("1 2"), Statement::parse("a 2 3")), (None, None));
    }

    #[test]
    fn the_threads_times_are_summed_up() {
        let accounts = Accounts::new(2);
        assert_eq!(accounts.sums(), None);
        accounts.add(0, Did { ran_ns: 5, waited_ns: 1 });
        accounts.add(1, Did { ran_ns: 7, waited_ns: 0 });
        accounts.add(1, Did { ran_ns: 1, waited_ns: 2 });
        accounts.add(2, Did { ran_ns: 9, waited_ns: 9 });
        assert_eq!(accounts.sums(), Some((Duration::from_nanos(13), Duration::from_nanos(3))));
        assert_eq!([0, 1, 2].map(|threads| accounts.waited(threads).as_nanos()), [0, 1, 3]);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_thread_that_computes_is_seen_to_run() {
        let (accounts, mut account) = (Accounts::new(1), Account::open());
        let Some(Statement { turns: 1.., .. }) = account.read() else {
            return eprintln!("this system keeps no accounts");
        };
        // The system may take any time to account for it.
        while accounts.sums().is_none() {
            account.settle(Instant::now(), 0, &accounts);
        }
    }
}
