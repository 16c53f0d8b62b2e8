//! Sinks that report what they hold, and can go back to it.

mod files;
mod held;
#[cfg(feature = "postgres")]
mod postgres;
#[cfg(any(feature = "postgres", feature = "sqlite"))]
mod progress;
mod side_sink;
#[cfg(feature = "sqlite")]
mod sqlite;
mod written;

pub use files::open_together;
pub(crate) use held::{AllClaimed, Held, output_of};
#[cfg(feature = "postgres")]
pub use postgres::{Postgres, PostgresRows, PostgresTransaction, postgres, tokio_postgres};
pub use side_sink::SideSink;
pub(crate) use side_sink::{OfJob, OfRun, SourceFailed};
#[cfg(feature = "sqlite")]
pub use sqlite::{Sqlite, SqliteRows, sqlite};
pub use written::{Written, WrittenFile, written};

use millstream_core::{RunOutcome, SequenceNumber, Shape, Sink};
use serde_json::Value;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::{error, fmt, io};

/// A sink that can say what it holds, its *claim*, and that can go on from a claim in another process.
///
/// A snapshot stores the claim that the sink made before the snapshot's number. When the job starts again, it asks the
/// sink, newest snapshot first, whether it still holds what it claimed. A file that is longer is cut; a table that
/// holds more skips the numbers that it has. A sink that holds less refuses, and the job tries an older snapshot.
///
/// This is the sink before it is open; [`open`](ClaimingSink::open) opens it. A
/// [`FileSinkOptions`](millstream_io::FileSinkOptions) that appends is one.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a sink for the edge `{A}` that can say what it holds",
    note = "an appended file is one: `FileSink::append(path)`, without `open()`; a sink that cannot say it would get \
            values twice after a crash"
)]
pub trait ClaimingSink<A: Shape> {
    /// The open sink.
    type Open: Sink<A> + Claims;

    /// Opens the sink for the numbers from `next` on: at the claim that it made there, or as it is if it made none.
    ///
    /// # Errors
    ///
    /// [`HoldsLess`](OpenError::HoldsLess) if it holds less than it claimed there, or something else; otherwise why it
    /// cannot be opened.
    fn open(&self, claim: Option<(SequenceNumber, &Value)>) -> Result<Self::Open, OpenError>;

    /// Whether [`open`](ClaimingSink::open) would open it at this claim, as far as that is known before. It changes
    /// nothing. A job with [side sinks](SideSink) asks all of its sinks before it opens one: so none is cut if another
    /// one refuses.
    ///
    /// # Errors
    ///
    /// As [`open`](ClaimingSink::open).
    fn can_open(&self, claim: Option<(SequenceNumber, &Value)>) -> Result<(), OpenError> {
        let _ = claim;
        Ok(())
    }

    /// Whether the sink gives up the values since an earlier claim when it is opened there, as a file that is cut does.
    /// A sink that keeps them, such as a table that skips the numbers that it has, returns false: its numbers cannot be
    /// [done again](crate::Persistent::redo).
    fn goes_back(&self) -> bool {
        false
    }

    /// Whether the sink keeps the values since an earlier claim when it is opened there, and skips their numbers. Its
    /// numbers must then stand for the same values in every process: the numbers of a source that does not
    /// [repeat](crate::Resumable::repeats) do not, and a job with both is an error. By default a sink that does not
    /// [go back](ClaimingSink::goes_back) does this; one that has no values of earlier processes returns false.
    fn skips(&self) -> bool {
        !self.goes_back()
    }
}

/// The result of a run whose output goes to `K`.
pub type OutputOf<A, K> = <<K as ClaimingSink<A>>::Open as Sink<A>>::Output;

/// An open sink that reports what it holds.
pub trait Claims {
    /// Stores everything that was put, so that it survives the end of the process, and returns what the sink holds now.
    ///
    /// # Errors
    ///
    /// If it cannot be stored. The run ends.
    fn claim(&mut self) -> io::Result<Value>;

    /// The number below which it has everything, if it [skips](ClaimingSink::skips) these numbers. A source with a
    /// [journal](crate::journaled) that ends before is refused: it would record other values at these numbers.
    fn holds(&self) -> Option<SequenceNumber> {
        None
    }

    /// No run begins before this claim any more: it is that of the oldest snapshot that is kept. What the sink keeps
    /// only to go back further can go. The claim may be one of an earlier process. Called before a
    /// [`claim`](Claims::claim), once snapshots were removed.
    fn forget(&mut self, oldest: &Value) {
        let _ = oldest;
    }
}

/// Why a sink cannot be opened at a claim.
#[derive(Debug)]
#[non_exhaustive]
pub enum OpenError {
    /// It holds less than it claimed, or something else; the text says what.
    HoldsLess(String),
    /// It cannot be opened.
    Failed(io::Error),
}

impl fmt::Display for OpenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            OpenError::HoldsLess(why) => f.write_str(why),
            OpenError::Failed(error) => error.fmt(f),
        }
    }
}

impl error::Error for OpenError {
    fn source(&self) -> Option<&(dyn error::Error + 'static)> {
        match self {
            OpenError::HoldsLess(_) => None,
            OpenError::Failed(error) => error.source(),
        }
    }
}

