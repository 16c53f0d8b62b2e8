use super::matches::Matches;
use super::{Channel, Source, channels_of_both, least, most_slots, threads_of_both};
use millstream_core::{Item, Joined};
use std::hash::Hash;

/// Pairs of matching values of two sources. See [`join_by_number`] and [`join_by_time`].
#[derive(Clone, Debug)]
pub struct Join<X, Y, F, G> {
    first: X,
    second: Y,
    /// Maps a value to its key and its position.
    first_place: F,
    second_place: G,
    bound: Bound,
}

/// As [`Join`], with the values that have no match.
#[derive(Clone, Debug)]
pub struct OuterJoin<X, Y, F, G>(Join<X, Y, F, G>);

#[derive(Clone, Copy, Debug)]
pub(super) struct Bound {
    pub(super) distance: u64,
    /// Whether a value's position is its number.
    pub(super) by_number: bool,
    /// The most values kept.
    pub(super) most: usize,
    /// Whether the oldest value is dropped if there is one too many.
    pub(super) forget: bool,
    pub(super) unmatched: Unmatched,
    /// Whether a value is in one pair at most.
    pub(super) one_to_one: bool,
}

impl Bound {
    /// At most `most` values, at most `distance` apart in time.
    fn within(distance: u64, most: usize) -> Self {
        Bound { distance, by_number: false, most, forget: false, unmatched: Unmatched::Drop, one_to_one: false }
    }
}

/// What happens to a value that has left the bound without a match.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unmatched {
    Drop,
    Fail,
    Keep,
}

/// Every pair of a value of the first source and one of the second with equal keys, whose numbers are at most
/// `distance` apart. A value may be in several pairs, or in none.
///
/// The sources are read in turn, the first one first, and a pair comes as soon as its later value has been read. Of the
/// pairs of one value, the one with the oldest partner comes first. A value is kept until `distance` more have been
/// read of both sources: at most `2 * distance + 2` of them at a time, and the pairs of the value read last. Every
/// value is cloned once for each of its pairs.
///
/// A value in no pair is dropped when it leaves the bound, unless [`fail_unmatched`](Join::fail_unmatched) or
/// [`outer`](Join::outer) is used. When one source has ended, the other is read as long as pairs are possible. The join
/// waits for the source whose turn it is, and fails, as [`zip`](super::zip) does.
///
/// ```
/// use millstream::prelude::*;
/// let orders = vec![(1, "book"), (2, "pen"), (3, "ink")];
/// let payments = vec![(2, 15), (1, 20), (7, 1)];
/// let p = pipeline::<((u64, &str), (u64, u64))>();
/// let paid = source::join_by_number(1, orders, |(id, _)| *id, payments, |(id, _)| *id);
/// assert_eq!(p.collect(paid)?, [((2, "pen"), (2, 15)), ((1, "book"), (1, 20))]);
/// # Ok::<(), RunError>(())
/// ```
#[allow(clippy::type_complexity, reason = "closures have no names")]
pub fn join_by_number<A, B, K, X, Y>(
    distance: u64,
    first: X,
    first_key: impl Fn(&A) -> K + Send + 'static,
    second: Y,
    second_key: impl Fn(&B) -> K + Send + 'static,
) -> Join<X, Y, impl Fn(u64, &A) -> (K, u64) + Send + 'static, impl Fn(u64, &B) -> (K, u64) + Send + 'static>
where
    A: Item + Clone,
    B: Item + Clone,
    K: Eq + Hash + Clone + Send + 'static,
    X: Source<A>,
    Y: Source<B>,
{
    let bound = Bound { by_number: true, ..Bound::within(distance, usize::MAX) };
    let first_place = move |number, value: &A| (first_key(value), number);
    let second_place = move |number, value: &B| (second_key(value), number);
    Join { first, second, first_place, second_place, bound }
}

