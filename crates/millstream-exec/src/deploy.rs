//! Every combinator on rings: one ring per edge, one tasklet per stage.
//!
//! Deploying takes the reader of the input edge and returns the reader of the output edge. On the way it makes the
//! stage's ring and tasklet. The exceptions:
//!
//! - `id`, `then`, `fanout`, `both`, `choose`, `merge`, `tee`, `named`, `shard`, and the lenses make no ring and no
//!   tasklet of their own. A fan-out forks the reader, and its pair is read from the two rings side by side.
//! - A `feedback` makes a ring of states, and a tasklet that fills it (`feedback.rs`).
//! - Inside `shard`, a stateless stage is k tasklets that write one ring (`group_stage.rs`); inside `shard_by`, a stage
//!   with a state is too (`deploy/keys.rs`).
//! - A `merge` of two maps can be two tasklets that write one ring (`lane_stage.rs`).
//! - A stage that sends failures to a side output has a thread for them (`deploy/dead_letter.rs`).

mod asynchronous;
mod bodies;
mod clock;
mod dead_letter;
mod keys;
mod maps;
mod streams;
mod tee_to;
mod text;
mod wires;

use crate::fusion::{InFront, LastWithState, Making, fused_in_front, fused_stage, fused_with_state, stateless};
use crate::group_stage::stateless_stage;
use crate::keeps::{Keeps, RingBackend, RingRunner};
use crate::keyed_stage::stateful_stage;
use crate::lane_stage::{can_be_lane, lane_stage};
use crate::onlooker::Place;
use crate::pause::Pauses;
use crate::stage::EndSlot;
use crate::watched::Calls;
use crate::wiring::Home;
use crate::{RingShape, Wiring};
use millstream_core::fusion::{Fusing, OfPassage, Same, SlotKernel, chain};
use millstream_core::pipe::{Delay, Filter, FilterMap, Fold, Id, Map, MapBlocking, Named, Policy, Scan, Then, TryMap};
use millstream_core::{
    Arrow, AtEnd, Cause, Dense, Deploy, Filtered, Item, Level, On, SequenceNumber, Shape, Sparse, ToOwnedItem, Val,
};
use millstream_ring::{Reader, RingLayout};
use std::any::Any;
use std::cell::Cell;
use std::sync::Arc;

impl<R: RingRunner, A: RingShape<R>> Deploy<RingBackend<R>> for Id<A> {
    fn deploy(&self, input: Reader<A>, _: &mut Wiring) -> Reader<A> {
        input
    }

    fn is_id(&self) -> bool {
        true
    }

    fn passage<V: OfPassage<RingBackend<R>, A, A>>(&self, wiring: &mut Wiring, then: V) -> Option<V::Made> {
        then.make(Same, wiring)
    }
}

impl<R: RingRunner, P: Deploy<RingBackend<R>>, Q: Deploy<RingBackend<R>> + Arrow<In = P::Out>> Deploy<RingBackend<R>>
    for Then<P, Q>
{
    fn deploy(
        &self,
        input: <P::In as On<RingBackend<R>>>::Edge,
        wiring: &mut Wiring,
    ) -> <Q::Out as On<RingBackend<R>>>::Edge {
        let between = self.first.deploy(input, wiring);
        wiring.advance();
        self.second.deploy(between, wiring)
    }

    fn deploy_outer(
        &self,
        input: <P::In as On<RingBackend<R>>>::Edge,
        wiring: &mut Wiring,
    ) -> <Q::Out as On<RingBackend<R>>>::Edge {
        let between = self.first.deploy_outer(input, wiring);
        wiring.advance();
        self.second.deploy_outer(between, wiring)
    }

    fn deploy_fused(
        &self,
        input: <P::In as On<RingBackend<R>>>::Edge,
        level: Level,
        wiring: &mut Wiring,
    ) -> <Q::Out as On<RingBackend<R>>>::Edge {
        self.second.fused_after(&self.first, input, level, wiring)
    }

    fn passage<V: OfPassage<RingBackend<R>, P::In, Q::Out>>(&self, wiring: &mut Wiring, then: V) -> Option<V::Made> {
        chain(&self.first, &self.second, wiring, then)
    }

    fn fused_before<N: SlotKernel<RingBackend<R>, Q::Out>>(
        &self,
        input: <P::In as On<RingBackend<R>>>::Edge,
        next: N,
        level: Level,
        wiring: &mut Wiring,
    ) -> Fusing<RingBackend<R>, Q::Out, N> {
        self.second.fused_between(&self.first, input, next, level, wiring)
    }

    fn is_lane(&self, wiring: &Wiring) -> bool {
        self.first.is_id() && self.second.is_lane(wiring)
    }

    fn deploy_lane(
        &self,
        input: <P::In as On<RingBackend<R>>>::Edge,
        other: Option<Box<dyn Any>>,
        wiring: &mut Wiring,
    ) -> Box<dyn Any> {
        let between = self.first.deploy(input, wiring);
        wiring.advance();
        self.second.deploy_lane(between, other, wiring)
    }
}

