use super::AnswerKernel;
use crate::Shape;
use std::marker::PhantomData;

/// How many values there are.
pub struct Count<A> {
    shape: PhantomData<fn() -> A>,
}
crate::pipe::debug!(Count<A>);

impl<A> Count<A> {
    pub(crate) fn new() -> Self {
        Count { shape: PhantomData }
    }
}

impl<A: Shape> AnswerKernel for Count<A> {
    type In = A;
    type Out = u64;
    type State = u64;
    const NAME: &'static str = "count";
    const NAME_BY_KEY: &'static str = "count_by";

    fn start(&self) -> u64 {
        0
    }

    #[inline]
    fn add(&self, count: &mut u64, _: A::Ref<'_>) {
        *count += 1;
    }

    fn answer(&self, count: u64) -> Option<u64> {
        Some(count)
    }

    fn model(&self, values: Vec<A::Ref<'_>>) -> Option<u64> {
        Some(values.len() as u64)
    }
}
