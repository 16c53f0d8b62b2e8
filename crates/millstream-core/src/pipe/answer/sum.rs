use super::AnswerKernel;
use crate::ToOwnedItem;
use std::marker::PhantomData;

/// The sum of all values.
pub struct Sum<A> {
    shape: PhantomData<fn() -> A>,
}
crate::pipe::debug!(Sum<A>);

impl<A> Sum<A> {
    pub(crate) fn new() -> Self {
        Sum { shape: PhantomData }
    }
}

impl<A: ToOwnedItem<Owned: Clone + std::iter::Sum>> AnswerKernel for Sum<A> {
    type In = A;
    type Out = A::Owned;
    type State = A::Owned;
    const NAME: &'static str = "sum";

    fn start(&self) -> A::Owned {
        std::iter::empty().sum()
    }

    #[inline]
    fn add(&self, sum: &mut A::Owned, value: A::Ref<'_>) {
        *sum = [sum.clone(), A::to_owned_item(value)].into_iter().sum();
    }

    fn answer(&self, sum: A::Owned) -> Option<A::Owned> {
        Some(sum)
    }

    fn model(&self, values: Vec<A::Ref<'_>>) -> Option<A::Owned> {
        Some(values.into_iter().map(A::to_owned_item).sum())
    }
}
