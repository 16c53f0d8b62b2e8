//! Choices in a block: a wire of `bool`s says which of two lanes a number takes.

use super::as_parts;
use super::{Edges, Forks, Joins, LaneBuilder, Merges, Scope, Wire};
use crate::pipe::{Project, combinator, debug};
use crate::plan::{Branch, Describe, Port};
use crate::shape::Phantom;
use crate::{Arrow, Density, Deploy, KeepsClock, Lens, Merged, On, Otherwise, Pair, Projected, Quiet, SameItem, Shape};
use std::marker::PhantomData;

/// The second half of a pair, where the first half is true.
#[derive(Clone, Copy, Debug)]
pub enum IfTrue {}

/// The second half of a pair, where the first half is false.
#[derive(Clone, Copy, Debug)]
pub enum IfFalse {}

macro_rules! sides {
    ($($side:ident: $answer:literal),*) => {$(
        #[diagnostic::do_not_recommend]
        impl<C: for<'a> Shape<Ref<'a> = &'a bool>, A: Shape> Lens<Pair<C, A>> for $side {
            type Target = A;
            type Part<D: Density> = D::OneLane;
            #[inline(always)]
            fn focus<'a>((answer, value): <Pair<C, A> as Shape>::Ref<'a>) -> Option<A::Ref<'a>> {
                (*answer == $answer).then_some(value)
            }
        }
    )*};
}
sides!(IfTrue: true, IfFalse: false);

/// The scope of one lane of the choice by the condition `C`.
pub struct InLane<C, Side>(Phantom<(C, Side)>);
debug!(InLane<C, Side>);

/// A lane of a choice in the block `S`, by a condition of shape `C`: it shows wires of the block at the lane's numbers.
/// `Z` is the scope inside the lane.
pub struct ChoiceLane<S, Z, C, Side>(Phantom<(S, Z, C, Side)>);
debug!(ChoiceLane<S, Z, C, Side>);

impl<S, Z, C, Side> Clone for ChoiceLane<S, Z, C, Side> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<S, Z, C, Side> Copy for ChoiceLane<S, Z, C, Side> {}

impl<S, Z, C, Side> ChoiceLane<S, Z, C, Side> {
    pub(super) fn new() -> Self {
        ChoiceLane(PhantomData)
    }

    /// A wire of the block at the numbers of this lane, and empty at all others. Nothing is copied.
    pub fn see<F>(self, wire: Wire<S, F>) -> WireInLane<S, Z, C, Side, F> {
        WireInLane { wire, shape: PhantomData }
    }
}

/// A wire of a block at the numbers of one lane of a choice in it.
pub struct WireInLane<S, Z, C, Side, F> {
    wire: Wire<S, F>,
    shape: Phantom<(Z, C, Side)>,
}
combinator!(WireInLane<S, Z, C, Side, F>: KeepsClock Quiet Shardable Determinate; through :);

impl<S, Z, C, Side, F> Clone for WireInLane<S, Z, C, Side, F> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<S, Z, C, Side, F> Copy for WireInLane<S, Z, C, Side, F> {}

impl<S: 'static, Z: 'static, C: Shape, Side: Lens<Pair<C, F>>, F: Shape> Arrow for WireInLane<S, Z, C, Side, F> {
    type In = Scope<Z>;
    type Out = Projected<Pair<C, F>, Side>;

    fn describe(&self, scope: Port, plan: &mut Describe) -> Port {
        plan.in_lane(&scope.outer().wire(self.wire.id), &scope.wire(0))
    }
}

#[diagnostic::do_not_recommend]
impl<K, S: 'static, Z: 'static, C, Side: Lens<Pair<C, F>>, F> Deploy<K> for WireInLane<S, Z, C, Side, F>
where
    K: Forks<F> + Forks<C> + Joins<C, F>,
    C: On<K, Edge: 'static>,
    F: On<K, Edge: 'static>,
    Pair<C, F>: On<K>,
    Project<Pair<C, F>, Side>: Deploy<K> + Arrow<In = Pair<C, F>, Out = Projected<Pair<C, F>, Side>>,
    Projected<Pair<C, F>, Side>: On<K>,
    Scope<Z>: On<K, Edge = Edges<K>>,
{
    fn deploy(&self, scope: Edges<K>, wiring: &mut K::Wiring) -> <Projected<Pair<C, F>, Side> as On<K>>::Edge {
        let value = scope.outer().read::<F>(self.wire.id, wiring);
        let answer = scope.read::<C>(0, wiring);
        let both = K::join(answer, value, wiring);
        Project::<Pair<C, F>, Side>::new().deploy(both, wiring)
    }
}

/// A choice in a block: the numbers at which `condition` is true go through `yes`, and those at which it is false
/// through `no`. What `choose` makes.
pub struct If<C, P, Q> {
    condition: C,
    yes: P,
    no: Q,
}

debug!(If<C, P, Q>);
as_parts!(If<C, P, Q>: C P Q; KeepsClock Quiet Shardable Determinate);

