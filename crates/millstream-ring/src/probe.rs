//! The counters of a ring, read from outside. The ring's ends write nothing for it.

use crate::gate::{GONE, Gate, Gates};
use crate::occupancy::{Occupancy, OccupancySampler};
use crate::run_writers::RunWriters;
use crate::shared::Published;
use crate::sync::Arc;
use crate::view::{RingLayout, View};

/// The counters of one ring. It keeps no slot and no value alive, and reads nothing but counters; what it reads may be
/// older than what the ring's ends know.
///
/// ```
/// use millstream_core::Dense;
/// use millstream_ring::ring;
/// let (mut producer, mut reader) = ring::<char, Dense>(4)?;
/// let probe = producer.probe();
/// let mut claim = producer.try_claim(3)?.expect("room");
/// "abc".chars().for_each(|c| claim.write(c));
/// claim.publish();
/// drop(reader.batch(1));
/// assert_eq!((probe.published(), probe.released(), probe.occupied(), probe.capacity()), (3, 1, 2, 4));
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

    /// The same with what somebody who fills a part of the ring counts.
    pub(crate) fn counted_by(self, sampler: &std::sync::Arc<OccupancySampler>) -> Self {
        RingProbe { sampler: Some(sampler.clone()), ..self }
    }

    /// Whether both are of one ring. What is compared is kept by both, so that no later ring can be at its place.
    pub(crate) fn is_of(&self, other: &RingProbe) -> bool {
        Arc::ptr_eq(&self.gates, &other.gates)
    }

    /// Every number below the result is published, END counted. A group's may seem to step back.
    #[must_use]
    pub fn published(&self) -> u64 {
        self.published.cursor()
    }

    /// Every number below the result was released by every reader there is; without one, what is published.
    #[must_use]
    pub fn released(&self) -> u64 {
        self.gates.least().unwrap_or_else(|| self.published())
    }

    /// How many slots the ring has.
    #[must_use]
    pub fn capacity(&self) -> usize {
        self.capacity as usize
    }

    /// How many slots hold something that some reader still needs: at most the capacity.
    #[must_use]
    pub fn occupied(&self) -> usize {
        // The gates first: nobody releases what is not published.
        let released = self.released();
        self.published().saturating_sub(released).min(self.capacity) as usize
    }

    /// Whether its empty slots are counted from now on: by whoever writes it, and of some batches. Otherwise, and at first,
    /// that costs a look at a flag for every batch.
    pub fn look(&self, wanted: bool) {
        if let Some(sampler) = &self.sampler {
            sampler.want(wanted);
        }
    }

    /// How many slots were left empty, of those that were looked at. Of a ring whose slots cannot be empty: none, of all that
    /// are published. Behind a mask what it leaves out is empty; in a ring that two lanes fill, for each what the other has.
    #[must_use]
    pub fn empties(&self) -> Occupancy {
        match &self.sampler {
            Some(sampler) => sampler.counted(),
            None => Occupancy { looked_at: self.published(), empty: 0 },
        }
    }

    /// Whether somebody who writes number `next` next has room for it. Of a ring with one producer that is what is
    /// published; the writers of a group claim before that.
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

/// The counters of what reads an edge: how far it is, and how far the rings of the edge are.
#[derive(Clone)]
pub struct InputProbe {
    rings: Vec<RingProbe>,
    gate: Gate,
    /// Which writer of a group reads.
    writer: Option<(Arc<RunWriters>, usize)>,
}

impl InputProbe {
    pub(crate) fn of<F: RingLayout>(view: &F::View, writer: Option<(Arc<RunWriters>, usize)>) -> Self {
        let mut rings = Vec::new();
        let gate = view.watch(&mut rings).0;
        InputProbe { rings, gate, writer }
    }

    /// Every number below the result is published on all rings of the edge, END counted.
    #[must_use]
    pub fn published(&self) -> u64 {
        self.rings.iter().map(RingProbe::published).min().unwrap_or(0)
    }

    /// Every number below the result has been released, by a group's writer: by the whole group. None once the reader is
    /// gone: then it needs nothing any more.
    #[must_use]
    pub fn released(&self) -> Option<u64> {
        Some(self.gate.needs()).filter(|needs| *needs != GONE)
    }

    /// The number that it works on, or needs next; none once the reader is gone.
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
