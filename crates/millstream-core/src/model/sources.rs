//! Sources, on lists: the values that a join of sources yields, or a source that looks at a clock. A deployment is not
//! involved, as with any source.

use crate::Joined;
use std::time::Duration;

/// Pairs value n of the first with value n of the second.
#[must_use]
pub fn zip<A, B>(first: Vec<A>, second: Vec<B>) -> Vec<(A, B)> {
    first.into_iter().zip(second).collect()
}

/// All values of the one, and then all of the other.
#[must_use]
pub fn chain<T>(first: Vec<T>, second: Vec<T>) -> Vec<T> {
    [first, second].into_iter().flatten().collect()
}

/// All values by (number in its source, source).
#[must_use]
pub fn round_robin<T>(sources: Vec<Vec<T>>) -> Vec<T> {
    let mut all: Vec<_> = sources.into_iter().flat_map(|source| source.into_iter().enumerate()).collect();
    all.sort_by_key(|(number, _)| *number); // stable: of one number in the order of the sources
    all.into_iter().map(|(_, value)| value).collect()
}

/// All values by (time, source, number in its source), of sources that are sorted by time.
#[must_use]
pub fn by_timestamp<T, K: Ord>(sources: Vec<Vec<T>>, time: impl Fn(&T) -> K) -> Vec<T> {
    let mut all: Vec<T> = sources.into_iter().flatten().collect();
    all.sort_by_key(time); // stable
    all
}

/// Takes values of the sources in turn, as each of `choices` says, a source and a count: the result of a merge by
/// arrival that made these choices. None if a source has fewer values, or does not exist.
#[must_use]
pub fn as_chosen<T>(sources: Vec<Vec<T>>, choices: impl IntoIterator<Item = (u32, u64)>) -> Option<Vec<T>> {
    let mut left: Vec<_> = sources.into_iter().map(Vec::into_iter).collect();
    let each = choices.into_iter().flat_map(|(source, count)| (0..count).map(move |_| source as usize));
    each.map(|source| left.get_mut(source)?.next()).collect()
}

/// The values that pass a debounce: each one that no newer one followed within `quiet`, and the last one. Each value
/// has the time at which it came; the times do not decrease.
///
/// ```
/// use millstream::core::model::sources;
/// use std::time::Duration;
///
/// let came = [(0, 'a'), (3, 'b'), (13, 'c')].map(|(ms, x)| (Duration::from_millis(ms), x));
/// assert_eq!(sources::debounce(Duration::from_millis(10), came.to_vec()), ['b', 'c']);
/// ```
#[must_use]
pub fn debounce<T>(quiet: Duration, came: Vec<(Duration, T)>) -> Vec<T> {
    let next: Vec<_> = came.iter().skip(1).map(|(at, _)| Some(*at)).chain([None]).collect();
    let passes = |(at, _): &(Duration, T), next: Option<Duration>| next.is_none_or(|next| next - *at >= quiet);
    came.into_iter().zip(next).filter(|(value, next)| passes(value, *next)).map(|((_, value), _)| value).collect()
}

/// What comes with a timeout of `within`: each value, after a `None` if it took that long. Each value has the time for
/// which the source was asked for it; `end` is the time that the end took.
///
/// ```
/// use millstream::core::model::sources;
/// use std::time::Duration;
///
/// let ms = Duration::from_millis;
/// let took = vec![(ms(3), 'a'), (ms(30), 'b')];
/// assert_eq!(sources::timeout(ms(10), took, ms(0)), [Some('a'), None, Some('b')]);
/// ```
#[must_use]
pub fn timeout<T>(within: Duration, took: Vec<(Duration, T)>, end: Duration) -> Vec<Option<T>> {
    let late = |time: Duration| (time >= within).then_some(None);
    let mut all: Vec<_> =
        took.into_iter().flat_map(|(time, value)| late(time).into_iter().chain([Some(value)])).collect();
    all.extend(late(end));
    all
}

/// The rank of an output: the index of the arrival that causes it; 0 for a value without a partner, 1 for a pair; and
/// the arrival of the older value of a pair.
type Origin = (usize, u8, usize);

/// Every pair of values with equal keys whose places are at most `distance` apart, and every value that is in no pair.
/// `first` and `second` are lists of (key, place, value), in the order of their places.
///
/// Values come in the order of their places, the first list's first. A pair comes with the later of its values, the
/// oldest partner first. A value without a partner comes before the pairs of the first value that is too far from it,
/// or at the end.
#[must_use]
pub fn join<A: Clone, B: Clone, K: PartialEq>(
    distance: u64,
    first: &[(K, u64, A)],
    second: &[(K, u64, B)],
) -> Vec<Joined<A, B>> {
    joined(distance, first, second, false)
}

/// As [`join`], with every value in one pair at most: with the oldest partner that has none yet.
#[must_use]
pub fn join_one_to_one<A: Clone, B: Clone, K: PartialEq>(
    distance: u64,
    first: &[(K, u64, A)],
    second: &[(K, u64, B)],
) -> Vec<Joined<A, B>> {
    joined(distance, first, second, true)
}

fn joined<A: Clone, B: Clone, K: PartialEq>(
    distance: u64,
    first: &[(K, u64, A)],
    second: &[(K, u64, B)],
    one_to_one: bool,
) -> Vec<Joined<A, B>> {
    // (place, list, index)
    let mut arrivals: Vec<(u64, usize, usize)> = Vec::new();
    arrivals.extend(first.iter().enumerate().map(|(n, (_, at, _))| (*at, 0, n)));
    arrivals.extend(second.iter().enumerate().map(|(n, (_, at, _))| (*at, 1, n)));
    arrivals.sort_unstable();
    let key = |(_, list, n): (u64, usize, usize)| if list == 0 { &first[n].0 } else { &second[n].0 };
    let mut paired = vec![false; arrivals.len()];
    let mut all: Vec<(Origin, Joined<A, B>)> = Vec::new();
    for (came, new) in arrivals.iter().enumerate() {
        for (older, old) in arrivals[..came].iter().enumerate() {
            let belong = old.1 != new.1 && key(*old) == key(*new) && new.0 - old.0 <= distance;
            if !belong || one_to_one && (paired[older] || paired[came]) {
                continue;
            }
            (paired[came], paired[older]) = (true, true);
            let (a, b) = if new.1 == 0 { (new.2, old.2) } else { (old.2, new.2) };
            all.push(((came, 1, older), Joined::Both(first[a].2.clone(), second[b].2.clone())));
        }
    }
    for (came, (at, list, n)) in arrivals.iter().enumerate().filter(|(came, _)| !paired[*came]) {
        let falls = arrivals.iter().position(|later| later.0 > *at && later.0 - at > distance);
        let alone = if *list == 0 { Joined::First(first[*n].2.clone()) } else { Joined::Second(second[*n].2.clone()) };
        all.push(((falls.unwrap_or(arrivals.len()), 0, came), alone));
    }
    all.sort_by_key(|(place, _)| *place);
    all.into_iter().map(|(_, joined)| joined).collect()
}
