//! A stage with a state that also answers at END, whether or not END has a value of its own.

use millstream_core::model::ModelSlots;
use millstream_core::plan::Filled;
use millstream_core::{Item, ScanKernel, SequenceNumber, Shape, Sparse};
use std::marker::PhantomData;

/// The kernel: `step` for every value, which knows whether it is END's; `finish` at END, with what `step` has answered
/// there.
pub(crate) struct Rolling<A, S, F, G, B> {
    start: S,
    step: F,
    finish: G,
    shape: PhantomData<fn() -> (A, B)>,
}

impl<A, S, F, G, B> Rolling<A, S, F, G, B>
where
    A: Shape,
    F: for<'a> Fn(&mut S, A::Ref<'a>, bool) -> B,
    G: Fn(S, Option<B>) -> Option<B>,
{
    pub(crate) fn new(start: S, step: F, finish: G) -> Self {
        Rolling { start, step, finish, shape: PhantomData }
    }
}

impl<A, S, F, G, B> ScanKernel for Rolling<A, S, F, G, B>
where
    A: Shape,
    S: Item + Clone,
    B: Item,
    F: for<'a> Fn(&mut S, A::Ref<'a>, bool) -> B + Send + Sync + 'static,
    G: Fn(S, Option<B>) -> Option<B> + Send + Sync + 'static,
{
    type In = A;
    type Out = B;
    type Density = Sparse;
    type State = S;
    const NAME: &'static str = "scan_finish";

    fn start(&self) -> S {
        self.start.clone()
    }

    fn step(&self, state: &mut S, _: SequenceNumber, slot: Option<A::Ref<'_>>, end: bool) -> Option<B> {
        let own = slot.map(|value| (self.step)(state, value, end));
        if end { (self.finish)(std::mem::replace(state, self.start.clone()), own) } else { own }
    }

    fn fills(input: Filled) -> Filled {
        Filled { end: true, ..input }
    }

    fn model(&self, slots: ModelSlots<'_, A>) -> Vec<Option<B>> {
        let mut state = self.start.clone();
        slots.map(|slot, end| {
            let own = slot.map(|value| (self.step)(&mut state, value, end));
            if end { (self.finish)(state.clone(), own) } else { own }
        })
    }
}
