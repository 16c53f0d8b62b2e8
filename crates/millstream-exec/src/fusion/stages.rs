//! A stage in a loop: before others, or last.

use crate::keeper::Keeper;
use crate::onlooker::Place;
use crate::stage::{EndSlot, stage};
use crate::watched::Calls;
use crate::wiring::Home;
use crate::{RingBackend, RingRunner, RingShape, Wiring};
use millstream_core::fusion::{Fusing, SlotKernel};
use millstream_core::{Arrow, Density, Deploy, Item, Level, On, SequenceNumber, Shape, Val};
use millstream_ring::Reader;
use std::marker::PhantomData;
use std::sync::Arc;

/// A stage that can be before others: it keeps its clock and no state, and its output is an edge of shape `X`.
pub(crate) trait InFront<A: Shape, X: Shape>: Send + 'static {
    /// Whether it can leave a slot empty where its input is filled.
    const EMPTIES: bool;
    /// Whether its own ring would be a mask, whose slots are all filled.
    const MASKS: bool = false;

    /// Passes this stage's output at a slot to `next`, and returns its result. The user's code is called at `place`.
    fn pass<T>(&self, place: &Place, slot: Option<A::Ref<'_>>, next: impl FnOnce(Option<X::Ref<'_>>) -> T) -> T;

    /// The counters of its failures.
    fn calls(&self) -> Option<Arc<Calls>> {
        None
    }
}

/// The output of a stage for a slot: an item for a ring of density `D`, or nothing. `EMPTIES` says whether that can be
/// nothing where the slot is filled.
pub(crate) struct Making<F, B, D, const EMPTIES: bool = false> {
    f: F,
    calls: Option<Arc<Calls>>,
    output: PhantomData<fn() -> (B, D)>,
}

impl<F, B, D, const EMPTIES: bool> Making<F, B, D, EMPTIES> {
    pub(crate) fn new(f: F) -> Self {
        Making { f, calls: None, output: PhantomData }
    }

    /// Counts the failures of the function there.
    pub(crate) fn counting(self, calls: Arc<Calls>) -> Self {
        Making { calls: Some(calls), ..self }
    }
}

impl<A: Shape, B: Item, D: Density, F, const EMPTIES: bool> InFront<A, Val<B, D>> for Making<F, B, D, EMPTIES>
where
    F: for<'a> Fn(Option<A::Ref<'a>>) -> Option<B> + Send + 'static,
{
    const EMPTIES: bool = EMPTIES;

    #[inline(always)]
    fn pass<T>(&self, place: &Place, slot: Option<A::Ref<'_>>, next: impl FnOnce(Option<&B>) -> T) -> T {
        let made = place.call(|| (self.f)(slot));
        let passed = next(made.as_ref());
        // Here, and not on the way out: a panic of its drop would leak the returned value (rust-lang/rust#47949).
        drop(made);
        passed
    }

    fn calls(&self) -> Option<Arc<Calls>> {
        self.calls.clone()
    }
}

/// A stage before others.
struct Before<V, X, N> {
    stage: V,
    place: Place,
    next: N,
    between: PhantomData<fn() -> X>,
}

impl<R: RingRunner, A: Shape, X: Shape, V: InFront<A, X>, N: SlotKernel<RingBackend<R>, X>>
    SlotKernel<RingBackend<R>, A> for Before<V, X, N>
{
    type State = N::State;
    type Item = N::Item;
    type Density = N::Density;
    const EMPTIES: bool = V::EMPTIES || N::EMPTIES;

    fn enroll(&mut self, wiring: &mut Wiring) {
        self.place = wiring.fuse(self.stage.calls(), V::MASKS, !N::EMPTIES);
        wiring.advance();
        self.next.enroll(wiring);
    }

    fn start(&self) -> (N::State, Keeper<N::State>) {
        self.next.start()
    }

    fn writes_end(&self) -> bool {
        self.next.writes_end()
    }

    #[inline(always)]
    fn at(
        &mut self,
        state: &mut N::State,
        number: SequenceNumber,
        slot: Option<A::Ref<'_>>,
        end: bool,
    ) -> Option<N::Item> {
        let next = &mut self.next;
        self.stage.pass(&self.place, slot, |slot| next.at(state, number, slot, end))
    }
}

/// A stage without a state, which is last.
pub(crate) struct Last<M>(pub(crate) M);

impl<R: RingRunner, A: Shape, B: Item, D: Density, F, const EMPTIES: bool> SlotKernel<RingBackend<R>, A>
    for Last<Making<F, B, D, EMPTIES>>
