use super::filter_kernel::FilterKernel;
use crate::ToOwnedItem;
use std::marker::PhantomData;

/// Leaves out values that are equal to the value before.
pub struct Dedup<A>(PhantomData<fn() -> A>);

impl<A> Dedup<A> {
    pub(crate) fn new() -> Self {
        Dedup(PhantomData)
    }
}

impl<A: ToOwnedItem<Owned: Clone + PartialEq>> FilterKernel for Dedup<A> {
    type In = A;
    /// The last value that was kept.
    type State = Option<A::Owned>;
    const NAME: &'static str = "dedup";

    fn start(&self) -> Option<A::Owned> {
        None
    }

    #[inline]
    fn keeps(&self, last: &mut Option<A::Owned>, value: A::Ref<'_>) -> bool {
        let differs = last.as_ref().is_none_or(|last| !A::eq_owned(last, value));
        if differs {
            last.replace(A::to_owned_item(value));
        }
        differs
    }

    fn model(&self, values: Vec<A::Ref<'_>>) -> Vec<bool> {
        let values: Vec<_> = values.into_iter().map(A::to_owned_item).collect();
        (0..values.len()).map(|n| n == 0 || values[n] != values[n - 1]).collect()
    }
}
super::debug!(Dedup<A>);
