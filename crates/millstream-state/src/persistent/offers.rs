//! Where snapshots are offered to the thread that stores them.

use super::at_end::BeforeEnd;
use super::described::Described;
use super::unstored::Unstored;
#[cfg(feature = "service")]
use crate::StateDir;
use crate::claims::{AllClaimed, Claimed, Held};
use millstream_core::SequenceNumber;
use millstream_exec::Snapshot;
use serde_json::Value;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Receives the number of a stored snapshot, or why it is not stored.
pub(super) type Answer = SyncSender<Result<u64, Unstored>>;

/// An order to the thread that stores.
pub(super) enum Order {
    /// Store a snapshot, with the sinks' claims at it.
    Store(Snapshot, Option<Held>, Option<Answer>),
    /// Look for the snapshot before END.
    BeforeEnd,
    /// Answer when all earlier orders are done: an error, unless a snapshot at this number or a later one is stored.
    Cover(u64, Answer),
    /// Store the first snapshot of another version, to which all later ones belong. Without an answer, it is not
    /// stored.
    Change(Box<Described>, Snapshot, Option<Held>, Option<Answer>),
    /// Store in this directory from now on.
    #[cfg(feature = "service")]
    Own(Box<StateDir>),
    /// Remove all snapshots that no start needs, and what only they need, and answer.
    MakeRoom(SyncSender<()>),
    /// Answer when all earlier orders are done.
    Say(SyncSender<()>),
    /// Write where the run has stopped, with the sink's claim there, and answer.
    Leave((u64, SequenceNumber), Value, SyncSender<()>),
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

    /// A job that follows another process.
    #[cfg(feature = "service")]
    pub(super) fn of_follower() -> Self {
        Stores { state: AtomicU8::new(NO), is_service: false }
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

    /// Whether snapshots are stored from a request on that has not come yet.
    pub(super) fn wait_for_request(&self) -> bool {
        self.state.load(Ordering::Acquire) == AT_COMMIT
    }

    /// Stores snapshots only from the first request on that the service itself has put into the journal. Until then it
    /// has changed nothing, so the process before it, perhaps of another version, could still go on. A full journal
    /// ends the wait, too.
    pub(super) fn wait_for_commit(&self) {
        if self.is_service {
            self.state.store(AT_COMMIT, Ordering::Release);
        }
    }

    /// Ends the wait for a commit: there is one, or there is no room for one without a snapshot of this process.
    pub(super) fn begin_storing(&self) {
        // An error means that they are stored, or will not be.
        let _ = self.state.compare_exchange(AT_COMMIT, YES, Ordering::AcqRel, Ordering::Relaxed);
    }

    /// This process has the directory now.
    #[cfg(feature = "service")]
    pub(super) fn begin(&self) {
        self.state.store(if self.is_service { AT_COMMIT } else { YES }, Ordering::Release);
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
    claimed: Arc<AllClaimed>,
    last: Arc<Mutex<Last>>,
    before_end: BeforeEnd,
}

/// The last offers.
#[derive(Default)]
struct Last {
    /// The number of the last snapshot. Two threads of a run may offer two at once, the later one first; the earlier
    /// one is not needed then.
    at: Option<u64>,
    /// The mark of the present version's first snapshot. Earlier snapshots would get the description of a version that
    /// did not take them.
    first: u64,
    /// Whether another version is about to take the place of the present one.
    changing: bool,
    /// The snapshot before END, if it was taken meanwhile.
    before_end: Option<Snapshot>,
}

/// While there is one, a snapshot may be of either version, and none is stored. Others are taken, however, so the sinks
/// keep all claims: that of the first snapshot of the new version is among them.
pub(super) struct Changing<'o>(&'o Offers);

impl Drop for Changing<'_> {
    fn drop(&mut self) {
        self.0.claimed.keep_all(false);
        let before_end = {
            let mut last = self.0.last();
            last.changing = false;
            last.before_end.take()
        };
        before_end.into_iter().for_each(|snapshot| self.0.offer_before_end(snapshot));
    }
}

impl Offers {
    pub(super) fn new(
        orders: SyncSender<Order>,
        stores: Arc<Stores>,
        stored: Arc<AtomicU64>,
        claimed: Arc<AllClaimed>,
    ) -> Self {
        Offers { orders, stores, stored, claimed, last: Arc::default(), before_end: BeforeEnd::default() }
    }

