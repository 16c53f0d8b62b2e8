use super::scan_kernel::ScanKernel;
use crate::model::ModelSlots;
use crate::plan::Filled;
use crate::{Item, SequenceNumber, Shape, Sparse};
use std::marker::PhantomData;

/// A Mealy machine whose state may also make END's output.
pub struct ScanFinish<A, S, F, G, B> {
    /// The state before the first value.
    pub state: S,
    /// The step.
    pub f: F,
    /// Makes END's output of the state.
    pub finish: G,
    shape: PhantomData<fn() -> (A, B)>,
}
super::debug!(ScanFinish<A, S, F, G, B>);

impl<A, S, F, G, B> ScanFinish<A, S, F, G, B> {
    pub(crate) fn new(state: S, f: F, finish: G) -> Self {
        ScanFinish { state, f, finish, shape: PhantomData }
    }
}

impl<A: Shape, S: Item + Clone, F, G, B: Item> ScanKernel for ScanFinish<A, S, F, G, B>
where
    F: for<'a> Fn(&mut S, A::Ref<'a>) -> B + Send + Sync + 'static,
    G: Fn(S) -> Option<B> + Send + Sync + 'static,
{
    type In = A;
    type Out = B;
    type Density = Sparse;
    type State = S;
    const NAME: &'static str = "scan_finish";

    fn start(&self) -> S {
        self.state.clone()
    }

    #[inline]
    fn step(&self, state: &mut S, _: SequenceNumber, slot: Option<A::Ref<'_>>, end: bool) -> Option<B> {
        let own = slot.map(|value| (self.f)(state, value));
        if !end {
            return own;
        }
        match (self.finish)(std::mem::replace(state, self.state.clone())) {
            Some(last) => {
                // Here, and not on the way out: a panic of its drop would leak the output (rust-lang/rust#47949).
                drop(own);
                Some(last)
            }
            None => own,
        }
    }

    fn fills(input: Filled) -> Filled {
        Filled { end: true, ..input }
    }

    fn model(&self, slots: ModelSlots<'_, A>) -> Vec<Option<B>> {
        let mut state = self.state.clone();
        slots.map(|a, end| {
            let own = a.map(|a| (self.f)(&mut state, a));
            if end { (self.finish)(state.clone()).or(own) } else { own }
        })
    }
}
