//! The work of stages on a slot that passes all their rings.

use crate::{Arrow, Backend, Deploy, SequenceNumber, Shape};
use std::any::Any;
use std::marker::PhantomData;

/// The work of one or more stages on a slot of an edge of shape `A`, with no ring between them: their output, of shape
/// `X`, goes to a function at once.
pub trait Passage<A: Shape, X: Shape>: Send + 'static {
    /// The states of the stages.
    type State: Send + 'static;

    /// States before the first slot.
    fn start(&self) -> Self::State;

    /// Exchanges the states with those of the stages, which are in pipeline order. Returns whether all of them have the
    /// types of these.
    fn exchange(&self, state: &mut Self::State, stages: &mut [&mut dyn Any]) -> bool;

    /// Whether one of the stages starts a clock.
    const RENUMBERS: bool = false;

    /// Whether the first stage cuts the source's values into pieces, so that each value becomes many numbers.
    const CUTS: bool = false;

    /// Whether the last stage yields its outputs not at their slots, but in [`flush`](Passage::flush): it writes text,
    /// of which a whole block goes on at once.
    const DEFERS: bool = false;

    /// Whether slots can pass: no stage can come after one that defers.
    const FITS: bool = true;

    /// Calls `f` with the clock of each stage that starts one, in order.
    fn clocks(&self, _: &mut Self::State, _: &mut dyn FnMut(&mut Clock)) {}

    /// Passes the output at a slot to `next`, and returns its result. A stage that starts a clock passes it all outputs
    /// of the slot, one after another, and returns their joint outcome.
    fn pass<N: Next<X>>(
        &self,
        state: &mut Self::State,
        number: SequenceNumber,
        slot: Option<A::Ref<'_>>,
        next: N,
    ) -> Fill;

    /// Gives `next` the outputs that were not given at their slots: before anything else looks at what the slots have
    /// become.
    fn flush<N: Next<X>>(&self, _: &mut Self::State, _: N) -> Fill {
        Fill::EMPTY
    }
}

/// The clock that a stage starts, while slots pass it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Clock {
    /// The number of its next output.
    pub next: u64,
    /// How many further outputs it may give before the slots have to stop.
    pub most: usize,
}

/// The outcome of a slot: how many slots of the last stage's output were filled, and whether the next slot may follow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Fill(usize);

impl Fill {
    /// Nothing was filled.
    pub const EMPTY: Fill = Fill(0);
    const STOPS: usize = 1 << (usize::BITS - 1);
    const HELD: usize = 1 << (usize::BITS - 2);

    /// Of a slot whose output is filled, or not.
    #[must_use]
    #[inline(always)]
    pub fn of(filled: bool) -> Self {
        Fill(usize::from(filled))
    }

    /// How many slots were filled.
    #[must_use]
    #[inline(always)]
    pub fn count(self) -> usize {
        self.0 & !(Fill::STOPS | Fill::HELD)
    }

    /// No further slot may follow in this step.
    #[must_use]
    #[inline(always)]
    pub fn stopping(self) -> Self {
        Fill(self.0 | Fill::STOPS)
    }

    /// The slot has not passed whole: the same slot comes again, and none before.
    #[must_use]
    #[inline(always)]
    pub fn held(self) -> Self {
        Fill(self.0 | Fill::HELD)
    }

    /// Whether the next slot is another one, and may follow at once.
    #[must_use]
    #[inline(always)]
    pub fn goes_on(self) -> bool {
        self.0 & (Fill::STOPS | Fill::HELD) == 0
    }

    /// Whether no further slot may follow in this step.
    #[must_use]
    #[inline(always)]
    pub fn stops(self) -> bool {
        self.0 & Fill::STOPS != 0
    }

    /// Whether the same slot comes again.
    #[must_use]
    #[inline(always)]
    pub fn is_held(self) -> bool {
        self.0 & Fill::HELD != 0
    }

    /// As many more are filled as in this one.
    #[inline(always)]
    pub fn add(&mut self, more: Fill) {
        self.0 += more.count();
    }
}

