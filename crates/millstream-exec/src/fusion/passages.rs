//! Stages in a loop past the rings: the work on one slot.

use super::stages::{InFront, LastWithState};
use crate::onlooker::Place;
use crate::{RingBackend, RingRunner, Wiring};
use millstream_core::fusion::{Fill, Next, OfPassage, Passage};
use millstream_core::pipe::FilterKernel;
use millstream_core::plan::Branch;
use millstream_core::{Density, Deploy, Filtered, Item, Lens, Projected, SequenceNumber, Shape, SideBySide, Val};
use std::any::Any;
use std::marker::PhantomData;
use std::mem::swap;
use std::sync::Arc;

/// A stage, and its place in the pipeline.
pub(crate) struct OfStage<V> {
    stage: V,
    place: Place,
}

impl<V> OfStage<V> {
    /// The passage of a stage without a state, where the walk is.
    pub(crate) fn in_front<A: Shape, X: Shape>(stage: V, wiring: &mut Wiring) -> Self
    where
        V: InFront<A, X>,
    {
        let place = wiring.fuse(stage.calls(), V::MASKS, false);
        OfStage { stage, place }
    }
}

impl<A: Shape, X: Shape, V: InFront<A, X>> Passage<A, X> for OfStage<V> {
    type State = ();

    fn start(&self) {}

    fn exchange(&self, (): &mut (), _: &mut [&mut dyn Any]) -> bool {
        true
    }

    #[inline(always)]
    fn pass<N: Next<X>>(&self, (): &mut (), number: SequenceNumber, slot: Option<A::Ref<'_>>, next: N) -> Fill {
        self.stage.pass(&self.place, slot, |slot| next.take(number, slot))
    }
}

/// A stage with a state, and its place in the pipeline.
pub(crate) struct OfState<S, F, D> {
    start: S,
    f: F,
    place: Place,
    density: PhantomData<fn() -> D>,
}

impl<S, F, D> OfState<S, F, D> {
    /// Where the walk is.
    pub(crate) fn new<B, const EMPTIES: bool>(stage: LastWithState<S, F, B, D, EMPTIES>, wiring: &mut Wiring) -> Self {
        let (start, f, calls) = stage.into_parts();
        OfState { start, f, place: wiring.fuse(calls, false, false), density: PhantomData }
    }
}

impl<A: Shape, S: Item + Clone, B: Item, D: Density, F> Passage<A, Val<B, D>> for OfState<S, F, D>
where
    F: for<'a> Fn(&mut S, SequenceNumber, Option<A::Ref<'a>>, bool) -> Option<B> + Send + 'static,
{
    type State = S;

    fn start(&self) -> S {
        self.start.clone()
    }

    fn exchange(&self, state: &mut S, stages: &mut [&mut dyn Any]) -> bool {
        exchanged(&self.place, state, stages)
    }

    #[inline(always)]
    fn pass<N: Next<Val<B, D>>>(
        &self,
        state: &mut S,
        number: SequenceNumber,
        slot: Option<A::Ref<'_>>,
        next: N,
    ) -> Fill {
        let made = self.place.call(|| (self.f)(state, number, slot, false));
        next.take(number, made.as_ref())
    }
}

/// A filter with a state, and its place in the pipeline.
pub(crate) struct OfFilter<F> {
    kernel: Arc<F>,
    place: Place,
}

impl<F> OfFilter<F> {
    /// Where the walk is.
    pub(crate) fn new(kernel: Arc<F>, wiring: &mut Wiring) -> Self {
        OfFilter { kernel, place: wiring.fuse(None, true, false) }
    }
}

impl<F: FilterKernel> Passage<F::In, Filtered<F::In>> for OfFilter<F> {
    type State = F::State;

    fn start(&self) -> F::State {
        self.kernel.start()
    }

    fn exchange(&self, state: &mut F::State, stages: &mut [&mut dyn Any]) -> bool {
        exchanged(&self.place, state, stages)
    }

    #[inline(always)]
    fn pass<N: Next<Filtered<F::In>>>(
        &self,
        state: &mut F::State,
        number: SequenceNumber,
        slot: Option<<F::In as Shape>::Ref<'_>>,
        next: N,
    ) -> Fill {
        next.take(number, slot.filter(|value| self.place.call(|| self.kernel.keeps(state, *value))))
    }
}

