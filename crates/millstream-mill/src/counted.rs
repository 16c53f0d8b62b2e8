//! How many rows have come to each stage. A slot has many, so its numbers do not tell.

use crate::rows::Rows;
use millstream_registry::Called;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

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

/// The role of a stage in a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    Source,
    Stage,
    Sink,
    /// It reads no rows.
    None,
}

/// The counts of a join.
#[derive(Clone, Debug, Default)]
pub(crate) struct Partners(Arc<Found>);

#[derive(Debug, Default)]
struct Found {
    rows: AtomicU64,
    alone: AtomicU64,
    /// The first key of the rows, and that of the other rows.
    keys: [OnceLock<String>; 2],
}

impl Partners {
    /// Counts rows, of which some found no partner.
    pub(crate) fn add(&self, rows: u64, alone: u64) {
        self.0.rows.fetch_add(rows, Ordering::Relaxed);
        self.0.alone.fetch_add(alone, Ordering::Relaxed);
    }

    /// Notes a key of the rows, or of the other ones.
    #[inline]
    pub(crate) fn key(&self, of_others: bool, key: &[u8]) {
        let first = &self.0.keys[usize::from(of_others)];
        if first.get().is_none() {
            let _ = first.set(String::from_utf8_lossy(key).into_owned());
        }
    }
}

/// The counts of a program's join since the program was loaded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JoinCount {
    /// The name of the join.
    pub name: String,
    /// The rows that have come to it.
    pub rows: u64,
    /// Those of them that found no partner.
    pub alone: u64,
    /// The first key of these rows, as JSON; `None` if they have none.
    pub key: Option<String>,
    /// The first key of the other rows.
    pub other_key: Option<String>,
}

/// The counts of a text, while its stages are made: one for each call, in their order.
#[derive(Clone, Debug, Default)]
pub(crate) struct Counting(Arc<Mutex<Vec<Counted>>>);

#[derive(Clone, Debug)]
struct Counted {
    role: Role,
    rows: RowCount,
    partners: Option<Partners>,
}

impl Counting {
    fn lock(&self) -> MutexGuard<'_, Vec<Counted>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The count of the stage that is being made.
    pub(crate) fn of(&self, role: Role) -> RowCount {
        let rows = RowCount::default();
        self.lock().push(Counted { role, rows: rows.clone(), partners: None });
        rows
    }

    /// The counts of the join that is being made.
    pub(crate) fn of_join(&self) -> (RowCount, Partners) {
        let (rows, partners) = (RowCount::default(), Partners::default());
        self.lock().push(Counted { role: Role::Stage, rows: rows.clone(), partners: Some(partners.clone()) });
        (rows, partners)
    }

    pub(crate) fn all(&self, calls: &[Called]) -> RowCounts {
        let all = self.lock();
        debug_assert_eq!(all.len(), calls.len(), "each call has a count");
        RowCounts(calls.iter().map(|call| call.name.clone()).zip(all.iter().cloned()).collect())
    }
}

/// How many rows have come to each stage of a program since it was loaded: those that were read, for a source.
#[derive(Clone, Debug, Default)]
pub struct RowCounts(Arc<[(String, Counted)]>);

impl RowCounts {
    /// The counts of the joins, in the order of the text.
    #[must_use]
    pub fn joins(&self) -> Vec<JoinCount> {
        let joins = self.0.iter().filter_map(|(name, counted)| Some((name, counted.partners.as_ref()?)));
        let count = |(name, Partners(found)): (&String, &Partners)| JoinCount {
            name: name.clone(),
            rows: found.rows.load(Ordering::Relaxed),
            alone: found.alone.load(Ordering::Relaxed),
            key: found.keys[0].get().cloned(),
            other_key: found.keys[1].get().cloned(),
        };
        joins.map(count).collect()
    }

    /// The rows that have come to a stage by its name in a plan. `source` and `sink` are the ends of the pipeline,
    /// also if a stage has such a name: all sources, and all sinks. `None` for a stage that reads no rows.
    ///
    /// ```
    /// use millstream::{mill::{FileBlocks, Program}, prelude::*};
    ///
    /// let program = Program::load("jsonl | where(.a > 1) | count", 1, false)?;
    /// let rows = FileBlocks::new(&program.sources[0], 0, "rows", &b"{\"a\":1}\n{\"a\":2}\n"[..], 1 << 20);
    /// program.pipeline.model(rows);
    /// let counts = ["source", "where", "count", "sink"].map(|stage| program.rows().of(stage));
    /// assert_eq!(counts, [Some(2), Some(2), Some(1), Some(1)]);
    ///
    /// let text = "let source = jsonl | where(.a > 0) | where(.a > 1); source | count";
    /// let program = Program::load(text, 1, false)?;
    /// let rows = FileBlocks::new(&program.sources[0], 0, "rows", &b"{\"a\":0}\n{\"a\":2}\n"[..], 1 << 20);
    /// program.pipeline.model(rows);
    /// assert_eq!(program.rows().of("source"), Some(2));
    /// # Ok::<(), millstream::registry::Wrong>(())
    /// ```
    #[must_use]
    pub fn of(&self, stage: &str) -> Option<u64> {
        let rows = |count: &RowCount| count.0.load(Ordering::Relaxed);
        let is_of = |name: &str| stage.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'));
        // A stage of several parts has its name before each of them.
        let named = || self.0.iter().filter(|(name, _)| is_of(name)).max_by_key(|(name, _)| name.len());
        let end = match stage {
            "source" => Role::Source,
            "sink" => Role::Sink,
            _ => return named().filter(|(_, of)| of.role != Role::None).map(|(_, of)| rows(&of.rows)),
        };
        Some(self.0.iter().filter(|(_, counted)| counted.role == end).map(|(_, counted)| rows(&counted.rows)).sum())
    }
}
