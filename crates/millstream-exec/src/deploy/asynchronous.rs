//! Futures on rings.

use crate::async_stage::{async_stage, settled};
use crate::keeper::Keeper;
use crate::renumber_stage::renumber_stage;
use crate::stage::{EndSlot, stage};
use crate::unordered_stage::{InTurn, unordered_stage};
use crate::wiring::Home;
use crate::{RingBackend, RingRunner, RingShape, Rings, Wiring};
use millstream_core::pipe::{MapAsync, Settle, Unordered};
use millstream_core::{Deploy, Item, Val};
use millstream_ring::Reader;
use std::future::Future;
use std::sync::Arc;

impl<R: RingRunner, A: RingShape<R>, F, Fut, P: Settle<Fut::Output>> Deploy<RingBackend<R>> for MapAsync<A, F, Fut, P>
where
    F: for<'a> Fn(A::Ref<'a>) -> Fut + Send + Sync + 'static,
    Fut: Future<Output: Send> + Send + 'static,
{
    fn deploy(&self, input: Reader<A>, wiring: &mut Wiring) -> Reader<Val<P::Value, P::Density<A::Density>>> {
        if !wiring.inline {
            return async_stage(self.clone(), input, wiring);
        }
        let (this, end, reactor) = (self.clone(), EndSlot::of::<P::Density<A::Density>>(), wiring.reactor());
        let calls = wiring.counts_calls();
        stage::<A, (), P::Value, P::Density<A::Density>>(
            input,
            wiring,
            end,
            Home::Workers,
            ((), Keeper::none()),
            move |(), _, value, _| {
                let value = value?;
                let _entered = reactor.enter();
                settled(&this.policy, this.finished(value), &calls)
            },
        )
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
        renumber_stage::<Rings, _>(input, wiring, Arc::new(InTurn { map: self.clone(), reactor }))
    }
}
