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
        last_values(last, self.n, value).map(|window| (self.f)(window))
    }

    fn model(&self, slots: ModelSlots<'_, A>) -> Vec<Option<B>> {
        let mut all = Vec::new();
        slots.map(|a, _| {
            all.push(A::to_owned_item(a?));
            all.len().checked_sub(self.n).map(|first| (self.f)(&all[first..]))
        })
    }
}

/// Adds a value to the last `n`, and returns them side by side, the oldest first; none if they are fewer yet.
///
/// With room for twice as many, they are moved once in `n` values. A state that was restored has no such room, and that
/// of another version can have more values.
#[inline]
pub(super) fn last_values<T>(last: &mut VecDeque<T>, n: usize, value: T) -> Option<&[T]> {
    while last.len() >= n {
        last.pop_front();
    }
    last.push_back(value);
    if last.len() < n {
        return None;
    }
    if last.capacity() < 2 * n {
        make_room(last, n);
    }
    Some(last.make_contiguous())
}

#[cold]
fn make_room<T>(last: &mut VecDeque<T>, n: usize) {
    last.reserve_exact(2 * n - last.len());
}

impl<A, F, B> fmt::Debug for MapWindows<A, F, B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MapWindows").field("n", &self.n).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::last_values;
    use std::collections::VecDeque;

    #[test]
    fn the_last_values_are_side_by_side() {
        let mut last = VecDeque::new();
        for value in 0..100 {
            let window: Option<Vec<u64>> = (value >= 2).then(|| (value - 2..=value).collect());
            assert_eq!(last_values(&mut last, 3, value), window.as_deref());
            assert!(last.capacity() <= 6);
            if value % 7 == 0 {
                // As one that was written down.
                last = last.iter().copied().collect::<Vec<_>>().into();
            }
        }
    }

    #[test]
    fn the_values_of_a_longer_window_are_forgotten() {
        let mut last = VecDeque::from([1, 2, 3, 4, 5]);
        assert_eq!(last_values(&mut last, 2, 6), Some(&[5, 6][..]));
        assert_eq!(last_values(&mut last, 2, 7), Some(&[6, 7][..]));
    }
}
