use super::{Channel, Source};
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
    const THREADS: usize = X::THREADS;

    fn most_slots() -> usize {
        X::most_slots()
    }

    fn into_values(self) -> Self::Values {
        let sources: Vec<_> = self.sources.into_iter().map(|source| (0, source.into_values())).collect();
        let heads = sources.iter().map(|_| None).collect();
        InTime { sources, time: self.time, heads, tree: Vec::new() }
    }

    fn waits(&self) -> bool {
        self.sources.iter().any(Source::waits)
    }

    fn channels(&self) -> Vec<Channel> {
        self.sources.iter().flat_map(Source::channels).collect()
    }
}

/// The values of a [`ByTimestamp`].
///
/// The times of the next values are in a tournament: a tree whose leaves are the sources, and whose inner nodes hold
/// the later of the two that met there. When the earliest value leaves, its source's next value is compared only with
/// those on the way up.
#[derive(Debug)]
pub struct InTime<I, K, T, F> {
    /// Each with the number of values it has yielded.
    sources: Vec<(u64, I)>,
    time: F,
    /// The next value of every source, unless it has left, or the source has ended.
    heads: Vec<Option<T>>,
    /// The entrant that lost at each inner node, which are numbered from 1 on: the children of node n are 2n and
    /// 2n + 1, and the sources come after the inner nodes. Node 0 has the entrant that won. Once its value has left,
    /// the next one of its source is requested with the next call. Empty before the first call.
    tree: Vec<Entrant<K>>,
}

/// A source in the tournament.
#[derive(Debug)]
struct Entrant<K> {
    /// The time of its next value, or of the one that has just left; none if it has ended.
    time: Option<K>,
    source: usize,
}

impl<K: Ord> Entrant<K> {
    #[inline(always)]
    fn is_before(&self, other: &Self) -> bool {
        match (&self.time, &other.time) {
            (Some(time), Some(later)) => match time.cmp(later) {
                Ordering::Less => true,
                Ordering::Equal => self.source < other.source,
                Ordering::Greater => false,
            },
            (time, _) => time.is_some(),
        }
    }
}

impl<I: Iterator<Item = T>, K: Ord + Debug, T, F: Fn(&T) -> K> InTime<I, K, T, F> {
    /// Asks a source for its next value, which must not be of an earlier time than `last`. Returns its time.
    #[inline(always)]
    fn ask(&mut self, source: usize, last: Option<K>) -> Option<K> {
        let (number, values) = &mut self.sources[source];
        let value = values.next()?;
        let time = (self.time)(&value);
        if let Some(last) = last.filter(|last| time < *last) {
            fail_unsorted(source, *number, &time, &last);
        }
        *number += 1;
        self.heads[source] = Some(value);
        Some(time)
    }

    /// Asks every source for its first value, in their order, and lets all of them play.
    #[cold]
    fn begin(&mut self) {
        let count = self.sources.len();
        let absent = |_| Entrant { time: None, source: 0 };
        let mut entrants: Vec<_> = (0..count).map(absent).collect();
        for source in 0..count {
            entrants.push(Entrant { time: self.ask(source, None), source });
        }
        // The winners at a node's children meet at the node; the loser stays there, and the winner goes up.
        self.tree = (0..count.max(1)).map(absent).collect();
        for node in (1..count).rev() {
            let [mut winner, mut loser] =
                [2 * node, 2 * node + 1].map(|n| std::mem::replace(&mut entrants[n], absent(n)));
            if loser.is_before(&winner) {
                std::mem::swap(&mut winner, &mut loser);
            }
            (entrants[node], self.tree[node]) = (winner, loser);
        }
        self.tree[0] = if count > 0 { entrants.swap_remove(1) } else { absent(0) };
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
        if self.tree.is_empty() {
            self.begin();
        } else {
            let winner = &mut self.tree[0];
            let source = winner.source;
            // None: all have ended.
            let last = winner.time.take()?;
            let mut challenger = Entrant { time: self.ask(source, Some(last)), source };
            let mut node = (self.sources.len() + source) / 2;
            while node > 0 {
                let other = &mut self.tree[node];
                if other.is_before(&challenger) {
                    std::mem::swap(other, &mut challenger);
                }
                node /= 2;
            }
            self.tree[0] = challenger;
        }
        let winner = &self.tree[0];
        winner.time.as_ref()?;
        self.heads[winner.source].take()
    }
}
