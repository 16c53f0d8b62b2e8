//! Text on queues: a message owns its piece. Stages that split or slice share the block; stages that format make a
//! block a value.

use super::Owning;
use crate::queues::queue_shape::{LendItem, QueueShape};
use crate::queues::stage::{renumber_stage, stage};
use crate::queues::wiring::QueuesWiring;
use crate::{Queue, Queues};
use millstream_core::pipe::{ExpandKernel, Format, FormatKernel, Slice, SliceKernel, Split};
use millstream_core::text::{Block, Cut, OwnedPiece, Piece, Textual, Writer};
use millstream_core::{Density, Deploy, OfPieces, On, Shape, Text};
use std::marker::PhantomData;
use std::sync::Arc;

impl<T: Textual + ?Sized, D: Density> On<Queues> for Text<T, D> {
    type Edge = Queue<OwnedPiece<T>>;
}

impl<T: Textual + ?Sized, D: Density> LendItem for Text<T, D> {
    fn lend(owned: &OwnedPiece<T>) -> Piece<'_, T> {
        owned.lend()
    }
}

/// All pieces of a value at once.
struct Pieces<A, C> {
    cut: Arc<C>,
    shape: PhantomData<fn() -> A>,
}

impl<A: OfPieces, C: Cut<A::Kind>> ExpandKernel for Pieces<A, C> {
    type In = A;
    type Item = OwnedPiece<A::Kind>;
    type Values = std::vec::IntoIter<OwnedPiece<A::Kind>>;
    type State = ();
    const NAME: &'static str = C::NAME;

    fn start(&self) {}

    fn expand(&self, (): &mut (), value: <A as Shape>::Ref<'_>) -> Self::Values {
        let whole = A::piece(value);
        let part = |range| whole.part(range).expect("a piece is in its text");
        let pieces: Vec<_> = self.cut.pieces(whole.text(), 0).map(|cutting| part(cutting.range).into()).collect();
        pieces.into_iter()
    }

    fn model(&self, values: Vec<A::Ref<'_>>, _: bool) -> Vec<Self::Item> {
        values.into_iter().flat_map(|value| self.expand(&mut (), value)).collect()
    }
}

impl<A: QueueShape + OfPieces, C: Cut<A::Kind>> Deploy<Queues> for Split<A, C> {
    fn deploy(&self, input: Owning<A>, wiring: &mut QueuesWiring) -> Queue<OwnedPiece<A::Kind>> {
        renumber_stage(input, wiring, Arc::new(Pieces::<A, C> { cut: self.cut.clone(), shape: PhantomData }))
    }
}

impl<K: SliceKernel<In: QueueShape>> Deploy<Queues> for Slice<K> {
    fn deploy(&self, input: Owning<K::In>, wiring: &mut QueuesWiring) -> Queue<OwnedPiece<K::Kind>> {
        let kernel = self.kernel.clone();
        stage::<K::In, _>(input, wiring, move |value, _| kernel.part(value?).map(OwnedPiece::from))
    }
}

impl<W: FormatKernel<In: QueueShape>> Deploy<Queues> for Format<W> {
    fn deploy(&self, input: Owning<W::In>, wiring: &mut QueuesWiring) -> Queue<OwnedPiece<W::Kind>> {
        let kernel = self.kernel.clone();
        stage::<W::In, _>(input, wiring, move |value, _| {
            let mut bytes = Vec::new();
            let filled = kernel.write(value?, &mut Writer::new(&mut bytes));
            filled.then(|| OwnedPiece::new(&Block::from(bytes)))
        })
    }
}
