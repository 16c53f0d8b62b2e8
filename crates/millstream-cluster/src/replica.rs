//! One copy of a segment: it reads, computes, compares and appends.
//!
//! Each step calls the log at most once, so a schedule of steps has every interleaving of several replicas, and a crash
//! between any two calls.

mod ends;
mod input;
mod output;
mod rest;
mod retries;
mod snapshots;

pub use snapshots::newest_snapshot;

use crate::{Entry, Log, LogError, ReplicaError, Segment, Sent};
use bytes::Bytes;
use ends::{Ends, Missing};
use rest::Rest;
use retries::{Call, Retries};
use snapshots::{Held, Manifest};
use std::cell::Cell;
use std::collections::VecDeque;
use std::fmt;
use std::time::{Duration, Instant};

/// The batches that are computed before they are appended, if as many have come: the appends then reach the servers in
/// one piece, and a thread that sleeps is woken once for all.
const TOGETHER: usize = 8;

/// The edges between which a segment runs. Its snapshots have the name of the output edge.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edges {
    /// The edge that it reads.
    pub input: String,
    /// The edge to which it appends.
    pub output: String,
}

/// Options of a replica. None of them changes what it appends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// Its place among the replicas: rank 0 appends at once, and rank r once the output edge has not grown for r times
    /// `patience` looks.
    pub rank: u32,
    /// The number of looks at a silent output edge that each rank waits.
    pub patience: u32,
    /// Looks within this time of each other count as one. An output edge that is full gets one batch after this time,
    /// then after twice this time, and so on up to half a second. With a time of zero each look counts, as tests need
    /// it.
    pub pace: Duration,
    /// The number of batches between two snapshots. Choose at most a fourth of the capacity of the input edge, since
    /// only the input before a snapshot is trimmed.
    pub snapshot_every: u64,
    /// The most batches that it is ahead of the output edge, that it reads at once, and whose appends are under way; 0
    /// counts as 1. If none of its appends was accepted for as long as the next rank waits, only one is under way.
    pub window: usize,
    /// Whether it trims the input edge before its snapshots: only if no other segment reads that edge.
    pub trims: bool,
    /// The generation of the plan, for the batches' headers.
    pub generation: u64,
}

impl Default for Options {
    fn default() -> Self {
        let pace = Duration::ZERO;
        Options { rank: 0, patience: 20, pace, snapshot_every: 64, window: 64, trims: true, generation: 0 }
    }
}

/// The result of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// It did something, or has to try again at once.
    Worked,
    /// There is nothing to do for now, or the log does not answer.
    Idle,
    /// The last batch is in the edge. There is nothing to do any more.
    Ended,
}

/// A copy of a segment at work.
pub struct Replica<S: Segment, L> {
    segment: S,
    log: L,
    edges: Edges,
    options: Options,
    phase: Phase<S::Run>,
    /// Whether the segment gets one batch after the other, since it has failed while several were under way.
    one_by_one: bool,
    missing: Cell<Missing>,
    retries: Retries,
}

enum Phase<R> {
    /// Asks for the newest snapshot's manifest.
    Begins,
    /// Fetches the snapshot.
    Fetches(Manifest, u64),
    Runs(Box<Running<R>>),
    /// It failed.
    Stopped,
}

