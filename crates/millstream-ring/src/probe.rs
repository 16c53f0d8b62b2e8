//! The counters of a ring, for observers. The ring's ends write nothing for them.

use crate::gate::{GONE, Gate, Gates};
use crate::occupancy::{Occupancy, OccupancySampler};
use crate::run_writers::RunWriters;
use crate::shared::Published;
use crate::sync::Arc;
use crate::view::{RingLayout, View};

/// The counters of one ring. A probe keeps no slot and no value alive, and reads only counters; its readings may be
/// older than those of the ring's ends.
///
/// ```
/// use millstream::{prelude::*, ring::ring};
/// let (mut producer, mut reader) = ring::<char, Dense>(4)?;
/// let probe = producer.probe();
/// let mut claim = producer.try_claim(3)?.expect("room");
/// "abc".chars().for_each(|c| claim.write(c));
/// claim.publish();
/// drop(reader.batch(1));
/// assert_eq!(
///     (probe.published(), probe.released(), probe.occupied(), probe.capacity()),
///     (3, 1, 2, 4)
/// );
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct RingProbe {
    published: Published,
    gates: Arc<Gates>,
    capacity: u64,
    sampler: Option<std::sync::Arc<OccupancySampler>>,
}

impl RingProbe {
    pub(crate) fn new(
        published: Published,
        gates: Arc<Gates>,
        capacity: u64,
        sampler: Option<std::sync::Arc<OccupancySampler>>,
    ) -> Self {
        RingProbe { published, gates, capacity, sampler }
    }

    /// The same probe with the sampler of one writer of the ring, which counts for itself.
    pub(crate) fn counted_by(self, sampler: &std::sync::Arc<OccupancySampler>) -> Self {
        RingProbe { sampler: Some(sampler.clone()), ..self }
    }

    /// Whether both are of one ring. Both keep what is compared, so no later ring can have the same address.
    pub(crate) fn is_of(&self, other: &RingProbe) -> bool {
        Arc::ptr_eq(&self.gates, &other.gates)
    }

    /// Every number below the result is published, END included. With several writers it may seem to step back.
    #[must_use]
    pub fn published(&self) -> u64 {
        self.published.cursor()
    }

    /// Every number below the result is released by every reader; if there is no reader, this is `published`.
    #[must_use]
    pub fn released(&self) -> u64 {
        self.gates.least().unwrap_or_else(|| self.published())
    }

    /// The number of slots of the ring.
    #[must_use]
    pub fn capacity(&self) -> usize {
        self.capacity as usize
    }

    /// The number of slots whose value some reader still needs: at most the capacity.
    #[must_use]
    pub fn occupied(&self) -> usize {
        // The gates first: no reader releases a number that is not published.
        let released = self.released();
        self.published().saturating_sub(released).min(self.capacity) as usize
    }

    /// Switches the counting of empty slots on or off. It is off at first. While it is on, the ring's writers count, in
    /// some of the batches; while it is off, every batch costs a look at a flag.
    pub fn look(&self, wanted: bool) {
        if let Some(sampler) = &self.sampler {
            sampler.want(wanted);
        }
    }

    /// How many slots were examined, and how many of those were empty. If the type of the ring has no empty slots: 0 of
    /// all published ones. On a mask, the slots that it leaves out count as empty. In a ring that two lanes fill, each
    /// lane counts the other lane's slots as empty.
    #[must_use]
    pub fn empties(&self) -> Occupancy {
        match &self.sampler {
            Some(sampler) => sampler.counted(),
            None => Occupancy { looked_at: self.published(), empty: 0 },
        }
    }

    /// Whether a writer that writes number `next` next has room for it. With one producer, the last published number is
    /// used in place of `next`; with run writers, the next number that is not claimed.
    #[must_use]
    pub fn has_room(&self, next: u64) -> bool {
        let next = match &self.published {
            Published::Producer(_) => self.published(),
            Published::Group(group) => group.taken(),
            Published::Team(_) => next,
        };
        next.saturating_sub(self.released()) < self.capacity
    }
}

/// The counters of a reading end: its position, and the cursors of its rings.
#[derive(Clone)]
pub struct InputProbe {
    rings: Vec<RingProbe>,
    gate: Gate,
    /// The run writer that reads, if one does.
    writer: Option<(Arc<RunWriters>, usize)>,
}

impl InputProbe {
    pub(crate) fn of<F: RingLayout>(view: &F::View, writer: Option<(Arc<RunWriters>, usize)>) -> Self {
        let mut rings = Vec::new();
        let gate = view.watch(&mut rings).0;
        InputProbe { rings, gate, writer }
    }

    /// Every number below the result is published on all rings of the edge, END included.
    #[must_use]
    pub fn published(&self) -> u64 {
        self.rings.iter().map(RingProbe::published).min().unwrap_or(0)
    }

    /// Every number below the result is released; if a run writer reads, by its whole group. None once the reader is
    /// dropped: then it needs nothing.
    #[must_use]
    pub fn released(&self) -> Option<u64> {
        Some(self.gate.needs()).filter(|needs| *needs != GONE)
    }

    /// The number that it works on, or needs next; none once the reader is dropped.
    #[must_use]
    pub fn next(&self) -> Option<u64> {
        let released = self.released()?;
        Some(self.writer.as_ref().map_or(released, |(group, index)| group.next(*index)))
    }
}

impl std::fmt::Debug for RingProbe {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let RingProbe { capacity, .. } = self;
        f.debug_struct("RingProbe")
            .field("published", &self.published())
            .field("capacity", capacity)
            .finish_non_exhaustive()
    }
}

impl std::fmt::Debug for InputProbe {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("InputProbe").field("released", &self.released()).finish_non_exhaustive()
    }
}
