use super::filter_kernel::FilterKernel;
use crate::Shape;
use std::marker::PhantomData;

/// Keeps the values before the first refused one.
pub struct TakeWhile<A, F> {
    /// Returns whether a value is kept.
    pub wanted: F,
    shape: PhantomData<fn() -> A>,
}

impl<A, F> TakeWhile<A, F> {
    pub(crate) fn new(wanted: F) -> Self {
        TakeWhile { wanted, shape: PhantomData }
    }
}

impl<A: Shape, F> FilterKernel for TakeWhile<A, F>
where
    F: for<'a> Fn(A::Ref<'a>) -> bool + Send + Sync + 'static,
{
    type In = A;
    /// Whether a value was refused.
    type State = bool;
    const NAME: &'static str = "take_while";
    const ENDS: bool = true;

    fn start(&self) -> bool {
        false
    }

    #[inline]
    fn keeps(&self, over: &mut bool, value: A::Ref<'_>) -> bool {
        *over = *over || !(self.wanted)(value);
        !*over
    }

    #[inline]
    fn over(&self, over: &bool) -> bool {
        *over
    }

    fn model(&self, values: Vec<A::Ref<'_>>) -> Vec<bool> {
        let wanted = values.iter().take_while(|value| (self.wanted)(**value)).count();
        (0..values.len()).map(|n| n < wanted).collect()
    }

    fn model_over(&self, values: Vec<A::Ref<'_>>) -> Option<usize> {
        values.into_iter().position(|value| !(self.wanted)(value)).map(|refused| refused + 1)
    }
}
super::debug!(TakeWhile<A, F>);