impl<R: RingRunner, A: RingShape<R>, F, B: Item> Deploy<RingBackend<R>> for Map<A, F, B>
where
    F: for<'a> Fn(A::Ref<'a>) -> B + Send + Sync + 'static,
{
    stateless!(|map: A| -> (B, A::Density, false) { mapping(map) });

    fn is_lane(&self, wiring: &Wiring) -> bool {
        can_be_lane::<A>(wiring)
    }

    fn deploy_lane(&self, input: Reader<A>, other: Option<Box<dyn Any>>, wiring: &mut Wiring) -> Box<dyn Any> {
        let f = self.f.clone();
        lane_stage::<A, B>(input, other, wiring, move |value| f(value))
    }
}

/// The work of a map on a slot.
fn mapping<A: Shape, F, B: Item>(
    map: &Map<A, F, B>,
) -> impl for<'a> Fn(Option<A::Ref<'a>>) -> Option<B> + Clone + Send + 'static
where
    F: for<'a> Fn(A::Ref<'a>) -> B + Send + Sync + 'static,
{
    let f = map.f.clone();
    move |slot: Option<A::Ref<'_>>| slot.map(|value| f(value))
}

impl<R: RingRunner, A: RingShape<R>, F, B: Item> Deploy<RingBackend<R>> for MapBlocking<A, F, B>
where
    F: for<'a> Fn(A::Ref<'a>) -> B + Send + Sync + 'static,
{
    fn deploy(&self, input: Reader<A>, wiring: &mut Wiring) -> Reader<Val<B, A::Density>> {
        let (f, end) = (self.f.clone(), EndSlot::of::<A::Density>());
        stateless_stage::<A, B, A::Density>(input, wiring, end, Home::Thread, move |value| value.map(|value| f(value)))
    }
}

impl<R: RingRunner, A: RingShape<R>, F, B: Item, E: Cause, P: Policy> Deploy<RingBackend<R>> for TryMap<A, F, B, E, P>
where
    F: for<'a> Fn(A::Ref<'a>) -> Result<B, E> + Send + Sync + 'static,
    P::Output<B, E>: Item,
{
    fn deploy(&self, input: Reader<A>, wiring: &mut Wiring) -> Reader<Self::Out> {
        let (end, home) =
            (EndSlot::of::<P::Density<A::Density>>(), if P::WAITS { Home::Thread } else { Home::Workers });
        let f = judged(self, wiring.counts_calls(), wiring.pauses());
        stateless_stage::<A, P::Output<B, E>, P::Density<A::Density>>(input, wiring, end, home, f)
    }

    fused_stage!(if !P::WAITS; |stage: A, wiring| {
        let calls = Arc::new(Calls::default());
        let f = judged(stage, calls.clone(), wiring.pauses());
        Making::<_, P::Output<B, E>, P::Density<A::Density>, true>::new(f).counting(calls)
    });
}

/// The work of a function that can fail on a slot.
fn judged<A: Shape, F, B: Item, E: Cause, P: Policy>(
    stage: &TryMap<A, F, B, E, P>,
    calls: Arc<Calls>,
    pauses: Pauses,
) -> impl for<'a> Fn(Option<A::Ref<'a>>) -> Option<P::Output<B, E>> + Clone + Send + 'static
where
    F: for<'a> Fn(A::Ref<'a>) -> Result<B, E> + Send + Sync + 'static,
{
    let (f, policy) = (stage.f.clone(), stage.policy.clone());
    move |value: Option<A::Ref<'_>>| {
        let value = value?;
        let returned = Cell::new(false);
        let call = || {
            let outcome = f(value);
            calls.outcome(returned.replace(true), outcome)
        };
        let output = policy.judge(call, |time| pauses.wait(time));
        if !returned.get() {
            calls.failed(); // It panicked.
        }
        output
    }
}

