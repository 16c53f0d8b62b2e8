use crate::gate::Gating;
use crate::probe::{InputProbe, RingProbe};
use crate::reader::Reader;
use crate::shared::Shared;
use crate::sync::{Arc, lock};
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
    index: usize,
    mates: usize,
    input: Reader<Seated<F>>,
    output: Arc<Shared<S>>,
    team: Arc<TeamState>,
    gating: Gating,
    marks: u64,
    /// Where a call of the caller's function began that has not ended.
    visiting: Option<u64>,
}

impl<F: Wire, S: Event> Mate<F, S> {
    pub(crate) fn new(
        index: usize,
        mates: usize,
        input: Reader<Seated<F>>,
        output: Arc<Shared<S>>,
        team: Arc<TeamState>,
    ) -> Self {
        Mate { index, mates, input, output, team, gating: Gating::new(), marks: 0, visiting: None }
    }

    /// Passes over at most `max` numbers, and fills those that are this mate's: with `f` of the number, its slot, and its
    /// seat. Returns how many it passed: 0 if nothing is published or the output has no room.
    ///
    /// If `f` panics, this mate is broken: it never goes on, and no reader sees this number or anything behind it.
    pub fn fill(&mut self, max: usize, mut f: impl FnMut(u64, Option<F::Ref<'_>>, Option<Seat>) -> S) -> usize {
        if self.visiting.is_some() {
            return 0;
        }
        let room = self.room().saturating_sub(self.input.position);
        let max = max.min(usize::try_from(room).unwrap_or(usize::MAX));
        if max == 0 {
            return 0;
        }
        let (index, mates, visiting) = (self.index, self.mates, &mut self.visiting);
        let Some(mut batch) = self.input.batch(max) else { return 0 };
        // Without new marks the lock is not needed.
        if !batch.copy_marks(&mut self.marks.clone(), |_| false) {
            let (output, mut copied) = (&self.output, lock(&self.team.marks));
            let released = self.gating.released(&output.gates, self.team.done());
            let all = batch.copy_marks(&mut copied, |mark| output.marks().0.lay(mark, released).is_ok());
            self.marks = *copied;
            if !all {
                batch.truncate(0);
                return 0;
            }
        }
        let (first, slots) = (batch.first().0, &self.output.slots);
        let len = slots.contiguous(first, batch.len() as u64) as usize;
        batch.truncate(len);
        let (chunk, cells) = (batch.chunk(), slots.cells(first));
        for i in 0..len {
            // SAFETY: less than the length of the batch that the chunk was made for.
            let seat = unsafe { <Val<Seat, Holed> as Wire>::at(&chunk.1, i) }.copied();
            if whose(seat, mates) != index {
                continue;
            }
            let n = first + i as u64;
            *visiting = Some(n);
            // SAFETY: as above.
            let value = f(n, unsafe { F::at(&chunk.0, i) }, seat);
            // SAFETY: `i` is inside the storage, by `contiguous`. There was room: every reader has released what was in this
            // cell, and it was dropped. The number is this mate's, which all mates see alike, since what they judge it by is
            // published and plain; and no reader sees it before this mate has passed it.
            unsafe { cells.write(i, value) };
            self.team.note(n);
        }
        *visiting = None;
        self.team.pass(index, first + len as u64);
        len
    }

    /// Passes END, once it is published on the input; true if it has. If it is this mate's, with the slot that `f` makes of
    /// what the input's END holds.
    ///
    /// If `f` panics, END is never published.
    pub fn end(&mut self, f: impl FnOnce(u64, Option<F::Ref<'_>>, Option<Seat>) -> Option<S>) -> bool {
        if self.visiting.is_some() {
            return false;
        }
        if self.input.ended() {
            return true;
        }
        // Room for a slot, whether or not END gets one.
        let room = self.room();
        let (position, visiting) = (self.input.position, &mut self.visiting);
        let Some(end) = self.input.end() else { return false };
        let (output, mut copied) = (&self.output, lock(&self.team.marks));
        let released = self.gating.released(&output.gates, self.team.done());
        let all = end.copy_marks(&mut copied, |mark| output.marks().0.lay(mark, released).is_ok());
        drop(copied);
        if room <= position || !all {
            end.keep();
            return false;
        }
        let (slot, seat) = end.halves();
        let seat = seat.copied();
        if whose(seat, self.mates) == self.index {
            *visiting = Some(position);
            let last = f(position, slot, seat);
            *visiting = None;
            self.output.set_end(position, last.is_some());
            if let Some(last) = last {
                // SAFETY: as in `fill`: there was room, and END is this mate's.
                unsafe { self.output.slots.cells(position).write(0, last) };
                self.team.note(position);
            }
        }
        self.team.pass(self.index, position + 1);
        true
    }

    /// Numbers below the result may be written.
    fn room(&mut self) -> u64 {
        self.output.room_of_several(&mut self.gating, &self.team.sweeping)
    }

    /// Drops what every reader of the output has released.
    pub fn sweep(&mut self) {
        self.output.sweep_for_several(&mut self.gating, &self.team.sweeping);
    }

    /// The number at which a panic ended this mate's work.
    #[must_use]
    pub fn abandoned_at(&self) -> Option<SequenceNumber> {
        self.visiting.map(SequenceNumber)
    }

    /// The counters of its input and of its output ring, to be read from outside.
    #[must_use]
    pub fn probes(&self) -> (InputProbe, RingProbe) {
        (self.input.probe(), self.output.probe())
    }

    /// Numbers that are published and that this mate has not passed, END counted.
    #[must_use]
    pub fn backlog(&self) -> u64 {
        self.input.backlog()
    }
}

/// Whose a number is.
#[inline(always)]
fn whose(seat: Option<Seat>, mates: usize) -> usize {
    seat.map_or(0, |seat| usize::from(seat.lane).min(mates - 1))
}

impl<F: Wire, S: Event> std::fmt::Debug for Mate<F, S> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Mate").field("index", &self.index).field("input", &self.input).finish_non_exhaustive()
    }
}
