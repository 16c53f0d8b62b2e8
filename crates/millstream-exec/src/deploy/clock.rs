//! Stages that end one clock and start the next.

use crate::fusion::OfExpand;
use crate::renumber_stage::renumber_stage;
use crate::{Keeps, RingBackend, RingShape, Wiring};
use millstream_core::fusion::OfPassage;
use millstream_core::pipe::{ExpandKernel, Renumber};
use millstream_core::{Deploy, Val};
use millstream_ring::Reader;

impl<R: Keeps<E::State>, E: ExpandKernel<In: RingShape<R>>> Deploy<RingBackend<R>> for Renumber<E> {
    fn deploy(&self, input: Reader<E::In>, wiring: &mut Wiring) -> Reader<Val<E::Item>> {
        renumber_stage::<R, E>(input, wiring, self.expand.clone())
    }

    fn passage<V: OfPassage<RingBackend<R>, E::In, Val<E::Item>>>(
        &self,
        wiring: &mut Wiring,
        then: V,
    ) -> Option<V::Made> {
        then.make(OfExpand::new(self.expand.clone(), wiring), wiring)
    }
}
