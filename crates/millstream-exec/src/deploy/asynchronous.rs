//! Futures on rings.

use crate::async_stage::async_stage;
use crate::stage::{EndSlot, stage};
use crate::wiring::Home;
use crate::{Carried, Rings, Wiring};
use millstream_core::pipe::{MapAsync, Settle};
use millstream_core::{Deploy, Val};
use millstream_ring::Reader;
use std::future::Future;

impl<A: Carried, F, Fut, P: Settle<Fut::Output>> Deploy<Rings> for MapAsync<A, F, Fut, P>
where
    F: for<'a> Fn(A::Ref<'a>) -> Fut + Send + Sync + 'static,
    Fut: Future<Output: Send> + Send + 'static,
{
    fn deploy(&self, input: Reader<A>, wiring: &mut Wiring) -> Reader<Val<P::Value, P::Density<A::Density>>> {
        if !wiring.inline {
            return async_stage(self.clone(), input, wiring);
        }
        let (this, end, reactor) = (self.clone(), EndSlot::of::<P::Density<A::Density>>(), wiring.reactor());
        stage::<A, P::Value, P::Density<A::Density>>(input, wiring, end, Home::Workers, move |value, _| {
            let value = value?;
            let _entered = reactor.enter();
            this.wait_for(value)
        })
    }
}
