//! Stages that keep a state and their clock.

use crate::cut_stage::cut_stage;
use crate::keyed_stage::{stateful_stage, stateful_stage_or};
use crate::stage::EndSlot;
use crate::{Carried, Rings, Wiring};
use millstream_core::pipe::{Beside, Inspect, Inspected, Machine, Sieve, Sift, Stateful};
use millstream_core::{Deploy, Flow, Full, Masked, Pair, Val};
use millstream_ring::Reader;
use std::sync::Arc;

/// The ring that a machine writes.
fn machine_stage<M: Machine<In: Carried>>(
    machine: &Arc<M>,
    input: Reader<M::In>,
    wiring: &mut Wiring,
) -> Reader<Val<M::Out, M::Density>> {
    let (machine, start, end) = (machine.clone(), machine.start(), EndSlot::of::<M::Density>());
    stateful_stage::<M::In, M::State, M::Out, M::Density>(input, wiring, end, start, move |state, number, slot, end| {
        machine.step(state, number, slot, end)
    })
}

impl<M: Machine<In: Carried>> Deploy<Rings> for Stateful<M> {
    fn deploy(&self, input: Reader<M::In>, wiring: &mut Wiring) -> Reader<Val<M::Out, M::Density>> {
        machine_stage(&self.machine, input, wiring)
    }
}

impl<M: Machine<In: Carried>> Deploy<Rings> for Beside<M> {
    fn deploy(&self, input: Reader<M::In>, wiring: &mut Wiring) -> Reader<Pair<Val<M::Out, M::Density>, M::In>> {
        let read = input.fork();
        machine_stage(&self.machine, read, wiring).zip(input)
    }
}

impl<A: Carried, F> Deploy<Rings> for Inspect<A, F>
where
    F: for<'a> Fn(A::Ref<'a>) + Send + Sync + 'static,
{
    fn deploy(&self, input: Reader<A>, wiring: &mut Wiring) -> Reader<Inspected<A>> {
        let (read, f, end) = (input.fork(), self.f.clone(), EndSlot::of::<A::Density>());
        let seen =
            stateful_stage::<A, (), (), A::Density>(read, wiring, end, (), move |(), _, slot, _| slot.map(|a| f(a)));
        input.zip(seen).seen()
    }
}

impl<K: Sieve<In: Carried>> Deploy<Rings> for Sift<K> {
    fn deploy(&self, input: Reader<K::In>, wiring: &mut Wiring) -> Reader<Masked<K::In>> {
        let (sieve, start, end) = (self.sieve.clone(), self.sieve.start(), EndSlot::of::<<K::In as Flow>::Density>());
        let keeps = move |state: &mut K::State, _, slot: Option<<K::In as Flow>::Ref<'_>>, _| {
            Some(slot.is_some_and(|value| sieve.keeps(state, value)))
        };
        let blank = || Some(false);
        let mask = stateful_stage_or::<K::In, K::State, bool, Full>(input.fork(), wiring, end, start, keeps, blank);
        input.masked(mask)
    }

    fn deploy_outer(&self, input: Reader<K::In>, wiring: &mut Wiring) -> Reader<Masked<K::In>> {
        if !K::ENDS {
            return self.deploy(input, wiring);
        }
        let mask = cut_stage(input.fork(), wiring, self.sieve.clone());
        input.masked(mask)
    }
}
