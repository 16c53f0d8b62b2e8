use super::Source;
use millstream_core::Item;
use millstream_core::failure::fail;
use std::cmp::Ordering;
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
        let heads = sources.iter().map(|_| None).collect();
        InTime { sources, time: self.time, heads, losers: Vec::new(), last: None, begun: false }
    }
}

/// The values of a [`ByTimestamp`].
///
/// Their next values are in a tournament: a tree whose leaves are the sources, and whose inner nodes have the later one
/// of the two that met there. When the first of all leaves, its source's next value meets those on the way up alone.
#[derive(Debug)]
pub struct InTime<I, K, T, F> {
    /// Each with the number of values it has yielded.
    sources: Vec<(u64, I)>,
    time: F,
    /// The next value of every source with its time, unless the source has ended or was not asked yet.
    heads: Vec<Option<(K, T)>>,
    /// The source that lost at each inner node, which are numbered from 1 on: the children of node n are 2n and 2n + 1,
    /// and the sources come after the inner nodes. Node 0 has the source that won.
    losers: Vec<usize>,
    /// The last value's time. The next value of its source is requested only with the next call.
    last: Option<K>,
    /// Whether the tournament has begun.
    begun: bool,
}

impl<I: Iterator<Item = T>, K: Ord + Debug, T, F: Fn(&T) -> K> InTime<I, K, T, F> {
    /// Asks a source for its next value, which must not be of an earlier time than `last`.
    #[inline]
    fn ask(&mut self, source: usize, last: Option<K>) {
        let (number, values) = &mut self.sources[source];
        let Some(value) = values.next() else { return };
        let time = (self.time)(&value);
        if let Some(last) = last.filter(|last| time < *last) {
            fail_unsorted(source, *number, &time, &last);
        }
        *number += 1;
        self.heads[source] = Some((time, value));
    }

    /// Whether the next value of one source comes before that of another. A source that has ended comes last.
    #[inline]
    fn is_before(&self, one: usize, other: usize) -> bool {
        match (&self.heads[one], &self.heads[other]) {
            (Some((time, _)), Some((later, _))) => match time.cmp(later) {
                Ordering::Less => true,
                Ordering::Equal => one < other,
                Ordering::Greater => false,
            },
            (one, _) => one.is_some(),
        }
    }

    /// Lets a source play against those that lost on its way up, and returns the source that wins.
    #[inline]
    fn play(&mut self, source: usize) -> usize {
        let (mut winner, mut node) = (source, (self.sources.len() + source) / 2);
        while node > 0 {
            let other = self.losers[node];
            if self.is_before(other, winner) {
                self.losers[node] = winner;
                winner = other;
            }
            node /= 2;
        }
        winner
    }

    /// Asks every source for its first value, in their order, and lets all of them play.
    #[cold]
    fn begin(&mut self) {
        let count = self.sources.len();
        for source in 0..count {
            self.ask(source, None);
        }
        self.losers = vec![0; count.max(1)];
        let mut winners: Vec<usize> = (0..count).map(|_| 0).chain(0..count).collect();
        for node in (1..count).rev() {
            let (one, other) = (winners[2 * node], winners[2 * node + 1]);
            (winners[node], self.losers[node]) = if self.is_before(one, other) { (one, other) } else { (other, one) };
        }
        self.losers[0] = winners.get(1).copied().unwrap_or(0);
        self.begun = true;
    }
}

#[cold]
fn fail_unsorted<K: Debug>(source: usize, number: u64, time: &K, last: &K) {
    fail(format!(
        "source {source}, its number {number}: a value of time {time:?} after one of time {last:?}; sort the source, or \
         let `windows_by` wait for late values"
    ));
}

impl<I: Iterator<Item = T>, K: Ord + Debug, T, F: Fn(&T) -> K> Iterator for InTime<I, K, T, F> {
    type Item = T;

    #[inline]
    fn next(&mut self) -> Option<T> {
        if !self.begun {
            self.begin();
        } else if let Some(time) = self.last.take() {
            let source = self.losers[0];
            self.ask(source, Some(time));
            self.losers[0] = self.play(source);
        }
        let (time, value) = self.heads.get_mut(self.losers[0])?.take()?;
        self.last = Some(time);
        Some(value)
    }
}
