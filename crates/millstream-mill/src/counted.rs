//! How many rows have come to each stage. A slot has many, so its numbers do not tell.

use crate::rows::Rows;
use millstream_registry::Called;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// The rows that have come to a stage.
#[derive(Clone, Debug, Default)]
pub(crate) struct RowCount(Arc<AtomicU64>);

impl RowCount {
    /// Counts the rows of a slot.
    #[inline]
    pub(crate) fn add(&self, rows: &Rows) {
        self.0.fetch_add(rows.at.len() as u64, Ordering::Relaxed);
    }
}

/// What a stage is in a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    Source,
    Stage,
    Sink,
    /// It reads no rows.
    None,
}

/// The counts of a text, while its stages are made: one for each call, in their order.
#[derive(Clone, Debug, Default)]
pub(crate) struct Counting(Arc<Mutex<Vec<(Role, RowCount)>>>);

impl Counting {
    /// The count of the stage that is being made.
    pub(crate) fn of(&self, role: Role) -> RowCount {
        let count = RowCount::default();
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push((role, count.clone()));
        count
    }

    pub(crate) fn all(&self, calls: &[Called]) -> RowCounts {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        debug_assert_eq!(all.len(), calls.len(), "each call has a count");
        let named = calls.iter().zip(&*all).map(|(call, (role, count))| (call.name.clone(), *role, count.clone()));
        RowCounts(named.collect())
    }
}

/// How many rows have come to each stage of a program since it was loaded: those that were read, for a source.
#[derive(Clone, Debug, Default)]
pub struct RowCounts(Arc<[(String, Role, RowCount)]>);

impl RowCounts {
    /// The rows that have come to a stage by its name in a plan. `source` and `sink` are the ends of the pipeline:
    /// all sources, and all sinks. `None` for a stage that reads no rows.
    ///
    /// ```
    /// use millstream::{mill::{FileBlocks, Program}, prelude::*};
    ///
    /// let program = Program::load("jsonl | where(.a > 1) | count", 1, false)?;
    /// let rows = FileBlocks::new(&program.sources[0], 0, "rows", &b"{\"a\":1}\n{\"a\":2}\n"[..], 1 << 20);
    /// program.pipeline.model(rows);
    /// let counts = ["source", "where", "count", "sink"].map(|stage| program.rows().of(stage));
    /// assert_eq!(counts, [Some(2), Some(2), Some(1), Some(1)]);
    /// # Ok::<(), millstream::registry::Wrong>(())
    /// ```
    #[must_use]
    pub fn of(&self, stage: &str) -> Option<u64> {
        let rows = |count: &RowCount| count.0.load(Ordering::Relaxed);
        let is_of = |name: &str| stage.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'));
        // A stage of several parts has its name before each of them.
        let named = self.0.iter().filter(|(name, ..)| is_of(name)).max_by_key(|(name, ..)| name.len());
        let end = match (named, stage) {
            (Some((_, Role::None, _)), _) => return None,
            (Some((_, _, count)), _) => return Some(rows(count)),
            (None, "source") => Role::Source,
            (None, "sink") => Role::Sink,
            (None, _) => return None,
        };
        Some(self.0.iter().filter(|(_, role, _)| *role == end).map(|(.., count)| rows(count)).sum())
    }
}
