use super::AnswerKernel;
use crate::{Shape, ToOwnedItem};
use std::marker::PhantomData;

/// The first value that is wanted.
pub struct Find<A, F> {
    /// The condition on the wanted value.
    pub wanted: F,
    shape: PhantomData<fn() -> A>,
}
crate::pipe::debug!(Find<A, F>);

impl<A, F> Find<A, F> {
    pub(crate) fn new(wanted: F) -> Self {
        Find { wanted, shape: PhantomData }
    }
}

impl<A: Shape + ToOwnedItem<Owned: Clone>, F> AnswerKernel for Find<A, F>
where
    F: for<'a> Fn(A::Ref<'a>) -> bool + Send + Sync + 'static,
{
    type In = A;
    type Out = A::Owned;
    type State = Option<A::Owned>;
    const NAME: &'static str = "find";

    fn start(&self) -> Option<A::Owned> {
        None
    }

    #[inline]
    fn add(&self, found: &mut Option<A::Owned>, value: A::Ref<'_>) {
        if found.is_none() && (self.wanted)(value) {
            *found = Some(A::to_owned_item(value));
        }
    }

    fn answer(&self, found: Option<A::Owned>) -> Option<A::Owned> {
        found
    }

    fn model(&self, values: Vec<A::Ref<'_>>) -> Option<A::Owned> {
        values.into_iter().find(|value| (self.wanted)(*value)).map(A::to_owned_item)
    }
}