struct Running<R> {
    run: R,
    /// The last input batch that is computed.
    position: u64,
    /// The last one that the segment has begun with.
    begun: u64,
    /// The last batch of the input, once the segment has begun with it.
    last: Option<u64>,
    /// The input batches that were read but not yet begun.
    inbox: VecDeque<Entry>,
    /// How many reads since the last of them brought nothing.
    quiet: u32,
    /// The output batches, up to `position`, that are computed but were not yet seen in the edge.
    waiting: VecDeque<Bytes>,
    /// The appends under way, of the first of those batches.
    sent: VecDeque<Box<dyn Sent>>,
    /// The last batch of the input, once it is computed.
    end: Option<u64>,
    /// The error with which it ends once all output before it is in the edge.
    fails: Option<ReplicaError>,
    /// Whether it was the last one to append.
    active: bool,
    /// Whether an append had no answer, so that the edge may have it.
    doubt: bool,
    /// When `silent` was counted last.
    counted: Instant,
    /// For how many looks the output edge has not grown while something waits.
    silent: u32,
    /// The pause before the next append, if the last one found the output edge full or had no answer.
    rests: Option<Rest>,
    /// When an append was accepted last, if none has failed since.
    heard: Option<Instant>,
    /// The snapshot that is being stored.
    held: Option<Held>,
    /// Whether the segment has no state that can be written.
    stateless: bool,
    /// The newest manifest that is known, with its record's revision, or a smaller one while it `asks`.
    manifest: (Manifest, u64),
    /// Whether that manifest may be old.
    asks: bool,
    /// Whether it is the newest, and old enough for a snapshot.
    fresh: bool,
    /// Whether the last append met another last number, and whether no entry explains this: then the entries are
    /// trimmed.
    conflict: bool,
    refused: bool,
    ends: Ends,
    /// The number of the input edge below which to trim.
    trim: Option<u64>,
    /// The blobs to drop, and whether to look first for those that were left by replicas that died.
    drops: Vec<String>,
    sweeps: bool,
    turn: Turn,
    /// Whether anything was done since the last `Turn::Reads`.
    worked: bool,
}

#[derive(Clone, Copy)]
enum Turn {
    Reads,
    Looks,
    Appends,
    Stores,
    Trims,
    Drops,
}

impl<S: Segment, L> fmt::Debug for Replica<S, L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Replica").field("edges", &self.edges).field("options", &self.options).finish_non_exhaustive()
    }
}

impl<S: Segment, L: Log> Replica<S, L> {
    /// A copy that begins with the newest snapshot, at its first step.
    pub fn new(segment: S, log: L, edges: Edges, options: Options) -> Self {
        let options = Options { window: options.window.max(1), ..options };
        let (missing, retries) = (Cell::default(), Retries::default());
        Replica { segment, log, edges, options, phase: Phase::Begins, one_by_one: false, missing, retries }
    }

    /// The number of the last batch that it has computed.
    #[must_use]
    pub fn position(&self) -> u64 {
        match &self.phase {
            Phase::Runs(running) => running.position,
            _ => 0,
        }
    }

    /// Whether it was the last one to append, as far as it knows.
    #[must_use]
    pub fn appends(&self) -> bool {
        matches!(&self.phase, Phase::Runs(running) if running.active)
    }

    /// The number of the last batch that it knows to be in the output edge.
    #[must_use]
    pub fn durable(&self) -> u64 {
        match &self.phase {
            Phase::Runs(running) => running.durable(),
            _ => 0,
        }
    }

    /// Changes its place among the replicas.
    pub fn set_rank(&mut self, rank: u32) {
        self.options.rank = rank;
    }

    /// Changes the number of batches between two snapshots. If the input edge is full by then, a snapshot is taken as
    /// soon as that many batches are behind the last one.
    pub fn set_snapshot_every(&mut self, batches: u64) {
        if self.options.snapshot_every == batches {
            return;
        }
        self.options.snapshot_every = batches;
        if let Phase::Runs(running) = &mut self.phase {
            // An edge that is full brings no batch: it was quiet in vain with the number before.
            running.quiet = 0;
        }
    }

    /// The call of the log that it makes again and again, and why that fails, if it has done nothing for as long as
    /// this.
    #[must_use]
    pub fn tries_in_vain(&self, least: Duration) -> Option<String> {
        self.retries.longest(least)
    }

    /// Waits until there may be something new for it, after a step that was [idle](Step::Idle), and no longer than
    /// this. A clone of its log does not know what this replica reads and has sent.
    pub fn wait(&self, most: Duration) {
        self.log.wait(most);
    }

    /// Calls the log at most once, and computes the batches that this call brought.
    ///
    /// # Errors
    ///
    /// If the segment fails or panics, once all output before that is in the edge, or an edge has other batches than it
    /// should. The replica then appends nothing any more, and its further steps are idle.
    pub fn step(&mut self) -> Result<Step, ReplicaError> {
        let done = match std::mem::replace(&mut self.phase, Phase::Stopped) {
            Phase::Begins => self.begin(),
            Phase::Fetches(manifest, revision) => self.fetch(manifest, revision),
            Phase::Runs(running) => self.work(running),
            Phase::Stopped => return Ok(Step::Idle),
        };
        let (phase, step) = done?;
        self.phase = phase;
        Ok(step)
    }

