//! Stages that end one clock and start the next.

use crate::renumber_stage::renumber_stage;
use crate::{RingShape, Rings, Wiring};
use millstream_core::pipe::{ExpandKernel, Renumber};
use millstream_core::{Deploy, Val};
use millstream_ring::Reader;

impl<E: ExpandKernel<In: RingShape>> Deploy<Rings> for Renumber<E> {
    fn deploy(&self, input: Reader<E::In>, wiring: &mut Wiring) -> Reader<Val<E::Item>> {
        renumber_stage(input, wiring, self.expand.clone())
    }
}