/// The receiver of a passage's output at a slot.
///
/// It is a trait of its own: a closure in a closure in a closure has a type whose length doubles with each.
pub trait Next<X: Shape> {
    /// As this, for one of several outputs.
    type Again<'n>: Next<X>
    where
        Self: 'n;

    /// The receiver of one of several outputs.
    fn again(&mut self) -> Self::Again<'_>;

    /// Takes it, at its number.
    fn take(self, number: SequenceNumber, slot: Option<X::Ref<'_>>) -> Fill;
}

/// A use of a passage, whose type only its stages know.
pub trait OfPassage<K: Backend, A: Shape, X: Shape>: Sized {
    /// The result.
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
    fn pass<N: Next<A>>(&self, (): &mut (), number: SequenceNumber, slot: Option<A::Ref<'_>>, next: N) -> Fill {
        next.take(number, slot)
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

    const RENUMBERS: bool = P::RENUMBERS || Q::RENUMBERS;
    const CUTS: bool = P::CUTS || Q::CUTS;
    const DEFERS: bool = Q::DEFERS;
    const FITS: bool = P::FITS && Q::FITS && !P::DEFERS;

    fn clocks(&self, (first, second): &mut Self::State, f: &mut dyn FnMut(&mut Clock)) {
        self.first.clocks(first, f);
        self.second.clocks(second, f);
    }

    #[inline(always)]
    fn pass<N: Next<C>>(
        &self,
        (first, state): &mut Self::State,
        number: SequenceNumber,
        slot: Option<A::Ref<'_>>,
        next: N,
    ) -> Fill {
        self.first.pass(first, number, slot, Rest { passage: &self.second, state, next, output: PhantomData })
    }

    #[inline(always)]
    fn flush<N: Next<C>>(&self, (_, state): &mut Self::State, next: N) -> Fill {
        self.second.flush(state, next)
    }
}

/// The second passage of two, and the stages after it; `C` is the shape of its output.
struct Rest<'p, Q, S, N, C> {
    passage: &'p Q,
    state: &'p mut S,
    next: N,
    output: PhantomData<fn() -> C>,
}

impl<B: Shape, C: Shape, Q: Passage<B, C>, N: Next<C>> Next<B> for Rest<'_, Q, Q::State, N, C> {
    type Again<'n>
        = Rest<'n, Q, Q::State, N::Again<'n>, C>
    where
        Self: 'n;

    #[inline(always)]
    fn again(&mut self) -> Self::Again<'_> {
        Rest { passage: self.passage, state: self.state, next: self.next.again(), output: PhantomData }
    }

    #[inline(always)]
    fn take(self, number: SequenceNumber, slot: Option<B::Ref<'_>>) -> Fill {
        self.passage.pass(self.state, number, slot, self.next)
    }
}

/// The result of `then` for the passage of `first` and then `second`.
pub fn chain<K: Backend, P: Deploy<K>, Q: Deploy<K> + Arrow<In = P::Out>, V: OfPassage<K, P::In, Q::Out>>(
    first: &P,
    second: &Q,
    wiring: &mut K::Wiring,
    then: V,
) -> Option<V::Made> {
    first.passage(wiring, AfterFirst { second, then, advances: true })
}

/// As [`chain`], for two parts of one step of the body.
pub(crate) fn chain_within<K, P, Q, V>(first: &P, second: &Q, wiring: &mut K::Wiring, then: V) -> Option<V::Made>
where
    K: Backend,
    P: Deploy<K>,
    Q: Deploy<K> + Arrow<In = P::Out>,
    V: OfPassage<K, P::In, Q::Out>,
{
    first.passage(wiring, AfterFirst { second, then, advances: false })
}

struct AfterFirst<'q, Q, V> {
    second: &'q Q,
    then: V,
    /// Whether the second one is the next step of the body.
    advances: bool,
}

impl<K: Backend, A: Shape, B: Shape, Q: Deploy<K> + Arrow<In = B>, V: OfPassage<K, A, Q::Out>> OfPassage<K, A, B>
    for AfterFirst<'_, Q, V>
{
    type Made = V::Made;

    fn make<P: Passage<A, B>>(self, first: P, wiring: &mut K::Wiring) -> Option<V::Made> {
        if self.advances {
            K::advance(wiring);
        }
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
