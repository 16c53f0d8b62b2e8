//! A choice between several lanes in a block: a wire of numbers says which arm a number takes.

use super::{ChoiceLane, Edges, Forks, LaneBuilder, Merges, Scope, as_parts};
use crate::pipe::debug;
use crate::plan::{Branch, Describe, Port};
use crate::shape::Phantom;
use crate::{Arrow, Density, Deploy, KeepsClock, Lens, Merged, On, Otherwise, Pair, Quiet, SameItem, Shape};

/// The lens of arm `K`: the second half of a pair, where the first half is `K`.
///
/// `N` is how many merges join the arm with the others: each makes of two lanes the edge around them, so the arm's
/// density is that of a lane in `N` lanes.
#[derive(Clone, Copy, Debug)]
pub struct Arm<const K: u16, N>(Phantom<N>);

/// How many merges join an arm with the others: none, `()`, or [`OneMerge`] and more.
pub trait MergeDepth: 'static {
    /// The density of the arm, on an edge of density `D`.
    type Of<D: Density>: Density;
}

/// One merge, and those of `N`.
#[derive(Clone, Copy, Debug)]
pub struct OneMerge<N = ()>(Phantom<N>);

impl MergeDepth for () {
    type Of<D: Density> = D;
}

impl<N: MergeDepth> MergeDepth for OneMerge<N> {
    type Of<D: Density> = N::Of<D::OneLane>;
}

#[diagnostic::do_not_recommend]
impl<C: for<'a> Shape<Ref<'a> = &'a u16>, A: Shape, const K: u16, N: MergeDepth> Lens<Pair<C, A>> for Arm<K, N> {
    type Target = A;
    type Part<D: Density> = N::Of<D>;
    #[inline(always)]
    fn focus<'a>((arm, value): <Pair<C, A> as Shape>::Ref<'a>) -> Option<A::Ref<'a>> {
        (*arm == K).then_some(value)
    }
}

/// A choice between arms by the pipeline `T` of their numbers: what [`wires!`](crate::wires!) makes of a `match`.
pub struct Match<T, A> {
    tag: T,
    arms: A,
}
debug!(Match<T, A>);
as_parts!(Match<T, A>: T A; KeepsClock Quiet Shardable Determinate);

/// No arm.
#[derive(Clone, Copy, Debug)]
pub struct NoArm;

/// The last arm.
pub struct LastArm<P> {
    name: &'static str,
    lane: P,
}
debug!(LastArm<P>);
as_parts!(LastArm<P>: P; KeepsClock Quiet Shardable Determinate);

/// An arm, and after it others.
///
/// The others are the second half of the merged edge: a reader then looks at each arm once.
pub struct ArmBefore<A, P> {
    rest: A,
    name: &'static str,
    lane: P,
}
debug!(ArmBefore<A, P>);
as_parts!(ArmBefore<A, P>: A P; KeepsClock Quiet Shardable Determinate);

/// Begins a choice between arms: `tag` yields the number of the arm that a number takes.
#[doc(hidden)]
pub fn matching<S: 'static, T: Arrow<In = Scope<S>> + KeepsClock>(tag: T) -> Match<T, NoArm> {
    Match { tag, arms: NoArm }
}

impl<S: 'static, T: Arrow<In = Scope<S>>> Match<T, NoArm> {
    /// The last arm, which sees wires of the block through the lens `Side`.
    #[doc(hidden)]
    pub fn last_arm<Z: 'static, Side, P: Arrow<In = Scope<Z>> + Quiet>(
        self,
        name: &'static str,
        lane: impl FnOnce(ChoiceLane<S, Z, T::Out, Side>, LaneBuilder<Z>) -> P,
    ) -> Match<T, LastArm<P>> {
        let lane = lane(ChoiceLane::new(), LaneBuilder::new());
        Match { tag: self.tag, arms: LastArm { name, lane } }
    }
}

impl<S: 'static, T: Arrow<In = Scope<S>>, A: MatchArms> Match<T, A> {
    /// One more arm, before the others.
    #[doc(hidden)]
    pub fn arm_before<Z: 'static, Side, P: Arrow<In = Scope<Z>, Out: SameItem<A::Out>> + Quiet>(
        self,
        name: &'static str,
        lane: impl FnOnce(ChoiceLane<S, Z, T::Out, Side>, LaneBuilder<Z>) -> P,
    ) -> Match<T, ArmBefore<A, P>> {
        let lane = lane(ChoiceLane::new(), LaneBuilder::new());
        Match { tag: self.tag, arms: ArmBefore { rest: self.arms, name, lane } }
    }
}

