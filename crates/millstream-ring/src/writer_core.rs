//! The common part of keyed writers and of the two lanes of a choice: each fills its own numbers of one output ring.

use crate::batch::End;
use crate::gate::Gating;
use crate::keyed_writers::KeyedWriters;
use crate::last::Last;
use crate::mark::Mark;
use crate::occupancy::OccupancySampler;
use crate::probe::{InputProbe, RingProbe};
use crate::reader::Reader;
use crate::shared::Shared;
use crate::sync::{Arc, lock};
use crate::view::{RingLayout, View};
use millstream_core::{Item, SequenceNumber};

/// One of several writers of a ring: it passes all numbers of its input, in order, and fills those of the output that
/// are its own. Readers of the output see a number when all writers have passed it.
pub(crate) struct WriterCore<F: RingLayout, S: Item> {
    pub(crate) index: usize,
    /// The number at which the writers begin.
    first: u64,
    pub(crate) input: Reader<F>,
    output: Arc<Shared<S>>,
    keyed_writers: Arc<KeyedWriters>,
    gating: Gating,
    marks: u64,
    /// Of a lane: the sampler that counts the other lane's slots as empty.
    lane: Option<std::sync::Arc<OccupancySampler>>,
    /// The number at which the caller's function was called and has not returned.
    visiting: Option<u64>,
}

impl<F: RingLayout, S: Item> WriterCore<F, S> {
    pub(crate) fn new(
        index: usize,
        input: Reader<F>,
        output: Arc<Shared<S>>,
        keyed_writers: Arc<KeyedWriters>,
    ) -> Self {
        let first = input.position;
        WriterCore {
            index,
            first,
            input,
            output,
            keyed_writers,
            gating: Gating::new(),
            marks: 0,
            lane: None,
            visiting: None,
        }
    }

    /// The same writer as a lane, which counts the other lane's slots as empty.
    pub(crate) fn lane(self) -> Self {
        WriterCore { lane: Some(std::sync::Arc::default()), ..self }
    }

