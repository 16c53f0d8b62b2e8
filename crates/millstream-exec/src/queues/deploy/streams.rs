//! Stages that keep a state and their clock.

use super::Owning;
use crate::Queues;
use crate::queues::message::At;
use crate::queues::stage::{cut_stage, owning_stage, stage};
use crate::queues::{Lend, Queue, Queued, QueuesWiring};
use millstream_core::pipe::{Beside, Inspect, Inspected, Machine, Sieve, Sift, Stateful};
use millstream_core::{Deploy, Flow, Pair, Val};
use std::sync::Arc;

/// A machine and its state.
struct Running<M: Machine> {
    machine: Arc<M>,
    state: M::State,
    next: u64,
}

impl<M: Machine> Running<M> {
    fn new(machine: &Arc<M>) -> Self {
        Running { machine: machine.clone(), state: machine.start(), next: 0 }
    }

    /// One slot, and before it those that did not come: a lane gets its own values only, and a machine may count.
    fn step(&mut self, slot: Option<<M::In as Flow>::Ref<'_>>, at: At) -> Option<M::Out> {
        for _ in self.next..at.number {
            let nothing = self.machine.step(&mut self.state, None, false);
            debug_assert!(nothing.is_none(), "a lane's stages are quiet");
        }
        self.next = at.number + 1;
        self.machine.step(&mut self.state, slot, at.end)
    }
}

impl<M: Machine<In: Queued, Out: Clone>> Deploy<Queues> for Stateful<M> {
    fn deploy(&self, input: Owning<M::In>, wiring: &mut QueuesWiring) -> Queue<M::Out> {
        let mut machine = Running::new(&self.machine);
        stage::<M::In, M::Out>(input, wiring, move |slot, at| machine.step(slot, at))
    }
}

impl<M: Machine<In: Queued, Out: Clone>> Deploy<Queues> for Beside<M> {
    fn deploy(&self, input: Owning<M::In>, wiring: &mut QueuesWiring) -> Owning<Pair<Val<M::Out, M::Density>, M::In>> {
        let mut machine = Running::new(&self.machine);
        owning_stage(input, wiring, move |value, at| machine.step(value.as_ref().map(M::In::lend), at).zip(value))
    }
}

impl<A: Queued, F> Deploy<Queues> for Inspect<A, F>
where
    F: for<'a> Fn(A::Ref<'a>) + Send + Sync + 'static,
{
    fn deploy(&self, input: Owning<A>, wiring: &mut QueuesWiring) -> Owning<Inspected<A>> {
        let f = self.f.clone();
        owning_stage(input, wiring, move |value, _| value.inspect(|value| f(A::lend(value))))
    }
}

impl<K: Sieve<In: Queued>> Deploy<Queues> for Sift<K> {
    fn deploy(&self, input: Owning<K::In>, wiring: &mut QueuesWiring) -> Owning<K::In> {
        let (sieve, mut state) = (self.sieve.clone(), self.sieve.start());
        owning_stage(input, wiring, move |value, _| value.filter(|value| sieve.keeps(&mut state, K::In::lend(value))))
    }

    fn deploy_outer(&self, input: Owning<K::In>, wiring: &mut QueuesWiring) -> Owning<K::In> {
        if K::ENDS { cut_stage(input, wiring, self.sieve.clone()) } else { self.deploy(input, wiring) }
    }
}
