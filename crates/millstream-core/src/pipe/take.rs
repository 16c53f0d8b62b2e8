use super::filter_kernel::FilterKernel;
use crate::Shape;
use std::marker::PhantomData;

/// Keeps the first values.
pub struct Take<A> {
    /// The number of values to keep.
    pub n: usize,
    shape: PhantomData<fn() -> A>,
}

impl<A> Take<A> {
    pub(crate) fn new(n: usize) -> Self {
        Take { n, shape: PhantomData }
    }
}

impl<A: Shape> FilterKernel for Take<A> {
    type In = A;
    /// The number of values still to be kept.
    type State = usize;
    const NAME: &'static str = "take";
    const ENDS: bool = true;

    fn start(&self) -> usize {
        self.n
    }

    #[inline]
    fn keeps(&self, left: &mut usize, _: A::Ref<'_>) -> bool {
        let wanted = *left > 0;
        *left -= usize::from(wanted);
        wanted
    }

    #[inline]
    fn over(&self, left: &usize) -> bool {
        *left == 0
    }

    fn model(&self, values: Vec<A::Ref<'_>>) -> Vec<bool> {
        (0..values.len()).map(|n| n < self.n).collect()
    }

    fn model_over(&self, values: Vec<A::Ref<'_>>) -> Option<usize> {
        (values.len() >= self.n).then_some(self.n)
    }
}
super::debug!(Take<A>);