/// The arms of a [`Match`].
pub trait MatchArms: Send + Sync + 'static {
    /// The shape of their outputs together.
    type Out: Shape;
    /// Adds their stages to a plan.
    fn describe(&self, scope: &Port, tag: &Port, plan: &mut Describe) -> Port;
}

/// Arms that the deployment `K` can run, by numbers of the shape `C`.
pub trait DeployArms<K: Forks<C>, C: On<K>>: MatchArms<Out: On<K>> {
    /// Deploys each of them.
    fn deploy(&self, scope: &Edges<K>, tag: C::Edge, wiring: &mut K::Wiring) -> <Self::Out as On<K>>::Edge;
}

impl<Z: 'static, P: Arrow<In = Scope<Z>>> MatchArms for LastArm<P> {
    type Out = P::Out;

    fn describe(&self, scope: &Port, tag: &Port, plan: &mut Describe) -> Port {
        let scope = Port::lane_scope(scope.clone(), tag.clone());
        plan.statement(self.name, Branch::Only, |plan| self.lane.describe(scope, plan))
    }
}

#[diagnostic::do_not_recommend]
impl<K, C, Z: 'static, P: Deploy<K> + Arrow<In = Scope<Z>>> DeployArms<K, C> for LastArm<P>
where
    K: Forks<C>,
    C: On<K, Edge: 'static>,
    Scope<Z>: On<K, Edge = Edges<K>>,
{
    fn deploy(&self, scope: &Edges<K>, tag: C::Edge, wiring: &mut K::Wiring) -> <P::Out as On<K>>::Edge {
        K::in_body(wiring, Branch::Only, |wiring| {
            let lane = Edges::of::<C, _>(&self.lane, tag, Some(scope.clone()), wiring);
            self.lane.deploy_body(lane, wiring)
        })
    }
}

impl<A: MatchArms<Out: SameItem<P::Out>>, Z: 'static, P: Arrow<In = Scope<Z>>> MatchArms for ArmBefore<A, P> {
    type Out = Merged<P::Out, A::Out>;

    fn describe(&self, scope: &Port, tag: &Port, plan: &mut Describe) -> Port {
        let of_lane = Port::lane_scope(scope.clone(), tag.clone());
        let lane = plan.statement(self.name, Branch::Left, |plan| self.lane.describe(of_lane, plan));
        lane.merged(plan.branch(Branch::Right, |plan| self.rest.describe(scope, tag, plan)))
    }
}

#[diagnostic::do_not_recommend]
impl<K, C, A, Z: 'static, P> DeployArms<K, C> for ArmBefore<A, P>
where
    K: Forks<C> + Merges<P::Out, A::Out>,
    C: On<K, Edge: 'static>,
    A: DeployArms<K, C> + MatchArms<Out: SameItem<P::Out>>,
    P: Deploy<K> + Arrow<In = Scope<Z>>,
    Merged<P::Out, A::Out>: On<K>,
    Otherwise<P::Out, A::Out>: On<K>,
    Scope<Z>: On<K, Edge = Edges<K>>,
{
    fn deploy(&self, scope: &Edges<K>, tag: C::Edge, wiring: &mut K::Wiring) -> <Self::Out as On<K>>::Edge {
        let (of_lane, tag) = K::fork(tag, wiring);
        let lane = K::in_body(wiring, Branch::Left, |wiring| {
            let lane = Edges::of::<C, _>(&self.lane, of_lane, Some(scope.clone()), wiring);
            self.lane.deploy_body(lane, wiring)
        });
        let rest = K::in_body(wiring, Branch::Right, |wiring| self.rest.deploy(scope, tag, wiring));
        K::merge(lane, rest, wiring)
    }
}

impl<S: 'static, T: Arrow<In = Scope<S>>, A: MatchArms> Arrow for Match<T, A> {
    type In = Scope<S>;
    type Out = A::Out;

    fn describe(&self, scope: Port, plan: &mut Describe) -> Port {
        plan.matching(|plan| self.tag.describe(scope.clone(), plan), |plan, tag| self.arms.describe(&scope, &tag, plan))
    }
}

#[diagnostic::do_not_recommend]
impl<K, S: 'static, T, A> Deploy<K> for Match<T, A>
where
    K: Forks<T::Out>,
    T: Deploy<K> + Arrow<In = Scope<S>, Out: On<K, Edge: 'static>>,
    A: DeployArms<K, T::Out>,
    Scope<S>: On<K, Edge = Edges<K>>,
{
    fn deploy(&self, scope: Edges<K>, wiring: &mut K::Wiring) -> <A::Out as On<K>>::Edge {
        let tag = K::in_body(wiring, Branch::Only, |wiring| self.tag.deploy_body(scope.clone(), wiring));
        K::in_body(wiring, Branch::Right, |wiring| self.arms.deploy(&scope, tag, wiring))
    }
}
