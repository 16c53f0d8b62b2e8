//! Every combinator on queues: one thread a stage, and further threads where an edge forks or joins.

mod asynchronous;
mod clock;
mod dead_letter;
mod feedback;
mod keys;
mod maps;
mod streams;
mod tee_to;
mod text;
mod wires;

use super::copy::{copied, drained, split, zipped};
use super::keyed::{owning_stateful_stage, stateful_stage};
use super::message::Queue;
use super::queue_shape::{LendItem, QueueShape};
use super::route::{Lanes, collected, routed};
use super::stage::{owning_helper, owning_stage, stage, used_up};
use super::swap::{dealt, gathered};
use super::wiring::QueuesWiring;
use crate::Queues;
use millstream_core::Either::{self, Left, Right};
use millstream_core::pipe::{
    Both, Choose, Delay, Fanout, Filter, FilterMap, Fold, Id, Map, MapBlocking, Merge, Named, Policy, Project, Scan,
    Shard, Tee, Then, ToAnyEdge, TryMap,
};
use millstream_core::plan::Branch;
use millstream_core::{Arrow, Cause, Deploy, Item, ItemShape, Lens, On, Projected, SameItem, ToOwnedItem, lens};

/// A queue of a shape's owned values.
type Owning<A> = Queue<<A as ToOwnedItem>::Owned>;

impl<A: QueueShape> Deploy<Queues> for Id<A> {
    fn deploy(&self, input: Owning<A>, _: &mut QueuesWiring) -> Owning<A> {
        input
    }
}

impl<T: Item + Clone, A: QueueShape + ItemShape<Item = T> + ToOwnedItem<Owned = T>> Deploy<Queues> for ToAnyEdge<A> {
    fn deploy(&self, input: Queue<T>, _: &mut QueuesWiring) -> Queue<T> {
        input
    }
}

impl<P: Deploy<Queues>, Q: Deploy<Queues> + Arrow<In = P::Out>> Deploy<Queues> for Then<P, Q> {
    fn deploy(&self, input: <P::In as On<Queues>>::Edge, wiring: &mut QueuesWiring) -> <Q::Out as On<Queues>>::Edge {
        let between = self.first.deploy(input, wiring);
        wiring.advance();
        self.second.deploy(between, wiring)
    }

    fn deploy_outer(
        &self,
        input: <P::In as On<Queues>>::Edge,
        wiring: &mut QueuesWiring,
    ) -> <Q::Out as On<Queues>>::Edge {
        let between = self.first.deploy_outer(input, wiring);
        wiring.advance();
        self.second.deploy_outer(between, wiring)
    }
}

impl<A: QueueShape, F, B: Item + Clone> Deploy<Queues> for Map<A, F, B>
where
    F: for<'a> Fn(A::Ref<'a>) -> B + Send + Sync + 'static,
{
    fn deploy(&self, input: Owning<A>, wiring: &mut QueuesWiring) -> Queue<B> {
        let f = self.f.clone();
        stage::<A, B>(input, wiring, move |value, _| value.map(|value| f(value)))
    }
}

impl<A: QueueShape, F, B: Item + Clone> Deploy<Queues> for MapBlocking<A, F, B>
where
    F: for<'a> Fn(A::Ref<'a>) -> B + Send + Sync + 'static,
{
    fn deploy(&self, input: Owning<A>, wiring: &mut QueuesWiring) -> Queue<B> {
        let f = self.f.clone();
        stage::<A, B>(input, wiring, move |value, _| value.map(|value| f(value)))
    }
}

impl<A: QueueShape, F, B: Item + Clone, E: Cause, P: Policy> Deploy<Queues> for TryMap<A, F, B, E, P>
where
    F: for<'a> Fn(A::Ref<'a>) -> Result<B, E> + Send + Sync + 'static,
    P::Output<B, E>: Item + Clone,
{
    fn deploy(&self, input: Owning<A>, wiring: &mut QueuesWiring) -> Queue<P::Output<B, E>> {
        let (f, policy, pauses) = (self.f.clone(), self.policy.clone(), wiring.pauses());
        stage::<A, P::Output<B, E>>(input, wiring, move |value, _| {
            let value = value?;
            policy.judge(|| f(value), |time| pauses.wait(time))
        })
    }
}

impl<A: QueueShape, F, B: Item + Clone> Deploy<Queues> for FilterMap<A, F, B>
where
    F: for<'a> Fn(A::Ref<'a>) -> Option<B> + Send + Sync + 'static,
{
    fn deploy(&self, input: Owning<A>, wiring: &mut QueuesWiring) -> Queue<B> {
        let f = self.f.clone();
        stage::<A, B>(input, wiring, move |value, _| value.and_then(|value| f(value)))
    }
}

