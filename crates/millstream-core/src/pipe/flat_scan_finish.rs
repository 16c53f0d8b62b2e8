use super::renumber::ExpandKernel;
use crate::{Item, Shape};
use std::marker::PhantomData;

/// A state, and any number of outputs for every value and after the last one.
pub struct FlatScanFinish<A, S, F, G, I> {
    /// The state before the first value.
    pub state: S,
    /// Changes the state, and returns the outputs of a value.
    pub f: F,
    /// Returns the outputs after those of the last value.
    pub finish: G,
    shape: PhantomData<fn() -> (A, I)>,
}
super::debug!(FlatScanFinish<A, S, F, G, I>);

impl<A, S, F, G, I> FlatScanFinish<A, S, F, G, I> {
    pub(crate) fn new(state: S, f: F, finish: G) -> Self {
        FlatScanFinish { state, f, finish, shape: PhantomData }
    }
}

impl<A: Shape, S: Item + Clone, F, G, I> ExpandKernel for FlatScanFinish<A, S, F, G, I>
where
    I: IntoIterator<Item: Item, IntoIter: Send + 'static> + 'static,
    F: for<'a> Fn(&mut S, A::Ref<'a>) -> I + Send + Sync + 'static,
    G: Fn(S) -> I + Send + Sync + 'static,
{
    type In = A;
    type Item = I::Item;
    type Values = I::IntoIter;
    type State = S;
    const NAME: &'static str = "flat_scan_finish";

    fn start(&self) -> S {
        self.state.clone()
    }

    #[inline]
    fn expand(&self, state: &mut S, value: A::Ref<'_>) -> I::IntoIter {
        (self.f)(state, value).into_iter()
    }

    fn finish(&self, state: S) -> Option<I::IntoIter> {
        Some((self.finish)(state).into_iter())
    }

    fn model(&self, values: Vec<A::Ref<'_>>, ended: bool) -> Vec<I::Item> {
        let mut state = self.state.clone();
        let mut outputs: Vec<I::Item> = Vec::new();
        for value in values {
            outputs.extend((self.f)(&mut state, value));
        }
        if ended {
            outputs.extend((self.finish)(state));
        }
        outputs
    }
}
