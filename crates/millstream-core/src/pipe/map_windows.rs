use super::scan_kernel::ScanKernel;
use crate::model::ModelSlots;
use crate::{Item, KeepsClock, Quiet, SequenceNumber, Sparse, ToOwnedItem};
use std::collections::VecDeque;
use std::fmt;
use std::marker::PhantomData;

/// A function of the last `n` values at every value.
pub struct MapWindows<A, F, B> {
    /// The number of values in a window.
    pub n: usize,
    /// The function.
    pub f: F,
    shape: PhantomData<fn() -> (A, B)>,
}

impl<A, F, B> MapWindows<A, F, B> {
    pub(crate) fn new(n: usize, f: F) -> Self {
        assert!(n >= 1, "map_windows(0, ..): a window needs at least one value");
        MapWindows { n, f, shape: PhantomData }
    }
}

impl<A, F, B> KeepsClock for MapWindows<A, F, B> {}
impl<A, F, B> Quiet for MapWindows<A, F, B> {}

impl<A: ToOwnedItem<Owned: Clone>, F, B: Item> ScanKernel for MapWindows<A, F, B>
where
    F: Fn(&[A::Owned]) -> B + Send + Sync + 'static,
{
    type In = A;
    type Out = B;
    type Density = Sparse;
    /// The last values, the oldest first.
    type State = VecDeque<A::Owned>;
    const NAME: &'static str = "map_windows";

    fn start(&self) -> VecDeque<A::Owned> {
        VecDeque::new()
    }

    #[inline]
    fn step(&self, last: &mut VecDeque<A::Owned>, _: SequenceNumber, slot: Option<A::Ref<'_>>, _: bool) -> Option<B> {
        let value = A::to_owned_item(slot?);
        if last.len() == self.n {
            last.pop_front();
        }
        last.push_back(value);
        if last.len() < self.n {
            return None;
        }
        if !last.as_slices().1.is_empty() {
            straighten(last, self.n);
        }
        Some((self.f)(last.as_slices().0))
    }

    fn model(&self, slots: ModelSlots<'_, A>) -> Vec<Option<B>> {
        let mut all = Vec::new();
        slots.map(|a, _| {
            all.push(A::to_owned_item(a?));
            all.len().checked_sub(self.n).map(|first| (self.f)(&all[first..]))
        })
    }
}

/// Moves the values side by side. With room for twice as many, this is due once in `n` values.
#[cold]
fn straighten<T>(last: &mut VecDeque<T>, n: usize) {
    last.reserve(2 * n - last.len());
    last.make_contiguous();
}

impl<A, F, B> fmt::Debug for MapWindows<A, F, B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MapWindows").field("n", &self.n).finish_non_exhaustive()
    }
}
