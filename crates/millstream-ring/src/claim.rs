use crate::batch::Batch;
use crate::producer::Producer;
use crate::text::{Kind, Passing, Pen, Run, Span};
use crate::vectorised::{Loop, vectorised};
use crate::view::RingLayout;
use millstream_core::pipe::SliceKernel;
use millstream_core::text::Writer;
use millstream_core::{Density, Item, OfPieces, SequenceNumber};

/// Free slots, claimed by the producer: write them in order, then publish.
///
/// No reader sees a slot before [`publish`](Claim::publish), which shows all written slots. A claim that is dropped
/// instead publishes nothing and drops the values that were written into it.
#[derive(Debug)]
#[must_use = "a claim that is dropped publishes nothing and drops the values written into it: `publish` it"]
pub struct Claim<'p, S: Item> {
    producer: &'p mut Producer<S>,
    len: usize,
    written: usize,
    /// The offset from `written` at which a run of text is being written.
    ahead: usize,
}

impl<'p, S: Item> Claim<'p, S> {
    pub(crate) fn new(producer: &'p mut Producer<S>, len: usize) -> Self {
        Claim { producer, len, written: 0, ahead: 0 }
    }

    /// The first claimed number.
    #[must_use]
    pub fn first(&self) -> SequenceNumber {
        SequenceNumber(self.producer.next)
    }

    /// The last claimed number.
    #[must_use]
    pub fn last(&self) -> SequenceNumber {
        SequenceNumber(self.producer.next + self.len as u64 - 1)
    }

    /// The number of claimed slots: at least 1.
    #[must_use]
    #[expect(clippy::len_without_is_empty, reason = "a claim is never empty")]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Writes the next slot.
    ///
    /// # Panics
    ///
    /// If every claimed slot is written.
    #[inline]
    pub fn write(&mut self, value: S) {
        assert!(self.written < self.len, "all {} claimed slots are written", self.len);
        let cells = self.producer.shared.slots.cells(self.producer.next + self.written as u64);
        // SAFETY: the number is claimed: every reader has released the former value of its cell, the sweep has dropped
        // it, no reader looks at the cell before the number is published, and the producer is borrowed.
        unsafe { cells.write(0, value) };
        self.written += 1;
    }

    /// Writes `n` more slots, or all that are still unwritten if they are fewer: `f` of 0, 1, ... in order.
    #[inline(always)]
    pub fn fill(&mut self, n: usize, mut f: impl FnMut(usize) -> S) {
        self.write_while(n.min(self.len - self.written), |i| Some(f(i)));
    }

    /// Fills the unwritten slots from an iterator until either ends. Returns the number of slots written.
    #[inline]
    pub fn extend(&mut self, values: &mut impl Iterator<Item = S>) -> usize {
        self.extend_with(values, |value| value)
    }

    /// As [`extend`](Claim::extend), with `slot` of every value. (An adapter in its place would hide the iterator from
    /// the compiler, see [`Loop`].)
    #[inline]
    pub(crate) fn extend_with<I: Iterator>(&mut self, values: &mut I, slot: impl FnMut(I::Item) -> S) -> usize {
        vectorised(values, Extend { claim: self, slot })
    }

    /// Fills the unwritten slots with the values of `next`, until it returns none. Returns the number of slots written.
    #[inline(always)]
    pub fn fill_while(&mut self, mut next: impl FnMut() -> Option<S>) -> usize {
        self.write_while(self.len - self.written, |_| next())
    }

    /// Writes at most `n` of the unwritten slots, until `next` returns none. Returns the number of slots written.
    #[inline(always)]
    fn write_while(&mut self, n: usize, mut next: impl FnMut(usize) -> Option<S>) -> usize {
        let slots = &self.producer.shared.slots;
        let from = self.producer.next + self.written as u64;
        let mut count = Count { n: 0, written: &mut self.written };
        while count.n < n {
            let start = count.n;
            let run = slots.contiguous(from + start as u64, (n - start) as u64) as usize;
            let cells = slots.cells(from + start as u64);
            for i in 0..run {
                let Some(value) = next(start + i) else { return count.n };
                // SAFETY: as in `write`, and cell `i` is inside the storage.
                unsafe { cells.write(i, value) };
                count.n = start + i + 1;
            }
        }
        n
    }

    /// Writes the next slots: with the text that `f` writes for every slot of this batch, in order, and an empty slot
    /// if `f` returns false. Ends with the batch or the claim, or when the pen has no room. Returns the number of slots
    /// written.
    ///
    /// If `f` panics, none of them is written.
    #[inline]
    pub fn write_text<F: RingLayout, T: Kind + ?Sized, D: Density<Slot<Span<T>> = S>>(
        &mut self,
        batch: &Batch<'_, F>,
        pen: &mut Pen<T>,
        mut f: impl FnMut(Option<F::Ref<'_>>, &mut Writer<'_, T>) -> bool,
    ) -> usize {
        let n = pen.room(self.producer.shared.swept(), batch.len().min(self.len - self.written));
        if n == 0 {
            return 0;
        }
        let chunk = batch.chunk();
        // Not compiled for wider vectors as well: a function that is called from one place is inlined into the loop.
        self.text_run::<T, D>(pen, |pen, run, ahead| {
            pen.write(run, n, false, |i, out| {
                *ahead = i;
                // SAFETY: `n` is no more than the batch's length.
                f(unsafe { F::at(&chunk, i) }, out)
            })
        })
    }

