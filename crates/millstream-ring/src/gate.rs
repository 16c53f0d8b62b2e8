//! Gates hold a producer back: each reader has one, which says the next number that the reader needs.
//!
//! A gate can be added at any time, also by a reader that is forked during the run. The producer reads the gates and
//! then the version of their list; a version that it does not know makes it read the list again. SAFETY.md ("Forks
//! while running") shows why this misses no fork. The design that this project began from adds readers only while it
//! wires. `Wiring::start` is for callers that want the same: after it, a ring gets readers only by `Reader::fork`.

use crate::run_writers::RunWriters;
use crate::sync::{Arc, AtomicU64, Mutex, Ordering, lock};
use crossbeam_utils::CachePadded;

/// The position of a reader that is gone: it needs nothing.
pub(crate) const GONE: u64 = u64::MAX;

pub(crate) type Counter = Arc<CachePadded<AtomicU64>>;

#[derive(Clone)]
pub(crate) enum Gate {
    /// One reader: it alone writes the counter.
    Reader(Counter),
    /// k writers: what their group has not done yet.
    Group(Arc<RunWriters>),
}

impl Gate {
    /// Every number below this one has been released. Acquires what the reader did before it released.
    pub(crate) fn needs(&self) -> u64 {
        match self {
            Gate::Reader(position) => position.load(Ordering::Acquire),
            Gate::Group(group) => group.gate(),
        }
    }
}

/// The gates of one ring. Readers add theirs at any time; the producer notices by the version.
pub(crate) struct Gates {
    list: Mutex<Vec<Gate>>,
    version: AtomicU64,
}

impl Gates {
    pub(crate) fn new() -> Self {
        Gates { list: Mutex::new(Vec::new()), version: AtomicU64::new(0) }
    }

    /// The least number that some reader still needs; none without a reader.
    pub(crate) fn least(&self) -> Option<u64> {
        let list = lock(&self.list);
        list.iter().map(Gate::needs).filter(|needs| *needs != GONE).min()
    }

    pub(crate) fn add(&self, gate: Gate) {
        let mut list = lock(&self.list);
        list.retain(|gate| gate.needs() != GONE);
        list.push(gate);
        // Before the reader that this gate was forked from releases anything more, by the same thread or one that
        // follows it: so whoever acquires that later release sees this version too (`Gating::released`).
        self.version.fetch_add(1, Ordering::AcqRel);
    }
}

/// A producer's view of the gates: its own copy of the list, and the least number that some reader still needs.
pub(crate) struct Gating {
    gates: Vec<Gate>,
    version: u64,
    /// The greatest minimum seen. It is kept because a group's gate may seem to step back.
    released: u64,
    scans: u64,
}

impl Gating {
    pub(crate) fn new() -> Self {
        Gating { gates: Vec::new(), version: 0, released: 0, scans: 0 }
    }

    /// What was released when the gates were last read.
    pub(crate) fn cached(&self) -> u64 {
        self.released
    }

    /// How often all gates were read.
    pub(crate) fn scans(&self) -> u64 {
        self.scans
    }

    /// Reads all gates. Every number below the result has been released by every reader; without a reader, every
    /// number below `published` has.
    pub(crate) fn released(&mut self, gates: &Gates, published: u64) -> u64 {
        self.scans += 1;
        loop {
            let least = self.gates.iter().map(Gate::needs).min().unwrap_or(GONE).min(published);
            // Looked at behind the gates: a release that follows a fork shows the fork.
            if gates.version.load(Ordering::Acquire) == self.version {
                self.released = self.released.max(least);
                return self.released;
            }
            let list = lock(&gates.list);
            self.version = gates.version.load(Ordering::Acquire);
            self.gates.clone_from(&list);
        }
    }
}
