//! Stateless stages in families of their own.

use crate::fusion::{InFront, fused_in_front, stateless};
use crate::group_stage::stateless_stage;
use crate::lane_stage::{can_be_lane, lane_stage};
use crate::onlooker::Place;
use crate::stage::EndSlot;
use crate::wiring::Home;
use crate::{RingBackend, RingRunner, RingShape, Wiring};
use millstream_core::Either::{Left, Right};
use millstream_core::fusion::{Fusing, OfPassage, SlotKernel};
use millstream_core::pipe::{InLanes, OwnedBy, OwnedKernel, Partition};
use millstream_core::{Arrow, Deploy, Level, On, Shape, ToOwnedItem, Val};
use millstream_ring::Reader;
use std::any::Any;
use std::sync::Arc;

impl<R: RingRunner, K: OwnedKernel<In: RingShape<R>>> Deploy<RingBackend<R>> for OwnedBy<K> {
    stateless!(|stage: K::In| -> (K::Out, <K::In as Shape>::Density, false) { owning(&stage.kernel) });

    fn is_lane(&self, wiring: &Wiring) -> bool {
        can_be_lane::<K::In>(wiring)
    }

    fn deploy_lane(&self, input: Reader<K::In>, other: Option<Box<dyn Any>>, wiring: &mut Wiring) -> Box<dyn Any> {
        let kernel = self.kernel.clone();
        lane_stage::<K::In, K::Out>(input, other, wiring, move |value| kernel.apply(K::In::to_owned_item(value)))
    }
}

/// The work of such a stage on a slot.
fn owning<K: OwnedKernel>(
    kernel: &Arc<K>,
) -> impl for<'a> Fn(Option<<K::In as Shape>::Ref<'a>>) -> Option<K::Out> + Clone + Send + 'static {
    let kernel = kernel.clone();
    move |slot: Option<<K::In as Shape>::Ref<'_>>| slot.map(|value| kernel.apply(K::In::to_owned_item(value)))
}

impl<R: RingRunner, A: RingShape<R>, F> Deploy<RingBackend<R>> for Partition<A, F>
where
    F: for<'a> Fn(A::Ref<'a>) -> bool + Send + Sync + 'static,
{
    fn deploy(&self, input: Reader<A>, wiring: &mut Wiring) -> Reader<InLanes<A>> {
        let (is_left, end) = (self.is_left.clone(), EndSlot::of::<A::Density>());
        let judged = stateless_stage::<A, bool, A::Density>(input.fork(), wiring, end, Home::Workers, move |value| {
            value.map(|value| is_left(value))
        });
        judged.zip(input).seen()
    }

    fused_in_front!(|partition: A, _wiring| Parting(partition.is_left.clone()));
}

/// A partition in a loop: it needs no verdicts.
struct Parting<F>(Arc<F>);

impl<A: Shape, F> InFront<A, InLanes<A>> for Parting<F>
where
    F: for<'a> Fn(A::Ref<'a>) -> bool + Send + Sync + 'static,
{
    const EMPTIES: bool = false;

    #[inline(always)]
    fn pass<T>(
        &self,
        place: &Place,
        slot: Option<A::Ref<'_>>,
        next: impl FnOnce(Option<<InLanes<A> as Shape>::Ref<'_>>) -> T,
    ) -> T {
        next(slot.map(|value| if place.call(|| (self.0)(value)) { Left(value) } else { Right(value) }))
    }
}
