use super::AnswerKernel;
use crate::ToOwnedItem;
use std::marker::PhantomData;

/// All values of a key.
pub struct Group<A> {
    shape: PhantomData<fn() -> A>,
}
crate::pipe::debug!(Group<A>);

impl<A> Group<A> {
    pub(crate) fn new() -> Self {
        Group { shape: PhantomData }
    }
}

impl<A: ToOwnedItem<Owned: Clone>> AnswerKernel for Group<A> {
    type In = A;
    type Out = Vec<A::Owned>;
    type State = Vec<A::Owned>;
    const NAME: &'static str = "group";
    const NAME_BY_KEY: &'static str = "group_by";

    fn start(&self) -> Vec<A::Owned> {
        Vec::new()
    }

    #[inline]
    fn add(&self, group: &mut Vec<A::Owned>, value: A::Ref<'_>) {
        group.push(A::to_owned_item(value));
    }

    fn answer(&self, group: Vec<A::Owned>) -> Option<Vec<A::Owned>> {
        Some(group)
    }

    fn model(&self, values: Vec<A::Ref<'_>>) -> Option<Vec<A::Owned>> {
        Some(values.into_iter().map(A::to_owned_item).collect())
    }
}