/// Exchanges a state with that of its stage. Returns whether they have one type.
fn exchanged<S: Any>(place: &Place, state: &mut S, stages: &mut [&mut dyn Any]) -> bool {
    let own = stages.get_mut(place.index()).and_then(|stage| stage.downcast_mut());
    own.map(|own| swap(own, state)).is_some()
}

/// A view of an edge, which is no stage.
pub(crate) struct Shown<L>(PhantomData<fn() -> L>);

impl<L> Shown<L> {
    pub(crate) fn new() -> Self {
        Shown(PhantomData)
    }
}

impl<A: Shape, L: Lens<A>> Passage<A, Projected<A, L>> for Shown<L> {
    type State = ();

    fn start(&self) {}

    fn exchange(&self, (): &mut (), _: &mut [&mut dyn Any]) -> bool {
        true
    }

    #[inline(always)]
    fn pass<N: Next<Projected<A, L>>>(
        &self,
        (): &mut (),
        number: SequenceNumber,
        slot: Option<A::Ref<'_>>,
        next: N,
    ) -> Fill {
        next.take(number, slot.and_then(L::focus))
    }
}

/// The view of an edge that a body reads.
pub(crate) trait Sees<A: Shape>: 'static {
    type Shape: Shape;
    fn see(slot: Option<A::Ref<'_>>) -> Option<<Self::Shape as Shape>::Ref<'_>>;
}

/// The whole edge.
pub(crate) enum Unfocused {}

impl<A: Shape> Sees<A> for Unfocused {
    type Shape = A;

    #[inline(always)]
    fn see(slot: Option<A::Ref<'_>>) -> Option<A::Ref<'_>> {
        slot
    }
}

/// The part that a lens shows.
pub(crate) struct Focused<L>(PhantomData<fn() -> L>);

impl<A: Shape, L: Lens<A>> Sees<A> for Focused<L> {
    type Shape = Projected<A, L>;

    #[inline(always)]
    fn see(slot: Option<A::Ref<'_>>) -> Option<<Projected<A, L> as Shape>::Ref<'_>> {
        slot.and_then(L::focus)
    }
}

/// Two bodies, each with its own view of an edge, and their outputs side by side.
struct Sides<P, Q, S, T> {
    first: P,
    second: Q,
    see: PhantomData<fn() -> (S, T)>,
}

impl<A, X, P, Q, S, U> Passage<A, X> for Sides<P, Q, S, U>
where
    A: Shape,
    X: SideBySide,
    S: Sees<A>,
    U: Sees<A>,
    P: Passage<S::Shape, X::First>,
    Q: Passage<U::Shape, X::Second>,
{
    type State = (P::State, Q::State);

    const FITS: bool = P::FITS && Q::FITS && !P::DEFERS && !Q::DEFERS;

    fn start(&self) -> Self::State {
        (self.first.start(), self.second.start())
    }

    fn exchange(&self, (first, second): &mut Self::State, stages: &mut [&mut dyn Any]) -> bool {
        self.first.exchange(first, stages) & self.second.exchange(second, stages)
    }

    #[inline(always)]
    fn pass<N: Next<X>>(
        &self,
        (first, state): &mut Self::State,
        number: SequenceNumber,
        slot: Option<A::Ref<'_>>,
        next: N,
    ) -> Fill {
        let second = Second::<_, _, _, A, X, U> { passage: &self.second, state, slot, next, edges: PhantomData };
        self.first.pass(first, number, S::see(slot), second)
    }
}

/// The second body, the slot that it sees, and the stages after both bodies.
struct Second<'p, 'a, Q, S, N, A: Shape, X, U> {
    passage: &'p Q,
    state: &'p mut S,
    slot: Option<A::Ref<'a>>,
    next: N,
    edges: PhantomData<fn() -> (X, U)>,
}

impl<A, X, Q, N, U> Next<X::First> for Second<'_, '_, Q, Q::State, N, A, X, U>
where
    A: Shape,
    X: SideBySide,
    U: Sees<A>,
    Q: Passage<U::Shape, X::Second>,
    N: Next<X>,
{
    type Again<'n>
        = Second<'n, 'n, Q, Q::State, N::Again<'n>, A, X, U>
    where
        Self: 'n;

    #[inline(always)]
    fn again(&mut self) -> Self::Again<'_> {
        let slot = self.slot.map(A::shorten);
        Second { passage: self.passage, state: self.state, slot, next: self.next.again(), edges: PhantomData }
    }

