//! Sinks on the side, of `tee_to`, that report what they hold.

use super::{Claimed, ClaimingSink, Claims, OpenError, OutputOf};
use millstream_core::{RunOutcome, SequenceNumber, Shape, Sink};
use serde_json::Value;
use std::error::Error;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::{fmt, io};

/// A sink of [`tee_to`](millstream_core::PartsExt::tee_to) that a job goes on with after a crash: each value is in it
/// once, as in the job's own sink.
///
/// The pipeline has a clone of it, and at every start [`Persistent::side_sink`](crate::Persistent::side_sink) gets it.
/// Then snapshots store what it [claims](ClaimingSink) to hold, under its name, and a start opens it there. A snapshot
/// from before the sink was added has no claim of it: there it begins as it is, and a file with contents is refused.
///
/// All clones are one sink. So when the pipeline of a running job is [replaced](crate::JobUpgrader), the new version
/// goes on with it under the same name. In a run that keeps no state it is opened at its first value, as without a
/// claim. Its output, [`with_output`](millstream_exec::sink::with_output), is `None` for the second clone that a run
/// finishes.
///
/// ```
/// use millstream::{io::FileSink, prelude::*, state::{Persistent, SideSink, StateDir, again}};
///
/// # let directory = tempfile::tempdir()?;
/// # std::env::set_current_dir(&directory)?;
/// let rejected = SideSink::new("rejected", FileSink::append("rejected"));
/// let numbers = pipeline::<String>()
///     .map(|line| line.trim().parse::<u64>().map_err(|_| line.clone()))
///     .tee(|p| p.filter_map(|parsed| parsed.as_ref().err().cloned()).tee_to("rejected", rejected.clone()))
///     .filter_map(|parsed| parsed.as_ref().ok().map(|number| format!("{number}\n")));
/// let lines = again(|| ["1\n", "x\n", "3\n"].into_iter().map(str::to_owned));
/// let job = Persistent::new(Rings::new(), StateDir::open("state", "numbers")?).side_sink(&rejected);
/// job.run(&numbers, lines, FileSink::append("numbers"))?;
/// assert_eq!(std::fs::read_to_string("numbers")?, "1\n3\n");
/// assert_eq!(std::fs::read_to_string("rejected")?, "x\n");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct SideSink<A: Shape, K: ClaimingSink<A>>(Arc<Shared<A, K>>);

pub(crate) struct Shared<A: Shape, K: ClaimingSink<A>> {
    name: String,
    sink: K,
    place: Mutex<Place<K::Open>>,
    claimed: Claimed,
    source_failed: Mutex<Option<SourceFailed>>,
}

/// Whether the source has failed. Then the stream has ended early, and goes on after a restart.
pub(crate) type SourceFailed = Arc<dyn Fn() -> bool + Send + Sync>;

/// Where the open sink is. User code has it for the time of a call, and no lock is held then.
enum Place<O> {
    Unopened,
    Open(Box<O>),
    /// A call has it, or has lost it by a panic.
    Away,
    Finished,
}

type AnyError = Box<dyn Error + Send + Sync>;

impl<A: Shape, K: ClaimingSink<A>> SideSink<A, K> {
    /// The sink of `tee_to(name, ..)`, which is the only stage of this name. It is not opened yet.
    #[must_use]
    pub fn new(name: impl Into<String>, sink: K) -> Self {
        let (name, place) = (name.into(), Mutex::new(Place::Unopened));
        SideSink(Arc::new(Shared { name, sink, place, claimed: Claimed::default(), source_failed: Mutex::default() }))
    }
}

impl<A: Shape, K: ClaimingSink<A>> Shared<A, K> {
    fn place(&self) -> MutexGuard<'_, Place<K::Open>> {
        self.place.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn put(&self, place: Place<K::Open>) {
        // The place before it may be the user's, and is dropped without the lock.
        let _before = std::mem::replace(&mut *self.place(), place);
    }

    /// Takes the sink out of its place, and opens it if it is not open.
    fn take(&self) -> Result<Box<K::Open>, AnyError> {
        let place = std::mem::replace(&mut *self.place(), Place::Away);
        match place {
            Place::Open(open) => Ok(open),
            Place::Away => Err("another run has this sink".into()),
            closed => match self.sink.open(None) {
                Ok(open) => Ok(Box::new(open)),
                Err(error) => {
                    self.put(closed);
                    Err(error.into())
                }
            },
        }
    }

    fn call<R, E: Into<AnyError>>(&self, call: impl FnOnce(&mut K::Open) -> Result<R, E>) -> Result<R, AnyError> {
        let mut open = self.take()?;
        let result = call(&mut open);
        self.put(Place::Open(open));
        result.map_err(Into::into)
    }

    fn named(&self, error: OpenError) -> OpenError {
        let name = &self.name;
        match error {
            OpenError::HoldsLess(why) => OpenError::HoldsLess(format!("the side sink {name:?}: {why}")),
            OpenError::Failed(error) => {
                OpenError::Failed(io::Error::new(error.kind(), format!("the side sink {name:?}: {error}")))
            }
        }
    }
}

