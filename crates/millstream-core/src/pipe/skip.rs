use super::filter_kernel::FilterKernel;
use crate::Shape;
use std::marker::PhantomData;

/// Leaves the first values out.
pub struct Skip<A> {
    /// The number of values that are left out.
    pub n: usize,
    shape: PhantomData<fn() -> A>,
}

impl<A> Skip<A> {
    pub(crate) fn new(n: usize) -> Self {
        Skip { n, shape: PhantomData }
    }
}

impl<A: Shape> FilterKernel for Skip<A> {
    type In = A;
    /// The number of values still to be left out.
    type State = usize;
    const NAME: &'static str = "skip";

    fn start(&self) -> usize {
        self.n
    }

    #[inline]
    fn keeps(&self, left: &mut usize, _: A::Ref<'_>) -> bool {
        let skipped = *left > 0;
        *left -= usize::from(skipped);
        !skipped
    }

    fn model(&self, values: Vec<A::Ref<'_>>) -> Vec<bool> {
        (0..values.len()).map(|n| n >= self.n).collect()
    }
}
super::debug!(Skip<A>);