    /// Snapshots that come from now on are not stored. Waits for the one that is being stored.
    pub(super) fn rest(&self) {
        self.stores.end();
        self.tell(Order::Say);
    }

    /// Gives the thread an order, and waits until it has carried that out.
    pub(super) fn tell(&self, order: impl FnOnce(SyncSender<()>) -> Order) {
        let (say, said) = sync_channel(1);
        if self.orders.send(order(say)).is_ok() {
            // An error means that the thread has ended.
            let _ = said.recv();
        }
    }

    /// The claims of the sink.
    pub(super) fn claimed(&self) -> &Claimed {
        &self.claimed.sink
    }

    pub(super) fn stored(&self) -> u64 {
        self.stored.load(Ordering::Acquire)
    }

    /// Stores a snapshot, unless one is being stored and another one waits.
    pub(super) fn offer(&self, snapshot: Snapshot) {
        let Some(offer) = self.next(&snapshot) else { return };
        let claim = offer.claim();
        if self.orders.try_send(Order::Store(snapshot, claim, None)).is_ok() {
            offer.made();
        }
    }

    /// Stores the snapshot before END. The run does not wait for that: its end does.
    pub(super) fn offer_before_end(&self, snapshot: Snapshot) {
        {
            let mut last = self.last();
            if last.changing {
                last.before_end = Some(snapshot);
                return;
            }
        }
        let Some(offer) = self.next(&snapshot) else { return };
        let claim = offer.claim();
        offer.made();
        self.before_end.put(snapshot, claim);
        // If there is no room, the thread looks when it has carried out what is there.
        let _ = self.orders.try_send(Order::BeforeEnd);
    }

    /// The snapshot before END, until it is stored.
    pub(super) fn before_end(&self) -> &BeforeEnd {
        &self.before_end
    }

    /// Stores a snapshot, waits until it is stored, and returns its number. If a later one was offered, waits for that.
    pub(super) fn store(&self, snapshot: Snapshot) -> Result<u64, Unstored> {
        self.stores.check()?;
        let Some(offer) = self.next(&snapshot) else {
            if self.last().changing {
                return Err("another version is about to replace it".into());
            }
            return self.order(|answer| Order::Cover(snapshot.at().0, answer))?.wait();
        };
        let claim = offer.claim();
        offer.made();
        self.order(|answer| Order::Store(snapshot, claim, Some(answer)))?.wait()
    }

    /// Gives the thread an order. Returns the answer that it will have.
    fn order(&self, order: impl FnOnce(Answer) -> Order) -> Result<Answered, Unstored> {
        let (answer, answered) = sync_channel(1);
        self.orders.send(order(answer)).map_err(|_| OVER)?;
        Ok(Answered(answered))
    }

    /// The offer of a snapshot; `None` if a later snapshot was offered, or none is stored. Other offers wait meanwhile.
    fn next(&self, snapshot: &Snapshot) -> Option<Offer<'_>> {
        if !self.stores.are_stored() {
            return None;
        }
        let last = self.last();
        let at = snapshot.at().0;
        let goes = !last.changing && snapshot.mark() >= last.first && last.at.is_none_or(|last| last <= at);
        goes.then(|| Offer { last, snapshot: snapshot.clone(), claimed: &self.claimed })
    }

    fn last(&self) -> MutexGuard<'_, Last> {
        self.last.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Stores nothing while another version takes the place of the present one. None if one is about to already.
    pub(super) fn change(&self) -> Option<Changing<'_>> {
        let was = std::mem::replace(&mut self.last().changing, true);
        (!was).then(|| {
            self.claimed.keep_all(true);
            Changing(self)
        })
    }
}

/// The next snapshot, which may be offered.
struct Offer<'o> {
    last: MutexGuard<'o, Last>,
    snapshot: Snapshot,
    claimed: &'o AllClaimed,
}

impl Offer<'_> {
    /// The sinks' claims. They are taken now, since a sink goes on and keeps only a few claims.
    fn claim(&self) -> Option<Held> {
        self.claimed.at(&self.snapshot)
    }

    /// Earlier snapshots are not needed from now on.
    fn made(mut self) {
        self.last.at = Some(self.snapshot.at().0);
        self.claimed.forget_before(&self.snapshot);
    }
}

/// The answer to an order, once the thread has carried it out.
struct Answered(Receiver<Result<u64, Unstored>>);

