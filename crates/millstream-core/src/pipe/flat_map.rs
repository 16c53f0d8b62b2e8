use super::renumber::ExpandKernel;
use crate::{Item, Shape};
use std::marker::PhantomData;

/// Any number of outputs for every value: `concatMap`, the article's `Decompose`.
pub struct FlatMap<A, F, I> {
    /// Returns the outputs of a value.
    pub f: F,
    shape: PhantomData<fn() -> (A, I)>,
}

impl<A, F, I> FlatMap<A, F, I> {
    pub(crate) fn new(f: F) -> Self {
        FlatMap { f, shape: PhantomData }
    }
}

impl<A: Shape, F, I> ExpandKernel for FlatMap<A, F, I>
where
    I: IntoIterator<Item: Item, IntoIter: Send + 'static> + 'static,
    F: for<'a> Fn(A::Ref<'a>) -> I + Send + Sync + 'static,
{
    type In = A;
    type Item = I::Item;
    type Values = I::IntoIter;
    type State = ();
    const NAME: &'static str = "flat_map";

    fn start(&self) {}

    #[inline]
    fn expand(&self, (): &mut (), value: A::Ref<'_>) -> I::IntoIter {
        (self.f)(value).into_iter()
    }

    fn model(&self, values: Vec<A::Ref<'_>>, _: bool) -> Vec<I::Item> {
        values.into_iter().flat_map(|value| (self.f)(value)).collect()
    }
}
super::debug!(FlatMap<A, F, I>);
