//! Futures on queues.

use super::Owning;
use crate::Queues;
use crate::queues::stage::stage;
use crate::queues::{Queue, Queued, QueuesWiring};
use millstream_core::Deploy;
use millstream_core::pipe::{MapAsync, Settle};
use std::future::Future;

/// The stage's thread waits for one future after the other: what has more of them at once is a runtime, and no queue.
impl<A: Queued, F, Fut, P: Settle<Fut::Output, Value: Clone>> Deploy<Queues> for MapAsync<A, F, Fut, P>
where
    F: for<'a> Fn(A::Ref<'a>) -> Fut + Send + Sync + 'static,
    Fut: Future<Output: Send> + Send + 'static,
{
    fn deploy(&self, input: Owning<A>, wiring: &mut QueuesWiring) -> Queue<P::Value> {
        let (this, reactor) = (self.clone(), wiring.reactor());
        stage::<A, P::Value>(input, wiring, move |value, _| {
            let value = value?;
            let _entered = reactor.enter();
            this.wait_for(value)
        })
    }
}
