//! A persistent job that runs.

use super::same_numbers::ByNumber;
use super::storer::{Passed, Retires, Storer};
use super::storing::Storing;
use super::timer::Timer;
use super::{Cadence, JobError, JobUpgrader};
use crate::Resumable;
#[cfg(feature = "service")]
use crate::StateDir;
#[cfg(feature = "service")]
use crate::claims::Claimed;
use crate::claims::OfRun;
use crate::room::Room;
use millstream_core::Item;
use millstream_exec::{Durable, Handle, RunEnd, RunError, Stopper};
use std::io;
use std::marker::PhantomData;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// The time between two looks for the end of a job whose directory another process waits for.
pub(super) const LOOK: Duration = Duration::from_millis(1);

/// The source of a job, of whatever values, and the error that has ended it early.
#[derive(Clone)]
pub(super) struct Written {
    source: Arc<dyn Ends>,
    failure: Arc<Mutex<Option<io::Error>>>,
}

trait Ends: Send + Sync {
    fn failure(&self) -> Option<io::Error>;
    fn let_go(&self);
}

/// A source of values of this type.
struct Of<X, T>(Arc<X>, PhantomData<fn() -> T>);

impl<T: Item, X: Resumable<T>> Ends for Of<X, T> {
    fn failure(&self) -> Option<io::Error> {
        self.0.failure()
    }

    fn let_go(&self) {
        self.0.let_go();
    }
}

impl Written {
    pub(super) fn of<T: Item, X: Resumable<T>>(source: Arc<X>) -> Self {
        Written { source: Arc::new(Of(source, PhantomData)), failure: Arc::default() }
    }

    /// Called when its values have ended. The error stays.
    pub(super) fn has_failed(&self) -> bool {
        let mut failure = self.failure.lock().unwrap_or_else(PoisonError::into_inner);
        if failure.is_none() {
            *failure = self.source.failure();
        }
        failure.is_some()
    }

    fn failure(&self) -> Option<io::Error> {
        self.has_failed();
        self.failure.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

/// A persistent job that runs. Dropping it stops the job; it can be started again, as after a crash.
pub struct Running<O: Send + 'static> {
    handle: Handle<O, Durable>,
    /// Closed when the run is over, and before another process can have the directory.
    side_sinks: OfRun,
    storing: Storing,
    cadence: Cadence,
    timer: Option<Timer>,
    /// By which the job's journals ask for room.
    room: Arc<Room>,
    source: Written,
    began: u64,
    pub(super) passed_over: Vec<String>,
    pub(super) by_number: Arc<ByNumber>,
    /// How many numbers were read only after the process that this one has followed had stopped.
    replayed: u64,
    retires: Arc<Retires>,
    /// Ends the source of a service.
    close: Option<Box<dyn Fn() + Send>>,
}

/// Where a job began, and the outcome of its snapshots.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Stored {
    /// The number at which the run [began](Running::began).
    pub began: u64,
    /// How many snapshots this run has stored.
    pub snapshots: u64,
    /// The number of the last one.
    pub last: Option<u64>,
    /// The bytes of state that were written for them: less than their size if a state has not changed in between.
    pub written_bytes: u64,
    /// The longest time for which a stage stopped at one of them, to leave its state there.
    pub longest_stop: Duration,
    /// How many could not be stored.
    pub failed: u64,
    /// Why the last of those could not be stored.
    pub last_failure: Option<String>,
}

