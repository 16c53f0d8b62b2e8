//! The thread that stores snapshots.

use super::Stored;
use super::at_end::BeforeEnd;
use super::described::Described;
use super::offers::{Offers, Order, Stores};
use super::on_storing::OnStoring;
use super::unstored::Unstored;
use crate::claims::{AllClaimed, Held, output_of};
use crate::dead_letters::KeptLetters;
use crate::effects::Effects;
use crate::room::Room;
use crate::{Manifest, Retention, Saved, StateDir};
use millstream_core::failure::{caught, into_message};
use millstream_exec::{Snapshot, SnapshotParts, StoredParts};
use serde_json::Value;
use std::collections::VecDeque;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, sync_channel};
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

/// When snapshots are taken. With `Numbers` and `Every`, one is also taken at the end of the source, before the stages
/// learn of the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Cadence {
    /// When at least this many more numbers of the source were taken; 0 is as 1, and with `u64::MAX` there is one at
    /// the end alone.
    Numbers(u64),
    /// This long after the last one was stored. The clock is one that does not jump.
    Every(Duration),
    /// Only when [asked](crate::Running::snapshot), and so not at the end: the next start begins at the last one that
    /// was asked for.
    OnCall,
}

impl Default for Cadence {
    /// A second.
    fn default() -> Self {
        Cadence::Every(Duration::from_secs(1))
    }
}

/// One in this many snapshots is written whole: damage of one file concerns few snapshots.
const WHOLE: u64 = 8;

/// Whether the value before a number is whole, so that a start can go on there.
type IsWhole = Box<dyn Fn(u64) -> bool + Send>;

/// The position of the source at a number, as it is stored; none if it is not known any more.
type Position = Box<dyn Fn(u64) -> io::Result<Option<Value>> + Send>;

/// Tells the source from which position on it must keep its data.
type Forget = Box<dyn Fn(&Value) + Send>;

/// A thread that stores snapshots, one after the other.
pub(super) struct Storing {
    offers: Offers,
    room: Arc<Room>,
    thread: Option<JoinHandle<Stored>>,
}

impl Storing {
    pub(super) fn start(
        dir: StateDir,
        retention: Retention,
        confirmed: Option<u64>,
        described: Described,
        claimed: AllClaimed,
        records: Records,
        stores: Arc<Stores>,
    ) -> io::Result<Self> {
        let (orders, offered) = sync_channel(1);
        let Records { is_whole, position, forget, effects, letters, begins, on_storing } = records;
        let (numbers, room, claimed) = (begins.into_iter().collect(), dir.room().clone(), Arc::new(claimed));
        let count: Arc<AtomicU64> = Arc::default();
        let offers = Offers::new(orders, stores, count.clone(), claimed.clone());
        let store = Store {
            before_end: offers.before_end().clone(),
            dir,
            retention,
            confirmed,
            unconfirmed: None,
            last: None,
            stored: 0,
            written_bytes: 0,
            described,
            is_whole,
            position,
            forget,
            claimed,
            effects,
            letters,
            numbers,
            room: room.clone(),
            on_storing,
        };
        let thread = Builder::new().name("snapshots".to_owned()).spawn(move || store.run(&offered, &count))?;
        Ok(Storing { offers, room, thread: Some(thread) })
    }

    /// Snapshots are stored in this directory, from the first commit on.
    #[cfg(feature = "service")]
    pub(super) fn own(&self, dir: StateDir) {
        if self.offers.orders.send(Order::Own(Box::new(dir))).is_ok() {
            self.offers.stores.begin();
        }
    }

    /// Stores no more, and lets the directory go.
    pub(super) fn let_go(&self) {
        self.offers.stores.end();
        self.offers.tell(Order::LetGo);
    }

    pub(super) fn sender(&self) -> Offers {
        self.offers.clone()
    }

    /// By which the job's journals ask for room.
    pub(super) fn room(&self) -> Arc<Room> {
        self.room.clone()
    }

    /// Waits until all offered snapshots are stored.
    pub(super) fn join(mut self) -> Stored {
        self.end().unwrap_or_default()
    }

    fn end(&mut self) -> Option<Stored> {
        let thread = self.thread.take()?;
        let _ = self.offers.orders.send(Order::End);
        let lost = || Stored { failed: 1, last_failure: Some("the thread panicked".to_owned()), ..Stored::default() };
        Some(thread.join().unwrap_or_else(|_| lost()))
    }
}

