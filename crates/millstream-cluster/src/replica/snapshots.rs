//! The snapshots of a replica: where it begins, and what it stores.

use super::{Call, Ends, Missing, Options, Phase, Replica, Running, Step, Turn};
use crate::batch::hash;
use crate::{Log, LogError, ReplicaError, Segment, SegmentRun};
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// The record of the newest snapshot.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Manifest {
    /// The last batch that is in the states. That of the output edge has the same number, and is durable.
    pub(super) input: u64,
    /// The blob of the states; its hash is in the name.
    blob: String,
    /// The blob of the snapshot before, which is kept, and that before it, which is not.
    before: Option<String>,
    drops: Option<String>,
}

/// States that are on the way to the log.
pub(super) struct Held {
    input: u64,
    state: Vec<u8>,
    /// The name of the blob once it is there.
    stored: Option<String>,
    /// The looks at it while another replica may store the same, and when the last one was.
    looks: u32,
    looked: Option<Instant>,
    /// Whether the newest manifest was asked for since then.
    asked: bool,
}

impl Held {
    /// Counts a look, one a pace. Returns whether there were more than this many.
    fn has_waited(&mut self, looks: u32, pace: Duration) -> bool {
        if self.looked.is_none_or(|looked| looked.elapsed() >= pace) {
            (self.looks, self.looked) = (self.looks.saturating_add(1), Some(Instant::now()));
        }
        self.looks > looks
    }
}

/// After this number of reads that bring nothing, a replica looks whether the input edge has to be trimmed.
const QUIET: u32 = 16;

/// The length of the hash in a blob's name.
const HASH: usize = 16;

fn key_of(output: &str) -> String {
    format!("snapshot.{output}")
}

/// The last batch in the newest snapshot of the segment with this output edge; `None` if it has no snapshot.
///
/// # Errors
///
/// If the log does not answer, or the record is another format's.
pub fn newest_snapshot<L: Log>(log: &L, output: &str) -> Result<Option<u64>, LogError> {
    let Some(record) = log.get(&key_of(output))? else { return Ok(None) };
    let manifest: Manifest = postcard::from_bytes(&record.value)
        .map_err(|error| LogError::Refused(format!("the record {:?}: {error}", key_of(output))))?;
    Ok(Some(manifest.input))
}

impl<S: Segment, L: Log> Replica<S, L> {
    fn key(&self) -> String {
        key_of(&self.edges.output)
    }

    fn unusable(&self, why: impl ToString) -> ReplicaError {
        ReplicaError::Manifest { key: self.key(), why: why.to_string() }
    }

    pub(super) fn begin(&self) -> Result<(Phase<S::Run>, Step), ReplicaError> {
        let Some(record) = self.brought(Call::Begins, self.log.get(&self.key()))? else {
            return Ok((Phase::Begins, Step::Idle));
        };
        let Some(record) = record else {
            let run = self.calls(1, || self.segment.start(None))??;
            return Ok((Phase::Runs(Box::new(Running::new(run, Manifest::default(), 0))), Step::Worked));
        };
        let manifest: Manifest = postcard::from_bytes(&record.value).map_err(|error| self.unusable(error))?;
        Ok((Phase::Fetches(manifest, record.revision), Step::Worked))
    }

    pub(super) fn fetch(&self, manifest: Manifest, revision: u64) -> Result<(Phase<S::Run>, Step), ReplicaError> {
        let Some(state) = self.brought(Call::Begins, self.log.blob(&manifest.blob))? else {
            return Ok((Phase::Fetches(manifest, revision), Step::Idle));
        };
        let Some(state) = state else {
            // A blob is dropped when newer ones are stored; but then there is a newer record.
            let Some(record) = self.brought(Call::Begins, self.log.get(&self.key()))? else {
                return Ok((Phase::Fetches(manifest, revision), Step::Idle));
            };
            if record.is_some_and(|record| record.revision > revision) {
                return Ok((Phase::Begins, Step::Worked));
            }
            if self.looks_again() {
                return Ok((Phase::Fetches(manifest, revision), Step::Idle));
            }
            return Err(ReplicaError::Snapshot(format!("there is no blob {:?}", manifest.blob)));
        };
        if self.blob_name(manifest.input, &state) != manifest.blob {
            return Err(ReplicaError::Snapshot(format!("the blob {:?} is damaged", manifest.blob)));
        }
        self.missing.set(Missing::default());
        let run = self.calls(manifest.input + 1, || self.segment.start(Some(&state)))??;
        let mut running = Running::new(run, manifest, revision);
        // The replica that stored it may have died before it trimmed the edge, and a full edge brings no further batch.
        running.drops.extend(running.manifest.0.drops.clone());
        running.trim = self.options.trims.then_some(running.position);
        Ok((Phase::Runs(Box::new(running)), Step::Worked))
    }

