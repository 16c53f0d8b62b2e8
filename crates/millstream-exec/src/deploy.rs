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
mod clock;
mod dead_letter;
mod keys;
mod maps;
mod streams;
mod tee_to;
mod text;
mod wires;

use crate::group_stage::stateless_stage;
use crate::keeps::{Keeps, RingBackend, RingRunner};
use crate::keyed_stage::stateful_stage;
use crate::lane_stage::{can_be_lane, lane_stage};
use crate::stage::EndSlot;
use crate::wiring::Home;
use crate::{RingShape, Wiring};
use millstream_core::pipe::{
    Both, Choose, Delay, Fanout, Filter, FilterMap, Fold, Id, Map, MapBlocking, Merge, Named, Policy, Project, Scan,
    Shard, Tee, Then, ToAnyEdge, TryMap,
};
use millstream_core::plan::Branch;
use millstream_core::{
    AnyEdge, Arrow, AtEnd, Cause, Choice, Dense, Deploy, Filtered, Item, ItemShape, Lens, Merged, On, Pair, Projected,
    SameItem, Sparse, ToOwnedItem, Val, lens,
};
use millstream_ring::{Reader, RingLayout};
use std::any::Any;
use std::cell::Cell;

impl<R: RingRunner, A: RingShape<R>> Deploy<RingBackend<R>> for Id<A> {
    fn deploy(&self, input: Reader<A>, _: &mut Wiring) -> Reader<A> {
        input
    }

    fn is_id(&self) -> bool {
        true
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
    fn deploy(&self, input: Reader<A>, wiring: &mut Wiring) -> Reader<Val<B, A::Density>> {
        let f = self.f.clone();
        stateless_stage::<A, B, A::Density>(input, wiring, EndSlot::of::<A::Density>(), Home::Workers, move |value| {
            value.map(|value| f(value))
        })
    }

    fn is_lane(&self, wiring: &Wiring) -> bool {
        can_be_lane::<A>(wiring)
    }

    fn deploy_lane(&self, input: Reader<A>, other: Option<Box<dyn Any>>, wiring: &mut Wiring) -> Box<dyn Any> {
        let f = self.f.clone();
        lane_stage::<A, B>(input, other, wiring, move |value| f(value))
    }
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
{
    fn deploy(&self, input: Reader<A>, wiring: &mut Wiring) -> Reader<Val<B, P::Density<A::Density>>> {
        let (f, policy, calls, pauses) = (self.f.clone(), self.policy.clone(), wiring.counts_calls(), wiring.pauses());
        let (end, home) =
            (EndSlot::of::<P::Density<A::Density>>(), if P::WAITS { Home::Thread } else { Home::Workers });
        stateless_stage::<A, B, P::Density<A::Density>>(input, wiring, end, home, move |value| {
            let value = value?;
            let returned = Cell::new(false);
            let call = || {
                let outcome = f(value);
                calls.outcome(returned.replace(true), outcome)
            };
            let output = policy.judge(call, |time| pauses.wait(time));
            if output.is_none() && !returned.get() {
                calls.failed(); // It panicked.
            }
            output
        })
    }
}

impl<R: RingRunner, A: RingShape<R>, F, B: Item> Deploy<RingBackend<R>> for FilterMap<A, F, B>
where
    F: for<'a> Fn(A::Ref<'a>) -> Option<B> + Send + Sync + 'static,
{
    fn deploy(&self, input: Reader<A>, wiring: &mut Wiring) -> Reader<Val<B, Sparse>> {
        let f = self.f.clone();
        stateless_stage::<A, B, Sparse>(input, wiring, EndSlot::Written, Home::Workers, move |value| {
            value.and_then(|value| f(value))
        })
    }
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
        let (f, end, start) = (self.f.clone(), EndSlot::of::<A::Density>(), (self.state.clone(), R::state()));
        stateful_stage::<A, S, B, A::Density>(input, wiring, end, start, move |state, _, value, _| {
            value.map(|value| f(state, value))
        })
    }
}

impl<R: Keeps<S>, A: RingShape<R>, S: Item + Clone, F, G, B: Item> Deploy<RingBackend<R>> for Fold<A, S, F, G, B>
where
    F: for<'a> Fn(&mut S, A::Ref<'a>) + Send + Sync + 'static,
    G: Fn(S) -> B + Send + Sync + 'static,
{
    fn deploy(&self, input: Reader<A>, wiring: &mut Wiring) -> Reader<Val<B, AtEnd>> {
        let (f, finish, initial) = (self.f.clone(), self.finish.clone(), self.state.clone());
        let start = (initial.clone(), R::state());
        stateful_stage::<A, S, B, AtEnd>(input, wiring, EndSlot::Written, start, move |state, _, value, end| {
            if let Some(value) = value {
                f(state, value);
            }
            end.then(|| finish(std::mem::replace(state, initial.clone())))
        })
    }
}

impl<R: Keeps<A::Owned>, A: RingShape<R> + ToOwnedItem<Owned: Clone>> Deploy<RingBackend<R>> for Delay<A> {
    fn deploy(&self, input: Reader<A>, wiring: &mut Wiring) -> Reader<Val<A::Owned, A::Density>> {
        let (first, end) = ((self.first.clone(), R::state()), EndSlot::of::<A::Density>());
        stateful_stage::<A, A::Owned, A::Owned, A::Density>(input, wiring, end, first, |before, _, value, _| {
            value.map(|value| std::mem::replace(before, A::to_owned_item(value)))
        })
    }
}