impl From<io::Error> for OpenError {
    fn from(error: io::Error) -> Self {
        OpenError::Failed(error)
    }
}

/// The claims that a sink has made, by the numbers that came next, until snapshots have them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Claimed(Arc<AllClaims>);

#[derive(Debug, Default)]
struct AllClaims {
    at_marks: Mutex<VecDeque<(SequenceNumber, Value)>>,
    /// Whether none is forgotten for further ones, however long its snapshot takes.
    keeps_all: AtomicBool,
    /// Whether the sink makes a last claim when the run is stopped; and that claim, with the number after the last
    /// that the sink was given.
    wants_last: AtomicBool,
    last: Mutex<Option<(u64, Value)>>,
    /// The claim of the oldest snapshot that is kept, until the sink knows it.
    oldest: Mutex<Option<Value>>,
}

impl Claimed {
    fn claims(&self) -> MutexGuard<'_, VecDeque<(SequenceNumber, Value)>> {
        self.0.at_marks.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes the sink claim once more when the run is stopped.
    pub(crate) fn want_last(&self) {
        self.0.wants_last.store(true, Ordering::Release);
    }

    /// The claim at the end of a stopped run, if the sink was given no number from `next` on.
    pub(crate) fn take_last(&self, next: SequenceNumber) -> Option<Value> {
        let last = self.0.last.lock().unwrap_or_else(PoisonError::into_inner).take();
        last.filter(|(given, _)| *given <= next.0).map(|(_, claim)| claim)
    }

    /// Notes the claim before this number.
    pub(crate) fn put(&self, next: SequenceNumber, claim: Value) {
        let mut claims = self.claims();
        claims.push_back((next, claim));
        while claims.len() > WAITING && !self.0.keeps_all.load(Ordering::Relaxed) {
            claims.pop_front();
        }
    }

    /// Sets whether no claim is forgotten for further ones.
    pub(crate) fn keep_all(&self, keeps_all: bool) {
        self.0.keeps_all.store(keeps_all, Ordering::Relaxed);
    }

    /// Forgets all claims.
    pub(crate) fn clear(&self) {
        self.claims().clear();
        self.take_oldest();
    }

    fn oldest(&self) -> MutexGuard<'_, Option<Value>> {
        self.0.oldest.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// No run begins before this claim any more.
    fn begin_at(&self, oldest: &Value) {
        *self.oldest() = Some(oldest.clone());
    }

    /// The claim before which no run begins any more, if the sink does not know it.
    fn take_oldest(&self) -> Option<Value> {
        self.oldest().take()
    }

    /// The claim before this number.
    pub(crate) fn at(&self, next: SequenceNumber) -> Option<Value> {
        self.claims().iter().find(|(at, _)| *at == next).map(|(_, claim)| claim.clone())
    }

    /// Forgets the claims before those of this number: no snapshot will have them.
    pub(crate) fn forget_before(&self, next: SequenceNumber) {
        self.claims().retain(|(at, _)| *at >= next);
    }
}

/// The most claims that wait for their snapshots, of which one is under way at a time, unless all are kept.
const WAITING: usize = 8;

/// A sink that makes a claim at each mark.
pub(crate) struct AtMarks<K> {
    pub(crate) sink: K,
    /// The number after the last that the sink was given; 0 before the first.
    pub(crate) given: u64,
    pub(crate) claimed: Claimed,
    pub(crate) source_failed: SourceFailed,
}

impl<A: Shape, K: Sink<A> + Claims> Sink<A> for AtMarks<K> {
    type Output = K::Output;
    type Error = Box<dyn error::Error + Send + Sync>;

    fn put(&mut self, number: SequenceNumber, value: A::Ref<'_>) -> Result<(), Self::Error> {
        self.given = number.0 + 1;
        self.sink.put(number, value).map_err(Into::into)
    }

    fn pause(&mut self) -> Result<(), Self::Error> {
        self.sink.pause().map_err(Into::into)
    }

    fn mark(&mut self, next: SequenceNumber) -> Result<(), Self::Error> {
        self.sink.mark(next).map_err(Into::into)?;
        if let Some(oldest) = self.claimed.take_oldest() {
            self.sink.forget(&oldest);
        }
        let claim = self.sink.claim()?;
        self.claimed.put(next, claim);
        Ok(())
    }

    fn end(&mut self, number: SequenceNumber) -> Result<(), Self::Error> {
        self.sink.end(number).map_err(Into::into)
    }

    fn finish(mut self, outcome: RunOutcome) -> Result<K::Output, Self::Error> {
        if outcome == RunOutcome::Stopped && self.claimed.0.wants_last.load(Ordering::Acquire) {
            // Without it, the process that takes over begins at a snapshot.
            let claim = self.sink.claim().ok().map(|claim| (self.given, claim));
            *self.claimed.0.last.lock().unwrap_or_else(PoisonError::into_inner) = claim;
        }
        let outcome = if (self.source_failed)() { RunOutcome::Failed } else { outcome };
        self.sink.finish(outcome).map_err(Into::into)
    }
}
