//! Entries of effects on their way to the disk: those that wait at the same time share a sync.

use crate::journal::{Journal, JournalError};
use crate::room::{Room, Waits};
use std::collections::{HashMap, VecDeque};
use std::future::poll_fn;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::task::{Poll, Waker};
use std::thread::{Builder, JoinHandle, current, sleep};
use std::time::Duration;

/// How long a full journal waits before it looks again whether it was trimmed.
const FULL: Duration = Duration::from_millis(10);
/// When this many eighths of a journal are taken, it asks for room: once it is full, no snapshot passes its stage.
const ASKS: u64 = 6;
/// From here on it is slow, so that the snapshots that make room come before it is full.
const SLOW: u64 = 7;
/// How long it waits for room. A snapshot that is under way may make room when it is stored; no later one passes a
/// stage that waits.
const GIVES_UP: Duration = Duration::from_secs(10);

pub(super) struct Writer {
    shared: Arc<Shared>,
    /// The thread that waits for the disk, for futures.
    thread: OnceLock<Committing>,
}

/// When this is dropped, the thread ends and the journal is free.
struct Committing {
    waiting: Option<Sender<Waiting>>,
    thread: Option<JoinHandle<()>>,
}

struct Shared {
    /// Entries that are not being written yet.
    pending: Mutex<Pending>,
    written: Mutex<Written>,
    /// By which it asks the job for room.
    room: Arc<Room>,
}

#[derive(Default)]
struct Pending {
    /// The number of entries that there ever were.
    count: u64,
    entries: VecDeque<Entry>,
}

struct Entry {
    bytes: Vec<u8>,
    effect: Arc<str>,
    number: u64,
}

struct Written {
    journal: Journal,
    /// Entries that are taken from the pending ones, and not in the journal yet.
    taken: VecDeque<Entry>,
    /// How many are durable.
    durable: u64,
    /// The entries that are not forgotten: their places in the journal, effects and numbers.
    live: VecDeque<(u64, Arc<str>, u64)>,
}

/// A future's entry.
struct Waiting {
    ticket: u64,
    answer: Arc<Mutex<Answer>>,
}

/// Whether the entry is durable, once that is known; and the future to wake.
type Answer = (Option<Result<(), String>>, Option<Waker>);

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Writer {
    pub(super) fn new(journal: Journal, live: Vec<(u64, Arc<str>, u64)>, room: Arc<Room>) -> Self {
        let written = Written { journal, taken: VecDeque::new(), durable: 0, live: live.into() };
        let shared = Shared { pending: Mutex::default(), written: Mutex::new(written), room };
        Writer { shared: Arc::new(shared), thread: OnceLock::new() }
    }

    /// Returns when the entry is durable, as far as the journal's options say.
    pub(super) fn put(&self, bytes: Vec<u8>, effect: &Arc<str>, number: u64) -> Result<(), String> {
        let ticket = self.shared.add(bytes, effect, number);
        self.shared.commit(ticket)
    }

    /// As [`put`](Writer::put), but another thread waits.
    pub(super) async fn put_async(&self, bytes: Vec<u8>, effect: &Arc<str>, number: u64) -> Result<(), String> {
        let ticket = self.shared.add(bytes, effect, number);
        let answer = Arc::new(Mutex::new((None, None)));
        let waiting = Waiting { ticket, answer: answer.clone() };
        let sent = self.thread()?.waiting.as_ref().map(|sender| sender.send(waiting));
        sent.and_then(Result::ok).ok_or("the thread that writes it has ended")?;
        poll_fn(|context| {
            let (answer, waker) = &mut *locked(&answer);
            match answer.take() {
                Some(answer) => Poll::Ready(answer),
                None => {
                    *waker = Some(context.waker().clone());
                    Poll::Pending
                }
            }
        })
        .await
    }

    fn thread(&self) -> Result<&Committing, String> {
        if let Some(thread) = self.thread.get() {
            return Ok(thread);
        }
        let ((sender, receiver), shared) = (channel(), self.shared.clone());
        let spawned = Builder::new().name("effects".to_owned()).spawn(move || shared.serve(&receiver));
        let thread = Some(spawned.map_err(|error| format!("a thread: {error}"))?);
        // Another thread may have been faster; then this one's ends at once.
        Ok(self.thread.get_or_init(|| Committing { waiting: Some(sender), thread }))
    }

    /// Says in the journal that all of it is durable.
    pub(super) fn mark(&self) -> Result<(), JournalError> {
        let journal = &mut locked(&self.shared.written).journal;
        journal.sync()?;
        journal.mark()
    }

    /// Entries of these effects below these numbers are not needed any more.
    pub(super) fn forget_below(&self, floors: &HashMap<Arc<str>, u64>) -> Result<(), JournalError> {
        let written = &mut *locked(&self.shared.written);
        let gone = |effect: &str, number: u64| floors.get(effect).is_some_and(|floor| number < *floor);
        while written.live.front().is_some_and(|(_, effect, number)| gone(effect, *number)) {
            written.live.pop_front();
        }
        written.trim()?;
        if !written.journal.has_eighths(ASKS) {
            return Ok(());
        }
        written.live.retain(|(_, effect, number)| !gone(effect, *number));
        // Without room on the disk, they stay where they are.
        written.compact().or_else(|error| if error.is_full() { Ok(()) } else { Err(error) })
    }
}