    fn work(&mut self, mut running: Box<Running<S::Run>>) -> Result<(Phase<S::Run>, Step), ReplicaError> {
        let now = running.turn;
        let (worked, next) = match now {
            Turn::Reads => match self.read(&mut running) {
                // What it needs is trimmed: a newer snapshot has it.
                Ok(None) => return Ok((Phase::Begins, Step::Worked)),
                Ok(Some(true)) if !self.one_by_one && running.has_more_to_begin() => (true, Turn::Reads),
                Ok(Some(worked)) => (worked, Turn::Looks),
                // The output of the batches before the one at which it failed is lost with the run.
                Err(ReplicaError::Segment(_)) if running.under_way() > 1 && !self.one_by_one => {
                    self.one_by_one = true;
                    return Ok((Phase::Begins, Step::Worked));
                }
                Err(error @ (ReplicaError::Segment(_) | ReplicaError::Batch { .. })) => {
                    running.begun = running.position;
                    running.fails = Some(error);
                    (true, Turn::Looks)
                }
                Err(error) => return Err(error),
            },
            Turn::Looks => (self.look(&mut running)?, Turn::Appends),
            Turn::Appends => match self.append(&mut running)? {
                true => (true, Turn::Appends),
                false => (false, Turn::Stores),
            },
            Turn::Stores => (self.store(&mut running)?, Turn::Trims),
            Turn::Trims => (self.trim(&mut running)?, Turn::Drops),
            Turn::Drops => match self.drop_old(&mut running)? {
                true => (true, Turn::Drops),
                false => (false, Turn::Reads),
            },
        };
        if running.waiting.is_empty()
            && running.under_way() == 0
            && let Some(error) = running.fails.take()
        {
            return Err(error);
        }
        running.turn = next;
        running.worked |= worked;
        let step = match next {
            _ if running.end.is_some() && running.waiting.is_empty() => Step::Ended,
            Turn::Reads if matches!(now, Turn::Drops) && !std::mem::take(&mut running.worked) => Step::Idle,
            _ => Step::Worked,
        };
        Ok((Phase::Runs(running), step))
    }

    /// The result of a call of the log; `None` if it has to be tried again.
    fn brought<T>(&self, call: Call, result: Result<T, LogError>) -> Result<Option<T>, ReplicaError> {
        match result {
            Ok(value) => {
                self.retries.end(call);
                Ok(Some(value))
            }
            Err(refused @ LogError::Refused(_)) => Err(ReplicaError::Log(refused)),
            Err(error) => {
                self.retries.failed(call, error);
                Ok(None)
            }
        }
    }

    fn trim(&self, running: &mut Running<S::Run>) -> Result<bool, ReplicaError> {
        let Some(below) = running.trim else { return Ok(false) };
        let trimmed = self.brought(Call::Trims, self.log.trim(&self.edges.input, below))?.is_some();
        if trimmed {
            running.trim = None;
        }
        Ok(trimmed)
    }
}

impl<R> Running<R> {
    /// How many batches the segment has begun with and not computed.
    fn under_way(&self) -> usize {
        usize::try_from(self.begun - self.position).unwrap_or(usize::MAX)
    }

    /// Whether more batches have come, and few wait to be appended. A snapshot is not held up.
    fn has_more_to_begin(&self) -> bool {
        !self.inbox.is_empty() && self.held.is_none() && self.waiting.len() < self.sent.len() + TOGETHER
    }

    /// The last batch that is known to be in the output edge.
    fn durable(&self) -> u64 {
        self.position - self.waiting.len() as u64
    }

    /// Counts a look at an edge that has not grown.
    fn count(&mut self, pace: Duration) {
        if pace.is_zero() || self.counted.elapsed() >= pace {
            self.silent = self.silent.saturating_add(1);
            self.counted = Instant::now();
        }
    }
}
