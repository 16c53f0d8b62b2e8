use super::renumber::ExpandKernel;
use crate::ToOwnedItem;
use std::marker::PhantomData;

/// The values without the empty slots between them.
pub struct Compact<A>(PhantomData<fn() -> A>);

impl<A> Compact<A> {
    pub(crate) fn new() -> Self {
        Compact(PhantomData)
    }
}

impl<A: ToOwnedItem> ExpandKernel for Compact<A> {
    type In = A;
    type Item = A::Owned;
    type Values = std::option::IntoIter<A::Owned>;
    type State = ();
    const NAME: &'static str = "compact";

    fn start(&self) {}

    #[inline]
    fn expand(&self, (): &mut (), value: A::Ref<'_>) -> Self::Values {
        Some(A::to_owned_item(value)).into_iter()
    }

    fn model(&self, values: Vec<A::Ref<'_>>, _: bool) -> Vec<A::Owned> {
        values.into_iter().map(A::to_owned_item).collect()
    }
}
super::debug!(Compact<A>);