    fn blob_name(&self, input: u64, state: &[u8]) -> String {
        format!("{}.{input}.{:0HASH$x}", self.edges.output, hash(&[state]))
    }

    /// The batch that a replica needs is not there: a newer snapshot contains it, or it is lost.
    pub(super) fn trimmed(&self, running: &mut Running<S::Run>, number: u64) -> Result<Option<bool>, ReplicaError> {
        let Some(record) = self.brought(Call::Begins, self.log.get(&self.key()))? else { return Ok(Some(false)) };
        if record.is_some_and(|record| record.revision > running.manifest.1) {
            return Ok(None);
        }
        if self.looks_again() {
            return Ok(Some(false));
        }
        Err(ReplicaError::Trimmed { edge: self.edges.input.clone(), number })
    }

    /// Called after some reads that brought nothing. If the reason is a full input edge, it stays full until it is
    /// trimmed, and a replica that died may have left that to others.
    pub(super) fn quiet(&self, running: &mut Running<S::Run>) -> Result<(), ReplicaError> {
        running.quiet = running.quiet.saturating_add(1);
        if running.quiet != QUIET || running.end.is_some() || running.position == 0 {
            return Ok(());
        }
        running.asks = true;
        self.hold_behind(running, (self.options.snapshot_every / 2).max(1))
    }

    /// Takes a snapshot after the computed batch, if one is due. The replica that appends waits twice as long, so that
    /// others take it, and asks whether they have.
    pub(super) fn hold(&self, running: &mut Running<S::Run>) -> Result<(), ReplicaError> {
        if running.active && !running.fresh {
            let takes = running.held.is_none() && !running.stateless && running.end.is_none();
            running.asks |= takes && self.is_old(running, running.position);
            return Ok(());
        }
        self.hold_behind(running, self.every(running))
    }

    fn every(&self, running: &Running<S::Run>) -> u64 {
        self.options.snapshot_every.max(1).saturating_mul(if running.active { 2 } else { 1 })
    }

    /// Whether a snapshot is due after the batch with which the segment has begun last.
    pub(super) fn is_due(&self, running: &Running<S::Run>) -> bool {
        let free = running.held.is_none() && !running.stateless && running.under_way() > 0;
        free && (!running.active || running.fresh) && self.is_old(running, running.begun)
    }

    /// Whether the newest snapshot that is known is too old for one that has this batch.
    fn is_old(&self, running: &Running<S::Run>, number: u64) -> bool {
        number >= running.manifest.0.input.saturating_add(self.every(running))
    }

    /// Takes a snapshot if the newest is this many batches old.
    fn hold_behind(&self, running: &mut Running<S::Run>, every: u64) -> Result<(), ReplicaError> {
        let due = running.position >= running.manifest.0.input.saturating_add(every);
        if due && running.held.is_none() && running.end.is_none() {
            let Some(state) = self.calls(running.position, || running.run.state())?? else {
                running.stateless = true;
                return Ok(());
            };
            let input = running.position;
            running.fresh = false;
            running.held = Some(Held { input, state, stored: None, looks: 0, looked: None, asked: false });
        }
        Ok(())
    }

    /// Stores the states first, and then the manifest: only of a newer snapshot, and only once the output is durable up
    /// to it.
    pub(super) fn store(&self, running: &mut Running<S::Run>) -> Result<bool, ReplicaError> {
        if running.asks {
            return self.refresh(running);
        }
        let durable = running.durable();
        let Options { rank, patience, pace, .. } = self.options;
        // The replicas that do not append take the same snapshot. The first of them stores it: mostly that of rank 1.
        let waits = if running.active { 0 } else { rank.saturating_sub(1).saturating_mul(patience) };
        let Some(held) = running.held.as_mut().filter(|held| held.input <= durable) else { return Ok(false) };
        let Some(blob) = held.stored.clone() else {
            if waits > 0 && !held.asked {
                held.asked = held.has_waited(waits, pace);
                running.asks = held.asked;
                return Ok(held.asked);
            }
            let name = self.blob_name(held.input, &held.state);
            let stored = self.brought(Call::Stores, self.log.put_blob(&name, &held.state))?.is_some();
            held.stored = stored.then_some(name);
            return Ok(stored);
        };
        let Manifest { blob: newest, before, .. } = &running.manifest.0;
        let before_it = Some(newest.clone()).filter(|newest| !newest.is_empty());
        let manifest = Manifest { input: held.input, blob, before: before_it, drops: before.clone() };
        let value = postcard::to_allocvec(&manifest).map_err(|error| self.unusable(error))?;
        match self.log.compare_and_set(&self.key(), running.manifest.1, &value) {
            Ok(()) => {
                // The last one stays, since it says where the next one begins.
                running.trim = self.options.trims.then_some(manifest.input);
                running.drops.extend(manifest.drops.clone());
                running.sweeps = true;
                // The record's new revision is not known yet; it is a later one.
                running.manifest = (manifest, running.manifest.1 + 1);
                running.asks = true;
                running.held = None;
                self.retries.end(Call::Stores);
                Ok(true)
            }
            Err(LogError::Conflict) => {
                running.asks = true;
                Ok(false)
            }
            Err(refused @ LogError::Refused(_)) => Err(ReplicaError::Log(refused)),
            Err(error) => {
                self.retries.failed(Call::Stores, error);
                Ok(false)
            }
        }
    }

