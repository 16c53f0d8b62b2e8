use crate::gate::Gating;
use crate::last::Last;
use crate::mark::{Coming, Mark, MarkKind};
use crate::probe::{InputProbe, RingProbe};
use crate::run_writers::{Claimed, RunWriters};
use crate::shared::Shared;
use crate::sync::{Arc, lock};
use crate::text::{Kind, Pen, Run, Span};
use crate::view::{RingLayout, View};
use millstream_core::pipe::SliceKernel;
use millstream_core::text::Writer;
use millstream_core::{Density, Item, OfPieces, SequenceNumber};

/// One of k tasklets that share an input and an output ring.
///
/// A writer claims a run of the input's numbers and fills the same numbers of the output. Runs of several writers may
/// finish in any order. Readers of the output see a number when all numbers below it are done as well.
pub struct RunWriter<F: RingLayout, S: Item> {
    index: usize,
    input: Arc<F::View>,
    output: Arc<Shared<S>>,
    group: Arc<RunWriters>,
    gating: Gating,
    /// The greatest cursor of the input that was seen.
    seen: u64,
    marks: u64,
    /// The marks that no run crosses.
    coming: Coming,
    /// Whether it takes END only when it has passed all marks up to there.
    stops: bool,
    /// How many of the input's marks it knows, and those that it has not passed.
    unpassed: (u64, Vec<Mark>),
    abandoned: Option<u64>,
}

impl<F: RingLayout, S: Item> RunWriter<F, S> {
    pub(crate) fn new(
        index: usize,
        input: Arc<F::View>,
        stops: bool,
        output: Arc<Shared<S>>,
        group: Arc<RunWriters>,
    ) -> Self {
        let (gating, coming) = (Gating::new(), Coming::new());
        let unpassed = (0, Vec::new());
        RunWriter { index, input, output, group, gating, seen: 0, marks: 0, coming, stops, unpassed, abandoned: None }
    }