    /// Calls `fill` to write the next slots: with pieces that are stored in blocks already, and empty slots. Returns
    /// the number of slots written. If the claim or the pen has no room, `fill` is not called.
    ///
    /// If `fill` panics, none of them is written.
    #[inline]
    pub fn pass_on<'b, T: Kind + ?Sized + 'b, D: Density<Slot<Span<T>> = S>>(
        &mut self,
        pen: &mut Pen<T>,
        fill: impl FnOnce(&mut Passing<'_, 'b, T, D>),
    ) -> usize {
        let n = pen.room_for_pieces(self.producer.shared.swept(), self.len - self.written);
        if n == 0 {
            return 0;
        }
        self.text_run::<T, D>(pen, |pen, run, _| pen.pass_on(run, n, false, fill))
    }

    /// As [`pass_on`](Claim::pass_on), with the slice that `parting` keeps of every slot of this batch, in order, and
    /// an empty slot if it keeps none. Ends with the batch or the claim, or when the pen has no room.
    #[inline]
    pub fn pass_on_parts<F, T: Kind + ?Sized, D: Density<Slot<Span<T>> = S>>(
        &mut self,
        batch: &Batch<'_, F>,
        pen: &mut Pen<T>,
        parting: &impl SliceKernel<In = F, Kind = T>,
    ) -> usize
    where
        F: RingLayout + OfPieces,
    {
        let n = pen.room_for_pieces(self.producer.shared.swept(), batch.len().min(self.len - self.written));
        if n == 0 {
            return 0;
        }
        let chunk = batch.chunk();
        self.text_run::<T, D>(pen, |pen, run, ahead| {
            pen.pass_on(run, n, false, |slots| {
                for i in 0..n {
                    if slots.is_full() {
                        break;
                    }
                    *ahead = i;
                    // SAFETY: `n` is no more than the batch's length.
                    let slot = unsafe { F::at(&chunk, i) };
                    let piece = slot.and_then(|value| parting.part(value));
                    if piece.is_some_and(|piece| !slots.takes(piece.block())) {
                        break;
                    }
                    slots.put(piece);
                }
            })
        })
    }

    /// Calls `fill` to write the next slots. `fill` returns how many it has written, and updates its offset meanwhile.
    #[inline(always)]
    fn text_run<T: Kind + ?Sized, D: Density<Slot<Span<T>> = S>>(
        &mut self,
        pen: &mut Pen<T>,
        fill: impl FnOnce(&mut Pen<T>, Run<'_, T, D>, &mut usize) -> u64,
    ) -> usize {
        // SAFETY: these numbers are claimed, as in `write`, and `fill` writes no more than the unwritten ones.
        let run = unsafe { Run::new(&self.producer.shared.slots, self.producer.next + self.written as u64) };
        let written = fill(pen, run, &mut self.ahead) as usize;
        self.ahead = 0;
        self.written += written;
        written
    }

    /// Shows all written slots to every reader, and returns the other slots to the ring.
    #[inline]
    pub fn publish(self) {
        let this = std::mem::ManuallyDrop::new(self);
        // SAFETY: `this` is never dropped, so the borrow is moved out of it, not copied.
        let producer = unsafe { std::ptr::read(&raw const this.producer) };
        // SAFETY: this claim wrote these values, and no reader looks at a number that is not published.
        unsafe { producer.shared.look(producer.next, this.written) };
        producer.next += this.written as u64;
        producer.shared.publish(producer.next);
    }

    /// Moves the written values out again, in order. Nothing is published, and all slots return to the ring.
    pub(crate) fn take_back(mut self) -> Vec<S> {
        let slots = &self.producer.shared.slots;
        let numbers = self.producer.next..self.producer.next + self.written as u64;
        // Reset first: a value that is moved out must not be dropped here.
        self.written = 0;
        let read = |n| {
            // SAFETY: this claim wrote the value, and no reader looks at a number that is not published.
            let slice = unsafe { slots.slice(n) };
            // SAFETY: the slice was made for one slot.
            let value: &S = unsafe { slice.get(0) };
            // SAFETY: it no longer counts as written, so this is the only time that it is moved out.
            unsafe { std::ptr::read(value) }
        };
        numbers.map(read).collect()
    }
}

struct Extend<'c, 'p, S: Item, F> {
    claim: &'c mut Claim<'p, S>,
    slot: F,
}

impl<S: Item, I: Iterator, F: FnMut(I::Item) -> S> Loop<I> for Extend<'_, '_, S, F> {
    type Output = usize;

    #[inline(always)]
    fn run(mut self, values: &mut I) -> usize {
        self.claim.fill_while(|| values.next().map(&mut self.slot))
    }
}

/// Counts the slots that a `fill` has written, also if its function panics.
struct Count<'a> {
    n: usize,
    written: &'a mut usize,
}

impl Drop for Count<'_> {
    #[inline(always)]
    fn drop(&mut self) {
        *self.written += self.n;
    }
}

impl<S: Item> Drop for Claim<'_, S> {
    fn drop(&mut self) {
        let next = self.producer.next;
        self.producer.abandoned = Some(next + (self.written + self.ahead) as u64);
        // SAFETY: this claim wrote the values, and no reader looks at a number that is not published.
        unsafe { self.producer.shared.slots.drop_values(next..next + self.written as u64) };
    }
}
