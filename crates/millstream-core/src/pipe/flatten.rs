use super::renumber::Expand;
use crate::{Event, Own};
use std::marker::PhantomData;

/// What is in every value.
pub struct Flatten<A>(PhantomData<fn() -> A>);

impl<A> Flatten<A> {
    pub(crate) fn new() -> Self {
        Flatten(PhantomData)
    }
}

impl<A: Own<Owned: IntoIterator<Item: Event, IntoIter: Send + 'static>>> Expand for Flatten<A> {
    type In = A;
    type Item = <A::Owned as IntoIterator>::Item;
    type Values = <A::Owned as IntoIterator>::IntoIter;
    type State = ();
    const NAME: &'static str = "flatten";
    const STATEFUL: bool = false;

    fn start(&self) {}

    #[inline]
    fn expand(&self, (): &mut (), value: A::Ref<'_>) -> Self::Values {
        A::own(value).into_iter()
    }
}
super::debug!(Flatten<A>);
