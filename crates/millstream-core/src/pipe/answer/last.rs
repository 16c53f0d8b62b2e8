use super::AnswerKernel;
use crate::ToOwnedItem;
use std::marker::PhantomData;

/// The last value.
pub struct Last<A> {
    shape: PhantomData<fn() -> A>,
}
crate::pipe::debug!(Last<A>);

impl<A> Last<A> {
    pub(crate) fn new() -> Self {
        Last { shape: PhantomData }
    }
}

impl<A: ToOwnedItem<Owned: Clone>> AnswerKernel for Last<A> {
    type In = A;
    type Out = A::Owned;
    type State = Option<A::Owned>;
    const NAME: &'static str = "last";

    fn start(&self) -> Option<A::Owned> {
        None
    }

    #[inline]
    fn add(&self, last: &mut Option<A::Owned>, value: A::Ref<'_>) {
        *last = Some(A::to_owned_item(value));
    }

    fn answer(&self, last: Option<A::Owned>) -> Option<A::Owned> {
        last
    }

    fn model(&self, values: Vec<A::Ref<'_>>) -> Option<A::Owned> {
        values.last().map(|last| A::to_owned_item(*last))
    }
}
