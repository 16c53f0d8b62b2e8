//! Where snapshots are offered to the thread that stores them.

use super::described::Described;
#[cfg(feature = "service")]
use crate::StateDir;
use crate::claims::Claimed;
use millstream_core::SequenceNumber;
use millstream_exec::Snapshot;
use serde_json::Value;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Receives the number of a stored snapshot, or why it is not stored.
pub(super) type Answer = SyncSender<Result<u64, String>>;

/// An order to the thread that stores.
pub(super) enum Order {
    /// Store a snapshot, with the sink's claim at it.
    Store(Snapshot, Option<Value>, Option<Answer>),
    /// Store the first snapshot of another version, to which all later ones belong.
    Change(Box<Described>, Snapshot, Option<Value>, Answer),
    /// Store in this directory from now on.
    #[cfg(feature = "service")]
    Own(Box<StateDir>),
    /// Answer when all earlier orders are done.
    Say(SyncSender<()>),
    /// Answer when the directory is free, too.
    LetGo(SyncSender<()>),
    End,
}

const NO: u8 = 0;
const AT_COMMIT: u8 = 1;
const YES: u8 = 2;

/// Whether this process stores snapshots.
pub(super) struct Stores {
    state: AtomicU8,
    /// Whether commits are reported to it.
    is_service: bool,
}

impl Stores {
    pub(super) fn of_job() -> Self {
        Stores { state: AtomicU8::new(YES), is_service: false }
    }

    /// None while the directory is another process's.
    #[cfg(feature = "service")]
    pub(super) fn of_service(follows: bool) -> Self {
        Stores { state: AtomicU8::new(if follows { NO } else { YES }), is_service: true }
    }

    fn check(&self) -> Result<(), &'static str> {
        match self.state.load(Ordering::Acquire) {
            YES => Ok(()),
            AT_COMMIT => Err("this process has had no request yet, so the one before it may still go on"),
            _ => Err("this process stores no snapshots"),
        }
    }

    pub(super) fn are_stored(&self) -> bool {
        self.check().is_ok()
    }

    /// Stores snapshots only from the first request on that the service itself has put into the journal. Until then it
    /// has changed nothing, so the process before it, perhaps of another version, could still go on.
    pub(super) fn wait_for_commit(&self) {
        if self.is_service {
            self.state.store(AT_COMMIT, Ordering::Release);
        }
    }

    #[cfg(feature = "service")]
    pub(super) fn committed(&self) {
        // An error means that they are stored, or will not be.
        let _ = self.state.compare_exchange(AT_COMMIT, YES, Ordering::AcqRel, Ordering::Relaxed);
    }

    /// From now on no snapshots are stored.
    pub(super) fn end(&self) {
        self.state.store(NO, Ordering::Release);
    }
}

/// Where snapshots are offered to the thread that stores them.
#[derive(Clone)]
pub(super) struct Offers {
    pub(super) orders: SyncSender<Order>,
    pub(super) stores: Arc<Stores>,
    /// How many are stored.
    stored: Arc<AtomicU64>,
    claimed: Claimed,
    last: Arc<Mutex<Last>>,
}

/// The last offers.
#[derive(Default)]
struct Last {
    /// The number of the last snapshot. Two threads of a run may offer two at once, the later one first; the earlier
    /// one has no claim then, and is not needed.
    at: Option<u64>,
    /// The mark of the present version's first snapshot. Earlier snapshots would get the description of a version that
    /// did not take them.
    first: u64,
    /// Whether another version is about to take the place of the present one.
    changing: bool,
}

/// While there is one, a snapshot may be of either version, and none is stored.
pub(super) struct Changing<'o>(&'o Offers);

impl Drop for Changing<'_> {
    fn drop(&mut self) {
        self.0.last().changing = false;
    }
}

impl Offers {
    pub(super) fn new(
        orders: SyncSender<Order>,
        stores: Arc<Stores>,
        stored: Arc<AtomicU64>,
        claimed: Claimed,
    ) -> Self {
        Offers { orders, stores, stored, claimed, last: Arc::default() }
    }

    pub(super) fn stored(&self) -> u64 {
        self.stored.load(Ordering::Acquire)
    }

    /// Stores a snapshot, unless one is being stored and another one waits.
    pub(super) fn offer(&self, snapshot: Snapshot) {
        if let Some(claim) = self.claim(&snapshot) {
            let _ = self.orders.try_send(Order::Store(snapshot, claim, None));
        }
    }

    /// Stores a snapshot, waits until it is stored, and returns its number. Returns at once if a later one was offered.
    pub(super) fn store(&self, snapshot: Snapshot) -> Result<u64, String> {
        self.stores.check()?;
        let Some(claim) = self.claim(&snapshot) else {
            if self.last().changing {
                return Err("another version is about to replace it".to_owned());
            }
            return Ok(snapshot.at().0);
        };
        self.order(|answer| Order::Store(snapshot, claim, Some(answer)))?.wait()
    }

    /// Gives the thread an order. Returns the answer that it will have.
    fn order(&self, order: impl FnOnce(Answer) -> Order) -> Result<Answered, String> {
        let (answer, answered) = sync_channel(1);
        self.orders.send(order(answer)).map_err(|_| OVER)?;
        Ok(Answered(answered))
    }

    /// The sink's claim, if the sink makes claims; `None` if a later snapshot was offered, or none is stored. It is
    /// taken now, since the sink goes on and keeps only a few claims.
    fn claim(&self, snapshot: &Snapshot) -> Option<Option<Value>> {
        if !self.stores.are_stored() {
            return None;
        }
        let mut last = self.last();
        let at = snapshot.at().0;
        if last.changing || snapshot.mark() < last.first || last.at.is_some_and(|last| last > at) {
            return None;
        }
        last.at = Some(at);
        Some(self.claimed.at(output_of(snapshot)))
    }

    fn last(&self) -> MutexGuard<'_, Last> {
        self.last.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Stores nothing while another version takes the place of the present one. None if one is about to already.
    pub(super) fn change(&self) -> Option<Changing<'_>> {
        let was = std::mem::replace(&mut self.last().changing, true);
        (!was).then(|| Changing(self))
    }
}

/// The answer to an order, once the thread has carried it out.
struct Answered(Receiver<Result<u64, String>>);

/// Why an order has no answer.
const OVER: &str = "the job is over";

impl Answered {
    fn wait(self) -> Result<u64, String> {
        self.0.recv().map_err(|_| OVER)?
    }
}

impl Changing<'_> {
    /// Offers the first snapshot of another version, with its description. Waits until it is stored. Returns its
    /// number.
    pub(super) fn made(self, next: Described, snapshot: Snapshot) -> Result<u64, String> {
        self.0.stores.check()?;
        let claim = {
            let mut last = self.0.last();
            (last.at, last.first) = (Some(snapshot.at().0), snapshot.mark());
            self.0.claimed.at(output_of(&snapshot))
        };
        let answered = self.0.order(|answer| Order::Change(Box::new(next), snapshot, claim, answer))?;
        // Snapshots that are offered from now on are stored after this one.
        drop(self);
        answered.wait()
    }
}

/// The number that the sink gets next.
pub(super) fn output_of(snapshot: &Snapshot) -> SequenceNumber {
    snapshot.output_at().unwrap_or(snapshot.at())
}