/// As [`join_by_number`], for values whose times are at most `distance` apart; the closures return key and time.
///
/// Both sources are in the order of their times and are read in that order; of equal times, the first source's value
/// comes first. A value earlier than the one before it in its source fails the run, and the error names the source, 0
/// or 1, and the value's number in it.
///
/// A value is kept until a value has been read that is more than `distance` later. Any number may come in that time. At
/// most `most` are kept, of both sources together: one more fails the run, unless
/// [`forget_oldest`](Join::forget_oldest) is set.
///
/// ```
/// use millstream::prelude::*;
/// let asked = vec![("a", 10), ("b", 12), ("a", 90)];
/// let answered = vec![("b", 15), ("a", 17), ("a", 91)];
/// let calls = source::join_by_time(
///     5,
///     100,
///     asked,
///     |(id, time)| (*id, *time),
///     answered,
///     |(id, time)| (*id, *time),
/// );
/// let p = pipeline::<((&str, u64), (&str, u64))>();
/// // The answer to the first one took 7.
/// assert_eq!(p.collect(calls)?, [(("b", 12), ("b", 15)), (("a", 90), ("a", 91))]);
/// # Ok::<(), RunError>(())
/// ```
///
/// # Panics
///
/// If `most` is 0.
#[allow(clippy::type_complexity, reason = "closures have no names")]
pub fn join_by_time<A, B, K, X, Y>(
    distance: u64,
    most: usize,
    first: X,
    first_place: impl Fn(&A) -> (K, u64) + Send + 'static,
    second: Y,
    second_place: impl Fn(&B) -> (K, u64) + Send + 'static,
) -> Join<X, Y, impl Fn(u64, &A) -> (K, u64) + Send + 'static, impl Fn(u64, &B) -> (K, u64) + Send + 'static>
where
    A: Item + Clone,
    B: Item + Clone,
    K: Eq + Hash + Clone + Send + 'static,
    X: Source<A>,
    Y: Source<B>,
{
    assert!(most >= 1, "a join that keeps no values finds no pairs");
    let bound = Bound::within(distance, most);
    let first_place = move |_, value: &A| first_place(value);
    let second_place = move |_, value: &B| second_place(value);
    Join { first, second, first_place, second_place, bound }
}

impl<X, Y, F, G> Join<X, Y, F, G> {
    /// Makes a value in no pair fail the run when it leaves the bound: the error names its source, 0 or 1, and its
    /// number.
    #[must_use]
    pub fn fail_unmatched(mut self) -> Self {
        self.bound.unmatched = Unmatched::Fail;
        self
    }

    /// Puts every value into one pair at most: with the oldest partner that has none yet. Both leave the join at once,
    /// so it keeps only values without a match, however long the distance is.
    ///
    /// ```
    /// use millstream::prelude::*;
    /// let orders = [(1, "book"), (2, "pen"), (1, "ink")];
    /// let payments = [(2, 15), (1, 20), (1, 30)];
    /// let paid = source::join_by_number(1_000_000, orders, |(id, _)| *id, payments, |(id, _)| *id);
    /// let p = pipeline::<((u64, &str), (u64, u64))>().map(|((_, what), (_, paid))| (*what, *paid));
    /// assert_eq!(p.collect(paid.one_to_one())?, [("pen", 15), ("book", 20), ("ink", 30)]);
    /// # Ok::<(), RunError>(())
    /// ```
    #[must_use]
    pub fn one_to_one(mut self) -> Self {
        self.bound.one_to_one = true;
        self
    }

    /// Makes the oldest value leave the bound if one value too many would be kept.
    #[must_use]
    pub fn forget_oldest(mut self) -> Self {
        self.bound.forget = true;
        self
    }