impl<A: QueueShape, F> Deploy<Queues> for Filter<A, F>
where
    F: for<'a> Fn(A::Ref<'a>) -> bool + Send + Sync + 'static,
{
    fn deploy(&self, input: Owning<A>, wiring: &mut QueuesWiring) -> Owning<A> {
        let keep = self.keep.clone();
        owning_stage(input, wiring, move |value, _| value.filter(|value| keep(A::lend(value))))
    }
}

impl<A: QueueShape, S: Item + Clone, F, B: Item + Clone> Deploy<Queues> for Scan<A, S, F, B>
where
    F: for<'a> Fn(&mut S, A::Ref<'a>) -> B + Send + Sync + 'static,
{
    fn deploy(&self, input: Owning<A>, wiring: &mut QueuesWiring) -> Queue<B> {
        let f = self.f.clone();
        stateful_stage::<A, S, B>(input, wiring, self.state.clone(), move |state, value, _| {
            value.map(|value| f(state, value))
        })
    }
}

impl<A: QueueShape, S: Item + Clone, F, G, B: Item + Clone> Deploy<Queues> for Fold<A, S, F, G, B>
where
    F: for<'a> Fn(&mut S, A::Ref<'a>) + Send + Sync + 'static,
    G: Fn(S) -> B + Send + Sync + 'static,
{
    fn deploy(&self, input: Owning<A>, wiring: &mut QueuesWiring) -> Queue<B> {
        let (f, finish, initial) = (self.f.clone(), self.finish.clone(), self.state.clone());
        stateful_stage::<A, S, B>(input, wiring, initial.clone(), move |state, value, at| {
            if let Some(value) = value {
                f(state, value);
            }
            at.end.then(|| finish(std::mem::replace(state, initial.clone())))
        })
    }
}

impl<A: QueueShape + ToOwnedItem<Owned: Clone>> Deploy<Queues> for Delay<A> {
    fn deploy(&self, input: Owning<A>, wiring: &mut QueuesWiring) -> Owning<A> {
        owning_stateful_stage(input, wiring, self.first.clone(), |before, value, _| {
            value.map(|value| std::mem::replace(before, value))
        })
    }
}

impl<P: Deploy<Queues>, Q: Deploy<Queues> + Arrow<In = P::In>> Deploy<Queues> for Fanout<P, Q>
where
    P::In: QueueShape + ToOwnedItem<Owned: Clone>,
    P::Out: QueueShape,
    Q::Out: QueueShape,
{
    fn deploy(&self, input: Owning<P::In>, wiring: &mut QueuesWiring) -> Owning<Self::Out> {
        let (first, second) = copied(input, wiring);
        let first = self.first.deploy(first, &mut wiring.body(Branch::First));
        let second = self.second.deploy(second, &mut wiring.body(Branch::Second));
        zipped(first, second, wiring)
    }
}

impl<A: QueueShape, P, Q> Deploy<Queues> for Both<A, P, Q>
where
    lens::First: Lens<A, Target: LendItem>,
    lens::Second: Lens<A, Target: LendItem>,
    P: Deploy<Queues> + Arrow<In = Projected<A, lens::First>, Out: QueueShape>,
    Q: Deploy<Queues> + Arrow<In = Projected<A, lens::Second>, Out: QueueShape>,
{
    fn deploy(&self, input: Owning<A>, wiring: &mut QueuesWiring) -> Owning<Self::Out> {
        let halves = |pair: Option<A::Owned>| {
            used_up(pair, |pair| (part::<A, lens::First>(pair.as_ref()), part::<A, lens::Second>(pair.as_ref())))
        };
        let (first, second) = split("splitter", input, wiring, halves);
        let first = self.first.deploy(seen::<A, lens::First>(first), &mut wiring.body(Branch::First));
        let second = self.second.deploy(seen::<A, lens::Second>(second), &mut wiring.body(Branch::Second));
        zipped(first, second, wiring)
    }
}

/// The part of a value that a lens selects, cloned out of it.
fn part<A: QueueShape, L: Lens<A, Target: LendItem>>(
    whole: Option<&A::Owned>,
) -> Option<<L::Target as ToOwnedItem>::Owned> {
    L::focus(A::lend(whole?)).map(<L::Target as ToOwnedItem>::to_owned_item)
}

fn seen<A: QueueShape, L: Lens<A, Target: LendItem>>(
    input: Queue<<L::Target as ToOwnedItem>::Owned>,
) -> <Projected<A, L> as On<Queues>>::Edge {
    input
}

