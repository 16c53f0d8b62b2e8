//! Text: a piece in every slot.

use super::clock::{renumbered, values};
use super::{Extent, Model, ModelShape, SlotOf, Slots, column, of_each};
use crate::pipe::{Format, FormatKernel, Slice, SliceKernel, Split};
use crate::text::{Block, Cut, OwnedPiece, Piece, Textual, Writer};
use crate::{Density, Deploy, OfPieces, On, Text};

impl<T: Textual + ?Sized, D: Density> On<Model> for Text<T, D> {
    type Edge = Slots<OwnedPiece<T>>;
}

impl<T: Textual + ?Sized, D: Density> ModelShape for Text<T, D> {
    fn slots(edge: &Self::Edge) -> usize {
        edge.len()
    }
    fn at(edge: &Self::Edge, n: usize) -> Option<Piece<'_, T>> {
        edge[n].as_deref().map(OwnedPiece::lend)
    }
    fn gathered(edges: &[Self::Edge], from: &[Option<SlotOf>]) -> Self::Edge {
        of_each(edges, from, &None)
    }
}

impl<A: ModelShape + OfPieces, C: Cut<A::Kind>> Deploy<Model> for Split<A, C> {
    fn deploy(&self, input: A::Edge, extent: &mut Extent) -> Slots<OwnedPiece<A::Kind>> {
        let pieces = values::<A>(&input).flat_map(|value| {
            let whole = A::piece(value);
            let part = move |range| whole.part(range).expect("a piece that is in its text");
            self.cut.pieces(whole.text(), 0).map(move |cutting| OwnedPiece::from(part(cutting.range)))
        });
        renumbered(pieces, extent)
    }
}

impl<K: SliceKernel<In: ModelShape>> Deploy<Model> for Slice<K> {
    fn deploy(&self, input: <K::In as On<Model>>::Edge, extent: &mut Extent) -> Slots<OwnedPiece<K::Kind>> {
        column::<K::In, _>(&input, extent, |value, _| self.kernel.part(value?).map(OwnedPiece::from))
    }
}

impl<W: FormatKernel<In: ModelShape>> Deploy<Model> for Format<W> {
    fn deploy(&self, input: <W::In as On<Model>>::Edge, extent: &mut Extent) -> Slots<OwnedPiece<W::Kind>> {
        column::<W::In, _>(&input, extent, |value, _| {
            let mut bytes = Vec::new();
            let filled = self.kernel.write(value?, &mut Writer::new(&mut bytes));
            filled.then(|| OwnedPiece::new(&Block::from(bytes)))
        })
    }
}
