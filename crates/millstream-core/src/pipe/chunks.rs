use super::scan_kernel::ScanKernel;
use crate::model::ModelSlots;
use crate::plan::Filled;
use crate::{SequenceNumber, Sparse, ToOwnedItem};
use std::marker::PhantomData;

/// `n` values as one: the article's `Recompose`.
pub struct Chunks<A> {
    /// The number of values in a chunk.
    pub n: usize,
    shape: PhantomData<fn() -> A>,
}

impl<A> Chunks<A> {
    pub(crate) fn new(n: usize) -> Self {
        assert!(n >= 1, "chunks(0): a chunk needs at least one value");
        Chunks { n, shape: PhantomData }
    }
}

impl<A: ToOwnedItem<Owned: Clone>> ScanKernel for Chunks<A> {
    type In = A;
    type Out = Vec<A::Owned>;
    type Density = Sparse;
    type State = Vec<A::Owned>;
    const NAME: &'static str = "chunks";

    fn start(&self) -> Vec<A::Owned> {
        Vec::new()
    }

    #[inline]
    fn step(
        &self,
        chunk: &mut Vec<A::Owned>,
        _: SequenceNumber,
        slot: Option<A::Ref<'_>>,
        end: bool,
    ) -> Option<Vec<A::Owned>> {
        chunk.extend(slot.map(A::to_owned_item));
        // A version before may have asked for longer chunks.
        if chunk.len() >= self.n {
            // The next chunk is as long.
            return Some(std::mem::replace(chunk, Vec::with_capacity(self.n)));
        }
        (end && !chunk.is_empty()).then(|| std::mem::take(chunk))
    }

    fn fills(input: Filled) -> Filled {
        Filled { end: true, ..input }
    }

    fn model(&self, slots: ModelSlots<'_, A>) -> Vec<Option<Vec<A::Owned>>> {
        let mut chunk = Vec::new();
        slots.map(|a, end| {
            let complete = a.is_some() && chunk.len() + 1 == self.n;
            chunk.extend(a.map(A::to_owned_item));
            (complete || end && !chunk.is_empty()).then(|| chunk.split_off(0))
        })
    }
}
super::debug!(Chunks<A>);