impl<R: RingRunner, A: RingShape<R>, F, B: Item> Deploy<RingBackend<R>> for FilterMap<A, F, B>
where
    F: for<'a> Fn(A::Ref<'a>) -> Option<B> + Send + Sync + 'static,
{
    stateless!(|stage: A| -> (B, Sparse, true) { filter_mapping(stage) });
}

/// The work of a `filter_map` on a slot.
fn filter_mapping<A: Shape, F, B: Item>(
    stage: &FilterMap<A, F, B>,
) -> impl for<'a> Fn(Option<A::Ref<'a>>) -> Option<B> + Clone + Send + 'static
where
    F: for<'a> Fn(A::Ref<'a>) -> Option<B> + Send + Sync + 'static,
{
    let f = stage.f.clone();
    move |slot: Option<A::Ref<'_>>| slot.and_then(|value| f(value))
}

impl<R: RingRunner, A: RingShape<R>, F> Deploy<RingBackend<R>> for Filter<A, F>
where
    F: for<'a> Fn(A::Ref<'a>) -> bool + Send + Sync + 'static,
{
    fn deploy(&self, input: Reader<A>, wiring: &mut Wiring) -> Reader<Filtered<A>> {
        let keep = self.keep.clone();
        let judged = input.fork();
        // The mask has a slot at every number, whether or not the value's slot is filled.
        let mask = mask_stage::<A>(judged, wiring, move |value| value.is_some_and(|value| keep(value)));
        input.masked(mask)
    }

    fused_in_front!(|filter: A, _wiring| Keeping(filter.keep.clone()));
}

/// A filter in a loop: it needs no mask.
struct Keeping<F>(Arc<F>);

impl<A: Shape, F> InFront<A, Filtered<A>> for Keeping<F>
where
    F: for<'a> Fn(A::Ref<'a>) -> bool + Send + Sync + 'static,
{
    const EMPTIES: bool = true;
    const MASKS: bool = true;

    #[inline(always)]
    fn pass<T>(&self, place: &Place, slot: Option<A::Ref<'_>>, next: impl FnOnce(Option<A::Ref<'_>>) -> T) -> T {
        next(slot.filter(|value| place.call(|| (self.0)(*value))))
    }
}

/// A stage that writes a mask. The mask's END has a slot if END can hold a value.
fn mask_stage<A: RingLayout>(
    input: Reader<A>,
    wiring: &mut Wiring,
    keep: impl for<'a> Fn(Option<A::Ref<'a>>) -> bool + Clone + Send + 'static,
) -> Reader<Val<bool, Dense>> {
    stateless_stage::<A, bool, Dense>(input, wiring, EndSlot::of::<A::Density>(), Home::Workers, move |value| {
        Some(keep(value))
    })
}

impl<R: Keeps<S>, A: RingShape<R>, S: Item + Clone, F, B: Item> Deploy<RingBackend<R>> for Scan<A, S, F, B>
where
    F: for<'a> Fn(&mut S, A::Ref<'a>) -> B + Send + Sync + 'static,
{
    fn deploy(&self, input: Reader<A>, wiring: &mut Wiring) -> Reader<Val<B, A::Density>> {
        let (end, start) = (EndSlot::of::<A::Density>(), (self.state.clone(), R::state()));
        stateful_stage::<A, S, B, A::Density>(input, wiring, end, start, scanning(self))
    }

    fused_with_state!(|scan: A, _wiring| {
        let (end, start) = (EndSlot::of::<A::Density>(), (scan.state.clone(), R::state().alone));
        LastWithState::<S, _, B, A::Density>::new(start, end, scanning(scan), None)
    });
}

/// The work of a scan on a slot.
fn scanning<A: Shape, S: Item, F, B: Item>(
    scan: &Scan<A, S, F, B>,
) -> impl for<'a> Fn(&mut S, SequenceNumber, Option<A::Ref<'a>>, bool) -> Option<B> + Clone + Send + 'static
where
    F: for<'a> Fn(&mut S, A::Ref<'a>) -> B + Send + Sync + 'static,
{
    let f = scan.f.clone();
    move |state: &mut S, _, value: Option<A::Ref<'_>>, _| value.map(|value| f(state, value))
}

