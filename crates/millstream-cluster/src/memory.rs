//! Logs in this process.

mod adversary;

pub use adversary::Adversary;

use crate::{Entry, Log, LogError, Record};
use bytes::Bytes;
use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A log in memory. Clones are the same log.
///
/// ```
/// use millstream::cluster::{Log, LogError, MemoryLog};
/// let log = MemoryLog::default();
/// log.append_if("orders", 0, b"first")?;
/// assert_eq!(log.append_if("orders", 0, b"first"), Err(LogError::Conflict));
/// assert_eq!(log.last("orders")?, 1);
/// # Ok::<(), LogError>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct MemoryLog {
    kept: Arc<Mutex<Kept>>,
    capacity: Option<usize>,
}

#[derive(Debug, Default)]
struct Kept {
    edges: BTreeMap<String, Edge>,
    records: BTreeMap<String, Record>,
    blobs: BTreeMap<String, Vec<u8>>,
}

#[derive(Debug, Default)]
struct Edge {
    /// How many entries are trimmed.
    trimmed: u64,
    entries: VecDeque<Bytes>,
}

impl Edge {
    fn last(&self) -> u64 {
        self.trimmed + self.entries.len() as u64
    }
}

impl MemoryLog {
    /// A log whose edges hold at most this many entries each.
    #[must_use]
    pub fn with_capacity(entries: usize) -> Self {
        MemoryLog { capacity: Some(entries), ..MemoryLog::default() }
    }

    /// Loses the entries of an edge after this number, as a server does that loses power before it has stored them.
    pub fn lose(&self, edge: &str, last: u64) {
        if let Some(edge) = self.locked().edges.get_mut(edge) {
            let stays = last.saturating_sub(edge.trimmed);
            edge.entries.truncate(usize::try_from(stays).unwrap_or(usize::MAX));
        }
    }

    /// How many blobs there are.
    #[must_use]
    pub fn blobs(&self) -> usize {
        self.locked().blobs.len()
    }

    fn locked(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Log for MemoryLog {
    fn append_if(&self, edge: &str, last: u64, bytes: &[u8]) -> Result<(), LogError> {
        let mut kept = self.locked();
        let edge = kept.edges.entry(edge.to_owned()).or_default();
        if edge.last() != last {
            return Err(LogError::Conflict);
        }
        if self.capacity.is_some_and(|capacity| edge.entries.len() >= capacity) {
            return Err(LogError::Full);
        }
        edge.entries.push_back(Bytes::copy_from_slice(bytes));
        Ok(())
    }

    fn read_from(&self, edge: &str, first: u64, most: usize) -> Result<Vec<Entry>, LogError> {
        let kept = self.locked();
        let Some(edge) = kept.edges.get(edge) else { return Ok(Vec::new()) };
        let numbered = (edge.trimmed + 1..).zip(&edge.entries).filter(|(number, _)| *number >= first);
        Ok(numbered.take(most).map(|(number, bytes)| Entry { number, bytes: bytes.clone() }).collect())
    }

    fn last(&self, edge: &str) -> Result<u64, LogError> {
        Ok(self.locked().edges.get(edge).map_or(0, Edge::last))
    }

    fn kept(&self, edge: &str) -> Result<Range<u64>, LogError> {
        let kept = self.locked();
        let (trimmed, last) = kept.edges.get(edge).map_or((0, 0), |edge| (edge.trimmed, edge.last()));
        Ok(trimmed + 1..last + 1)
    }

    fn trim(&self, edge: &str, below: u64) -> Result<(), LogError> {
        let mut kept = self.locked();
        let Some(edge) = kept.edges.get_mut(edge).filter(|edge| below <= edge.last() + 1) else { return Ok(()) };
        while edge.trimmed + 1 < below && edge.entries.pop_front().is_some() {
            edge.trimmed += 1;
        }
        Ok(())
    }

    fn get(&self, key: &str) -> Result<Option<Record>, LogError> {
        Ok(self.locked().records.get(key).cloned())
    }

    fn compare_and_set(&self, key: &str, revision: u64, value: &[u8]) -> Result<(), LogError> {
        let mut kept = self.locked();
        let present = kept.records.get(key).map_or(0, |record| record.revision);
        if present != revision {
            return Err(LogError::Conflict);
        }
        kept.records.insert(key.to_owned(), Record { revision: revision + 1, value: value.to_vec() });
        Ok(())
    }

    fn put_blob(&self, name: &str, bytes: &[u8]) -> Result<(), LogError> {
        self.locked().blobs.insert(name.to_owned(), bytes.to_vec());
        Ok(())
    }

    fn blob(&self, name: &str) -> Result<Option<Vec<u8>>, LogError> {
        Ok(self.locked().blobs.get(name).cloned())
    }

    fn remove_blob(&self, name: &str) -> Result<(), LogError> {
        self.locked().blobs.remove(name);
        Ok(())
    }

    fn blob_names(&self) -> Result<Vec<String>, LogError> {
        Ok(self.locked().blobs.keys().cloned().collect())
    }
}