impl<A: QueueShape, P, Q> Deploy<Queues> for Choose<A, P, Q>
where
    lens::Left: Lens<A, Target: LendItem>,
    lens::Right: Lens<A, Target: LendItem>,
    P: Deploy<Queues> + Arrow<In = Projected<A, lens::Left>, Out: QueueShape>,
    Q: Deploy<Queues> + Arrow<In = Projected<A, lens::Right>, Out: QueueShape>,
{
    fn deploy(&self, input: Owning<A>, wiring: &mut QueuesWiring) -> Owning<Self::Out> {
        let lanes = through(input, &self.left, &self.right, wiring);
        collected(lanes, wiring, |value| value)
    }
}

impl<A: QueueShape, P, Q> Deploy<Queues> for Merge<A, P, Q>
where
    lens::Left: Lens<A, Target: LendItem>,
    lens::Right: Lens<A, Target: LendItem>,
    P: Deploy<Queues> + Arrow<In = Projected<A, lens::Left>, Out: QueueShape>,
    Q: Deploy<Queues>
        + Arrow<
            In = Projected<A, lens::Right>,
            Out: QueueShape + SameItem<P::Out> + ToOwnedItem<Owned = <P::Out as ToOwnedItem>::Owned>,
        >,
{
    fn deploy(&self, input: Owning<A>, wiring: &mut QueuesWiring) -> Owning<P::Out> {
        let lanes = through(input, &self.left, &self.right, wiring);
        collected(lanes, wiring, Either::into_inner)
    }
}

/// The two bodies of a choice, after a router.
fn through<A, P, Q>(
    input: Owning<A>,
    left: &P,
    right: &Q,
    wiring: &mut QueuesWiring,
) -> Lanes<<P::Out as ToOwnedItem>::Owned, <Q::Out as ToOwnedItem>::Owned>
where
    A: QueueShape,
    lens::Left: Lens<A, Target: LendItem>,
    lens::Right: Lens<A, Target: LendItem>,
    P: Deploy<Queues> + Arrow<In = Projected<A, lens::Left>, Out: QueueShape>,
    Q: Deploy<Queues> + Arrow<In = Projected<A, lens::Right>, Out: QueueShape>,
{
    let lanes = routed(input, wiring, |value| {
        used_up(value, |value| {
            let left = part::<A, lens::Left>(Some(value)).map(Left);
            left.or_else(|| part::<A, lens::Right>(Some(value)).map(Right))
        })
    });
    let left = left.deploy(seen::<A, lens::Left>(lanes.left), &mut wiring.body(Branch::Left));
    let right = right.deploy(seen::<A, lens::Right>(lanes.right), &mut wiring.body(Branch::Right));
    Lanes { left, right, tags: lanes.tags }
}

impl<A: QueueShape, L: Lens<A, Target: LendItem>> Deploy<Queues> for Project<A, L> {
    fn deploy(&self, input: Owning<A>, wiring: &mut QueuesWiring) -> Queue<<L::Target as ToOwnedItem>::Owned> {
        owning_helper("lens", input, wiring, |value, _| used_up(value, |value| part::<A, L>(value.as_ref())))
    }
}

impl<P: Deploy<Queues>> Deploy<Queues> for Tee<P>
where
    P::In: QueueShape + ToOwnedItem<Owned: Clone>,
    P::Out: QueueShape,
{
    fn deploy(&self, input: Owning<P::In>, wiring: &mut QueuesWiring) -> Owning<P::In> {
        let (side_output, on) = copied(input, wiring);
        let mut outside = wiring.side_output();
        let unread = self.body.deploy(side_output, &mut outside.body(Branch::Only));
        drained(unread, &mut outside);
        on
    }
}

impl<P: Deploy<Queues>> Deploy<Queues> for Shard<P>
where
    P::In: QueueShape,
    P::Out: QueueShape,
{
    fn deploy(&self, input: Owning<P::In>, wiring: &mut QueuesWiring) -> Owning<P::Out> {
        let inputs = dealt(input, self.k, wiring).into_iter().enumerate();
        let copies = inputs.map(|(copy, input)| self.body.deploy(input, &mut wiring.copy(copy, self.k))).collect();
        gathered(copies, wiring)
    }
}

impl<P: Deploy<Queues>> Deploy<Queues> for Named<P> {
    fn deploy(&self, input: <P::In as On<Queues>>::Edge, wiring: &mut QueuesWiring) -> <P::Out as On<Queues>>::Edge {
        self.body.deploy(input, wiring)
    }

    fn deploy_outer(
        &self,
        input: <P::In as On<Queues>>::Edge,
        wiring: &mut QueuesWiring,
    ) -> <P::Out as On<Queues>>::Edge {
        self.body.deploy_outer(input, wiring)
    }
}
