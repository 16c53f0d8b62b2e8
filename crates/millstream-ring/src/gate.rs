//! Gates hold a producer back: each reader has one, the next number that the reader needs.
//!
//! A gate can be added at any time, also by a reader that is forked during the run. The producer reads the gates and
//! then the version of their list. If the version has changed since the producer last read the list, it reads the list
//! again. SAFETY.md ("Forks while running") shows why this misses no fork. The design that this project began from adds
//! readers only during wiring, with `Wiring::reader`. Here a ring that has started also gets readers by `Reader::fork`
//! and `Producer::reader`.

use crate::run_writers::RunWriters;
use crate::sync::{Arc, AtomicU64, Mutex, Ordering, lock};
use crossbeam_utils::CachePadded;

/// The position of a reader that was dropped: it needs nothing.
pub(crate) const GONE: u64 = u64::MAX;

pub(crate) type Counter = Arc<CachePadded<AtomicU64>>;

#[derive(Clone)]
pub(crate) enum Gate {
    /// One reader, the only writer of the counter.
    Reader(Counter),
    /// k writers: the least number that their group has not finished.
    Group(Arc<RunWriters>),
}

impl Gate {
    /// Every number below this one is released. Acquires all that the reader did before it released.
    pub(crate) fn needs(&self) -> u64 {
        match self {
            Gate::Reader(position) => position.load(Ordering::Acquire),
            Gate::Group(group) => group.gate(),
        }
    }

    /// The identity that distinguishes it from the gates of other readers; `None` for a group.
    pub(crate) fn id(&self) -> Option<GateId> {
        match self {
            Gate::Reader(position) => Some(GateId(Arc::as_ptr(position).addr())),
            Gate::Group(_) => None,
        }
    }
}

/// The identity of a gate, valid as long as the gate exists.
#[doc(hidden)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GateId(usize);

/// The gates of one ring. Readers add theirs at any time; the producer detects this by the version.
pub(crate) struct Gates {
    list: Mutex<Vec<Gate>>,
    version: AtomicU64,
}

impl Gates {
    pub(crate) fn new() -> Self {
        Gates { list: Mutex::new(Vec::new()), version: AtomicU64::new(0) }
    }

    /// The least number that some reader still needs; none if there is no reader.
    pub(crate) fn least(&self) -> Option<u64> {
        let list = lock(&self.list);
        list.iter().map(Gate::needs).filter(|needs| *needs != GONE).min()
    }

    pub(crate) fn add(&self, gate: Gate) {
        let mut list = lock(&self.list);
        list.retain(|gate| gate.needs() != GONE);
        list.push(gate);
        // This comes before the reader that this gate was forked from releases more, by the same thread or one that
        // follows it. A thread that acquires that later release therefore also sees this version (`Gating::released`).
        self.version.fetch_add(1, Ordering::AcqRel);
    }
}

/// A producer's view of the gates: its own copy of the list, and the least number that some reader still needs.
pub(crate) struct Gating {
    gates: Vec<Gate>,
    version: u64,
    /// The greatest minimum seen so far. It is kept because a group's gate may seem to step back.
    released: u64,
    scans: u64,
}

impl Gating {
    pub(crate) fn new() -> Self {
        Gating { gates: Vec::new(), version: 0, released: 0, scans: 0 }
    }

    /// The result of the last read of the gates.
    pub(crate) fn cached(&self) -> u64 {
        self.released
    }

    /// The gates of readers that were not dropped, as the gates were read last.
    pub(crate) fn gates(&self) -> impl Iterator<Item = &Gate> {
        self.gates.iter().filter(|gate| gate.needs() != GONE)
    }

    /// How often all gates were read.
    pub(crate) fn scans(&self) -> u64 {
        self.scans
    }

    /// Reads all gates. Every number below the result is released by every reader. If there is no reader, the result is
    /// `published`.
    pub(crate) fn released(&mut self, gates: &Gates, published: u64) -> u64 {
        self.scans += 1;
        loop {
            let least = self.gates.iter().map(Gate::needs).min().unwrap_or(GONE).min(published);
            // Read after the gates: a thread that sees a release that follows a fork also sees the fork.
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
