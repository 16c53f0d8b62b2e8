//! Iterators of the standard library whose next value is always there.

use std::any::TypeId;
use std::collections::{BinaryHeap, VecDeque};
use std::ops::{Range, RangeFrom, RangeInclusive};
use std::option;

/// Whether iterators of this type never wait: ranges, and the values of a vector, a deque, a heap or an option. Of
/// another type this is not known: an adapter calls a function, which may wait.
pub(super) fn never_waits<I: Iterator<Item: 'static> + 'static>() -> bool {
    let known = [
        TypeId::of::<Range<I::Item>>(),
        TypeId::of::<RangeInclusive<I::Item>>(),
        TypeId::of::<RangeFrom<I::Item>>(),
        TypeId::of::<<Vec<I::Item> as IntoIterator>::IntoIter>(),
        TypeId::of::<<VecDeque<I::Item> as IntoIterator>::IntoIter>(),
        TypeId::of::<<BinaryHeap<I::Item> as IntoIterator>::IntoIter>(),
        TypeId::of::<option::IntoIter<I::Item>>(),
    ];
    known.contains(&TypeId::of::<I>())
}

#[cfg(test)]
mod tests {
    use super::never_waits;

    fn known<I: IntoIterator<IntoIter: 'static, Item: 'static>>(_: I) -> bool {
        never_waits::<I::IntoIter>()
    }

    #[test]
    fn ranges_and_vectors_never_wait_and_adapters_may() {
        assert!(known(0..3_u64) && known(0..=3_u8) && known(5_i32..) && known(vec!["a"]) && known(Some(1)));
        assert!(
            !known((0..3).map(|x| x + 1))
                && !known(std::iter::from_fn(|| Some(1)))
                && !known(std::sync::mpsc::channel::<u8>().1)
        );
    }
}
