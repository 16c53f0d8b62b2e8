use crate::claim::Claim;
use crate::reader::Reader;
use crate::vectorised::{Loop, vectorised};
use crate::view::{LoopOver, RingLayout, View, over};
use millstream_core::{Item, Pair, SequenceNumber};

/// Published slots, lent by their reader. Dropping the batch releases them to the producer.
#[derive(Debug)]
#[must_use = "a batch that is dropped releases its slots, read or not; `truncate(0)` keeps them"]
pub struct Batch<'r, F: RingLayout> {
    reader: &'r mut Reader<F>,
    len: usize,
}

impl<'r, F: RingLayout> Batch<'r, F> {
    pub(crate) fn new(reader: &'r mut Reader<F>, len: usize) -> Self {
        Batch { reader, len }
    }

    /// The number of the first slot.
    #[must_use]
    pub fn first(&self) -> SequenceNumber {
        SequenceNumber(self.reader.position)
    }

    /// The number of lent slots.
    #[must_use]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether no slot is lent: after [`truncate`](Batch::truncate) to 0.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Returns the slots from the `len`-th on unread: the next batch begins with them.
    #[inline]
    pub fn truncate(&mut self, len: usize) {
        self.len = self.len.min(len);
    }

    /// The value of slot `i` of the batch. None if the slot is empty, or the batch has no slot `i`.
    #[must_use]
    pub fn get(&self, i: usize) -> Option<F::Ref<'_>> {
        self.iter().nth(i).flatten()
    }

    /// The values of the slots, in order; `None` for an empty slot.
    #[must_use]
    pub fn iter(&self) -> Iter<'_, F> {
        Iter { chunk: self.chunk(), next: 0, len: self.len }
    }

    pub(crate) fn reader(&self) -> &Reader<F> {
        self.reader
    }

    #[inline(always)]
    pub(crate) fn chunk(&self) -> F::Chunk<'_> {
        // SAFETY: the slots of this batch are published and contiguous, and they are released no sooner than this batch
        // is dropped, which its borrow forbids while the chunk is used.
        unsafe { self.reader.view.chunk(self.reader.position) }
    }

    /// Calls `f` with `state`, and with every slot and its number. If `f` panics, [`Reader::visited`] returns that
    /// number.
    #[inline]
    pub fn for_each<T>(&mut self, state: &mut T, f: impl FnMut(&mut T, SequenceNumber, Option<F::Ref<'_>>)) {
        vectorised(state, ForEach { batch: self, f });
    }

    /// As [`for_each`](Batch::for_each), without the empty slots.
    #[inline]
    pub fn for_each_value<T>(&mut self, state: &mut T, f: impl FnMut(&mut T, SequenceNumber, F::Ref<'_>)) {
        vectorised(state, ForEachValue { batch: self, f });
    }

    /// Fills the claim's next slots: with `f` of `state` and of every slot of this batch and its number, in order,
    /// until the batch or the claim ends.
    #[inline]
    pub fn map_into<S: Item, T>(
        &self,
        claim: &mut Claim<'_, S>,
        state: &mut T,
        f: impl FnMut(&mut T, SequenceNumber, Option<F::Ref<'_>>) -> S,
    ) {
        vectorised(state, MapInto { batch: self, claim, f });
    }
}

struct ForEach<'b, 'r, F: RingLayout, G> {
    batch: &'b mut Batch<'r, F>,
    f: G,
}

impl<F: RingLayout, T, G: FnMut(&mut T, SequenceNumber, Option<F::Ref<'_>>)> Loop<T> for ForEach<'_, '_, F, G> {
    type Output = ();

    #[inline(always)]
    fn run(self, state: &mut T) {
        // SAFETY: as in `Batch::chunk`; the batch is borrowed for the whole loop.
        let chunk = unsafe { self.batch.reader.view.chunk(self.batch.reader.position) };
        over::<F, T>(chunk, state, self);
    }
}

impl<F: RingLayout, T, G: FnMut(&mut T, SequenceNumber, Option<F::Ref<'_>>)> LoopOver<F, T> for ForEach<'_, '_, F, G> {
    #[inline(always)]
    fn over(mut self, chunk: F::Chunk<'_>, state: &mut T) {
        let (first, len) = (self.batch.reader.position, self.batch.len);
        let mut visited = Visited { n: first, visited: &mut self.batch.reader.visited };
        for i in 0..len {
            visited.n = first + i as u64;
            // SAFETY: `i` is less than the batch's length.
            (self.f)(state, SequenceNumber(visited.n), unsafe { F::at(&chunk, i) });
        }
        std::mem::forget(visited);
    }
}

struct ForEachValue<'b, 'r, F: RingLayout, G> {
    batch: &'b mut Batch<'r, F>,
    f: G,
}

impl<F: RingLayout, T, G: FnMut(&mut T, SequenceNumber, F::Ref<'_>)> Loop<T> for ForEachValue<'_, '_, F, G> {
    type Output = ();

    #[inline(always)]
    fn run(self, state: &mut T) {
        // SAFETY: as in `Batch::chunk`; the batch is borrowed for the whole loop.
        let chunk = unsafe { self.batch.reader.view.chunk(self.batch.reader.position) };
        over::<F, T>(chunk, state, self);
    }
}

impl<F: RingLayout, T, G: FnMut(&mut T, SequenceNumber, F::Ref<'_>)> LoopOver<F, T> for ForEachValue<'_, '_, F, G> {
    #[inline(always)]
    fn over(mut self, chunk: F::Chunk<'_>, state: &mut T) {
        let (first, len) = (self.batch.reader.position, self.batch.len);
        let mut visited = Visited { n: first, visited: &mut self.batch.reader.visited };
        for i in 0..len {
            // SAFETY: `i` is less than the batch's length.
            if unsafe { F::is_filled(&chunk, i) } {
                visited.n = first + i as u64;
                // SAFETY: as above, and the slot is filled.
                (self.f)(state, SequenceNumber(visited.n), unsafe { F::value_at(&chunk, i) });
            }
        }
        std::mem::forget(visited);
    }
}

struct MapInto<'b, 'r, 'c, 'p, F: RingLayout, S: Item, G> {
    batch: &'b Batch<'r, F>,
    claim: &'c mut Claim<'p, S>,
    f: G,
}

impl<F: RingLayout, S: Item, T, G> Loop<T> for MapInto<'_, '_, '_, '_, F, S, G>
where
    G: FnMut(&mut T, SequenceNumber, Option<F::Ref<'_>>) -> S,
{
    type Output = ();

    #[inline(always)]
    fn run(self, state: &mut T) {
        let chunk = self.batch.chunk();
        over::<F, T>(chunk, state, self);
    }
}

impl<F: RingLayout, S: Item, T, G> LoopOver<F, T> for MapInto<'_, '_, '_, '_, F, S, G>
where
    G: FnMut(&mut T, SequenceNumber, Option<F::Ref<'_>>) -> S,
{
    #[inline(always)]
    fn over(mut self, chunk: F::Chunk<'_>, state: &mut T) {
        let first = self.batch.reader.position;
        self.claim.fill(self.batch.len, |i| {
            // SAFETY: `fill` passes no `i` beyond the batch's length.
            (self.f)(state, SequenceNumber(first + i as u64), unsafe { F::at(&chunk, i) })
        });
    }
}

/// Records the number at which a panic leaves a loop.
struct Visited<'a> {
    n: u64,
    visited: &'a mut Option<u64>,
}

impl Drop for Visited<'_> {
    fn drop(&mut self) {
        *self.visited = Some(self.n);
    }
}

impl<F: RingLayout> Drop for Batch<'_, F> {
    #[inline]
    fn drop(&mut self) {
        if self.len > 0 {
            self.reader.position += self.len as u64;
            // SAFETY: every reference that was lent borrowed this batch, so none is used any more.
            unsafe { self.reader.view.release(self.reader.position) };
        }
    }
}

/// The values of the slots of a batch, in order.
pub struct Iter<'b, F: RingLayout> {
    chunk: F::Chunk<'b>,
    next: usize,
    len: usize,
}