    /// Yields a value in no pair alone when it leaves the bound. One that is too far from the value read last comes
    /// before the pairs of that value; the one that leaves to make room for it
    /// ([`forget_oldest`](Join::forget_oldest)) comes after them, since it may be in one. Values left at the end are
    /// yielded then, the oldest first.
    ///
    /// ```
    /// use millstream::prelude::*;
    /// let joined = source::join_by_number(1, [1, 2, 3], |n| *n, [2, 9], |n| *n).outer();
    /// let all = pipeline::<Joined<u64, u64>>().collect(joined)?;
    /// assert_eq!(
    ///     all,
    ///     [Joined::Both(2, 2), Joined::First(1), Joined::Second(9), Joined::First(3)]
    /// );
    /// # Ok::<(), RunError>(())
    /// ```
    #[must_use]
    pub fn outer(mut self) -> OuterJoin<X, Y, F, G> {
        self.bound.unmatched = Unmatched::Keep;
        OuterJoin(self)
    }
}

impl<X, Y, F, G> Join<X, Y, F, G> {
    fn matches<A: Item + Clone, B: Item + Clone, K>(self) -> Matches<X::Values, Y::Values, K, F, G>
    where
        X: Source<A>,
        Y: Source<B>,
        K: Eq + Hash + Clone,
        F: Fn(u64, &A) -> (K, u64),
        G: Fn(u64, &B) -> (K, u64),
    {
        let (first, second) = (self.first.into_values(), self.second.into_values());
        Matches::new((first, self.first_place), (second, self.second_place), self.bound)
    }
}

/// Only pairs.
type Pairs<M, A, B> = std::iter::FilterMap<M, fn(Joined<A, B>) -> Option<(A, B)>>;

impl<A, B, K, X, Y, F, G> Source<(A, B)> for Join<X, Y, F, G>
where
    A: Item + Clone,
    B: Item + Clone,
    K: Eq + Hash + Clone + Send + 'static,
    X: Source<A>,
    Y: Source<B>,
    F: Fn(u64, &A) -> (K, u64) + Send + 'static,
    G: Fn(u64, &B) -> (K, u64) + Send + 'static,
{
    type Values = Pairs<Matches<X::Values, Y::Values, K, F, G>, A, B>;
    const WAITS: bool = X::WAITS || Y::WAITS;
    const SLOTS: usize = least(X::SLOTS, Y::SLOTS);
    const THREADS: usize = threads_of_both(X::WAITS || Y::WAITS, X::THREADS, Y::THREADS);

    fn most_slots() -> usize {
        least(most_slots::<A, X>(), most_slots::<B, Y>())
    }

    fn into_values(self) -> Self::Values {
        self.matches().filter_map(|joined| match joined {
            Joined::Both(a, b) => Some((a, b)),
            Joined::First(_) | Joined::Second(_) => None,
        })
    }

    fn waits(&self) -> bool {
        self.first.waits() || self.second.waits()
    }

    fn channels(&self) -> Vec<Channel> {
        channels_of_both(&self.first, &self.second)
    }
}

impl<A, B, K, X, Y, F, G> Source<Joined<A, B>> for OuterJoin<X, Y, F, G>
where
    A: Item + Clone,
    B: Item + Clone,
    K: Eq + Hash + Clone + Send + 'static,
    X: Source<A>,
    Y: Source<B>,
    F: Fn(u64, &A) -> (K, u64) + Send + 'static,
    G: Fn(u64, &B) -> (K, u64) + Send + 'static,
{
    type Values = Matches<X::Values, Y::Values, K, F, G>;
    const WAITS: bool = X::WAITS || Y::WAITS;
    const SLOTS: usize = least(X::SLOTS, Y::SLOTS);
    const THREADS: usize = threads_of_both(X::WAITS || Y::WAITS, X::THREADS, Y::THREADS);

    fn most_slots() -> usize {
        least(most_slots::<A, X>(), most_slots::<B, Y>())
    }

    fn into_values(self) -> Self::Values {
        self.0.matches()
    }

    fn waits(&self) -> bool {
        self.0.first.waits() || self.0.second.waits()
    }

    fn channels(&self) -> Vec<Channel> {
        channels_of_both(&self.0.first, &self.0.second)
    }
}
