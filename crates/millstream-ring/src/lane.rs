//! Two lanes of a choice that fill one ring: each number is written once, by the lane that has it.
//!
//! Two rings, one per lane, would hold a flag and room for a value at every number. One ring suffices if both bodies of
//! a `merge` are one map each and the `Either`s are in one dense ring: the next stage then reads one ring with a value
//! in every slot. Each lane passes all numbers and writes its own. Both read the slot of the `Either`, which determines
//! the lane of a number. [`MergedView`](crate::view::MergedView) reads either layout. The plan still counts a ring for
//! each lane.

use crate::keyed_writers::KeyedWriters;
use crate::mark::Mark;
use crate::probe::{InputProbe, RingProbe};
use crate::reader::Reader;
use crate::shared::{Published, Shared};
use crate::sync::Arc;
use crate::view::{RingLayout, Side, View};
use crate::wiring::reader_at;
use crate::writer_core::WriterCore;
use millstream_core::{Item, SequenceNumber, Val};

/// A lane that fills its numbers of a ring that it shares with the other lane.
///
/// Both pass all numbers, in order, and readers of the output see a number when both have passed it.
pub struct LaneWriter<F: RingLayout, T: Item> {
    core: WriterCore<F, T>,
}

/// The parts that the second lane needs to fill the same ring.
#[must_use = "a ring with one lane shows nothing: join the second lane"]
pub struct OtherLane<T: Item> {
    side: Side,
    /// The ring that the second lane's input must read. It is kept, so that no later ring can be mistaken for it.
    edge: RingProbe,
    position: u64,
    output: Arc<Shared<T>>,
    keyed_writers: Arc<KeyedWriters>,
    reader: Reader<Val<T>>,
}

/// Whether a shape is a lane that can share a ring with the other lane: a lens's view of the `Either`s of one ring
/// without empty slots.
#[must_use]
pub fn is_lane<F: RingLayout>() -> bool {
    F::lane().is_some() && matches!(F::SLOT, Some(1..))
}

/// Makes a ring of `capacity` slots for the first lane. The second lane [joins](OtherLane::joined) by the returned
/// `OtherLane`.
///
/// # Panics
///
/// If the shape is [not such a lane](is_lane), or `capacity` is not a power of two.
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
    /// The second lane, and the reader of the ring that both fill.
    ///
    /// # Panics
    ///
    /// If `input` is not the opposite lane of the same edge, at the same number as the first lane at its start.
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

/// The ring that a lane reads: it is always one.
fn ring_of<F: RingLayout>(input: &Reader<F>) -> RingProbe {
    let mut rings = Vec::new();
    input.view.watch(&mut rings);
    rings.swap_remove(0)
}

impl<F: RingLayout, T: Item> LaneWriter<F, T> {
    /// Passes at most `max` numbers, and fills those that this lane has: with `f` of the value. Returns how many it
    /// passed: 0 if nothing is published or the output has no room.
    ///
    /// If `f` panics, this lane is broken: it stops for good, and no reader sees this number or a later one.
    #[inline]
    pub fn fill(&mut self, max: usize, mut f: impl FnMut(F::Ref<'_>) -> T) -> usize {
        let work = |_, chunk: &F::Chunk<'_>, i| {
            // SAFETY: less than the length of the batch that the chunk was made for.
            unsafe { F::at(chunk, i) }.map(&mut f)
        };
        // SAFETY: as in `work`.
        let mine = |chunk: &F::Chunk<'_>, i| unsafe { F::is_filled(chunk, i) };
        // SAFETY: two lanes fill a ring, one of either side, of one edge: `lane` and `joined` have checked it. The edge
        // is a ring without empty slots, and of an `Either` exactly one of the two sides' lenses sees a value; no other
        // crate can write such a lens for it.
        unsafe { self.core.fill(max, work, mine) }
    }

    /// Passes END, once it is published on the input. Returns whether it has. END holds no value.
    pub fn end(&mut self) -> bool {
        let first = self.core.index == 0;
        // SAFETY: only the first lane claims END.
        unsafe { self.core.end(|_, _| first.then_some(None)) }
    }

    /// Passes the mark at the next number, if there is one, once it is copied to the output, and returns it.
    pub fn pass_mark(&mut self) -> Option<Mark> {
        self.core.pass_mark()
    }

    /// Drops what every reader of the output has released.
    pub fn sweep(&mut self) {
        self.core.sweep();
    }

    /// The number at which a panic broke this lane.
    #[must_use]
    pub fn abandoned_at(&self) -> Option<SequenceNumber> {
        self.core.abandoned_at()
    }

    /// The counters of its input and of its output ring, for observers.
    #[must_use]
    pub fn probes(&self) -> (InputProbe, RingProbe) {
        self.core.probes()
    }

    /// The number of published slots that this lane has not passed, END included.
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