/// Chooses between two lanes, number by number: the pipeline behind [`wires!`](crate::wires!)' `if`.
///
/// `condition` is a wire, or any pipeline over the block, of `bool`s. Each lane is a function of its [`ChoiceLane`],
/// which shows the wires of the block at the lane's numbers, and of a block of its own, which it ends by
/// [`lane`](LaneBuilder::lane). Both have items of one type. A lane fills a slot only where its input is filled.
///
/// The output is filled where its lane's output is. It is dense if the condition and all that the lanes see is, and
/// neither lane leaves a slot empty.
///
/// ```
/// use millstream::prelude::*;
///
/// enum Collatz {}
/// let (w, x) = wires::block::<Val<u64>, Collatz>();
/// let next = wires::choose(
///     x.map(|x| x % 2 == 0),
///     |even, w| w.lane(even.see(x).map(|x| x / 2)),
///     |odd, w| w.lane(odd.see(x).map(|x| 3 * x + 1)),
/// );
/// let (w, next) = w.wire("next", next);
/// let p = w.emit((x, next));
/// assert_eq!(p.model([3, 4]), [(3, 10), (4, 2)]);
/// ```
pub fn choose<S, C, P, Q>(
    condition: C,
    yes: impl FnOnce(ChoiceLane<S, InLane<C, IfTrue>, C::Out, IfTrue>, LaneBuilder<InLane<C, IfTrue>>) -> P,
    no: impl FnOnce(ChoiceLane<S, InLane<C, IfFalse>, C::Out, IfFalse>, LaneBuilder<InLane<C, IfFalse>>) -> Q,
) -> If<C, P, Q>
where
    S: 'static,
    C: Arrow<In = Scope<S>> + KeepsClock,
    P: Arrow<In = Scope<InLane<C, IfTrue>>> + Quiet,
    Q: Arrow<In = Scope<InLane<C, IfFalse>>, Out: SameItem<P::Out>> + Quiet,
{
    choose_in(condition, yes, no)
}

/// As [`choose`], with types of the caller's own for the scopes of the two lanes: their names are short in messages.
pub fn choose_in<S, C, Y, N, P, Q>(
    condition: C,
    yes: impl FnOnce(ChoiceLane<S, Y, C::Out, IfTrue>, LaneBuilder<Y>) -> P,
    no: impl FnOnce(ChoiceLane<S, N, C::Out, IfFalse>, LaneBuilder<N>) -> Q,
) -> If<C, P, Q>
where
    S: 'static,
    C: Arrow<In = Scope<S>> + KeepsClock,
    Y: 'static,
    N: 'static,
    P: Arrow<In = Scope<Y>> + Quiet,
    Q: Arrow<In = Scope<N>, Out: SameItem<P::Out>> + Quiet,
{
    let yes = yes(ChoiceLane::new(), LaneBuilder::new());
    let no = no(ChoiceLane::new(), LaneBuilder::new());
    If { condition, yes, no }
}

impl<S: 'static, Y: 'static, N: 'static, C, P, Q> Arrow for If<C, P, Q>
where
    C: Arrow<In = Scope<S>>,
    P: Arrow<In = Scope<Y>>,
    Q: Arrow<In = Scope<N>, Out: SameItem<P::Out>>,
{
    type In = Scope<S>;
    type Out = Merged<P::Out, Q::Out>;

    fn describe(&self, scope: Port, plan: &mut Describe) -> Port {
        plan.choice(
            |plan| self.condition.describe(scope.clone(), plan),
            |plan, tag| self.yes.describe(Port::lane_scope(scope.clone(), tag), plan),
            |plan, tag| self.no.describe(Port::lane_scope(scope.clone(), tag), plan),
        )
    }
}

#[diagnostic::do_not_recommend]
impl<K, S: 'static, Y: 'static, N: 'static, C, P, Q> Deploy<K> for If<C, P, Q>
where
    K: Forks<C::Out> + Merges<P::Out, Q::Out>,
    C: Deploy<K> + Arrow<In = Scope<S>, Out: On<K, Edge: 'static>>,
    P: Deploy<K> + Arrow<In = Scope<Y>>,
    Q: Deploy<K> + Arrow<In = Scope<N>, Out: SameItem<P::Out>>,
    Merged<P::Out, Q::Out>: On<K>,
    Otherwise<P::Out, Q::Out>: On<K>,
    Scope<S>: On<K, Edge = Edges<K>>,
    Scope<Y>: On<K, Edge = Edges<K>>,
    Scope<N>: On<K, Edge = Edges<K>>,
{
    fn deploy(&self, scope: Edges<K>, wiring: &mut K::Wiring) -> <Merged<P::Out, Q::Out> as On<K>>::Edge {
        let tag = K::in_body(wiring, Branch::Only, |wiring| self.condition.deploy_body(scope.clone(), wiring));
        let (left, right) = K::fork(tag, wiring);
        let left = K::in_body(wiring, Branch::Left, |wiring| {
            let lane = Edges::of::<C::Out, _>(&self.yes, left, Some(scope.clone()), wiring);
            self.yes.deploy_body(lane, wiring)
        });
        let right = K::in_body(wiring, Branch::Right, |wiring| {
            let lane = Edges::of::<C::Out, _>(&self.no, right, Some(scope.clone()), wiring);
            self.no.deploy_body(lane, wiring)
        });
        K::merge(left, right, wiring)
    }
}
