//! Stages that keep a state and their clock.

use super::Owning;
use crate::Queues;
use crate::queues::keyed::{owning_stateful_stage, stateful_stage};
use crate::queues::stage::{cut_stage, owning_stage};
use crate::queues::{LendItem, Queue, QueueShape, QueuesWiring};
use millstream_core::pipe::{Annotate, FilterBy, FilterKernel, Inspect, Inspected, ScanBy, ScanKernel};
use millstream_core::{Deploy, Pair, ToOwnedItem, Val};

impl<M: ScanKernel<In: QueueShape, Out: Clone>> Deploy<Queues> for ScanBy<M> {
    fn deploy(&self, input: Owning<M::In>, wiring: &mut QueuesWiring) -> Queue<M::Out> {
        let kernel = self.kernel.clone();
        stateful_stage::<M::In, M::State, M::Out>(input, wiring, kernel.start(), move |state, slot, at| {
            kernel.at_slot(state, at.number.into(), slot, at.end)
        })
    }
}

impl<M: ScanKernel<In: QueueShape, Out: Clone>> Deploy<Queues> for Annotate<M> {
    fn deploy(&self, input: Owning<M::In>, wiring: &mut QueuesWiring) -> Owning<Pair<Val<M::Out, M::Density>, M::In>> {
        let kernel = self.kernel.clone();
        owning_stateful_stage(
            input,
            wiring,
            kernel.start(),
            move |state, value: Option<<M::In as ToOwnedItem>::Owned>, at| {
                let slot = value.as_ref().map(M::In::lend);
                kernel.at_slot(state, at.number.into(), slot, at.end).zip(value)
            },
        )
    }
}

impl<A: QueueShape, F> Deploy<Queues> for Inspect<A, F>
where
    F: for<'a> Fn(A::Ref<'a>) + Send + Sync + 'static,
{
    fn deploy(&self, input: Owning<A>, wiring: &mut QueuesWiring) -> Owning<Inspected<A>> {
        let f = self.f.clone();
        owning_stage(input, wiring, move |value, _| value.inspect(|value| f(A::lend(value))))
    }
}

impl<K: FilterKernel<In: QueueShape>> Deploy<Queues> for FilterBy<K> {
    fn deploy(&self, input: Owning<K::In>, wiring: &mut QueuesWiring) -> Owning<K::In> {
        let kernel = self.kernel.clone();
        let keeps = move |state: &mut K::State, value: Option<<K::In as ToOwnedItem>::Owned>, _| {
            value.filter(|value| kernel.keeps(state, K::In::lend(value)))
        };
        owning_stateful_stage(input, wiring, self.kernel.start(), keeps)
    }

    fn deploy_outer(&self, input: Owning<K::In>, wiring: &mut QueuesWiring) -> Owning<K::In> {
        if K::ENDS { cut_stage(input, wiring, self.kernel.clone()) } else { self.deploy(input, wiring) }
    }
}