impl<'b, F: RingLayout> Iterator for Iter<'b, F> {
    type Item = Option<F::Ref<'b>>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        (self.next < self.len).then(|| {
            self.next += 1;
            // SAFETY: less than the length of the batch that the chunk was made for.
            unsafe { F::at(&self.chunk, self.next - 1) }
        })
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.len - self.next, Some(self.len - self.next))
    }
}

impl<F: RingLayout> ExactSizeIterator for Iter<'_, F> {}

impl<F: RingLayout> std::fmt::Debug for Iter<'_, F> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Iter").field("next", &self.next).field("len", &self.len).finish_non_exhaustive()
    }
}

/// END, lent by its reader. Dropping it releases it; no number follows it.
#[derive(Debug)]
#[must_use = "END that is dropped is released, read or not; `keep` keeps it"]
pub struct End<'r, F: RingLayout> {
    reader: &'r mut Reader<F>,
}

impl<'r, F: RingLayout> End<'r, F> {
    pub(crate) fn new(reader: &'r mut Reader<F>) -> Self {
        End { reader }
    }

    /// END's number: the length of the clock.
    #[must_use]
    pub fn number(&self) -> SequenceNumber {
        SequenceNumber(self.reader.position)
    }

    /// The value of END, if it has one.
    #[must_use]
    pub fn value(&self) -> Option<F::Ref<'_>> {
        // SAFETY: END is published, and it is released no sooner than this is dropped, which the borrow forbids.
        unsafe { self.reader.view.at_end(self.reader.position) }
    }

    pub(crate) fn reader(&self) -> &Reader<F> {
        self.reader
    }

    /// Returns END to its reader unread.
    pub fn keep(self) {
        std::mem::forget(self);
    }
}

impl<F: RingLayout, G: RingLayout> End<'_, Pair<F, G>> {
    /// The value of either half of END.
    pub(crate) fn halves(&self) -> (Option<F::Ref<'_>>, Option<G::Ref<'_>>) {
        // SAFETY: as in `value`.
        unsafe { self.reader.view.halves_at_end(self.reader.position) }
    }
}

impl<F: RingLayout> Drop for End<'_, F> {
    fn drop(&mut self) {
        self.reader.position += 1;
        // SAFETY: every reference that was lent borrowed this, so none is used any more.
        unsafe { self.reader.view.release(self.reader.position) };
    }
}
