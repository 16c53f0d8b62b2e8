use super::{Channel, Source, channels_of_both, least, most_slots, threads_of_both};
use millstream_core::Item;

/// Two sources, value by value. See [`zip`].
#[derive(Clone, Debug)]
pub struct Zip<X, Y> {
    first: X,
    second: Y,
}

/// Joins two sources by number: value n of the first with value n of the second. It ends when one of them does. The
/// other one's remaining values are not read, apart from at most one value of the first.
///
/// The source's thread asks for one value of each in turn, beginning with the first source. Nothing is buffered, the
/// slower source sets the pace, and a failure of either fails the run at the pair's number.
///
/// **Sources that wait**: a determinate join waits for the source whose turn it is, whatever the others have. Values
/// can come through bounded channels, whose receivers are iterators: each from a thread of its own, or from one thread
/// that sends to both in the order in which they are read. A thread that sends more to one channel than it holds,
/// before it sends to the other, waits for ever; no bounded join can avoid that.
///
/// ```
/// use millstream::prelude::*;
/// let p = pipeline::<(u64, char)>().map(|(n, c)| format!("{n}{c}"));
/// assert_eq!(p.collect(source::zip(0.., ['a', 'b']))?, ["0a", "1b"]);
/// # Ok::<(), RunError>(())
/// ```
pub fn zip<X, Y>(first: X, second: Y) -> Zip<X, Y> {
    Zip { first, second }
}

impl<A: Item, B: Item, X: Source<A>, Y: Source<B>> Source<(A, B)> for Zip<X, Y> {
    type Values = std::iter::Zip<X::Values, Y::Values>;
    const WAITS: bool = X::WAITS || Y::WAITS;
    const SLOTS: usize = least(X::SLOTS, Y::SLOTS);
    const THREADS: usize = threads_of_both(X::WAITS || Y::WAITS, X::THREADS, Y::THREADS);

    fn most_slots() -> usize {
        least(most_slots::<A, X>(), most_slots::<B, Y>())
    }

    fn into_values(self) -> Self::Values {
        self.first.into_values().zip(self.second.into_values())
    }

    fn waits(&self) -> bool {
        self.first.waits() || self.second.waits()
    }

    fn channels(&self) -> Vec<Channel> {
        channels_of_both(&self.first, &self.second)
    }
}
