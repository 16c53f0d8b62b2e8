//! The thread that stores snapshots.

use super::Stored;
use crate::claims::Claimed;
use crate::{Retention, Saved, StateDir};
use millstream_core::SequenceNumber;
use millstream_exec::Snapshot;
use serde_json::Value;
use std::io;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

/// When snapshots are taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Cadence {
    /// When at least this many more numbers of the source were taken.
    Numbers(u64),
    /// This long after the last one was stored. The clock is one that does not jump.
    Every(Duration),
    /// Only when [asked](crate::Running::snapshot).
    OnCall,
}

impl Default for Cadence {
    /// A second.
    fn default() -> Self {
        Cadence::Every(Duration::from_secs(1))
    }
}

/// The position of the source at a number, as it is stored; none if it is not known any more.
type Position = Box<dyn Fn(u64) -> io::Result<Option<Value>> + Send>;

/// What is told when a snapshot is stored: its number, or why it is not.
type Answer = SyncSender<Result<u64, String>>;

/// A thread that stores snapshots, one after the other.
pub(super) struct Storing {
    offers: Offers,
    thread: Option<JoinHandle<Stored>>,
}

/// What the thread is to do.
enum Order {
    Store(Snapshot, Option<Answer>),
    End,
}

/// Where snapshots are offered to the thread that stores them.
#[derive(Clone)]
pub(super) struct Offers(SyncSender<Order>);

impl Offers {
    /// Stores it, unless one is being stored and another one waits.
    pub(super) fn offer(&self, snapshot: Snapshot) {
        let _ = self.0.try_send(Order::Store(snapshot, None));
    }

    /// Stores it, and waits for that. Returns its number.
    pub(super) fn store(&self, snapshot: Snapshot) -> Result<u64, String> {
        let (answer, answered) = sync_channel(1);
        let gone = || "the job is over".to_owned();
        self.0.send(Order::Store(snapshot, Some(answer))).map_err(|_| gone())?;
        answered.recv().map_err(|_| gone())?
    }
}

impl Storing {
    pub(super) fn start(
        dir: StateDir,
        retention: Retention,
        confirmed: Option<u64>,
        plan: Value,
        claimed: Claimed,
        position: impl Fn(u64) -> io::Result<Option<Value>> + Send + 'static,
    ) -> io::Result<Self> {
        let (offers, offered) = sync_channel(1);
        let store = Store { dir, retention, confirmed, plan, claimed, position: Box::new(position) };
        let thread = Builder::new().name("snapshots".to_owned()).spawn(move || store.run(&offered))?;
        Ok(Storing { offers: Offers(offers), thread: Some(thread) })
    }

    pub(super) fn sender(&self) -> Offers {
        self.offers.clone()
    }

    /// Waits until what was offered is stored.
    pub(super) fn join(mut self) -> Stored {
        self.end().unwrap_or_default()
    }

    fn end(&mut self) -> Option<Stored> {
        let thread = self.thread.take()?;
        let _ = self.offers.0.send(Order::End);
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
struct Store {
    dir: StateDir,
    retention: Retention,
    /// The last snapshot whose claim was made before the sink was looked at again.
    confirmed: Option<u64>,
    plan: Value,
    claimed: Claimed,
    position: Position,
}

impl Store {
    fn run(mut self, offered: &Receiver<Order>) -> Stored {
        let mut stored = Stored::default();
        while let Ok(Order::Store(snapshot, answer)) = offered.recv() {
            let at = snapshot.at().0;
            let outcome = self.store(&snapshot).map(|()| at);
            match &outcome {
                Ok(at) => (stored.snapshots, stored.last) = (stored.snapshots + 1, Some(*at)),
                Err(why) => {
                    stored.failed += 1;
                    stored.last_failure = Some(format!("the snapshot at number {at}: {why}"));
                }
            }
            if let Some(answer) = answer {
                let _ = answer.send(outcome);
            }
        }
        stored
    }

    fn store(&mut self, snapshot: &Snapshot) -> Result<(), String> {
        let at = snapshot.at().0;
        let output = snapshot.output_at().unwrap_or(SequenceNumber(at));
        let sink = self.claimed.at(output).ok_or("the sink's claim is not there any more")?;
        let source = (self.position)(at).map_err(|error| format!("the source: {error}"))?;
        let source = source.ok_or("the source's position is not known any more")?;
        let parts = snapshot.to_parts().map_err(|error| error.to_string())?;
        let parts: Vec<(&str, &[u8])> = parts.iter().map(|(name, bytes)| (&**name, &**bytes)).collect();
        let plan = self.plan.clone();
        let saved = Saved { at, output_at: Some(output.0), source, sink, plan, parts: &parts, ..Saved::default() };
        let stored = self.dir.save(&saved).map_err(|error| error.to_string())?;
        // The sink's claim is a look at it, later than every claim before.
        let retention = Retention { confirmed_from: self.confirmed, ..self.retention };
        self.confirmed = Some(stored.id);
        self.dir.prune(retention).map_err(|error| error.to_string())?;
        Ok(())
    }
}