/// The directory is free again.
impl Drop for Storing {
    fn drop(&mut self) {
        self.end();
    }
}

/// What the thread needs to store a snapshot.
pub(super) struct Store {
    before_end: BeforeEnd,
    pub(super) dir: StateDir,
    pub(super) retention: Retention,
    /// The last snapshot whose claim was made before the sink was looked at again.
    pub(super) confirmed: Option<u64>,
    /// The snapshot since whose claim the sink was not looked at, and its mark.
    pub(super) unconfirmed: Option<(u64, u64)>,
    /// The last snapshot of this process: the next one shares its unchanged parts, and has only the changes of the
    /// others.
    pub(super) last: Option<(Manifest, StoredParts)>,
    /// How many snapshots this process has stored.
    stored: u64,
    written_bytes: u64,
    described: Described,
    is_whole: IsWhole,
    position: Position,
    pub(super) forget: Forget,
    pub(super) claimed: Arc<AllClaimed>,
    pub(super) effects: Vec<Effects>,
    pub(super) letters: Option<KeptLetters>,
    /// The snapshots of this process, and the one that it began with.
    pub(super) numbers: VecDeque<Numbers>,
    /// By which the job's journals ask for room.
    pub(super) room: Arc<Room>,
    on_storing: OnStoring,
}

/// The id of a snapshot, its number, and those of the stages there.
type Numbers = (u64, u64, Vec<(String, u64)>);

/// What belongs to the snapshots: it is stored with them, is kept as long as they need it, needs them, or hears of
/// them.
pub(super) struct Records {
    pub(super) is_whole: IsWhole,
    pub(super) position: Position,
    pub(super) forget: Forget,
    pub(super) effects: Vec<Effects>,
    pub(super) letters: Option<KeptLetters>,
    /// The snapshot with which the run begins.
    pub(super) begins: Option<Numbers>,
    pub(super) on_storing: OnStoring,
}

impl Store {
    fn run(mut self, offered: &Receiver<Order>, count: &AtomicU64) -> Stored {
        let (mut stored, mut newest, mut first) = (Stored::default(), None, 0);
        // Whether the last one was left out.
        let mut is_within = false;
        loop {
            let order = self.before_end.order().map_or_else(|| offered.recv(), Ok);
            let (snapshot, claim, answer) = match order {
                Ok(Order::Store(snapshot, claim, answer)) => (snapshot, claim, answer),
                Ok(Order::Change(next, snapshot, claim, answer)) => {
                    // Its states may have the names of other ones.
                    (self.described, self.last, newest, first) = (*next, None, None, snapshot.mark());
                    if answer.is_none() {
                        continue;
                    }
                    (snapshot, claim, answer)
                }
                #[cfg(feature = "service")]
                Ok(Order::Own(dir)) => {
                    self.dir = *dir;
                    continue;
                }
                Ok(Order::BeforeEnd) => continue,
                Ok(Order::MakeRoom(say)) => {
                    // A failure comes again when the next snapshot is stored.
                    let _ = self.guarded(Store::prune);
                    let _ = say.send(());
                    continue;
                }
                Ok(Order::Say(say)) => {
                    let _ = say.send(());
                    continue;
                }
                Ok(Order::Leave((at, output), claim, say)) => {
                    // Without it, the process that takes over begins at a snapshot.
                    let _ = self.dir.leave(at, output.0, claim);
                    let _ = say.send(());
                    continue;
                }
                Ok(Order::Cover(at, answer)) => {
                    let missing = || match is_within {
                        true => self.not_whole(),
                        false => "a later snapshot was taken, and is not stored yet".into(),
                    };
                    let _ = answer.send(newest.filter(|newest| *newest >= at).ok_or_else(missing));
                    continue;
                }
                Ok(Order::LetGo(say)) => {
                    stored.written_bytes = self.written_bytes;
                    // Before the rest, which may be large.
                    drop(self.dir);
                    let _ = say.send(());
                    return stored;
                }
                Ok(Order::End) | Err(_) => break,
            };
            let at = snapshot.at().0;
            stored.longest_stop = stored.longest_stop.max(snapshot.longest_stop());
            // A snapshot of the version before may have waited until after the change.
            let overtaken = snapshot.mark() < first || newest.is_some_and(|newest| newest >= at);
            // Behind the last line of a file that ends within a line, which may have grown when it is read again, the
            // newest snapshot stays the one before it.
            is_within = !overtaken && !(self.is_whole)(at);
            if is_within {
                if let Some(answer) = answer {
                    let _ = answer.send(Err(self.not_whole()));
                }
                continue;
            }
            let outcome = match overtaken {
                true if newest == Some(at) && claim.is_some() => self.guarded(|it| it.look_again(&snapshot, claim)),
                true => Ok(()),
                false => self.guarded(|it| it.store(&snapshot, claim)),
            };
            let outcome = outcome.map(|()| at);
            match &outcome {
                Ok(_) if overtaken => {}
                Ok(at) => {
                    (stored.snapshots, stored.last, newest) = (stored.snapshots + 1, Some(*at), Some(*at));
                    self.on_storing.stored(*at);
                }
                Err(why) => {
                    stored.failed += 1;
                    let why = format!("the snapshot at number {at}: {why}");
                    self.on_storing.failed(&why);
                    stored.last_failure = Some(why);
                }
            }
            count.store(stored.snapshots, Ordering::Release);
            if let Some(answer) = answer {
                let _ = answer.send(outcome.map_err(Unstored::Failed));
            }
        }
        stored.written_bytes = self.written_bytes;
        stored
    }

