use crate::batch::{Batch, End};
use crate::mark::{Coming, Mark};
use crate::occupancy::EmptyCounter;
use crate::probe::InputProbe;
use crate::view::{FilteredView, Leaf, MergedView, ProjectedView, RingLayout, View, ZipView};
use millstream_core::{Dense, Filtered, Lens, Merged, Pair, Projected, SameItem, SequenceNumber, SideBySide, Val};

/// The reading end of an edge, and the next number it needs.
///
/// It sees every number from its own position on, in order, once. Dropping it lets the producer go on without it.
pub struct Reader<F: RingLayout> {
    pub(crate) view: F::View,
    pub(crate) position: u64,
    /// The greatest cursor seen: a group's may seem to step back.
    seen: u64,
    coming: Coming,
    pub(crate) visited: Option<u64>,
}

impl<F: RingLayout> Reader<F> {
    pub(crate) fn new(view: F::View, position: u64) -> Self {
        Reader { view, position, seen: position, coming: Coming::new(), visited: None }
    }

    /// Lends at most `max` published slots that lie side by side; none if nothing is published, or only END is left.
    ///
    /// A batch is shorter than what is published where a ring wraps round or a mark lies.
    #[inline]
    #[must_use = "a batch that is dropped releases its slots, read or not"]
    pub fn batch(&mut self, max: usize) -> Option<Batch<'_, F>> {
        if self.seen <= self.position || self.seen - self.position < max as u64 {
            self.seen = self.seen.max(self.view.cursor());
        }
        // END is not among what a batch lends.
        let ready = self.seen.min(self.view.end()).saturating_sub(self.position).min(max as u64);
        if ready == 0 {
            return None;
        }
        let mark = self.coming.limit(&self.view.marks().0, self.position);
        let len = self.view.contiguous(self.position, ready.min(mark - self.position));
        Some(Batch::new(self, len as usize))
    }

    /// Lends END, if it is the next slot and it is published.
    #[inline]
    #[must_use = "END that is dropped is released, read or not"]
    pub fn end(&mut self) -> Option<End<'_, F>> {
        if self.seen <= self.position {
            self.seen = self.seen.max(self.view.cursor());
        }
        (self.seen > self.position && self.view.end() == self.position).then(|| End::new(self))
    }

    /// Every number below the result is published, END counted: the greatest cursor that was ever seen.
    pub(crate) fn look(&mut self) -> u64 {
        self.seen = self.seen.max(self.view.cursor());
        self.seen
    }

    /// The next number it needs.
    #[must_use]
    pub fn position(&self) -> SequenceNumber {
        SequenceNumber(self.position)
    }

    /// Whether END was read.
    #[must_use]
    pub fn ended(&self) -> bool {
        self.position > self.view.end()
    }

    /// Slots published and not read, END counted.
    #[must_use]
    pub fn backlog(&self) -> u64 {
        self.seen.max(self.view.cursor()).saturating_sub(self.position)
    }

    /// Its counters and those of its rings, to be read from outside.
    #[must_use]
    pub fn probe(&self) -> InputProbe {
        InputProbe::of::<F>(&self.view, None)
    }

    /// The mark at the next number, if there is one. A batch never goes over a mark: it ends before it, or begins at
    /// it.
    pub fn mark(&mut self) -> Option<Mark> {
        self.coming.here(&self.view.marks().0, self.position)
    }

    #[inline]
    pub(crate) fn copy_marks(&self, known: &mut u64, copy: impl FnMut(Mark) -> bool) -> bool {
        let list = &self.view.marks().0;
        let laid = list.laid();
        if laid != *known {
            *known = list.after(*known, copy);
        }
        *known >= laid
    }

    /// The number that was looked at when a panic ended a [`Batch::for_each`].
    #[must_use]
    pub fn visited(&self) -> Option<SequenceNumber> {
        self.visited.map(SequenceNumber)
    }

    /// Another reader of the same edge, at the same number.
    #[must_use]
    pub fn fork(&self) -> Self {
        let mut fork = Reader::new(self.view.fork(self.position), self.position);
        fork.seen = self.seen;
        fork
    }

    /// This edge and another side by side, joined by number. Where one is behind, it passes over what the other has
    /// released already.
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
        let position = self.position.max(other.position);
        joined(Reader::new(ZipView::new(self.view, other.view), position))
    }

    /// This lane of a choice and the other one, with values of one type.
    #[must_use]
    pub fn or<G: RingLayout + SameItem<F>>(self, other: Reader<G>) -> Reader<Merged<F, G>> {
        let position = self.position.max(other.position);
        joined(Reader::new(MergedView::apart(ZipView::new(self.view, other.view)), position))
    }

    /// Two lanes with values of one type that [fill one ring](crate::lane), by that ring.
    #[must_use]
    pub fn of_lanes<G: RingLayout + SameItem<F>>(whole: Reader<F::Whole>) -> Reader<Merged<F, G>> {
        Reader::new(MergedView::joined(whole.view), whole.position)
    }

    /// This edge behind a mask: empty where the mask is not true.
    #[must_use]
    pub fn masked(self, mask: Reader<Val<bool, Dense>>) -> Reader<Filtered<F>> {
        let position = self.position.max(mask.position);
        let mask: Leaf<bool> = mask.view;
        mask.counts_empty(EmptyCounter::of_mask);
        joined(Reader::new(FilteredView::new(self.view, mask), position))
    }

    /// This edge through a lens.
    #[must_use]
    pub fn seen<L: Lens<F>>(self) -> Reader<Projected<F, L>> {
        Reader::new(ProjectedView::new(self.view), self.position)
    }
}

/// Releases what one of the joined edges needs no more.
fn joined<F: RingLayout>(reader: Reader<F>) -> Reader<F> {
    // SAFETY: the readers were given up, so nothing is lent from them.
    unsafe { reader.view.release(reader.position) };
    reader
}

impl<F: RingLayout> std::fmt::Debug for Reader<F> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Reader").field("position", &self.position).field("seen", &self.seen).finish_non_exhaustive()
    }
}
