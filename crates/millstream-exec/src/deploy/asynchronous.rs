//! Futures on rings.

use super::dead_letter::in_lanes;
use crate::async_stage::async_stage;
use crate::renumber_stage::renumber_stage;
use crate::unordered_stage::{InTurn, unordered_stage};
use crate::{RingBackend, RingRunner, RingShape, Rings, Wiring};
use millstream_core::blocking::block_on;
use millstream_core::pipe::{DeadLetter, GiveFault, MapAsync, Settle, SuccessLane, TryMapAsyncOrDeadLetter, Unordered};
use millstream_core::{Cause, Deploy, Item, ToOwnedItem, Val};
use millstream_ring::Reader;
use std::future::Future;
use std::sync::Arc;

impl<R: RingRunner, A: RingShape<R>, F, Fut, P: Settle<Fut::Output>> Deploy<RingBackend<R>> for MapAsync<A, F, Fut, P>
where
    F: for<'a> Fn(A::Ref<'a>) -> Fut + Send + Sync + 'static,
    Fut: Future<Output: Send> + Send + 'static,
{
    fn deploy(&self, input: Reader<A>, wiring: &mut Wiring) -> Reader<Val<P::Value, P::Density<A::Density>>> {
        async_stage(self.clone(), input, wiring)
    }
}

/// Its one ring is read as two lanes (`dead_letter.rs`).
impl<R: RingRunner, A: RingShape<R> + ToOwnedItem, F, Fut, B: Item, E: Cause + Item, G> Deploy<RingBackend<R>>
    for TryMapAsyncOrDeadLetter<A, F, Fut, B, E, G>
where
    F: for<'a> Fn(A::Ref<'a>) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<B, E>> + Send + 'static,
    G: for<'a> Fn(DeadLetter<'a, A::Owned, E>) + Send + Sync + 'static,
{
    fn deploy(&self, input: Reader<A>, wiring: &mut Wiring) -> Reader<SuccessLane<A, B, E>> {
        let judge = self.clone();
        let outcomes = MapAsync::new(self.limit, move |value: A::Ref<'_>| judge.outcome(value), GiveFault);
        in_lanes::<A, B, E, G>(async_stage(outcomes, input, wiring), &self.letters, wiring)
    }
}

impl<R: RingRunner, A: RingShape<R>, F, Fut> Deploy<RingBackend<R>> for Unordered<A, F, Fut>
where
    F: for<'a> Fn(A::Ref<'a>) -> Fut + Send + Sync + 'static,
    Fut: Future<Output: Item> + Send + 'static,
{
    fn deploy(&self, input: Reader<A>, wiring: &mut Wiring) -> Reader<Val<Fut::Output>> {
        if !wiring.inline {
            return unordered_stage(self.clone(), input, wiring);
        }
        let reactor = wiring.reactor();
        renumber_stage::<Rings, _>(input, wiring, Arc::new(InTurn { map: self.clone(), reactor, wait: block_on }))
    }
}