    /// The last value is not whole: a start goes on at the newest snapshot.
    fn not_whole(&self) -> Unstored {
        Unstored::NotWhole(self.numbers.back().map_or(0, |(_, at, _)| *at))
    }

    /// Does what may call the job's own code. If that panics, this has failed, and the thread goes on with the
    /// directory.
    fn guarded(&mut self, does: impl FnOnce(&mut Store) -> Result<(), String>) -> Result<(), String> {
        caught(|| does(self)).unwrap_or_else(|payload| {
            // The next one is whole.
            self.last = None;
            Err(into_message(payload))
        })
    }

    pub(super) fn store(&mut self, snapshot: &Snapshot, claims: Option<Held>) -> Result<(), String> {
        let (at, output) = (snapshot.at().0, output_of(snapshot));
        let claims = claims.ok_or("a sink no longer says what it held at that number")?;
        let source = (self.position)(at).map_err(|error| format!("the source: {error}"))?;
        let source = source.ok_or("the source no longer knows its position at that number")?;
        self.effects.iter().try_for_each(Effects::mark).map_err(|error| format!("effects: {error}"))?;
        self.letters.iter().try_for_each(KeptLetters::sync).map_err(|error| format!("dead letters: {error}"))?;
        // An incremental one keeps those before it.
        let whole = self.stored.is_multiple_of(WHOLE) || self.room.is_wanted();
        let last = self.last.as_ref().filter(|_| !whole);
        let (base, earlier) = last.map(|(manifest, parts)| (manifest, parts)).unzip();
        let parts = snapshot.to_parts_since(earlier.unwrap_or(&StoredParts::default()));
        let SnapshotParts { written, kept, stored: parts, .. } = parts.map_err(|error| error.to_string())?;
        let written: Vec<(&str, &[u8])> = written.iter().map(|(name, bytes)| (&**name, &**bytes)).collect();
        let kept: Vec<&str> = kept.iter().map(String::as_str).collect();
        let numbers = super::numbers_of(snapshot);
        let stored = self.dir.save(&Saved {
            at,
            output_at: Some(output.0),
            source,
            sink: claims.sink,
            side_sinks: claims.side_sinks,
            plan: self.described.plan.clone(),
            fingerprint: &self.described.fingerprint,
            numbers: &numbers,
            parts: &written,
            base,
            kept: &kept,
        });
        let stored = stored.map_err(|error| error.to_string())?;
        // The sink's claim is a look at it, later than every claim before.
        self.confirm();
        self.unconfirmed = Some((stored.id, snapshot.mark()));
        self.numbers.push_back((stored.id, at, numbers));
        self.written_bytes += stored.written_bytes();
        (self.last, self.stored) = (Some((stored, parts)), self.stored + 1);
        self.prune()
    }
}