    #[inline(always)]
    fn take(self, number: SequenceNumber, one: Option<<X::First as Shape>::Ref<'_>>) -> Fill {
        let Second { passage, state, slot, next, .. } = self;
        passage.pass(state, number, U::see(slot), Joined::<X, _> { one, next })
    }
}

/// The output of the first body, and the stages after both bodies.
struct Joined<'a, X: SideBySide, N> {
    one: Option<<X::First as Shape>::Ref<'a>>,
    next: N,
}

impl<X: SideBySide, N: Next<X>> Next<X::Second> for Joined<'_, X, N> {
    type Again<'n>
        = Joined<'n, X, N::Again<'n>>
    where
        Self: 'n;

    #[inline(always)]
    fn again(&mut self) -> Self::Again<'_> {
        Joined { one: self.one.map(X::First::shorten), next: self.next.again() }
    }

    #[inline(always)]
    fn take(self, number: SequenceNumber, other: Option<<X::Second as Shape>::Ref<'_>>) -> Fill {
        self.next.take(number, X::join(self.one.map(X::First::shorten), other.map(X::Second::shorten)))
    }
}

/// The result of `then` for the passage of two bodies, which are on these branches.
pub(crate) fn sides<R, A, X, S, U, P, Q, V>(
    (first, second): (&P, &Q),
    branches: [Branch; 2],
    wiring: &mut Wiring,
    then: V,
) -> Option<V::Made>
where
    R: RingRunner,
    A: Shape,
    X: SideBySide<First = P::Out, Second = Q::Out>,
    S: Sees<A, Shape = P::In>,
    U: Sees<A, Shape = Q::In>,
    P: Deploy<RingBackend<R>>,
    Q: Deploy<RingBackend<R>>,
    V: OfPassage<RingBackend<R>, A, X>,
{
    let scope = wiring.scope.clone();
    let [one, other] = branches;
    let next = SecondSide::<_, _, A, X, S, U> { second, branch: other, scope, then, edges: PhantomData };
    first.passage(&mut wiring.body(one), next)
}

/// The use of the first body's passage, once the second one's is there.
struct SecondSide<'q, Q, V, A, X, S, U> {
    second: &'q Q,
    branch: Branch,
    /// The scope of both bodies.
    scope: crate::wiring::WiringScope,
    then: V,
    #[expect(clippy::type_complexity, reason = "types alone")]
    edges: PhantomData<fn() -> (A, X, S, U)>,
}

impl<R, A, X, S, U, Q, V> OfPassage<RingBackend<R>, S::Shape, X::First> for SecondSide<'_, Q, V, A, X, S, U>
where
    R: RingRunner,
    A: Shape,
    X: SideBySide<Second = Q::Out>,
    S: Sees<A>,
    U: Sees<A, Shape = Q::In>,
    Q: Deploy<RingBackend<R>>,
    V: OfPassage<RingBackend<R>, A, X>,
{
    type Made = V::Made;

    fn make<P: Passage<S::Shape, X::First>>(self, first: P, wiring: &mut Wiring) -> Option<V::Made> {
        let SecondSide { second, branch, scope, then, .. } = self;
        wiring.scope = scope.clone();
        let both = BothSides::<_, _, A, X, S, U> { first, scope, then, edges: PhantomData };
        second.passage(&mut wiring.body(branch), both)
    }
}

/// The use of the second body's passage.
struct BothSides<P, V, A, X, S, U> {
    first: P,
    scope: crate::wiring::WiringScope,
    then: V,
    #[expect(clippy::type_complexity, reason = "types alone")]
    edges: PhantomData<fn() -> (A, X, S, U)>,
}

impl<R, A, X, S, U, P, V> OfPassage<RingBackend<R>, U::Shape, X::Second> for BothSides<P, V, A, X, S, U>
where
    R: RingRunner,
    A: Shape,
    X: SideBySide,
    S: Sees<A>,
    U: Sees<A>,
    P: Passage<S::Shape, X::First>,
    V: OfPassage<RingBackend<R>, A, X>,
{
    type Made = V::Made;

    fn make<Q: Passage<U::Shape, X::Second>>(self, second: Q, wiring: &mut Wiring) -> Option<V::Made> {
        let BothSides { first, scope, then, .. } = self;
        wiring.scope = scope;
        then.make(Sides::<_, _, S, U> { first, second, see: PhantomData }, wiring)
    }
}
