use crate::crew::Crew;
use crate::last::Last;
use crate::probe::{InputProbe, RingProbe};
use crate::reader::Reader;
use crate::shared::Shared;
use crate::sync::Arc;
use crate::team::TeamState;
use crate::view::Wire;
use millstream_core::keys::Seat;
use millstream_core::{Event, Holed, Pair, SequenceNumber, Val};

/// The seats of an edge's numbers.
type Seated<F> = Pair<F, Val<Seat, Holed>>;

/// One of k tasklets that share an input and an output ring, each of which fills the numbers of its lane.
///
/// Every mate passes over all numbers, in order, and readers of the output see a number when all mates have passed it.
pub struct Mate<F: Wire, S: Event> {
    mates: usize,
    crew: Crew<Seated<F>, S>,
}

impl<F: Wire, S: Event> Mate<F, S> {
    pub(crate) fn new(
        index: usize,
        mates: usize,
        input: Reader<Seated<F>>,
        output: Arc<Shared<S>>,
        team: Arc<TeamState>,
    ) -> Self {
        Mate { mates, crew: Crew::new(index, input, output, team) }
    }

    /// Passes over at most `max` numbers, and fills those that are this mate's: with `f` of the number, its slot, and its
    /// seat. Returns how many it passed: 0 if nothing is published or the output has no room.
    ///
    /// If `f` panics, this mate is broken: it never goes on, and no reader sees this number or anything behind it.
    pub fn fill(&mut self, max: usize, mut f: impl FnMut(u64, Option<F::Ref<'_>>, Option<Seat>) -> S) -> usize {
        let (index, mates) = (self.crew.index, self.mates);
        let work = |n, chunk: &<Seated<F> as Wire>::Chunk<'_>, i| {
            // SAFETY: less than the length of the batch that the chunk was made for.
            let seat = unsafe { <Val<Seat, Holed> as Wire>::at(&chunk.1, i) }.copied();
            (whose(seat, mates) == index).then(|| {
                // SAFETY: as above.
                f(n, unsafe { F::at(&chunk.0, i) }, seat)
            })
        };
        let mine = |chunk: &<Seated<F> as Wire>::Chunk<'_>, i| {
            // SAFETY: as above.
            whose(unsafe { <Val<Seat, Holed> as Wire>::at(&chunk.1, i) }.copied(), mates) == index
        };
        // SAFETY: all mates see alike whose a number is, since what they judge it by is published and plain.
        unsafe { self.crew.fill(max, work, mine) }
    }

    /// Passes END, once it is published on the input; true if it has. If it is this mate's, with the slot that `f` makes of
    /// what the input's END holds.
    ///
    /// If `f` panics, END is never published.
    pub fn end(&mut self, f: impl FnOnce(u64, Option<F::Ref<'_>>, Option<Seat>) -> Option<S>) -> bool {
        self.end_with(|n, value, seat| f(n, value, seat).map(Last::from))
    }

    /// As [`end`](Mate::end), of an output of any density.
    ///
    /// If `f` panics, END is never published.
    pub fn end_with(&mut self, f: impl FnOnce(u64, Option<F::Ref<'_>>, Option<Seat>) -> Option<Last<S>>) -> bool {
        let (index, mates) = (self.crew.index, self.mates);
        // SAFETY: as in `fill`.
        unsafe {
            self.crew.end(|n, end| {
                let (slot, seat) = end.halves();
                let seat = seat.copied();
                (whose(seat, mates) == index).then(|| f(n, slot, seat))
            })
        }
    }

    /// Drops what every reader of the output has released.
    pub fn sweep(&mut self) {
        self.crew.sweep();
    }

    /// The number at which a panic ended this mate's work.
    #[must_use]
    pub fn abandoned_at(&self) -> Option<SequenceNumber> {
        self.crew.abandoned_at()
    }

    /// The counters of its input and of its output ring, to be read from outside.
    #[must_use]
    pub fn probes(&self) -> (InputProbe, RingProbe) {
        self.crew.probes()
    }

    /// Numbers that are published and that this mate has not passed, END counted.
    #[must_use]
    pub fn backlog(&self) -> u64 {
        self.crew.backlog()
    }
}

/// Whose a number is.
#[inline(always)]
fn whose(seat: Option<Seat>, mates: usize) -> usize {
    seat.map_or(0, |seat| usize::from(seat.lane).min(mates - 1))
}

impl<F: Wire, S: Event> std::fmt::Debug for Mate<F, S> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Mate").field("index", &self.crew.index).field("input", &self.crew.input).finish_non_exhaustive()
    }
}
