//! Snapshots of a persistent job on demand, and its stop for a process that follows.

use super::offers::{Offers, Order};
use super::running::LOOK;
use super::unstored::Unstored;
use millstream_core::SequenceNumber;
use millstream_exec::Snapshotter;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::sync_channel;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::Builder;
use std::time::Duration;

/// Takes snapshots of a persistent job from any thread, and stores them.
#[derive(Clone)]
pub struct Storer {
    pub(super) snapshotter: Snapshotter,
    pub(super) offers: Offers,
    pub(super) retires: Arc<Retires>,
}

impl Storer {
    /// As [`Running::snapshot`](super::Running::snapshot).
    ///
    /// # Errors
    ///
    /// Why it could not be stored. The job goes on.
    pub fn snapshot(&self) -> Result<Option<u64>, String> {
        Ok(self.stores()?)
    }

    /// Where a process that takes over goes on, if this one [stops](millstream_exec::Stopper::stop_now) now. As
    /// [`snapshot`](Storer::snapshot), but behind a value that is not [whole](crate::Places::is_whole) it is the number
    /// of the newest snapshot, or 0: the other process reads the value again.
    ///
    /// # Errors
    ///
    /// Why no snapshot could be stored. The job goes on.
    pub fn newest(&self) -> Result<Option<u64>, String> {
        match self.stores() {
            Err(Unstored::NotWhole(newest)) => Ok(Some(newest)),
            stored => Ok(stored?),
        }
    }

    fn stores(&self) -> Result<Option<u64>, Unstored> {
        self.snapshotter.snapshot().map(|snapshot| self.offers.store(snapshot)).transpose()
    }

    /// How many snapshots this run has stored.
    #[must_use]
    pub fn stored(&self) -> u64 {
        self.offers.stored()
    }

    /// Waits, at most for this time, until the sink has everything that the source has recorded. Returns the number
    /// there. If the caller then [stops](millstream_exec::Stopper::stop_now) the run, before anything more is recorded,
    /// the directory says what the sink held at that number, and a process that has
    /// [followed](super::Persistent::follow_run) this one can go on there. No snapshot is stored from now on. `None` if
    /// the run ends before, or it takes longer: the other process then begins at a snapshot.
    #[must_use]
    pub fn retire(&self, within: Duration) -> Option<u64> {
        self.offers.rest();
        let (say, said) = sync_channel(1);
        let (this, over) = (self.clone(), Arc::new(AtomicBool::new(false)));
        let (ends, waits) = (over.clone(), move || say.send(this.drained(&over)));
        Builder::new().name("retires".to_owned()).spawn(waits).ok()?;
        let retired = said.recv_timeout(within);
        ends.store(true, Ordering::Relaxed);
        retired.ok()?
    }

    /// The number at which the sink has everything that the source has recorded, once it has; `None` if it is `over`
    /// before.
    fn drained(&self, over: &AtomicBool) -> Option<u64> {
        loop {
            let (SequenceNumber(at), output) = self.snapshotter.cut()?;
            if (self.retires.passed)(at) {
                self.offers.claimed().want_last();
                *self.retires.place() = Some((at, output));
                return Some(at);
            }
            if over.load(Ordering::Relaxed) {
                return None;
            }
            std::thread::sleep(LOOK);
        }
    }
}

/// Whether the source has passed on all that it has recorded, when this number comes next.
pub(super) type Passed = Box<dyn Fn(u64) -> bool + Send + Sync>;

/// How a run stops for a process that has followed it.
pub(super) struct Retires {
    pub(super) passed: Passed,
    /// The numbers that the source and the sink have next.
    pub(super) at: Mutex<Option<(u64, SequenceNumber)>>,
}

impl Retires {
    fn place(&self) -> MutexGuard<'_, Option<(u64, SequenceNumber)>> {
        self.at.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Writes the place at which the run has stopped, if it has stopped there.
    pub(super) fn leave(&self, offers: &Offers) {
        if let Some((at, output)) = self.place().take()
            && let Some(claim) = offers.claimed().take_last(output)
        {
            offers.tell(|say| Order::Leave((at, output), claim, say));
        }
    }
}

impl std::fmt::Debug for Storer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Storer").field("stored", &self.stored()).finish_non_exhaustive()
    }
}
