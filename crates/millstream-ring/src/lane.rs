//! Two lanes of a choice that fill one ring: each number is written once, by the lane that has it.
//!
//! Two rings, one per lane, hold a flag and room for a value at every number. Here, where both bodies of a `merge` are
//! one map each and the `Either`s are in one dense ring, the next stage reads one ring with a value in every slot. Each
//! lane passes over all numbers and writes its own. Which lane has a number is known from the slot of the `Either`,
//! which both read. [`MergedView`](crate::view::MergedView) reads either layout. The plan still counts a ring for each
//! lane.

use crate::keyed_writers::KeyedWriters;
use crate::probe::{InputProbe, RingProbe};
use crate::reader::Reader;
use crate::shared::{Published, Shared};
use crate::sync::Arc;
use crate::view::{RingLayout, Side, View};
use crate::wiring::reader_at;
use crate::writer_core::WriterCore;
use millstream_core::{Item, SequenceNumber, Val};

/// A lane that fills its numbers of a ring that it has together with the other one.
///
/// Both pass over all numbers, in order, and readers of the output see a number when both have passed it.
pub struct LaneWriter<F: RingLayout, T: Item> {
    core: WriterCore<F, T>,
}

/// What the other lane needs to fill the same ring.
#[must_use = "a ring with one lane shows nothing: join the other one"]
pub struct OtherLane<T: Item> {
    side: Side,
    /// The ring that its input must read. Kept, so that no other ring is taken for it when that one is gone.
    edge: RingProbe,
    position: u64,
    output: Arc<Shared<T>>,
    keyed_writers: Arc<KeyedWriters>,
    reader: Reader<Val<T>>,
}

/// Whether a shape is a lane that can fill a ring together with the other one: a lens's view of the `Either`s of one ring
/// without empty slots.
#[must_use]
pub fn is_lane<F: RingLayout>() -> bool {
    F::lane().is_some() && matches!(F::SLOT, Some(1..))
}

/// Gives one lane a ring of `capacity` slots, and what the other one needs for [`joining`](OtherLane::joined) it.
///
/// # Panics
///
/// If the shape is [no such lane](is_lane), or `capacity` is not a power of two.
pub fn lane<F: RingLayout, T: Item>(input: Reader<F>, capacity: usize) -> (LaneWriter<F, T>, OtherLane<T>) {
    let side = F::lane().filter(|_| is_lane::<F>()).expect("a lane of one ring without empty slots");
    let (edge, position) = (ring_of(&input), input.position);
    let keyed_writers = Arc::new(KeyedWriters::new::<T>(2, position, capacity));
    let output = Shared::new(capacity, position, Published::Team(keyed_writers.clone())).expect("a power of two");
    let reader = reader_at::<Val<T>>(&output, position);
    let other = OtherLane {
        side: side.other(),
        edge,
        position,
        output: output.clone(),
        keyed_writers: keyed_writers.clone(),
        reader,
    };
    (LaneWriter { core: WriterCore::new(side.index(), input, output, keyed_writers).lane() }, other)
}

impl<T: Item> OtherLane<T> {
    /// The other lane, and the reader of what both make.
    ///
    /// # Panics
    ///
    /// If `input` is not the other lane of the same edge, at the number at which the first one was.
    #[must_use]
    pub fn joined<F: RingLayout>(self, input: Reader<F>) -> (LaneWriter<F, T>, Reader<Val<T>>) {
        let here = input.position == self.position && ring_of(&input).is_of(&self.edge);
        let same = here && F::lane() == Some(self.side);
        assert!(same, "this is not the other lane of the same choice");
        (
            LaneWriter { core: WriterCore::new(self.side.index(), input, self.output, self.keyed_writers).lane() },
            self.reader,
        )
    }
}

/// The ring that a lane reads: a lane lies in one ring.
fn ring_of<F: RingLayout>(input: &Reader<F>) -> RingProbe {
    let mut rings = Vec::new();
    input.view.watch(&mut rings);
    rings.swap_remove(0)
}

impl<F: RingLayout, T: Item> LaneWriter<F, T> {
    /// Passes over at most `max` numbers, and fills those that this lane has: with `f` of the value. Returns how many it
    /// passed: 0 if nothing is published or the output has no room.
    ///
    /// If `f` panics, this lane is broken: it never goes on, and no reader sees this number or anything behind it.
    #[inline]
    pub fn fill(&mut self, max: usize, mut f: impl FnMut(F::Ref<'_>) -> T) -> usize {
        let work = |_, chunk: &F::Chunk<'_>, i| {
            // SAFETY: less than the length of the batch that the chunk was made for.
            unsafe { F::at(chunk, i) }.map(&mut f)
        };
        // SAFETY: as in `work`.
        let mine = |chunk: &F::Chunk<'_>, i| unsafe { F::is_filled(chunk, i) };
        // SAFETY: two lanes fill a ring, one of either side, of one edge, as `lane` and `joined` have seen. It is a ring
        // without empty slots, and of an `Either` the lenses of the two sides see one each; nobody can write others for it.
        unsafe { self.core.fill(max, work, mine) }
    }

    /// Passes END, once it is published on the input; true if it has. It holds nothing.
    pub fn end(&mut self) -> bool {
        let first = self.core.index == 0;
        // SAFETY: one lane says so.
        unsafe { self.core.end(|_, _| first.then_some(None)) }
    }

    /// Drops what every reader of the output has released.
    pub fn sweep(&mut self) {
        self.core.sweep();
    }

    /// The number at which a panic ended this lane's work.
    #[must_use]
    pub fn abandoned_at(&self) -> Option<SequenceNumber> {
        self.core.abandoned_at()
    }

    /// The counters of its input and of its output ring, to be read from outside.
    #[must_use]
    pub fn probes(&self) -> (InputProbe, RingProbe) {
        self.core.probes()
    }

    /// Numbers that are published and that this lane has not passed, END counted.
    #[must_use]
    pub fn backlog(&self) -> u64 {
        self.core.backlog()
    }
}

impl<F: RingLayout, T: Item> std::fmt::Debug for LaneWriter<F, T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LaneWriter")
            .field("index", &self.core.index)
            .field("input", &self.core.input)
            .finish_non_exhaustive()
    }
}

impl<T: Item> std::fmt::Debug for OtherLane<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("OtherLane").field("side", &self.side).finish_non_exhaustive()
    }
}