    /// Learns the newest manifest. Drops the held snapshot if that manifest is as new.
    fn refresh(&self, running: &mut Running<S::Run>) -> Result<bool, ReplicaError> {
        let Some(record) = self.brought(Call::Stores, self.log.get(&self.key()))? else { return Ok(false) };
        match record {
            Some(record) if record.revision >= running.manifest.1 => {
                let manifest = postcard::from_bytes(&record.value).map_err(|error| self.unusable(error))?;
                running.manifest = (manifest, record.revision);
                self.is_stored(running);
            }
            None if running.manifest.1 == 0 => {}
            // A server that lags behind has an older one, and an application that was removed has none.
            _ => return Ok(false),
        }
        running.asks = false;
        running.fresh = self.is_old(running, running.position);
        if running.fresh && running.under_way() == 0 {
            self.hold(running)?;
        }
        Ok(true)
    }

    /// Notes what the snapshot of the newest manifest makes superfluous.
    fn is_stored(&self, running: &mut Running<S::Run>) {
        let Manifest { input: newest, blob, before, .. } = &running.manifest.0;
        // The replica that stored the snapshot may have died before it trimmed.
        running.trim = self.options.trims.then_some(*newest);
        let late = running.held.take_if(|held| held.input <= *newest).and_then(|held| held.stored);
        // No record names it, and none will: records go forward.
        if let Some(late) = late.filter(|late| late != blob && Some(late) != before.as_ref()) {
            running.drops.push(late);
        }
    }

    /// Drops the blobs that are older than those that are kept, and what replicas that died have left of others.
    pub(super) fn drop_old(&self, running: &mut Running<S::Run>) -> Result<bool, ReplicaError> {
        if running.sweeps {
            let Some(names) = self.brought(Call::Drops, self.log.blob_names())? else { return Ok(false) };
            let left = names.into_iter().filter(|name| self.is_left(name, &running.manifest.0));
            running.drops.extend(left);
            running.drops.sort_unstable();
            running.drops.dedup();
            running.sweeps = false;
            return Ok(true);
        }
        let Some(name) = running.drops.last() else { return Ok(false) };
        let dropped = self.brought(Call::Drops, self.log.remove_blob(name))?.is_some();
        if dropped {
            running.drops.pop();
        }
        Ok(dropped)
    }

    /// Whether a blob is one of this segment that no record names, and none will: records go forward.
    fn is_left(&self, name: &str, manifest: &Manifest) -> bool {
        let Manifest { input: newest, blob, before, .. } = manifest;
        let rest = name.strip_prefix(&self.edges.output).and_then(|rest| rest.strip_prefix('.'));
        let input = rest.and_then(|rest| rest.split_once('.')).filter(|(_, hash)| hash.len() == HASH);
        let is_old = input.is_some_and(|(input, _)| input.parse::<u64>().is_ok_and(|input| input <= *newest));
        is_old && name != blob && Some(name) != before.as_deref()
    }
}

impl<R> Running<R> {
    fn new(run: R, manifest: Manifest, revision: u64) -> Self {
        Running {
            run,
            position: manifest.input,
            begun: manifest.input,
            last: None,
            inbox: VecDeque::new(),
            quiet: 0,
            waiting: VecDeque::new(),
            sent: VecDeque::new(),
            end: None,
            fails: None,
            active: false,
            doubt: false,
            counted: Instant::now(),
            silent: 0,
            rests: None,
            heard: None,
            held: None,
            stateless: false,
            manifest: (manifest, revision),
            asks: false,
            fresh: false,
            conflict: false,
            refused: false,
            ends: Ends::default(),
            trim: None,
            drops: Vec::new(),
            sweeps: false,
            turn: Turn::Reads,
            worked: false,
        }
    }
}