impl<A: Shape, K: ClaimingSink<A> + Send + Sync + 'static> Sink<A> for SideSink<A, K> {
    type Output = Option<OutputOf<A, K>>;
    type Error = AnyError;

    fn put(&mut self, number: SequenceNumber, value: A::Ref<'_>) -> Result<(), AnyError> {
        self.0.call(|open| open.put(number, value))
    }

    fn pause(&mut self) -> Result<(), AnyError> {
        self.0.call(|open| open.pause())
    }

    fn mark(&mut self, next: SequenceNumber) -> Result<(), AnyError> {
        let claim = self.0.call(|open| {
            open.mark(next).map_err(Into::into)?;
            if let Some(oldest) = self.0.claimed.take_oldest() {
                open.forget(&oldest);
            }
            open.claim().map_err(AnyError::from)
        })?;
        self.0.claimed.put(next, claim);
        Ok(())
    }

    fn end(&mut self, number: SequenceNumber) -> Result<(), AnyError> {
        self.0.call(|open| open.end(number))
    }

    fn finish(self, outcome: RunOutcome) -> Result<Self::Output, AnyError> {
        if matches!(*self.0.place(), Place::Finished) {
            return Ok(None);
        }
        let open = self.0.take()?;
        self.0.put(Place::Finished);
        let source_failed = self.0.source_failed.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let outcome = if source_failed.is_some_and(|failed| failed()) { RunOutcome::Failed } else { outcome };
        open.finish(outcome).map(Some).map_err(Into::into)
    }

    fn goes_on(&self) -> bool {
        true
    }
}

impl<A: Shape, K: ClaimingSink<A>> Clone for SideSink<A, K> {
    fn clone(&self) -> Self {
        SideSink(self.0.clone())
    }
}

impl<A: Shape, K: ClaimingSink<A>> fmt::Debug for SideSink<A, K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SideSink").field("name", &self.0.name).finish_non_exhaustive()
    }
}

impl<A: Shape, K: ClaimingSink<A> + Send + Sync + 'static> SideSink<A, K> {
    pub(crate) fn of_job(&self) -> Arc<dyn OfJob> {
        self.0.clone()
    }
}

/// A side sink as its job sees it, of whatever values.
pub(crate) trait OfJob: Send + Sync {
    fn name(&self) -> &str;
    /// Whether it can be opened at this claim, as far as that is known.
    fn can_open(&self, claim: Option<(SequenceNumber, &Value)>) -> Result<(), OpenError>;
    /// Opens it for a run, at a claim or as it is. It is closed before, if a run before has left it open.
    fn open(&self, claim: Option<(SequenceNumber, &Value)>) -> Result<(), OpenError>;
    fn begin(&self, source_failed: SourceFailed);
    /// Closes it, if the run has left it open.
    fn close(&self);
    /// What it holds now.
    fn claim(&self) -> io::Result<Value>;
    fn goes_back(&self) -> bool;
    fn skips(&self) -> bool;
    fn holds(&self) -> Option<SequenceNumber>;
    fn claimed(&self) -> Claimed;
}

impl<A: Shape, K: ClaimingSink<A> + Send + Sync + 'static> OfJob for Shared<A, K> {
    fn name(&self) -> &str {
        &self.name
    }

    fn can_open(&self, claim: Option<(SequenceNumber, &Value)>) -> Result<(), OpenError> {
        self.sink.can_open(claim).map_err(|error| self.named(error))
    }

    fn open(&self, claim: Option<(SequenceNumber, &Value)>) -> Result<(), OpenError> {
        self.put(Place::Unopened);
        let open = self.sink.open(claim).map_err(|error| self.named(error))?;
        self.put(Place::Open(Box::new(open)));
        Ok(())
    }

    fn begin(&self, source_failed: SourceFailed) {
        self.claimed.clear();
        *self.source_failed.lock().unwrap_or_else(PoisonError::into_inner) = Some(source_failed);
    }

    fn close(&self) {
        self.put(Place::Finished);
    }

    fn claim(&self) -> io::Result<Value> {
        self.call(|open| open.claim())
            .map_err(|error| io::Error::other(format!("the side sink {:?}: {error}", self.name)))
    }

    fn goes_back(&self) -> bool {
        self.sink.goes_back()
    }

    fn skips(&self) -> bool {
        self.sink.skips()
    }

    fn holds(&self) -> Option<SequenceNumber> {
        match &*self.place() {
            Place::Open(open) => open.holds(),
            _ => None,
        }
    }

    fn claimed(&self) -> Claimed {
        self.claimed.clone()
    }
}

impl fmt::Debug for dyn OfJob {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The side sinks of a run. When this is dropped, they are closed: a run that is dropped finishes none of them, and a
/// clone of one may outlive the run.
pub(crate) struct OfRun(pub(crate) Vec<Arc<dyn OfJob>>);

impl Drop for OfRun {
    fn drop(&mut self) {
        self.0.iter().for_each(|sink| sink.close());
    }
}
