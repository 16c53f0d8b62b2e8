use super::Source;
use millstream_core::Item;
use millstream_core::failure::fail;
use std::collections::BTreeMap;
use std::fmt::Debug;

/// Several sources in the order of their timestamps. See [`by_timestamp`].
#[derive(Clone, Debug)]
pub struct ByTimestamp<X, F> {
    sources: Vec<X>,
    time: F,
}

/// Merges several sources, each in the order of its timestamps, in that order. Of equal times, the value of the earlier
/// source comes first; the values of one source keep their order.
///
/// One value of each source is buffered. Each output waits until every source that has not ended has a value: a silent
/// source holds up the others, since it may still have an earlier value. Otherwise it behaves as [`zip`](super::zip).
///
/// A value earlier than the one before it in its source fails the run. The error names the source, counted from 0, the
/// value's number in it, and both times.
///
/// ```
/// use millstream::prelude::*;
/// let (p, left) = (pipeline::<(u64, &str)>(), vec![(1, "a"), (4, "b")]);
/// let right = vec![(1, "x"), (3, "y")];
/// let sorted = source::by_timestamp([left.clone(), right], |(time, _)| *time);
/// assert_eq!(p.collect(sorted)?, [(1, "a"), (1, "x"), (3, "y"), (4, "b")]);
///
/// let unsorted = source::by_timestamp([left, vec![(3, "y"), (2, "late")]], |(time, _)| *time);
/// let error = p.collect(unsorted).unwrap_err();
/// assert_eq!(
///     error.to_string(),
///     "stage \"source\", number 2: source 1, its number 1: a value of time 2 after one of time 3; \
///      sort the source, or let `windows_by` wait for late values"
/// );
/// # Ok::<(), RunError>(())
/// ```
pub fn by_timestamp<T, K, X, F>(sources: impl IntoIterator<Item = X>, time: F) -> ByTimestamp<X, F>
where
    T: Item,
    K: Ord + Debug + Send + 'static,
    X: Source<T>,
    F: Fn(&T) -> K + Send + 'static,
{
    ByTimestamp { sources: sources.into_iter().collect(), time }
}

impl<T: Item, K, X: Source<T>, F> Source<T> for ByTimestamp<X, F>
where
    K: Ord + Debug + Send + 'static,
    F: Fn(&T) -> K + Send + 'static,
{
    type Values = InTime<X::Values, K, T, F>;
    const WAITS: bool = X::WAITS;
    const SLOTS: usize = X::SLOTS;

    fn values(self) -> Self::Values {
        let sources: Vec<_> = self.sources.into_iter().map(|source| (0, source.values())).collect();
        InTime { first: 0..sources.len(), sources, time: self.time, heads: BTreeMap::new(), last: None }
    }
}

/// The values of a [`ByTimestamp`].
#[derive(Debug)]
pub struct InTime<I, K, T, F> {
    /// Each with the number of values it has yielded.
    sources: Vec<(u64, I)>,
    time: F,
    /// The next value of every source, by time and source.
    heads: BTreeMap<(K, usize), T>,
    /// The sources that were not yet asked.
    first: std::ops::Range<usize>,
    /// The last value yielded. The next value of its source is not among the heads: it is requested only with the next
    /// call.
    last: Option<(K, usize)>,
}

impl<I: Iterator<Item = T>, K: Ord + Debug, T, F: Fn(&T) -> K> InTime<I, K, T, F> {
    /// Adds the next value of a source to the heads, if there is one.
    fn ask(&mut self, source: usize, last: Option<K>) {
        let (number, values) = &mut self.sources[source];
        let Some(value) = values.next() else { return };
        let time = (self.time)(&value);
        if let Some(last) = last.filter(|last| time < *last) {
            fail(format!(
                "source {source}, its number {number}: a value of time {time:?} after one of time {last:?}; sort the \
                 source, or let `windows_by` wait for late values"
            ));
        }
        *number += 1;
        self.heads.insert((time, source), value);
    }
}

impl<I: Iterator<Item = T>, K: Ord + Debug, T, F: Fn(&T) -> K> Iterator for InTime<I, K, T, F> {
    type Item = T;

    fn next(&mut self) -> Option<T> {
        while let Some(source) = self.first.next() {
            self.ask(source, None);
        }
        if let Some((time, source)) = self.last.take() {
            self.ask(source, Some(time));
        }
        let (place, value) = self.heads.pop_first()?;
        self.last = Some(place);
        Some(value)
    }
}
