use super::{Channel, Source, channels_of_both, least};
use millstream_core::Item;

/// One source after another. See [`chain`].
#[derive(Clone, Debug)]
pub struct Chain<X, Y> {
    first: X,
    second: Y,
}

/// All values of the first source, and then all of the second.
///
/// No value is kept, and the second source is not asked for a value before the first one has ended. A failure of either
/// fails the run. The values get a thread of their own if one of the two sources may wait.
///
/// ```
/// use millstream::prelude::*;
/// let chained = source::chain(source::ready([1, 2]), source::ready([3]));
/// assert_eq!(pipeline().collect(chained)?, [1, 2, 3]);
/// # Ok::<(), RunError>(())
/// ```
#[doc(alias = "concat")]
pub fn chain<X, Y>(first: X, second: Y) -> Chain<X, Y> {
    Chain { first, second }
}

impl<T: Item, X: Source<T>, Y: Source<T>> Source<T> for Chain<X, Y> {
    type Values = std::iter::Chain<X::Values, Y::Values>;
    const WAITS: bool = X::WAITS || Y::WAITS;
    const SLOTS: usize = least(X::SLOTS, Y::SLOTS);
    const THREADS: usize = if X::THREADS > Y::THREADS { X::THREADS } else { Y::THREADS };

    fn most_slots() -> usize {
        least(X::most_slots(), Y::most_slots())
    }

    fn into_values(self) -> Self::Values {
        self.first.into_values().chain(self.second.into_values())
    }

    fn waits(&self) -> bool {
        self.first.waits() || self.second.waits()
    }

    fn channels(&self) -> Vec<Channel> {
        channels_of_both(&self.first, &self.second)
    }
}
