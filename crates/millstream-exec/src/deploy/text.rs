//! Text: stages that cut it, keep parts of it, and write it.

use crate::fusion::{OfCut, OfFormat, Slicing, fused_in_front};
use crate::piece_stage::piece_stage;
use crate::text_stage::{part_stage, write_stage};
use crate::{RingBackend, RingRunner, RingShape, Wiring};
use millstream_core::fusion::{Fusing, OfPassage, SlotKernel};
use millstream_core::pipe::{Format, FormatKernel, Slice, SliceKernel, Split};
use millstream_core::text::Cut;
use millstream_core::{Arrow, Deploy, Level, OfPieces, On, Text};
use millstream_ring::{Kind, Reader};

impl<R: RingRunner, A: RingShape<R> + OfPieces<Kind: Kind>, C: Cut<A::Kind>> Deploy<RingBackend<R>> for Split<A, C> {
    fn deploy(&self, input: Reader<A>, wiring: &mut Wiring) -> Reader<Text<A::Kind>> {
        piece_stage(input, wiring, self.cut.clone())
    }

    fn passage<V: OfPassage<RingBackend<R>, A, Text<A::Kind>>>(&self, wiring: &mut Wiring, then: V) -> Option<V::Made> {
        let cut = OfCut::first(self.cut.clone(), wiring)?;
        then.make(cut, wiring)
    }
}

impl<R: RingRunner, K: SliceKernel<In: RingShape<R>, Kind: Kind>> Deploy<RingBackend<R>> for Slice<K> {
    fn deploy(&self, input: Reader<K::In>, wiring: &mut Wiring) -> Reader<Text<K::Kind, K::Density>> {
        part_stage(input, wiring, &self.kernel)
    }

    fused_in_front!(|slice: K::In, _wiring| Slicing(slice.kernel.clone()));
}

impl<R: RingRunner, W: FormatKernel<In: RingShape<R>, Kind: Kind>> Deploy<RingBackend<R>> for Format<W> {
    fn deploy(&self, input: Reader<W::In>, wiring: &mut Wiring) -> Reader<Text<W::Kind, W::Density>> {
        write_stage(input, wiring, &self.kernel)
    }

    fn passage<V: OfPassage<RingBackend<R>, W::In, Text<W::Kind, W::Density>>>(
        &self,
        wiring: &mut Wiring,
        then: V,
    ) -> Option<V::Made> {
        then.make(OfFormat::new(self.kernel.clone(), wiring), wiring)
    }
}
