//! What keyed writers and the two lanes of a choice share: each fills its own numbers of one output ring.

use crate::batch::End;
use crate::gate::Gating;
use crate::keyed_writers::KeyedWriters;
use crate::last::Last;
use crate::occupancy::OccupancySampler;
use crate::probe::{InputProbe, RingProbe};
use crate::reader::Reader;
use crate::shared::Shared;
use crate::sync::{Arc, lock};
use crate::view::{RingLayout, View};
use millstream_core::{Item, SequenceNumber};

/// One of a team: it passes over all numbers of its input, in order, and fills those of the output that are its own.
/// Readers of the output see a number when the whole team has passed it.
pub(crate) struct WriterCore<F: RingLayout, S: Item> {
    pub(crate) index: usize,
    /// Where the team begins.
    first: u64,
    pub(crate) input: Reader<F>,
    output: Arc<Shared<S>>,
    team: Arc<KeyedWriters>,
    gating: Gating,
    marks: u64,
    /// Of a lane: what it leaves to the other one is empty for it.
    lane: Option<std::sync::Arc<OccupancySampler>>,
    /// Where a call of the caller's function began that has not ended.
    visiting: Option<u64>,
}

impl<F: RingLayout, S: Item> WriterCore<F, S> {
    pub(crate) fn new(index: usize, input: Reader<F>, output: Arc<Shared<S>>, team: Arc<KeyedWriters>) -> Self {
        let first = input.position;
        WriterCore { index, first, input, output, team, gating: Gating::new(), marks: 0, lane: None, visiting: None }
    }

    /// The same of a lane, which counts for itself what it leaves to the other one.
    pub(crate) fn lane(self) -> Self {
        WriterCore { lane: Some(std::sync::Arc::default()), ..self }
    }

    /// Passes over at most `max` numbers, and fills those for which `work` gives a value: it is asked about slot `i` of a
    /// chunk. Returns how many it passed: 0 if nothing is published or the output has no room. `mine` says for which slots it
    /// gives one.
    ///
    /// If `work` panics, this one is broken: it never goes on, and no reader sees this number or anything behind it.
    ///
    /// # Safety
    ///
    /// Of every number below END `work` must give a value to one of the team, and to one only; `mine` must say which.
    #[inline(always)]
    pub(crate) unsafe fn fill(
        &mut self,
        max: usize,
        mut work: impl FnMut(u64, &F::Chunk<'_>, usize) -> Option<S>,
        mine: impl Fn(&F::Chunk<'_>, usize) -> bool,
    ) -> usize {
        if self.visiting.is_some() {
            return 0;
        }
        let room = self.room().saturating_sub(self.input.position);
        let max = max.min(usize::try_from(room).unwrap_or(usize::MAX));
        if max == 0 {
            return 0;
        }
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
        let mut visit = Visit { n: first, visiting: &mut self.visiting };
        for i in 0..len {
            visit.n = first + i as u64;
            let Some(value) = work(visit.n, &chunk, i) else { continue };
            // SAFETY: `i` is inside the storage, by `contiguous`. There was room: every reader has released what was in this
            // cell, and it was dropped. The number is this one's alone, by the caller's contract, and no reader sees it
            // before this one has passed it.
            unsafe { cells.write(i, value) };
            if std::mem::needs_drop::<S>() {
                self.team.note(visit.n);
            }
        }
        std::mem::forget(visit);
        let own = || (0..len).filter(|i| mine(&chunk, *i));
        match (&self.lane, self.output.sampler()) {
            (Some(sampler), _) if sampler.takes_this() => sampler.count(len, len - own().count()),
            (None, Some(sampler)) if sampler.takes_this() => {
                // SAFETY: it has filled its own, by the caller's contract, and nobody drops them before they are passed.
                let empty = |i| unsafe { self.output.empty(first + i as u64, 1) };
                sampler.count(own().count(), own().map(empty).sum());
            }
            _ => {}
        }
        self.team.pass(self.index, first + len as u64);
        len
    }

    /// Passes END, once it is published on the input; true if it has. `work` is asked about END: none where END is another's,
    /// and otherwise the slot that END gets, if it gets one.
    ///
    /// If `work` panics, END is never published.
    ///
    /// # Safety
    ///
    /// `work` must tell one of the team at most that END is its own.
    pub(crate) unsafe fn end(&mut self, work: impl FnOnce(u64, &End<'_, F>) -> Option<Option<Last<S>>>) -> bool {
        if self.visiting.is_some() {
            return false;
        }
        if self.input.ended() {
            let end = self.input.view.end();
            if self.first > end {
                // None of the team comes to END. Every one of them says this, and the same.
                self.output.set_end(end, false);
            }
            return true;
        }
        // Room for a slot, whether or not END gets one.
        let room = self.room();
        let position = self.input.position;
        let Some(end) = self.input.end() else { return false };
        let (output, mut copied) = (&self.output, lock(&self.team.marks));
        let released = self.gating.released(&output.gates, self.team.done());
        let all = end.copy_marks(&mut copied, |mark| output.marks().0.lay(mark, released).is_ok());
        drop(copied);
        if room <= position || !all {
            end.keep();
            return false;
        }
        let visit = Visit { n: position, visiting: &mut self.visiting };
        let mine = work(position, &end);
        std::mem::forget(visit);
        if let Some(last) = mine {
            let has_slot = last.as_ref().is_some_and(|last| last.slot.is_some());
            // SAFETY: as in `fill`: there was room, and END is this one's.
            unsafe { self.output.write_end(position, last) };
            if has_slot {
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

    pub(crate) fn sweep(&mut self) {
        self.output.sweep_for_several(&mut self.gating, &self.team.sweeping);
    }

    pub(crate) fn abandoned_at(&self) -> Option<SequenceNumber> {
        self.visiting.map(SequenceNumber)
    }

    pub(crate) fn probes(&self) -> (InputProbe, RingProbe) {
        let output = self.output.probe();
        (self.input.probe(), self.lane.iter().fold(output, RingProbe::counted_by))
    }

    pub(crate) fn backlog(&self) -> u64 {
        self.input.backlog()
    }
}

/// Notes the number at which a panic leaves a loop.
struct Visit<'a> {
    n: u64,
    visiting: &'a mut Option<u64>,
}

impl Drop for Visit<'_> {
    fn drop(&mut self) {
        *self.visiting = Some(self.n);
    }
}
