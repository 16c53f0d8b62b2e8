use super::filter_kernel::FilterKernel;
use crate::Shape;
use std::marker::PhantomData;

/// Keeps the values from the first wanted one on.
pub struct SkipWhile<A, F> {
    /// Returns whether a value at the beginning is left out.
    pub unwanted: F,
    shape: PhantomData<fn() -> A>,
}

impl<A, F> SkipWhile<A, F> {
    pub(crate) fn new(unwanted: F) -> Self {
        SkipWhile { unwanted, shape: PhantomData }
    }
}

impl<A: Shape, F> FilterKernel for SkipWhile<A, F>
where
    F: for<'a> Fn(A::Ref<'a>) -> bool + Send + Sync + 'static,
{
    type In = A;
    /// Whether a value was wanted.
    type State = bool;
    const NAME: &'static str = "skip_while";

    fn start(&self) -> bool {
        false
    }

    #[inline]
    fn keeps(&self, begun: &mut bool, value: A::Ref<'_>) -> bool {
        *begun = *begun || !(self.unwanted)(value);
        *begun
    }

    fn model(&self, values: Vec<A::Ref<'_>>) -> Vec<bool> {
        let unwanted = values.iter().take_while(|value| (self.unwanted)(**value)).count();
        (0..values.len()).map(|n| n >= unwanted).collect()
    }
}
super::debug!(SkipWhile<A, F>);