/// Why an order has no answer.
const OVER: &str = "the job is over";

impl Answered {
    fn wait(self) -> Result<u64, Unstored> {
        self.0.recv().map_err(|_| OVER)?
    }
}

impl Changing<'_> {
    /// Offers the first snapshot of another version, with its description. Waits until it is stored. Returns its
    /// number. If no snapshots are stored for now, later ones are of that version nevertheless.
    pub(super) fn made(self, next: Described, snapshot: Snapshot) -> Result<u64, Unstored> {
        let claim = {
            let mut last = self.0.last();
            (last.at, last.first) = (Some(snapshot.at().0), snapshot.mark());
            let claim = self.0.claimed.at(&snapshot);
            self.0.claimed.forget_before(&snapshot);
            claim
        };
        let next = Box::new(next);
        if let Err(why) = self.0.stores.check() {
            self.0.orders.send(Order::Change(next, snapshot, claim, None)).map_err(|_| OVER)?;
            return Err(why.into());
        }
        let answered = self.0.order(|answer| Order::Change(next, snapshot, claim, Some(answer)))?;
        // Snapshots that are offered from now on are stored after this one.
        drop(self);
        answered.wait()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use millstream_core::{Arrow, pipeline};
    use millstream_exec::{JobExt, Rings, Runner, source};
    use serde_json::json;
    use std::thread::{self, spawn};

    /// Snapshots before the numbers 1, 2 and 3.
    fn snapshots() -> [Snapshot; 3] {
        let (sender, receiver) = source::channel(4);
        let run = Rings::new().start(pipeline::<u64>().from(receiver).to_each(|_, _| ())).unwrap();
        let snapshots = [0, 1, 2].map(|n| {
            sender.send(n).unwrap();
            run.snapshotter().snapshot().unwrap()
        });
        assert_eq!(snapshots.each_ref().map(|snapshot| snapshot.at().0), [1, 2, 3]);
        snapshots
    }

    fn offers() -> (Offers, Receiver<Order>) {
        let (orders, offered) = sync_channel(1);
        (Offers::new(orders, Arc::new(Stores::of_job()), Arc::default(), Arc::default()), offered)
    }

    #[test]
    fn a_snapshot_that_finds_no_room_stands_for_no_earlier_one() {
        let ([first, second, third], (offers, offered)) = (snapshots(), offers());
        offers.offer(first);
        offers.offer(third);
        let storing = spawn(move || offers.store(second));
        assert!(matches!(offered.recv(), Ok(Order::Store(snapshot, ..)) if snapshot.at().0 == 1));
        let Ok(Order::Store(snapshot, _, Some(answer))) = offered.recv() else { panic!("it is not to be stored") };
        answer.send(Ok(snapshot.at().0)).unwrap();
        assert_eq!(storing.join().unwrap(), Ok(2));
    }

    #[test]
    fn an_earlier_snapshot_is_stored_once_the_later_one_is() {
        let ([_, second, third], (offers, offered)) = (snapshots(), offers());
        offers.offer(third);
        let storing = spawn(move || offers.store(second));
        assert!(matches!(offered.recv(), Ok(Order::Store(snapshot, ..)) if snapshot.at().0 == 3));
        let Ok(Order::Cover(2, answer)) = offered.recv() else { panic!("it does not wait for the later one") };
        answer.send(Err("the disk is full".into())).unwrap();
        assert_eq!(storing.join().unwrap(), Err("the disk is full".into()));
    }
    /// Others are taken, and not stored, until the call that changes the version goes on.
    #[test]
    fn the_first_snapshot_of_a_version_has_its_claim_however_many_come_after_it() {
        let ([first, ..], (offers, offered)) = (snapshots(), offers());
        let changing = offers.change().unwrap();
        for next in 1..100 {
            offers.claimed().put(SequenceNumber(next), json!(next));
        }
        let next = Described::new(&pipeline::<u64>().plan(), json!("new"));
        thread::scope(|scope| {
            let made = scope.spawn(|| changing.made(next, first));
            let Ok(Order::Change(_, _, claims, Some(answer))) = offered.recv() else {
                panic!("it is not to be stored")
            };
            assert_eq!(claims.map(|claims| claims.sink), Some(json!(1)));
            answer.send(Ok(1)).unwrap();
            assert_eq!(made.join().unwrap(), Ok(1));
        });
    }
}
