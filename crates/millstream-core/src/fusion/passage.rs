//! What stages do with a slot that passes all their rings.

use crate::{Arrow, Backend, Deploy, SequenceNumber, Shape};
use std::any::Any;
use std::marker::PhantomData;

/// What one or more stages do with a slot of an edge of shape `A`, with no ring between them: their output, of shape
/// `X`, goes to a function at once.
pub trait Passage<A: Shape, X: Shape>: Send + 'static {
    /// The states of the stages.
    type State: Send + 'static;

    /// States before the first slot.
    fn start(&self) -> Self::State;

    /// Exchanges the states with those of the stages, which are in pipeline order. Returns whether all of them have the
    /// types of these.
    fn exchange(&self, state: &mut Self::State, stages: &mut [&mut dyn Any]) -> bool;

    /// Gives the output at a slot to `next`, and returns what that returns.
    fn pass<N: Next<X>>(
        &self,
        state: &mut Self::State,
        number: SequenceNumber,
        slot: Option<A::Ref<'_>>,
        next: N,
    ) -> bool;
}

/// What takes the output of a passage at a slot.
///
/// It is a trait of its own: a closure in a closure in a closure has a type whose length doubles with each.
pub trait Next<X: Shape> {
    /// Takes it. Returns whether the output of the last stage is filled.
    fn take(self, slot: Option<X::Ref<'_>>) -> bool;
}

/// What is made of a passage, whose type only its stages know.
pub trait OfPassage<K: Backend, A: Shape, X: Shape>: Sized {
    /// What is made of it.
    type Made;

    /// Makes it.
    fn make<P: Passage<A, X>>(self, passage: P, wiring: &mut K::Wiring) -> Option<Self::Made>;
}

/// The passage of no stage.
#[derive(Debug)]
pub struct Same;

impl<A: Shape> Passage<A, A> for Same {
    type State = ();

    fn start(&self) {}

    fn exchange(&self, (): &mut (), _: &mut [&mut dyn Any]) -> bool {
        true
    }

    #[inline(always)]
    fn pass<N: Next<A>>(&self, (): &mut (), _: SequenceNumber, slot: Option<A::Ref<'_>>, next: N) -> bool {
        next.take(slot)
    }
}

/// One passage after another; the edge between has shape `B`.
#[expect(missing_debug_implementations, reason = "passages have none")]
pub struct Chain<P, Q, B> {
    first: P,
    second: Q,
    between: PhantomData<fn() -> B>,
}

impl<A: Shape, B: Shape, C: Shape, P: Passage<A, B>, Q: Passage<B, C>> Passage<A, C> for Chain<P, Q, B> {
    type State = (P::State, Q::State);

    fn start(&self) -> Self::State {
        (self.first.start(), self.second.start())
    }

    fn exchange(&self, (first, second): &mut Self::State, stages: &mut [&mut dyn Any]) -> bool {
        self.first.exchange(first, stages) & self.second.exchange(second, stages)
    }

    #[inline(always)]
    fn pass<N: Next<C>>(
        &self,
        (first, state): &mut Self::State,
        number: SequenceNumber,
        slot: Option<A::Ref<'_>>,
        next: N,
    ) -> bool {
        self.first.pass(first, number, slot, Rest { passage: &self.second, state, number, next, output: PhantomData })
    }
}

/// The second passage of two, and what comes behind it; `C` is the shape of its output.
struct Rest<'p, Q, S, N, C> {
    passage: &'p Q,
    state: &'p mut S,
    number: SequenceNumber,
    next: N,
    output: PhantomData<fn() -> C>,
}

impl<B: Shape, C: Shape, Q: Passage<B, C>, N: Next<C>> Next<B> for Rest<'_, Q, Q::State, N, C> {
    #[inline(always)]
    fn take(self, slot: Option<B::Ref<'_>>) -> bool {
        self.passage.pass(self.state, self.number, slot, self.next)
    }
}

/// What `then` makes of the passage of `first` and then `second`.
pub fn chain<K: Backend, P: Deploy<K>, Q: Deploy<K> + Arrow<In = P::Out>, V: OfPassage<K, P::In, Q::Out>>(
    first: &P,
    second: &Q,
    wiring: &mut K::Wiring,
    then: V,
) -> Option<V::Made> {
    first.passage(wiring, AfterFirst { second, then })
}

struct AfterFirst<'q, Q, V> {
    second: &'q Q,
    then: V,
}

impl<K: Backend, A: Shape, B: Shape, Q: Deploy<K> + Arrow<In = B>, V: OfPassage<K, A, Q::Out>> OfPassage<K, A, B>
    for AfterFirst<'_, Q, V>
{
    type Made = V::Made;

    fn make<P: Passage<A, B>>(self, first: P, wiring: &mut K::Wiring) -> Option<V::Made> {
        K::advance(wiring);
        self.second.passage(wiring, AfterSecond { first, then: self.then, input: PhantomData })
    }
}

struct AfterSecond<P, V, A> {
    first: P,
    then: V,
    input: PhantomData<fn() -> A>,
}

impl<K: Backend, A: Shape, B: Shape, C: Shape, P: Passage<A, B>, V: OfPassage<K, A, C>> OfPassage<K, B, C>
    for AfterSecond<P, V, A>
{
    type Made = V::Made;

    fn make<Q: Passage<B, C>>(self, second: Q, wiring: &mut K::Wiring) -> Option<V::Made> {
        self.then.make(Chain { first: self.first, second, between: PhantomData }, wiring)
    }
}