impl<R: RingRunner, P: Deploy<RingBackend<R>>, Q: Deploy<RingBackend<R>> + Arrow<In = P::In>> Deploy<RingBackend<R>>
    for Fanout<P, Q>
where
    P::In: RingShape<R>,
    P::Out: RingShape<R>,
    Q::Out: RingShape<R>,
{
    fn deploy(&self, input: Reader<P::In>, wiring: &mut Wiring) -> Reader<Pair<P::Out, Q::Out>> {
        let second = input.fork();
        let first = self.first.deploy(input, &mut wiring.body(Branch::First));
        first.zip(self.second.deploy(second, &mut wiring.body(Branch::Second)))
    }
}

impl<R: RingRunner, A: RingShape<R>, P, Q> Deploy<RingBackend<R>> for Both<A, P, Q>
where
    lens::First: Lens<A>,
    lens::Second: Lens<A>,
    P: Deploy<RingBackend<R>> + Arrow<In = Projected<A, lens::First>, Out: RingShape<R>>,
    Q: Deploy<RingBackend<R>> + Arrow<In = Projected<A, lens::Second>, Out: RingShape<R>>,
{
    fn deploy(&self, input: Reader<A>, wiring: &mut Wiring) -> Reader<Pair<P::Out, Q::Out>> {
        let second = input.fork();
        let first = self.first.deploy(seen::<R, A, lens::First>(input), &mut wiring.body(Branch::First));
        first.zip(self.second.deploy(seen::<R, A, lens::Second>(second), &mut wiring.body(Branch::Second)))
    }
}

fn seen<R: RingRunner, A: RingShape<R>, L: Lens<A>>(input: Reader<A>) -> <Projected<A, L> as On<RingBackend<R>>>::Edge {
    input.seen::<L>()
}

impl<R: RingRunner, A: RingShape<R>, P, Q> Deploy<RingBackend<R>> for Choose<A, P, Q>
where
    lens::Left: Lens<A>,
    lens::Right: Lens<A>,
    P: Deploy<RingBackend<R>> + Arrow<In = Projected<A, lens::Left>, Out: RingShape<R>>,
    Q: Deploy<RingBackend<R>> + Arrow<In = Projected<A, lens::Right>, Out: RingShape<R>>,
{
    fn deploy(&self, input: Reader<A>, wiring: &mut Wiring) -> Reader<Choice<P::Out, Q::Out>> {
        let right = input.fork();
        let left = self.left.deploy(seen::<R, A, lens::Left>(input), &mut wiring.body(Branch::Left));
        left.beside(self.right.deploy(seen::<R, A, lens::Right>(right), &mut wiring.body(Branch::Right)))
    }
}

impl<R: RingRunner, A: RingShape<R>, P, Q> Deploy<RingBackend<R>> for Merge<A, P, Q>
where
    lens::Left: Lens<A>,
    lens::Right: Lens<A>,
    P: Deploy<RingBackend<R>> + Arrow<In = Projected<A, lens::Left>, Out: RingShape<R>>,
    Q: Deploy<RingBackend<R>> + Arrow<In = Projected<A, lens::Right>, Out: RingShape<R> + SameItem<P::Out>>,
{
    fn deploy(&self, input: Reader<A>, wiring: &mut Wiring) -> Reader<Merged<P::Out, Q::Out>> {
        let right = seen::<R, A, lens::Right>(input.fork());
        let left = seen::<R, A, lens::Left>(input);
        if self.left.is_lane(wiring) && self.right.is_lane(wiring) {
            let other = self.left.deploy_lane(left, None, &mut wiring.body(Branch::Left));
            let both = self.right.deploy_lane(right, Some(other), &mut wiring.body(Branch::Right));
            let both =
                both.downcast::<Reader<<P::Out as RingLayout>::Whole>>().expect("both lanes have values of one type");
            return Reader::of_lanes(*both);
        }
        let left = self.left.deploy(left, &mut wiring.body(Branch::Left));
        left.or(self.right.deploy(right, &mut wiring.body(Branch::Right)))
    }
}

impl<R: RingRunner, A: RingShape<R>, L: Lens<A>> Deploy<RingBackend<R>> for Project<A, L> {
    fn deploy(&self, input: Reader<A>, _: &mut Wiring) -> Reader<Projected<A, L>> {
        input.seen::<L>()
    }
}

impl<R: RingRunner, A: RingShape<R> + ItemShape> Deploy<RingBackend<R>> for ToAnyEdge<A> {
    fn deploy(&self, input: Reader<A>, _: &mut Wiring) -> Reader<AnyEdge<A::Item>> {
        input.any_edge()
    }
}

impl<R: RingRunner, P: Deploy<RingBackend<R>>> Deploy<RingBackend<R>> for Tee<P>
where
    P::In: RingShape<R>,
{
    fn deploy(&self, input: Reader<P::In>, wiring: &mut Wiring) -> Reader<P::In> {
        let mut body = wiring.body(Branch::Only);
        body.scope.side_output = true;
        // A ring without readers never holds back its stage.
        drop(self.body.deploy(input.fork(), &mut body));
        input
    }
}

impl<R: RingRunner, P: Deploy<RingBackend<R>>> Deploy<RingBackend<R>> for Shard<P> {
    fn deploy(
        &self,
        input: <P::In as On<RingBackend<R>>>::Edge,
        wiring: &mut Wiring,
    ) -> <P::Out as On<RingBackend<R>>>::Edge {
        let mut body = wiring.body(Branch::Only);
        body.scope.width *= self.k;
        self.body.deploy(input, &mut body)
    }
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