    /// Passes at most `max` numbers, and fills those for which `work` returns a value: it is called with slot `i` of a
    /// chunk. Returns how many it passed: 0 if nothing is published or the output has no room. `mine` is whether `work`
    /// returns a value for a slot.
    ///
    /// If `work` panics, this writer is broken: it has passed the numbers before, stops for good, and no reader sees
    /// this number or a later one.
    ///
    /// # Safety
    ///
    /// For every number below END, `work` must return a value for exactly one of the writers; `mine` must be true for
    /// that one only.
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
        let Some(mut batch) = self.input.batch(max) else {
            self.copy_marks();
            return 0;
        };
        let copies = Copies { output: &self.output, keyed_writers: &self.keyed_writers, gating: &mut self.gating };
        copies.copy(batch.reader(), &mut self.marks);
        let (first, slots) = (batch.first().0, &self.output.slots);
        let len = slots.contiguous(first, batch.len() as u64) as usize;
        batch.truncate(len);
        let (chunk, cells) = (batch.chunk(), slots.cells(first));
        // The numbers before a panic are all filled: readers see them.
        let passing = Passing { writer: self.index, keyed_writers: &self.keyed_writers };
        let mut visit = Visit { n: first, visiting: &mut self.visiting, passing: Some(passing) };
        for i in 0..len {
            visit.n = first + i as u64;
            let Some(value) = work(visit.n, &chunk, i) else { continue };
            // SAFETY: `i` is inside the storage, by `contiguous`. There was room: every reader has released the former
            // value of this cell, and it was dropped. The number is this writer's alone, by the caller's contract, and
            // no reader sees it before this writer has passed it.
            unsafe { cells.write(i, value) };
            if std::mem::needs_drop::<S>() {
                self.keyed_writers.note(visit.n);
            }
        }
        std::mem::forget(visit);
        let own = || (0..len).filter(|i| mine(&chunk, *i));
        match (&self.lane, self.output.sampler()) {
            (Some(sampler), _) if sampler.takes_this() => sampler.count(len, len - own().count()),
            (None, Some(sampler)) if sampler.takes_this() => {
                // SAFETY: it has filled its own, by the caller's contract, and no thread drops them before they are
                // passed.
                let empty = |i| unsafe { self.output.empty(first + i as u64, 1) };
                sampler.count(own().count(), own().map(empty).sum());
            }
            _ => {}
        }
        self.keyed_writers.pass(self.index, first + len as u64);
        len
    }

    /// Passes END, once it is published on the input. Returns whether it has. `work` is called with END: it returns
    /// none if END belongs to another writer, and otherwise the content of END, if END has any.
    ///
    /// If `work` panics, END is never published.
    ///
    /// # Safety
    ///
    /// `work` must return something for at most one of the writers.
    pub(crate) unsafe fn end(&mut self, work: impl FnOnce(u64, &End<'_, F>) -> Option<Option<Last<S>>>) -> bool {
        if self.visiting.is_some() {
            return false;
        }
        if self.input.ended() {
            let end = self.input.view.end();
            if self.first > end {
                // No writer reaches END. All of them store the same.
                self.output.set_end(end, false);
            }
            return true;
        }
        // Room for a slot, whether or not END gets one.
        let room = self.room();
        let position = self.input.position;
        let Some(end) = self.input.end() else { return false };
        let copies = Copies { output: &self.output, keyed_writers: &self.keyed_writers, gating: &mut self.gating };
        copies.copy(end.reader(), &mut self.marks);
        if room <= position {
            end.keep();
            return false;
        }
        let visit = Visit { n: position, visiting: &mut self.visiting, passing: None };
        let mine = work(position, &end);
        std::mem::forget(visit);
        if let Some(last) = mine {
            let has_slot = last.as_ref().is_some_and(|last| last.slot.is_some());
            // SAFETY: as in `fill`: there was room, and END is this writer's.
            unsafe { self.output.write_end(position, last) };
            if has_slot {
                self.keyed_writers.note(position);
            }
        }
        self.keyed_writers.pass(self.index, position + 1);
        true
    }

    /// Copies the input's new marks to the output, unless another writer has.
    fn copy_marks(&mut self) {
        let copies = Copies { output: &self.output, keyed_writers: &self.keyed_writers, gating: &mut self.gating };
        copies.copy(&self.input, &mut self.marks);
    }

    /// Passes the input's next mark, once it is copied to the output. Returns it.
    pub(crate) fn pass_mark(&mut self) -> Option<Mark> {
        // Seen before it is copied: one that is laid meanwhile is not copied yet, so it is not passed.
        self.input.mark()?;
        self.copy_marks();
        self.input.pass_mark()
    }

    /// Numbers below the result may be written.
    fn room(&mut self) -> u64 {
        self.output.room_of_several(&mut self.gating, &self.keyed_writers.sweeping)
    }

    pub(crate) fn sweep(&mut self) {
        self.output.sweep_for_several(&mut self.gating, &self.keyed_writers.sweeping);
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

/// Where the marks of the input are copied to.
struct Copies<'w, S: Item> {
    output: &'w Shared<S>,
    keyed_writers: &'w KeyedWriters,
    gating: &'w mut Gating,
}

impl<S: Item> Copies<'_, S> {
    /// Copies the new ones, unless another writer has; `known` is how many marks this writer knows.
    #[inline]
    fn copy<F: RingLayout>(self, input: &Reader<F>, known: &mut u64) {
        // Without new marks the lock is not needed.
        if input.has_marks(*known) {
            self.copy_new(input, known);
        }
    }

    #[cold]
    fn copy_new<F: RingLayout>(self, input: &Reader<F>, known: &mut u64) {
        let mut copied = lock(&self.keyed_writers.marks);
        let released = self.gating.released(&self.output.gates, self.keyed_writers.done());
        input.copy_marks(&mut copied, |mark| self.output.marks().0.lay(mark, released));
        *known = *copied;
    }
}

/// Records the number at which a panic leaves a loop.
struct Visit<'a> {
    n: u64,
    visiting: &'a mut Option<u64>,
    passing: Option<Passing<'a>>,
}

/// The cursor with which a writer passes numbers.
struct Passing<'a> {
    writer: usize,
    keyed_writers: &'a KeyedWriters,
}

impl Drop for Visit<'_> {
    fn drop(&mut self) {
        *self.visiting = Some(self.n);
        if let Some(Passing { writer, keyed_writers }) = &self.passing {
            keyed_writers.pass(*writer, self.n);
        }
    }
}
