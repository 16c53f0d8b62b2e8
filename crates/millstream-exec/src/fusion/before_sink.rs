use crate::keeper::Keeper;
use crate::{RingBackend, RingRunner, Wiring};
use millstream_core::fusion::{RunEnds, SlotKernel};
use millstream_core::{SequenceNumber, Shape, Val};
use std::marker::PhantomData;

/// A kernel that is last, and whose ring goes to the sink of a run with the ends `W`.
pub(crate) struct BeforeSink<N, W> {
    last: N,
    ends: PhantomData<fn() -> W>,
}

impl<N, W> BeforeSink<N, W> {
    pub(crate) fn new(last: N) -> Self {
        BeforeSink { last, ends: PhantomData }
    }
}

impl<R, A, N, W> SlotKernel<RingBackend<R>, A> for BeforeSink<N, W>
where
    R: RingRunner,
    A: Shape,
    N: SlotKernel<RingBackend<R>, A>,
    W: RunEnds<Val<N::Item, N::Density>>,
{
    type State = N::State;
    type Item = N::Item;
    type Density = N::Density;
    type Ends = W;
    const EMPTIES: bool = N::EMPTIES;

    fn enroll(&mut self, wiring: &mut Wiring) {
        self.last.enroll(wiring);
    }

    fn start(&self) -> (N::State, Keeper<N::State>) {
        self.last.start()
    }

    fn writes_end(&self) -> bool {
        self.last.writes_end()
    }

    #[inline(always)]
    fn at(
        &mut self,
        state: &mut N::State,
        number: SequenceNumber,
        slot: Option<A::Ref<'_>>,
        end: bool,
    ) -> Option<N::Item> {
        self.last.at(state, number, slot, end)
    }
}
