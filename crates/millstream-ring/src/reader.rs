use crate::batch::{Batch, End};
use crate::mark::{Coming, Mark};
use crate::occupancy::EmptyCounter;
use crate::probe::InputProbe;
use crate::producer::Producer;
use crate::view::{AnyView, FilteredView, Leaf, MergedView, ProjectedView, RingLayout, View, ZipView};
use millstream_core::{
    AnyEdge, Dense, Filtered, Item, ItemShape, Lens, Merged, Otherwise, Pair, Projected, SameItem, SequenceNumber,
    SideBySide, Val,
};

/// The reading end of an edge, and the next number it needs.
///
/// It sees every number from its own position on, in order, once. Dropping it lets the producer continue without it.
pub struct Reader<F: RingLayout> {
    pub(crate) view: F::View,
    pub(crate) position: u64,
    /// The greatest cursor seen: a group's cursor may seem to step back.
    seen: u64,
    pub(crate) coming: Coming,
    pub(crate) visited: Option<u64>,
}

impl<F: RingLayout> Reader<F> {
    pub(crate) fn new(view: F::View, position: u64) -> Self {
        Reader { view, position, seen: position, coming: Coming::new(), visited: None }
    }

    /// Lends at most `max` contiguous published slots; none if nothing is published, or only END remains.
    ///
    /// A batch is shorter than the published slots if a ring wraps around or there is a mark among them.
    #[inline]
    #[must_use = "a batch that is dropped releases its slots, read or not"]
    pub fn batch(&mut self, max: usize) -> Option<Batch<'_, F>> {
        if self.seen <= self.position || self.seen - self.position < max as u64 {
            self.seen = self.seen.max(self.view.cursor());
        }
        // A batch does not include END.
        let ready = self.seen.min(self.view.end()).saturating_sub(self.position).min(max as u64);
        if ready == 0 {
            return None;
        }
        let ready = ready.min(self.coming.limit(&self.view.marks().0, self.position) - self.position);
        if ready == 0 {
            return None;
        }
        let len = self.view.contiguous(self.position, ready);
        Some(Batch::new(self, len as usize))
    }

    /// Lends END, if it is the next slot and it is published.
    #[inline]
    #[must_use = "END that is dropped is released, read or not"]
    pub fn end(&mut self) -> Option<End<'_, F>> {
        if self.seen <= self.position {
            self.seen = self.seen.max(self.view.cursor());
        }
        if self.seen <= self.position || self.view.end() != self.position {
            return None;
        }
        let stops = self.coming.limit(&self.view.marks().0, self.position) == self.position;
        (!stops).then(|| End::new(self))
    }

    /// Whether the last [`batch`](Reader::batch) left published slots, by the cursors that it has read: because a ring
    /// wraps around, at a mark, or for want of room. END counts.
    #[inline]
    #[must_use]
    pub fn has_seen_more(&self) -> bool {
        self.seen > self.position
    }

    /// How many numbers come before the next mark that it has not passed, if it stops at marks; `u64::MAX` if there is
    /// no such mark.
    pub(crate) fn before_mark(&mut self) -> u64 {
        match self.coming.limit(&self.view.marks().0, self.position) {
            u64::MAX => u64::MAX,
            mark => mark - self.position,
        }
    }

    /// Goes on at this number. The numbers before it have passed without slots.
    pub(crate) fn pass_by(&mut self, next: u64) {
        (self.position, self.seen) = (next, self.seen.max(next));
        // SAFETY: nothing is lent, since this reader is borrowed as mutable.
        unsafe { self.view.release(next) };
    }

    /// Every number below the result is published, END included: the greatest cursor seen so far.
    pub(crate) fn look(&mut self) -> u64 {
        self.seen = self.seen.max(self.view.cursor());
        self.seen
    }

    /// The next number that it needs.
    #[must_use]
    pub fn position(&self) -> SequenceNumber {
        SequenceNumber(self.position)
    }

    /// Whether END was read.
    #[must_use]
    pub fn ended(&self) -> bool {
        self.position > self.view.end()
    }

    /// The number of published slots that it has not read, END included.
    #[must_use]
    pub fn backlog(&self) -> u64 {
        self.seen.max(self.view.cursor()).saturating_sub(self.position)
    }

    /// The counters of this reader and of its rings, for observers.
    #[must_use]
    pub fn probe(&self) -> InputProbe {
        InputProbe::of::<F>(&self.view, None)
    }

    /// The first mark at the next number that was not [passed](Reader::pass_mark), if there is one. A batch never
    /// crosses a mark: it ends before the mark, or begins at it. The mark's number need not be published yet.
    pub fn mark(&mut self) -> Option<Mark> {
        self.coming.here(&self.view.marks().0, self.position)
    }

    /// Passes the mark that [`mark`](Reader::mark) returns, and returns it.
    pub fn pass_mark(&mut self) -> Option<Mark> {
        let mark = self.mark()?;
        self.coming.pass(mark);
        Some(mark)
    }

    /// As [`pass_mark`](Reader::pass_mark), and lays the mark on `output` at its own number.
    pub fn pass_mark_to<S: Item>(&mut self, output: &mut Producer<S>) -> Option<Mark> {
        self.pass_mark().inspect(|mark| output.copy_mark(*mark))
    }

    /// As [`pass_mark`](Reader::pass_mark), and lays the mark on `output`, which has a clock of its own, at its next
    /// number.
    pub fn pass_mark_to_new_clock<S: Item>(&mut self, output: &mut Producer<S>) -> Option<Mark> {
        self.pass_mark().inspect(|mark| _ = output.mark(mark.id, mark.kind))
    }

    /// Removes the marks that were laid on this edge so far: for a reader that [begins](Producer::reader) where all
    /// others have passed them. A reader that has not seen them will not see them.
    pub fn forget_marks(&self) {
        self.view.marks().0.forget();
    }

    /// From now on this reader lends a number, or END, only if all marks at it were passed. Its forks do too.
    #[must_use]
    pub fn stops_at_marks(mut self) -> Self {
        self.coming.stops = true;
        self
    }

    /// Whether there are marks beyond the `known` first ones.
    #[inline]
    pub(crate) fn has_marks(&self, known: u64) -> bool {
        self.view.marks().0.laid() > known
    }

    /// Calls `copy` with every mark beyond the `known` first ones.
    pub(crate) fn copy_marks(&self, known: &mut u64, copy: impl FnMut(Mark)) {
        *known = self.view.marks().0.after(*known, copy);
    }

    /// The number whose slot was being visited when a panic ended a [`Batch::for_each`].
    #[must_use]
    pub fn visited(&self) -> Option<SequenceNumber> {
        self.visited.map(SequenceNumber)
    }

    /// Another reader of the same edge, at the same number.
    #[must_use]
    pub fn fork(&self) -> Self {
        let mut fork = Reader::new(self.view.fork(self.position), self.position);
        fork.seen = self.seen;
        fork.coming.stops = self.coming.stops;
        fork
    }

    /// This edge and another side by side, joined by number. The reader that is less far skips the numbers that the
    /// further one has already released.
    #[must_use]
    pub fn zip<G: RingLayout>(self, other: Reader<G>) -> Reader<Pair<F, G>> {
        self.beside(other)
    }

    /// As [`zip`](Reader::zip), for any shape of two edges side by side.
    #[must_use]
    pub fn beside<J, G: RingLayout>(self, other: Reader<G>) -> Reader<J>
    where
        J: RingLayout<View = ZipView<F, G>> + SideBySide<First = F, Second = G>,
    {
        let (position, stops) = (self.position.max(other.position), self.coming.stops || other.coming.stops);
        joined(Reader::new(ZipView::new(self.view, other.view), position), stops)
    }

    /// Both lanes of a choice, with values of one type: this one and `other`.
    #[must_use]
    pub fn or<G: RingLayout + SameItem<F>>(self, other: Reader<G>) -> Reader<Merged<F, G>> {
        let (position, stops) = (self.position.max(other.position), self.coming.stops || other.coming.stops);
        joined(Reader::new(MergedView::apart(ZipView::new(self.view, other.view)), position), stops)
    }

    /// Both lanes of a choice that [fill one ring](crate::lane), by that ring; their values have one type.
    #[must_use]
    pub fn of_lanes<G: RingLayout + SameItem<F>>(whole: Reader<F::Whole>) -> Reader<Merged<F, G>> {
        Reader::new(MergedView::joined(whole.view), whole.position)
    }

    /// This edge, and another with items of one type where this one is empty.
    #[must_use]
    pub fn otherwise<G: RingLayout + SameItem<F>>(self, other: Reader<G>) -> Reader<Otherwise<F, G>> {
        self.beside(other)
    }

    /// This edge with a mask: empty at the numbers for which the mask is false.
    #[must_use]
    pub fn masked(self, mask: Reader<Val<bool, Dense>>) -> Reader<Filtered<F>> {
        let (position, stops) = (self.position.max(mask.position), self.coming.stops || mask.coming.stops);
        let mask: Leaf<bool> = mask.view;
        mask.counts_empty(EmptyCounter::of_mask);
        joined(Reader::new(FilteredView::new(self.view, mask), position), stops)
    }

    /// This edge without its shape.
    #[must_use]
    pub fn any_edge(self) -> Reader<AnyEdge<F::Item>>
    where
        F: ItemShape,
    {
        self.viewed(AnyView::of::<F>)
    }

    /// This edge through a lens.
    #[must_use]
    pub fn seen<L: Lens<F>>(self) -> Reader<Projected<F, L>> {
        self.viewed(ProjectedView::new)
    }

    /// This edge through another view of its slots.
    pub(crate) fn viewed<G: RingLayout>(self, view: impl FnOnce(F::View) -> G::View) -> Reader<G> {
        let stops = self.coming.stops;
        joined(Reader::new(view(self.view), self.position), stops)
    }
}

/// Releases the numbers that a joined edge no longer needs. It stops at marks if one of its readers does.
fn joined<F: RingLayout>(mut reader: Reader<F>, stops: bool) -> Reader<F> {
    // SAFETY: the readers were passed by value, so nothing is lent from them.
    unsafe { reader.view.release(reader.position) };
    reader.coming.stops = stops;
    reader
}

impl<F: RingLayout> std::fmt::Debug for Reader<F> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Reader").field("position", &self.position).field("seen", &self.seen).finish_non_exhaustive()
    }
}
