use super::{Channel, Source};
use millstream_core::Item;
use std::collections::VecDeque;

/// Several sources, one value of each in turn. See [`round_robin`].
#[derive(Clone, Debug)]
pub struct RoundRobin<X> {
    sources: Vec<X>,
}

/// Merges several sources: one value of each in turn, from the first to the last and again.
///
/// A source that has ended loses its turn, and the others go on; the merge ends with the last of them. The order is
/// that of (a value's number in its source, its source).
///
/// Nothing is buffered. It waits for the source whose turn it is, as [`zip`](super::zip) does. A failure of a source
/// fails the run. Sources of different types can be passed as `Box<dyn Iterator<Item = T> + Send>`. To mark values with
/// their source, `map` the sources.
///
/// ```
/// use millstream::prelude::*;
/// let merged = source::round_robin([vec!["a1", "a2", "a3"], vec!["b1"], vec!["c1", "c2"]]);
/// assert_eq!(pipeline().collect(merged)?, ["a1", "b1", "c1", "a2", "c2", "a3"]);
/// # Ok::<(), RunError>(())
/// ```
#[doc(alias = "interleave")]
pub fn round_robin<X>(sources: impl IntoIterator<Item = X>) -> RoundRobin<X> {
    RoundRobin { sources: sources.into_iter().collect() }
}

impl<T: Item, X: Source<T>> Source<T> for RoundRobin<X> {
    type Values = InTurn<X::Values>;
    const WAITS: bool = X::WAITS;
    const SLOTS: usize = X::SLOTS;
    const THREADS: usize = X::THREADS;

    fn most_slots() -> usize {
        X::most_slots()
    }

    fn into_values(self) -> Self::Values {
        InTurn { turns: self.sources.into_iter().map(Source::into_values).collect() }
    }

    fn waits(&self) -> bool {
        self.sources.iter().any(Source::waits)
    }

    fn channels(&self) -> Vec<Channel> {
        self.sources.iter().flat_map(Source::channels).collect()
    }
}

/// The values of a [`RoundRobin`].
#[derive(Clone, Debug)]
pub struct InTurn<I> {
    /// The sources that have not ended; the next in turn comes first.
    turns: VecDeque<I>,
}

impl<I: Iterator> Iterator for InTurn<I> {
    type Item = I::Item;

    fn next(&mut self) -> Option<I::Item> {
        while let Some(mut source) = self.turns.pop_front() {
            if let Some(value) = source.next() {
                self.turns.push_back(source);
                return Some(value);
            }
        }
        None
    }
}
