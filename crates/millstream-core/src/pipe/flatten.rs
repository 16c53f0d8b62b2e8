use super::renumber::ExpandKernel;
use crate::{Item, ToOwnedItem};
use std::marker::PhantomData;

/// The items of every value.
pub struct Flatten<A>(PhantomData<fn() -> A>);

impl<A> Flatten<A> {
    pub(crate) fn new() -> Self {
        Flatten(PhantomData)
    }
}

impl<A: ToOwnedItem<Owned: IntoIterator<Item: Item, IntoIter: Send + 'static>>> ExpandKernel for Flatten<A> {
    type In = A;
    type Item = <A::Owned as IntoIterator>::Item;
    type Values = <A::Owned as IntoIterator>::IntoIter;
    type State = ();
    const NAME: &'static str = "flatten";

    fn start(&self) {}

    #[inline]
    fn expand(&self, (): &mut (), value: A::Ref<'_>) -> Self::Values {
        A::to_owned_item(value).into_iter()
    }

    fn model(&self, values: Vec<A::Ref<'_>>, _: bool) -> Vec<Self::Item> {
        values.into_iter().flat_map(A::to_owned_item).collect()
    }
}
super::debug!(Flatten<A>);
