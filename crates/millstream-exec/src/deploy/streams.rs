//! Stages that keep a state and their clock.

use crate::cut_stage::cut_stage;
use crate::fusion::{LastWithState, OfFilter, fused_with_state};
use crate::keeper::StateKeepers;
use crate::keeps::{Keeps, RingBackend, RingRunner};
use crate::keyed_stage::{stateful_stage, stateful_stage_or};
use crate::stage::EndSlot;
use crate::watched::Calls;
use crate::wiring::Home;
use crate::{RingShape, Wiring};
use millstream_core::fusion::OfPassage;
use millstream_core::pipe::{Annotate, FilterBy, FilterKernel, Inspect, Inspected, ScanBy, ScanKernel};
use millstream_core::{Arrow, Dense, Deploy, Filtered, Level, On, Pair, SequenceNumber, Shape, Val};
use millstream_ring::{Reader, RingLayout};
use std::sync::Arc;

/// The ring that a scan kernel writes.
fn scan_stage<R: Keeps<M::State>, M: ScanKernel<In: RingLayout>>(
    kernel: &Arc<M>,
    input: Reader<M::In>,
    wiring: &mut Wiring,
) -> Reader<Val<M::Out, M::Density>> {
    let keepers = R::state();
    let keepers = StateKeepers { alone: keepers.alone.counting(M::STATE_BYTES), ..keepers };
    let (start, end) = ((kernel.start(), keepers), EndSlot::of::<M::Density>());
    let calls = M::COUNTS_FAILURES.then(|| wiring.counts_calls());
    stateful_stage::<M::In, M::State, M::Out, M::Density>(input, wiring, end, start, at_slot(kernel, calls))
}

/// The work of a scan kernel on a slot.
#[expect(clippy::type_complexity, reason = "the type of a closure, and used once")]
fn at_slot<M: ScanKernel>(
    kernel: &Arc<M>,
    calls: Option<Arc<Calls>>,
) -> impl for<'a> Fn(&mut M::State, SequenceNumber, Option<<M::In as Shape>::Ref<'a>>, bool) -> Option<M::Out>
+ Clone
+ Send
+ 'static {
    let kernel = kernel.clone();
    move |state: &mut M::State, number, slot: Option<<M::In as Shape>::Ref<'_>>, end| {
        let output = kernel.at_slot(state, number, slot, end);
        if M::COUNTS_FAILURES
            && slot.is_some()
            && M::is_failure(output.as_ref())
            && let Some(calls) = &calls
        {
            calls.failed();
        }
        output
    }
}

impl<R: Keeps<M::State>, M: ScanKernel<In: RingShape<R>>> Deploy<RingBackend<R>> for ScanBy<M> {
    fn deploy(&self, input: Reader<M::In>, wiring: &mut Wiring) -> Reader<Val<M::Out, M::Density>> {
        scan_stage::<R, M>(&self.kernel, input, wiring)
    }

    fused_with_state!(|scan: M::In, _wiring| {
        let keeper = R::state().alone.counting(M::STATE_BYTES);
        let (start, end) = ((scan.kernel.start(), keeper), EndSlot::of::<M::Density>());
        let calls = M::COUNTS_FAILURES.then(|| Arc::new(Calls::default()));
        let at = at_slot(&scan.kernel, calls.clone());
        LastWithState::<M::State, _, M::Out, M::Density, true>::new(start, end, at, calls)
    });
}

impl<R: Keeps<M::State>, M: ScanKernel<In: RingShape<R>>> Deploy<RingBackend<R>> for Annotate<M> {
    fn deploy(&self, input: Reader<M::In>, wiring: &mut Wiring) -> Reader<Pair<Val<M::Out, M::Density>, M::In>> {
        let read = input.fork();
        scan_stage::<R, M>(&self.kernel, read, wiring).zip(input)
    }
}

impl<R: RingRunner, A: RingShape<R>, F> Deploy<RingBackend<R>> for Inspect<A, F>
where
    F: for<'a> Fn(A::Ref<'a>) + Send + Sync + 'static,
{
    fn deploy(&self, input: Reader<A>, wiring: &mut Wiring) -> Reader<Inspected<A>> {
        let (read, f, end) = (input.fork(), self.f.clone(), EndSlot::of::<A::Density>());
        let seen = stateful_stage::<A, (), (), A::Density>(
            read,
            wiring,
            end,
            ((), StateKeepers::none()),
            move |(), _, slot, _| slot.map(|a| f(a)),
        );
        input.zip(seen).seen()
    }
}

impl<R: Keeps<K::State>, K: FilterKernel<In: RingShape<R>>> Deploy<RingBackend<R>> for FilterBy<K> {
    fn deploy(&self, input: Reader<K::In>, wiring: &mut Wiring) -> Reader<Filtered<K::In>> {
        let (kernel, start, end) =
            (self.kernel.clone(), (self.kernel.start(), R::state()), EndSlot::of::<<K::In as Shape>::Density>());
        let keeps = move |state: &mut K::State, _, slot: Option<<K::In as Shape>::Ref<'_>>, _| {
            Some(slot.is_some_and(|value| kernel.keeps(state, value)))
        };
        let blank = || Some(false);
        let mask = stateful_stage_or::<K::In, K::State, bool, Dense>(
            input.fork(),
            wiring,
            end,
            Home::Workers,
            start,
            keeps,
            blank,
        );
        input.masked(mask)
    }

    fn deploy_outer(&self, input: Reader<K::In>, wiring: &mut Wiring) -> Reader<Filtered<K::In>> {
        if !K::ENDS {
            return self.deploy(input, wiring);
        }
        let mask = cut_stage::<R, K>(input.fork(), wiring, self.kernel.clone());
        input.masked(mask)
    }

    fn passage<V: OfPassage<RingBackend<R>, K::In, Filtered<K::In>>>(
        &self,
        wiring: &mut Wiring,
        then: V,
    ) -> Option<V::Made> {
        // A kernel that ends the stream needs its ring.
        if K::ENDS {
            return None;
        }
        then.make(OfFilter::new(self.kernel.clone(), wiring), wiring)
    }
}