where
    F: for<'a> Fn(Option<A::Ref<'a>>) -> Option<B> + Send + 'static,
{
    type State = ();
    type Item = B;
    type Density = D;
    const EMPTIES: bool = EMPTIES;

    fn enroll(&mut self, wiring: &mut Wiring) {
        wiring.counts(self.0.calls.clone());
    }

    fn start(&self) -> ((), Keeper<()>) {
        ((), Keeper::none())
    }

    fn writes_end(&self) -> bool {
        EndSlot::of::<D>() == EndSlot::Written
    }

    #[inline(always)]
    fn at(&mut self, (): &mut (), _: SequenceNumber, slot: Option<A::Ref<'_>>, _: bool) -> Option<B> {
        (self.0.f)(slot)
    }
}

/// A stage with a state, which is last.
pub(crate) struct LastWithState<S, F, B, D, const EMPTIES: bool = false> {
    pub(crate) start: (S, Keeper<S>),
    pub(crate) end: EndSlot,
    making: Making<F, B, D, EMPTIES>,
}

impl<S, F, B, D, const EMPTIES: bool> LastWithState<S, F, B, D, EMPTIES> {
    pub(crate) fn new(start: (S, Keeper<S>), end: EndSlot, f: F, calls: Option<Arc<Calls>>) -> Self {
        LastWithState { start, end, making: Making { f, calls, output: PhantomData } }
    }

    /// The state at the start, the function, and the counters of its failures.
    pub(super) fn into_parts(self) -> (S, F, Option<Arc<Calls>>) {
        (self.start.0, self.making.f, self.making.calls)
    }
}

impl<R: RingRunner, A: Shape, S: Item + Clone, B: Item, D: Density, F, const EMPTIES: bool>
    SlotKernel<RingBackend<R>, A> for LastWithState<S, F, B, D, EMPTIES>
where
    F: for<'a> Fn(&mut S, SequenceNumber, Option<A::Ref<'a>>, bool) -> Option<B> + Send + 'static,
{
    type State = S;
    type Item = B;
    type Density = D;
    const EMPTIES: bool = EMPTIES;

    fn enroll(&mut self, wiring: &mut Wiring) {
        wiring.counts(self.making.calls.clone());
    }

    fn start(&self) -> (S, Keeper<S>) {
        self.start.clone()
    }

    fn writes_end(&self) -> bool {
        self.end == EndSlot::Written
    }

    #[inline(always)]
    fn at(&mut self, state: &mut S, number: SequenceNumber, slot: Option<A::Ref<'_>>, end: bool) -> Option<B> {
        (self.making.f)(state, number, slot, end)
    }
}

/// `before`, and then a stage that is last.
pub(crate) fn fuse<R, A, P, N>(
    before: &P,
    input: <P::In as On<RingBackend<R>>>::Edge,
    next: N,
    level: Level,
    wiring: &mut Wiring,
) -> Reader<Val<N::Item, N::Density>>
where
    R: RingRunner,
    A: RingShape<R>,
    P: Deploy<RingBackend<R>> + Arrow<Out = A>,
    N: SlotKernel<RingBackend<R>, A>,
{
    match before.fused_before(input, next, level, wiring) {
        Fusing::Done(edge) => edge,
        Fusing::Apart(edge, next) => fused_loop::<A, R, N>(edge, next, wiring),
    }
}

/// Fuses `before`, the stage `in_front`, and `next`, in this order.
pub(crate) fn fuse_on<R, A, X, P, V, N>(
    before: &P,
    input: <P::In as On<RingBackend<R>>>::Edge,
    in_front: V,
    next: N,
    level: Level,
    wiring: &mut Wiring,
) -> Fusing<RingBackend<R>, X, N>
where
    R: RingRunner,
    A: RingShape<R>,
    X: RingShape<R>,
    P: Deploy<RingBackend<R>> + Arrow<Out = A>,
    V: InFront<A, X>,
    N: SlotKernel<RingBackend<R>, X>,
{
    let next = Before { stage: in_front, place: Place::default(), next, between: PhantomData };
    Fusing::Done(fuse::<R, A, P, _>(before, input, next, level, wiring))
}

/// The tasklet of the loop. The walk over the plan has come to the stage before it.
fn fused_loop<A: RingShape<R>, R: RingRunner, N: SlotKernel<RingBackend<R>, A>>(
    input: Reader<A>,
    mut kernel: N,
    wiring: &mut Wiring,
) -> Reader<Val<N::Item, N::Density>> {
    wiring.advance();
    kernel.enroll(wiring);
    let (start, end) = (kernel.start(), if kernel.writes_end() { EndSlot::Written } else { EndSlot::Absent });
    let f =
        move |state: &mut N::State, number, slot: Option<A::Ref<'_>>, end: bool| kernel.at(state, number, slot, end);
    stage::<A, N::State, N::Item, N::Density>(input, wiring, end, Home::Workers, start, f)
}