    /// Claims a run of at most `max` numbers and fills it: `f` of every slot, in order. Returns the length of the run:
    /// 0 if nothing is published, everything is claimed, or the output has no room.
    ///
    /// A run is at most an equal share of the published numbers, so that a few items also spread over the writers.
    ///
    /// If `f` panics, this writer is broken: it never claims again, the values that it wrote are dropped, and no reader
    /// sees its run or a later number.
    pub fn fill(&mut self, max: usize, f: impl FnMut(Option<F::Ref<'_>>) -> S) -> usize {
        self.fill_or_tell(max, || (), f)
    }

    /// As [`fill`](RunWriter::fill), for outputs whose readers park. While this writer competed for a run, it may have
    /// hidden finished numbers from readers. If so, `hid` is called, before `f`, to wake the readers that parked.
    ///
    /// A panic of `hid` has the effect of a panic of `f` at the first number of the run; if no run was left, it has
    /// none.
    pub fn fill_or_tell(&mut self, max: usize, hid: impl FnOnce(), f: impl FnMut(Option<F::Ref<'_>>) -> S) -> usize {
        let Some((first, len)) = self.claim(max, hid) else { return 0 };
        self.fill_run(first, len, f);
        self.finish(first, len);
        len
    }

    /// As [`fill_or_tell`](RunWriter::fill_or_tell), with the text that `f` writes for every slot; an empty slot if it
    /// returns false.
    pub fn write_text<T: Kind + ?Sized, D: Density<Slot<Span<T>> = S>>(
        &mut self,
        max: usize,
        pen: &mut Pen<T>,
        hid: impl FnOnce(),
        mut f: impl FnMut(Option<F::Ref<'_>>, &mut Writer<'_, T>) -> bool,
    ) -> usize {
        self.text_run::<T, D>(max, pen, hid, |pen, run, len, chunk, visited| {
            pen.write(run, len, true, |i, out| {
                *visited = i;
                // SAFETY: less than the length of the run.
                f(unsafe { F::at(&chunk, i) }, out)
            })
        })
    }

    /// As [`fill_or_tell`](RunWriter::fill_or_tell), with the slice that `parting` keeps of every slot, which is stored
    /// in a block already; an empty slot if it keeps none.
    pub fn pass_on<T: Kind + ?Sized, D: Density<Slot<Span<T>> = S>>(
        &mut self,
        max: usize,
        pen: &mut Pen<T>,
        hid: impl FnOnce(),
        parting: &impl SliceKernel<In = F, Kind = T>,
    ) -> usize
    where
        F: OfPieces,
    {
        self.text_run::<T, D>(max, pen, hid, |pen, run, len, chunk, visited| {
            pen.pass_on(run, len, true, |slots| {
                for i in 0..len {
                    *visited = i;
                    // SAFETY: less than the length of the run.
                    let slot = unsafe { F::at(&chunk, i) };
                    slots.put(slot.and_then(|value| parting.part(value)));
                }
            })
        })
    }

    /// Claims a run and calls `fill` to write it: `fill` writes all of it, or panics.
    fn text_run<T: Kind + ?Sized, D: Density<Slot<Span<T>> = S>>(
        &mut self,
        max: usize,
        pen: &mut Pen<T>,
        hid: impl FnOnce(),
        fill: impl FnOnce(&mut Pen<T>, Run<'_, T, D>, usize, F::Chunk<'_>, &mut usize) -> u64,
    ) -> usize {
        self.sweep();
        let room = pen.room_for_all(self.output.swept(), max);
        let Some((first, len)) = self.claim(room, hid) else { return 0 };
        // SAFETY: as in `fill_run`.
        let chunk = unsafe { self.input.chunk(first) };
        let mut visited = Visited { first, at: 0, abandoned: &mut self.abandoned };
        // SAFETY: the run is this writer's; there was room below its end, so every reader has released the former
        // values of its cells, and they were dropped; and no reader sees it before the run is finished.
        let run = unsafe { Run::new(&self.output.slots, first) };
        let written = fill(pen, run, len, chunk, &mut visited.at);
        assert_eq!(written, len as u64, "a run is filled as a whole");
        std::mem::forget(visited);
        self.finish(first, len);
        len
    }

    /// Publishes a filled run.
    fn finish(&self, first: u64, len: usize) {
        // SAFETY: the run is this writer's until it is finished, and it is filled.
        unsafe { self.output.look(first, len) };
        self.group.finish(self.index);
    }

    /// Claims a run of at most `max` numbers that are published and unclaimed, and have room in the output.
    fn claim(&mut self, max: usize, hid: impl FnOnce()) -> Option<(u64, usize)> {
        if self.abandoned.is_some() || max == 0 {
            return None;
        }
        self.seen = self.seen.max(self.input.cursor());
        let limit = self.seen.min(self.input.end()).min(self.room());
        let taken = self.group.taken();
        self.copy_marks();
        if taken >= limit {
            return None;
        }
        // Of a mark at or after `taken`: if another writer claims meanwhile, this one claims less, or nothing.
        let limit = limit.min(self.coming.limit(&self.input.marks().0, taken)).min(self.group.wall());
        let (input, writers) = (&self.input, self.group.writers());
        let len = |first: u64| input.contiguous(first, (limit - first).div_ceil(writers).min(max as u64));
        let Claimed { run, hid: has_hidden } = self.group.claim(self.index, limit, len);
        if has_hidden {
            // The run is this writer's already: a panic here gives it up, as a panic in the run itself does.
            let given_up = run.map(|(first, _)| Visited { first, at: 0, abandoned: &mut self.abandoned });
            hid();
            std::mem::forget(given_up);
        }
        run.map(|(first, len)| (first, len as usize))
    }

    fn fill_run(&mut self, first: u64, len: usize, mut f: impl FnMut(Option<F::Ref<'_>>) -> S) {
        // SAFETY: the numbers are published, and the group's gate holds them until this run is finished; `claim` was
        // limited to contiguous numbers.
        let chunk = unsafe { self.input.chunk(first) };
        let mut given_up = GivenUp { first, written: 0, output: &self.output, abandoned: &mut self.abandoned };
        let slots = &self.output.slots;
        while given_up.written < len {
            let start = given_up.written;
            let run = slots.contiguous(first + start as u64, (len - start) as u64) as usize;
            let cells = slots.cells(first + start as u64);
            for i in 0..run {
                // SAFETY: less than the length of the run.
                let value = f(unsafe { F::at(&chunk, start + i) });
                // SAFETY: there was room below the run's end: every reader has released the former value of this cell,
                // and it was dropped. No other writer claims this number, and no reader sees it before the run is
                // finished.
                unsafe { cells.write(i, value) };
                given_up.written = start + i + 1;
            }
        }
        std::mem::forget(given_up);
    }

    /// Publishes END, if all numbers below it are claimed and END is not: with the slot that `f` returns for the value
    /// of the input's END. Returns whether END is claimed, by this writer or another one: then this writer is done.
    ///
    /// If `f` panics, END is never published.
    pub fn end(&mut self, f: impl FnOnce(Option<F::Ref<'_>>) -> Option<S>) -> bool {
        self.end_with(|value| f(value).map(Last::from))
    }

    /// As [`end`](RunWriter::end), of an output of any density.
    ///
    /// If `f` panics, END is never published.
    pub fn end_with(&mut self, f: impl FnOnce(Option<F::Ref<'_>>) -> Option<Last<S>>) -> bool {
        if self.abandoned.is_some() {
            return false;
        }
        self.seen = self.seen.max(self.input.cursor());
        let end = self.input.end();
        if self.seen <= end || self.group.taken() < end {
            return false;
        }
        self.copy_marks();
        if self.group.wall() <= end || self.stops && self.reached(end).is_some() {
            return false;
        }
        if self.group.taken() > end {
            if self.group.begins_after(end) {
                // No writer reaches END. All of them store the same.
                self.output.set_end(end, false);
            }
            return true;
        }
        // Room for a slot, whether or not END gets one.
        if self.room() <= end || self.group.claim(self.index, end + 1, |_| 1).run.is_none() {
            return self.group.taken() > end;
        }
        let given_up = GivenUp { first: end, written: 0, output: &self.output, abandoned: &mut self.abandoned };
        // SAFETY: END is published, and the group's gate holds it until this run is finished.
        let last = f(unsafe { self.input.at_end(end) });
        std::mem::forget(given_up);
        // SAFETY: as in `fill_run`: there was room, and END is claimed by this writer alone.
        unsafe { self.output.write_end(end, last) };
        self.group.finish(self.index);
        true
    }

    /// Passes the next mark that this writer has reached: all numbers below it are claimed, and this writer has
    /// finished those that it claimed. From a mark that [retires](MarkKind::Retire) it on, the group claims no number.
    pub fn pass_mark(&mut self) -> Option<Mark> {
        // Found before it is copied: one that is laid meanwhile is not copied yet, so it is not passed.
        let reached = self.reached(self.group.taken())?;
        self.copy_marks();
        Some(self.unpassed.1.remove(reached))
    }

    /// The place of the first mark up to number `n` that this writer has not passed.
    fn reached(&mut self, n: u64) -> Option<usize> {
        let (group, (known, unpassed)) = (&self.group, &mut self.unpassed);
        *known = self.input.marks().0.after(*known, |mark| {
            if !group.begins_after(mark.at.0) {
                unpassed.push(mark);
            }
        });
        unpassed.iter().position(|mark| mark.at.0 <= n)
    }

    /// Lets the group go on after a mark that has retired it.
    pub fn resume(&self) {
        self.group.remove_wall();
    }

    /// Numbers below the result may be written.
    fn room(&mut self) -> u64 {
        self.output.room_of_several(&mut self.gating, &self.group.sweeping)
    }

    /// Drops what every reader of the output has released.
    pub fn sweep(&mut self) {
        self.output.sweep_for_several(&mut self.gating, &self.group.sweeping);
    }

    /// Copies the input's new marks to the output, before their numbers are claimed.
    #[inline]
    fn copy_marks(&mut self) {
        if self.input.marks().0.laid() > self.marks {
            self.copy_new_marks();
        }
    }

    #[cold]
    fn copy_new_marks(&mut self) {
        let mut copied = lock(&self.group.marks);
        let released = self.gating.released(&self.output.gates, self.group.done());
        *copied = self.input.marks().0.after(*copied, |mark| {
            // The group has nothing to do with one before its beginning.
            if mark.kind == MarkKind::Retire && !self.group.begins_after(mark.at.0) {
                self.group.set_wall(mark.at.0);
            }
            self.output.marks().0.lay(mark, released);
        });
        self.marks = *copied;
    }

    /// The number at which a panic ended this writer's run.
    #[must_use]
    pub fn abandoned_at(&self) -> Option<SequenceNumber> {
        self.abandoned.map(SequenceNumber)
    }

    /// The number of published slots that no writer has claimed, END included.
    #[must_use]
    pub fn backlog(&self) -> u64 {
        self.seen.max(self.input.cursor()).saturating_sub(self.group.taken())
    }

    /// The counters of its input and of its output ring, for observers.
    #[must_use]
    pub fn probes(&self) -> (InputProbe, RingProbe) {
        (InputProbe::of::<F>(&self.input, Some((self.group.clone(), self.index))), self.output.probe())
    }

    /// The next number that no writer has claimed.
    #[must_use]
    pub fn taken(&self) -> SequenceNumber {
        SequenceNumber(self.group.taken())
    }
}

/// Records the position of a run of text when its function panics.
struct Visited<'m> {
    first: u64,
    at: usize,
    abandoned: &'m mut Option<u64>,
}

impl Drop for Visited<'_> {
    fn drop(&mut self) {
        *self.abandoned = Some(self.first + self.at as u64);
    }
}

/// Drops the values that a run has written when its function panics. The floor of the run stays, so no reader passes
/// it.
struct GivenUp<'m, S: Item> {
    first: u64,
    written: usize,
    output: &'m Shared<S>,
    abandoned: &'m mut Option<u64>,
}

impl<S: Item> Drop for GivenUp<'_, S> {
    fn drop(&mut self) {
        let next = self.first + self.written as u64;
        *self.abandoned = Some(next);
        // SAFETY: this run wrote the values, and it is not finished, so no reader looks at them; `Shared` skips them
        // when it drops the remaining values.
        unsafe { self.output.slots.drop_values(self.first..next) };
    }
}

impl<F: RingLayout, S: Item> std::fmt::Debug for RunWriter<F, S> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RunWriter").field("index", &self.index).field("taken", &self.taken()).finish_non_exhaustive()
    }
}
