//! Futures on rings.

use super::dead_letter::in_lanes;
use crate::async_stage::{Output, async_stage, settled};
use crate::keeper::Keeper;
use crate::renumber_stage::renumber_stage;
use crate::stage::{EndSlot, stage};
use crate::unordered_stage::{InTurn, unordered_stage};
use crate::wiring::Home;
use crate::{RingBackend, RingRunner, RingShape, Rings, Wiring};
use millstream_core::pipe::{DeadLetter, GiveFault, MapAsync, Settle, SuccessLane, TryMapAsyncOrDeadLetter, Unordered};
use millstream_core::{Cause, Deploy, Item, ToOwnedItem, Val};
use millstream_ring::{Reader, RingLayout};
use std::future::Future;
use std::sync::Arc;

impl<R: RingRunner, A: RingShape<R>, F, Fut, P: Settle<Fut::Output>> Deploy<RingBackend<R>> for MapAsync<A, F, Fut, P>
where
    F: for<'a> Fn(A::Ref<'a>) -> Fut + Send + Sync + 'static,
    Fut: Future<Output: Send> + Send + 'static,
{
    fn deploy(&self, input: Reader<A>, wiring: &mut Wiring) -> Reader<Val<P::Value, P::Density<A::Density>>> {
        futures_stage(self.clone(), input, wiring)
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
        in_lanes::<A, B, E, G>(futures_stage(outcomes, input, wiring), &self.letters, wiring)
    }
}

/// Polls the futures on workers; the calling thread waits for one after another.
fn futures_stage<A: RingLayout, F, Fut, P: Settle<Fut::Output>>(
    map: MapAsync<A, F, Fut, P>,
    input: Reader<A>,
    wiring: &mut Wiring,
) -> Reader<Output<A, Fut, P>>
where
    F: for<'a> Fn(A::Ref<'a>) -> Fut + Send + Sync + 'static,
    Fut: Future<Output: Send> + Send + 'static,
{
    if !wiring.inline {
        return async_stage(map, input, wiring);
    }
    let (end, reactor, calls) = (EndSlot::of::<P::Density<A::Density>>(), wiring.reactor(), wiring.counts_calls());
    stage::<A, (), P::Value, P::Density<A::Density>>(
        input,
        wiring,
        end,
        Home::Workers,
        ((), Keeper::none()),
        move |(), _, value, _| {
            let value = value?;
            let _entered = reactor.enter();
            settled(&map.policy, map.finished(value), &calls)
        },
    )
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
        renumber_stage::<Rings, _>(input, wiring, Arc::new(InTurn { map: self.clone(), reactor }))
    }
}
