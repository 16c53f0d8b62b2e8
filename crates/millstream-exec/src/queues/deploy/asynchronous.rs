//! Futures on queues.

use super::Owning;
use super::dead_letter::in_queues;
use crate::Queues;
use crate::queues::stage::{renumber_stage, stage};
use crate::queues::{Queue, QueueShape, QueuesWiring};
use crate::unordered_stage::InTurn;
use millstream_core::pipe::{DeadLetter, MapAsync, Settle, TryMapAsyncOrDeadLetter, Unordered};
use millstream_core::{Cause, Deploy, Item};
use std::future::Future;
use std::sync::Arc;

/// The stage's thread waits for one future after another; running several at once takes a runtime, not a queue.
impl<A: QueueShape, F, Fut, P: Settle<Fut::Output, Value: Clone>> Deploy<Queues> for MapAsync<A, F, Fut, P>
where
    F: for<'a> Fn(A::Ref<'a>) -> Fut + Send + Sync + 'static,
    Fut: Future<Output: Send> + Send + 'static,
{
    fn deploy(&self, input: Owning<A>, wiring: &mut QueuesWiring) -> Queue<P::Value> {
        let (this, reactor, pauses) = (self.clone(), wiring.reactor(), wiring.pauses());
        stage::<A, P::Value>(input, wiring, move |value, _| {
            let value = value?;
            let _entered = reactor.enter();
            this.policy.settle(pauses.finished(|| (this.f)(value)))
        })
    }
}

/// As above. Failures go to a thread of their own.
impl<A: QueueShape, F, Fut, B: Item + Clone, E: Cause + Item, G> Deploy<Queues>
    for TryMapAsyncOrDeadLetter<A, F, Fut, B, E, G>
where
    F: for<'a> Fn(A::Ref<'a>) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<B, E>> + Send + 'static,
    G: for<'a> Fn(DeadLetter<'a, A::Owned, E>) + Send + Sync + 'static,
{
    fn deploy(&self, input: Owning<A>, wiring: &mut QueuesWiring) -> Queue<B> {
        let (judge, reactor, pauses) = (self.clone(), wiring.reactor(), wiring.pauses());
        in_queues(input, &self.letters, wiring, move |_, value| {
            let value = value?;
            let _entered = reactor.enter();
            Some(pauses.result(|| judge.outcome(A::lend(value))))
        })
    }
}

/// As `MapAsync`. The order of the inputs is one of the permitted orders.
impl<A: QueueShape, F, Fut> Deploy<Queues> for Unordered<A, F, Fut>
where
    F: for<'a> Fn(A::Ref<'a>) -> Fut + Send + Sync + 'static,
    Fut: Future<Output: Item + Clone> + Send + 'static,
{
    fn deploy(&self, input: Owning<A>, wiring: &mut QueuesWiring) -> Queue<Fut::Output> {
        let (reactor, pauses) = (wiring.reactor(), wiring.pauses());
        let wait = move |future: Fut| pauses.result(|| future);
        renumber_stage(input, wiring, Arc::new(InTurn { map: self.clone(), reactor, wait }))
    }
}