impl<O: Send + 'static> Running<O> {
    pub(super) fn new(
        handle: Handle<O, Durable>,
        side_sinks: OfRun,
        storing: Storing,
        cadence: Cadence,
        source: Written,
        began: u64,
        passed: Passed,
    ) -> Self {
        let retires = Arc::new(Retires { passed, at: Mutex::default() });
        let room = storing.room();
        let (timer, passed_over, by_number, replayed, close) = (None, Vec::new(), Arc::default(), 0, None);
        Running {
            handle,
            side_sinks,
            storing,
            cadence,
            timer,
            room,
            source,
            began,
            passed_over,
            by_number,
            replayed,
            retires,
            close,
        }
    }

    /// Takes snapshots by time, and for journals without room, if it should.
    pub(super) fn timed(mut self) -> Result<Self, JobError> {
        let period = match self.cadence {
            Cadence::Every(period) => Some(period),
            _ => None,
        };
        if period.is_some() || self.room.is_used() {
            let timer = Timer::start(period, self.handle.snapshotter(), self.storing.sender(), self.room.clone());
            self.timer = Some(timer.map_err(|error| JobError::Run(RunError::Spawn(error.to_string())))?);
        }
        Ok(self)
    }

    /// Called when this process has the directory: snapshots are taken and stored from now on.
    #[cfg(feature = "service")]
    pub(super) fn own(mut self, dir: StateDir, at: u64, replayed: u64) -> Result<Self, JobError> {
        (self.began, self.replayed) = (at, replayed);
        self.storing.own(dir);
        self.timed()
    }

    /// The number at which the run began: 0, that of the snapshot that it began with, or that at which it took the
    /// place of the process that it had [followed](super::Persistent::follow).
    #[must_use]
    pub fn began(&self) -> u64 {
        self.began
    }

    /// Why it did not begin at a newer snapshot that was there: one is damaged, or the sink holds less than it claimed
    /// there. In words, and empty for most runs.
    #[must_use]
    pub fn passed_over(&self) -> &[String] {
        &self.passed_over
    }

    /// The error that has ended the source early.
    #[cfg(feature = "service")]
    pub(super) fn source_failure(&self) -> Option<io::Error> {
        self.source.failure()
    }

    /// The claims of the sink.
    #[cfg(feature = "service")]
    pub(super) fn claimed(&self) -> Claimed {
        self.storing.sender().claimed().clone()
    }

    /// If the run has [followed](super::Persistent::follow) another process: how many numbers of the source it had not
    /// read when that process had stopped. It read them while no process took new values.
    #[must_use]
    pub fn replayed(&self) -> u64 {
        self.replayed
    }

    /// Takes no more snapshots, and waits for the one that is being stored, so that the job can later end at once. The
    /// job goes on.
    pub fn rest(&mut self) {
        self.room.rest();
        self.storing.sender().rest();
    }

    /// Takes a snapshot at the next number that the source publishes, and waits until it is stored. Returns the number;
    /// `None` if the job ends before.
    ///
    /// # Errors
    ///
    /// Why it could not be stored; it is not if the last value was not [whole](crate::Places::is_whole). The job goes
    /// on.
    pub fn snapshot(&self) -> Result<Option<u64>, String> {
        self.storer().snapshot()
    }

    #[cfg(feature = "service")]
    pub(super) fn closed_by(self, close: impl Fn() + Send + 'static) -> Self {
        Running { close: Some(Box::new(close)), ..self }
    }

    /// Refuses further requests, although there are clients, and ends the job once it has answered the accepted ones. A
    /// job that is not a [service](super::Persistent::serve) is drained.
    ///
    /// ```
    /// use millstream::{prelude::*, state::{Persistent, StateDir}};
    /// # let home = tempfile::tempdir()?;
    /// let sum = pipeline::<String>().scan(0, |sum, line| { *sum += line.len(); *sum }).named("sum");
    /// let job = Persistent::new(Rings::new(), StateDir::open(home.path().join("state"), "sum")?);
    /// let (client, running) = job.serve(sum, Default::default())?;
    /// let waits = client.send("four".to_owned())?;
    /// running.close();
    /// running.wait()?;
    /// assert_eq!(waits.wait(), Ok(4));
    /// assert_eq!(client.call_blocking("five!".to_owned()), Err(CallError::Ended));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn close(&self) {
        match &self.close {
            Some(close) => close(),
            None => self.handle.begin_drain(),
        }
    }

    /// Takes snapshots from another thread, while this one waits.
    pub fn storer(&self) -> Storer {
        let (snapshotter, offers) = (self.handle.snapshotter(), self.storing.sender());
        Storer { snapshotter, offers, retires: self.retires.clone() }
    }

    /// Replaces the job's pipeline from another thread, while this one waits.
    pub fn upgrader(&self) -> JobUpgrader {
        JobUpgrader::new(self.handle.upgrader(), self.storing.sender(), self.by_number.clone())
    }

    /// Waits until the job has ended or failed, and lets its directory go, so that another process can have it.
    /// [`join`](Running::join) drops what is in memory, which may take longer.
    ///
    /// ```
    /// use millstream::{prelude::*, state::{Persistent, StateDir}};
    /// # let home = tempfile::tempdir()?;
    /// let open = || StateDir::open(home.path().join("state"), "sum");
    /// let sum = || pipeline::<String>().scan(0, |sum, line| { *sum += line.len(); *sum }).named("sum");
    /// let (client, mut running) = Persistent::new(Rings::new(), open()?).serve(sum(), Default::default())?;
    /// assert_eq!(client.call_blocking("four".to_owned()), Ok(4));
    /// running.close();
    /// running.let_go();
    /// let (client, _next) = Persistent::new(Rings::new(), open()?).serve(sum(), Default::default())?;
    /// assert_eq!(client.call_blocking("five!".to_owned()), Ok(9));
    /// running.wait()?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn let_go(&mut self) {
        while !self.handle.is_finished() {
            std::thread::sleep(LOOK);
        }
        self.room.rest();
        self.storing.let_go();
        self.source.source.let_go();
    }

    /// The handle of the run, to observe it or to set its workers. An [upgrade](Handle::upgrade) there is not stored,
    /// so replace its pipeline by an [`upgrader`](Running::upgrader).
    pub fn handle(&self) -> &Handle<O, Durable> {
        &self.handle
    }

    /// A handle by which another thread can drain or stop the job while this one waits.
    pub fn stopper(&self) -> Stopper {
        self.handle.stopper()
    }

    /// Waits for the end of the job. Returns the sink's result, and the outcome of the snapshots.
    ///
    /// # Errors
    ///
    /// If a stage, the source or the sink has failed. The job can be started again: it goes on at its newest snapshot.
    pub fn wait(self) -> Result<(O, Stored), JobError> {
        let (ended, stored, source) = self.join();
        if let Some(failure) = ended.failure {
            return Err(JobError::Run(failure));
        }
        match source {
            Some(error) => Err(JobError::Source(error)),
            None => Ok((ended.output.expect("a run that has not failed has its output"), stored)),
        }
    }

    /// Waits for the end of the job. Returns, even if it failed, how the run ended, the outcome of the snapshots, and
    /// the error that ended the source early.
    pub fn join(self) -> (RunEnd<O>, Stored, Option<io::Error>) {
        let Running { handle, side_sinks, storing, timer, source, began, retires, .. } = self;
        let ended = handle.join();
        drop(side_sinks);
        drop(timer);
        retires.leave(&storing.sender());
        let stored = Stored { began, ..storing.join() };
        (ended, stored, source.failure())
    }
}

impl<O: Send + 'static> std::fmt::Debug for Running<O> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Running").field("began", &self.began).finish_non_exhaustive()
    }
}