impl<R: Keeps<S>, A: RingShape<R>, S: Item + Clone, F, G, B: Item> Deploy<RingBackend<R>> for Fold<A, S, F, G, B>
where
    F: for<'a> Fn(&mut S, A::Ref<'a>) + Send + Sync + 'static,
    G: Fn(S) -> B + Send + Sync + 'static,
{
    fn deploy(&self, input: Reader<A>, wiring: &mut Wiring) -> Reader<Val<B, AtEnd>> {
        let start = (self.state.clone(), R::state());
        stateful_stage::<A, S, B, AtEnd>(input, wiring, EndSlot::Written, start, folding(self))
    }

    fused_with_state!(|fold: A, _wiring| {
        let start = (fold.state.clone(), R::state().alone);
        LastWithState::<S, _, B, AtEnd, true>::new(start, EndSlot::Written, folding(fold), None)
    });
}

/// The work of a fold on a slot.
fn folding<A: Shape, S: Item + Clone, F, G, B: Item>(
    fold: &Fold<A, S, F, G, B>,
) -> impl for<'a> Fn(&mut S, SequenceNumber, Option<A::Ref<'a>>, bool) -> Option<B> + Clone + Send + 'static
where
    F: for<'a> Fn(&mut S, A::Ref<'a>) + Send + Sync + 'static,
    G: Fn(S) -> B + Send + Sync + 'static,
{
    let (f, finish, initial) = (fold.f.clone(), fold.finish.clone(), fold.state.clone());
    move |state: &mut S, _, value: Option<A::Ref<'_>>, end| {
        if let Some(value) = value {
            f(state, value);
        }
        end.then(|| finish(std::mem::replace(state, initial.clone())))
    }
}

impl<R: Keeps<A::Owned>, A: RingShape<R> + ToOwnedItem<Owned: Clone>> Deploy<RingBackend<R>> for Delay<A> {
    fn deploy(&self, input: Reader<A>, wiring: &mut Wiring) -> Reader<Val<A::Owned, A::Density>> {
        let (first, end) = ((self.first.clone(), R::state()), EndSlot::of::<A::Density>());
        stateful_stage::<A, A::Owned, A::Owned, A::Density>(input, wiring, end, first, delaying::<A>)
    }

    fused_with_state!(|delay: A, _wiring| {
        let (first, end) = ((delay.first.clone(), R::state().alone), EndSlot::of::<A::Density>());
        LastWithState::<A::Owned, _, A::Owned, A::Density>::new(first, end, delaying::<A>, None)
    });
}

/// The work of a delay on a slot.
fn delaying<A: ToOwnedItem>(
    before: &mut A::Owned,
    _: SequenceNumber,
    value: Option<A::Ref<'_>>,
    _end: bool,
) -> Option<A::Owned> {
    value.map(|value| std::mem::replace(before, A::to_owned_item(value)))
}

impl<R: RingRunner, P: Deploy<RingBackend<R>>> Deploy<RingBackend<R>> for Named<P> {
    fn deploy(
        &self,
        input: <P::In as On<RingBackend<R>>>::Edge,
        wiring: &mut Wiring,
    ) -> <P::Out as On<RingBackend<R>>>::Edge {
        self.body.deploy(input, wiring)
    }

    fn deploy_outer(
        &self,
        input: <P::In as On<RingBackend<R>>>::Edge,
        wiring: &mut Wiring,
    ) -> <P::Out as On<RingBackend<R>>>::Edge {
        self.body.deploy_outer(input, wiring)
    }

    fn deploy_fused(
        &self,
        input: <P::In as On<RingBackend<R>>>::Edge,
        level: Level,
        wiring: &mut Wiring,
    ) -> <P::Out as On<RingBackend<R>>>::Edge {
        self.body.deploy_fused(input, level, wiring)
    }

    fn passage<V: OfPassage<RingBackend<R>, P::In, P::Out>>(&self, wiring: &mut Wiring, then: V) -> Option<V::Made> {
        self.body.passage(wiring, then)
    }

    fn fused_before<N: SlotKernel<RingBackend<R>, P::Out>>(
        &self,
        input: <P::In as On<RingBackend<R>>>::Edge,
        next: N,
        level: Level,
        wiring: &mut Wiring,
    ) -> Fusing<RingBackend<R>, P::Out, N> {
        self.body.fused_before(input, next, level, wiring)
    }

    fn is_lane(&self, wiring: &Wiring) -> bool {
        self.body.is_lane(wiring)
    }

    fn deploy_lane(
        &self,
        input: <P::In as On<RingBackend<R>>>::Edge,
        other: Option<Box<dyn Any>>,
        wiring: &mut Wiring,
    ) -> Box<dyn Any> {
        self.body.deploy_lane(input, other, wiring)
    }
}
