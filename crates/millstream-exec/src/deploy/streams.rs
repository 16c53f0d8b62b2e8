//! Stages that keep a state and their clock.

use crate::cut_stage::cut_stage;
use crate::stage::{EndSlot, stage};
use crate::wiring::Home;
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
    let (machine, mut state) = (machine.clone(), machine.start());
    let end = EndSlot::of::<M::Density>();
    stage::<M::In, M::Out, M::Density>(input, wiring, end, Home::Workers, move |slot, end| {
        machine.step(&mut state, slot, end)
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
        let seen = stage::<A, (), A::Density>(read, wiring, end, Home::Workers, move |slot, _| slot.map(|a| f(a)));
        input.zip(seen).seen()
    }
}

impl<K: Sieve<In: Carried>> Deploy<Rings> for Sift<K> {
    fn deploy(&self, input: Reader<K::In>, wiring: &mut Wiring) -> Reader<Masked<K::In>> {
        let (sieve, mut state) = (self.sieve.clone(), self.sieve.start());
        let end = EndSlot::of::<<K::In as Flow>::Density>();
        let mask = stage::<K::In, bool, Full>(input.fork(), wiring, end, Home::Workers, move |slot, _| {
            Some(slot.is_some_and(|value| sieve.keeps(&mut state, value)))
        });
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
