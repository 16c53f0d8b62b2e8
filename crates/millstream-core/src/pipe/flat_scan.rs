use super::renumber::ExpandKernel;
use crate::{Item, Shape};
use std::marker::PhantomData;

/// A state, and any number of outputs for every value.
pub struct FlatScan<A, S, F, I> {
    /// The state before the first value.
    pub state: S,
    /// Changes the state, and returns the outputs of a value.
    pub f: F,
    shape: PhantomData<fn() -> (A, I)>,
}
super::debug!(FlatScan<A, S, F, I>);

impl<A, S, F, I> FlatScan<A, S, F, I> {
    pub(crate) fn new(state: S, f: F) -> Self {
        FlatScan { state, f, shape: PhantomData }
    }
}

impl<A: Shape, S: Item + Clone, F, I> ExpandKernel for FlatScan<A, S, F, I>
where
    I: IntoIterator<Item: Item, IntoIter: Send + 'static> + 'static,
    F: for<'a> Fn(&mut S, A::Ref<'a>) -> I + Send + Sync + 'static,
{
    type In = A;
    type Item = I::Item;
    type Values = I::IntoIter;
    type State = S;
    const NAME: &'static str = "flat_scan";

    fn start(&self) -> S {
        self.state.clone()
    }

    #[inline]
    fn expand(&self, state: &mut S, value: A::Ref<'_>) -> I::IntoIter {
        (self.f)(state, value).into_iter()
    }

    fn model(&self, values: Vec<A::Ref<'_>>, _: bool) -> Vec<I::Item> {
        let mut state = self.state.clone();
        values.into_iter().flat_map(|value| (self.f)(&mut state, value)).collect()
    }
}