impl Shared {
    /// The ticket of an entry that waits.
    fn add(&self, bytes: Vec<u8>, effect: &Arc<str>, number: u64) -> u64 {
        let mut pending = locked(&self.pending);
        pending.entries.push_back(Entry { bytes, effect: effect.clone(), number });
        pending.count += 1;
        pending.count
    }

    /// Returns when the entries up to this ticket are durable. The first caller writes for all that wait.
    fn commit(&self, ticket: u64) -> Result<(), String> {
        let mut waits = None;
        loop {
            let mut written = locked(&self.written);
            if written.durable >= ticket {
                return Ok(());
            }
            let upto = {
                let mut pending = locked(&self.pending);
                written.taken.append(&mut pending.entries);
                pending.count
            };
            let full = written.append().map_err(|error| error.to_string())?;
            let (asks, slow) = (written.journal.has_eighths(ASKS), written.journal.has_eighths(SLOW));
            if full.is_none() {
                written.durable = upto;
            }
            drop(written);
            if asks {
                self.room.ask();
            }
            let Some(full) = full else {
                if slow {
                    sleep(FULL);
                }
                return Ok(());
            };
            if waits.get_or_insert_with(|| Waits::begin(&self.room)).lasts(GIVES_UP) || self.room.is_over() {
                return Err(full.without_room().to_string());
            }
            sleep(FULL);
        }
    }

    /// Waits for the disk, for futures.
    fn serve(&self, waiting: &Receiver<Waiting>) {
        while let Ok(Waiting { ticket, answer }) = waiting.recv() {
            let committed = self.commit(ticket);
            let (slot, waker) = &mut *locked(&answer);
            *slot = Some(committed);
            if let Some(waker) = waker.take() {
                waker.wake();
            }
        }
    }
}

impl Written {
    /// Writes the taken entries, and commits. Returns why not if there is no room for all of them: there is again when
    /// the journal is trimmed.
    fn append(&mut self) -> Result<Option<JournalError>, JournalError> {
        while let Some(entry) = self.taken.front() {
            let next = self.journal.next_number();
            match self.journal.append(next, &entry.bytes) {
                Err(JournalError::GroupFull { .. }) => _ = self.journal.commit()?,
                Err(full @ JournalError::Full { .. }) => return self.journal.commit().map(|_| Some(full)),
                appended => {
                    appended?;
                    let Entry { effect, number, .. } = self.taken.pop_front().expect("it is there");
                    self.live.push_back((next, effect, number));
                }
            }
        }
        self.journal.commit().map(|_| None)
    }

    /// Removes what is before the first entry that is not forgotten.
    fn trim(&mut self) -> Result<(), JournalError> {
        let first = self.live.front().map_or(self.journal.durable(), |(entry, ..)| *entry);
        self.journal.trim_below(first)
    }

    /// Writes the entries that are not forgotten once more, and removes what is before, if that is more than they are.
    /// Otherwise one that stays, as of an effect that the program no longer has, would hold the room of all after it.
    fn compact(&mut self) -> Result<(), JournalError> {
        self.journal.commit()?;
        let all = self.journal.next_number() - self.journal.first();
        let Some((oldest, ..)) = self.live.front().filter(|_| self.live.len() as u64 <= all / 2) else { return Ok(()) };
        let records = self.journal.read_from(*oldest)?;
        // The last ones of their numbers alone: an intent that comes after its answer would take its place.
        let last = self.live.iter().map(|(entry, effect, number)| ((effect.clone(), *number), *entry));
        let last = last.collect::<HashMap<_, _>>().into_iter().map(|(of, entry)| (entry, of));
        let mut last: HashMap<u64, (Arc<str>, u64)> = last.collect();
        let mut moved = VecDeque::new();
        self.journal.end_segment()?;
        for read in records {
            let (entry, bytes) = read?;
            let Some((effect, number)) = last.remove(&entry) else { continue };
            let next = self.journal.next_number();
            match self.journal.add(next, &bytes, u64::MAX) {
                Err(JournalError::GroupFull { .. }) => {
                    self.journal.commit()?;
                    self.journal.add(next, &bytes, u64::MAX)?;
                }
                added => added?,
            }
            moved.push_back((next, effect, number));
        }
        self.journal.commit()?;
        self.journal.sync()?;
        // A process that follows must find them before those in front are gone.
        self.journal.mark()?;
        self.live = moved;
        self.trim()
    }
}

impl Drop for Committing {
    fn drop(&mut self) {
        drop(self.waiting.take());
        // A future's values may be dropped on the thread that wakes it.
        if let Some(thread) = self.thread.take().filter(|thread| thread.thread().id() != current().id()) {
            let _ = thread.join();
        }
    }
}

/// Marks the whole journal as durable, for later readers.
impl Drop for Written {
    fn drop(&mut self) {
        // If this fails, a reader does not see the last entries, but the next writer does.
        let _ = self.journal.mark();
    }
}
