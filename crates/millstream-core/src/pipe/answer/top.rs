use super::AnswerKernel;
use crate::{Item, ItemShape, Shape, ToOwnedItem};
use std::cmp::Ordering;
use std::marker::PhantomData;

/// The greatest of the values that were put in, at most `n`: a state for folds.
///
/// [`top_n`](crate::FoldExt::top_n) is such a fold. In a fold of your own, of a window or of a key, it is the state.
///
/// It keeps at most `n` values, sorted: a value that is not among the greatest costs one comparison, and another one
/// `log2(n)` and a move of those that are less.
///
/// ```
/// use millstream::prelude::*;
/// // The two greatest amounts of each account.
/// let greatest = pipeline::<(char, u32)>().fold_by(
///     |(account, _)| *account,
///     Top::new(2),
///     |top: &mut Top<u32>, (_, amount)| top.push(*amount),
///     Top::into_vec,
/// );
/// let amounts = [('a', 7), ('b', 1), ('a', 9), ('a', 8)];
/// assert_eq!(greatest.model(amounts), [vec![('a', vec![9, 8]), ('b', vec![1])]]);
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Top<T> {
    n: usize,
    /// The greatest first; of equal ones the first that came.
    values: Vec<T>,
}

impl<T> Top<T> {
    /// Nothing yet, and room for `n` values.
    #[must_use]
    pub fn new(n: usize) -> Self {
        Top { n, values: Vec::new() }
    }

    /// Puts a value in. If there is no room, the least value goes; of equal ones the last that came.
    pub fn push(&mut self, value: T)
    where
        T: Ord,
    {
        self.push_by(value, T::cmp);
    }

    /// As [`push`](Top::push), compared by something that each value has. All values must be put in by the same `key`.
    pub fn push_by_key<K: Ord>(&mut self, value: T, key: impl Fn(&T) -> K) {
        self.push_by(value, |a, b| key(a).cmp(&key(b)));
    }

    /// As [`push`](Top::push), in an order of your own.
    ///
    /// `compare(held, value)` gets a value that is held, then the new one, and must be a total order. All values must
    /// be put in by the same one: neither [`push`](Top::push) nor [`append`](Top::append) goes with it.
    ///
    /// ```
    /// use millstream::prelude::*;
    /// let hottest = pipeline::<(char, f64)>().fold_by(
    ///     |(station, _)| *station,
    ///     Top::new(1),
    ///     |top: &mut Top<f64>, (_, degrees)| top.push_by(*degrees, f64::total_cmp),
    ///     Top::into_vec,
    /// );
    /// let readings = [('a', 20.5), ('b', 19.0), ('a', 21.5)];
    /// assert_eq!(hottest.model(readings), [vec![('a', vec![21.5]), ('b', vec![19.0])]]);
    /// ```
    pub fn push_by(&mut self, value: T, compare: impl Fn(&T, &T) -> Ordering) {
        if let Some(place) = self.place(|held| compare(held, &value)) {
            self.put(place, value);
        }
    }

    /// Puts all values of another one in, the greatest first, as if they had come after those that are here.
    pub fn append(&mut self, later: Self)
    where
        T: Ord,
    {
        later.values.into_iter().for_each(|value| self.push(value));
    }

    /// The values, the greatest first; of equal ones the first that came.
    #[must_use]
    pub fn as_slice(&self) -> &[T] {
        &self.values
    }

    /// The values, the greatest first; of equal ones the first that came.
    #[must_use]
    pub fn into_vec(self) -> Vec<T> {
        self.values
    }

    /// Where a value goes that the values compare to like this; none if it is not among the greatest.
    fn place(&self, compare: impl Fn(&T) -> Ordering) -> Option<usize> {
        if self.values.len() >= self.n && self.values.last().is_none_or(|least| compare(least).is_ge()) {
            return None;
        }
        Some(self.values.partition_point(|held| compare(held).is_ge()))
    }

    /// This with room for `n` values: those of a version before may have been more or fewer.
    #[inline]
    fn for_n(&mut self, n: usize) -> &mut Self {
        if self.n != n {
            self.n = n;
            self.values.truncate(n);
        }
        self
    }

    fn put(&mut self, place: usize, value: T) {
        if self.values.len() == self.n {
            self.values.pop();
        }
        self.values.insert(place, value);
    }
}

/// The `n` greatest values.
pub struct TopN<A> {
    n: usize,
    shape: PhantomData<fn() -> A>,
}
crate::pipe::debug!(TopN<A>);

/// The `n` values with the greatest keys.
pub struct TopNByKey<A, K, F> {
    n: usize,
    key: F,
    shape: PhantomData<fn() -> (A, K)>,
}
crate::pipe::debug!(TopNByKey<A, K, F>);

/// The `n` greatest values, in an order of its own.
pub struct TopNBy<A, F> {
    n: usize,
    compare: F,
    shape: PhantomData<fn() -> A>,
}
crate::pipe::debug!(TopNBy<A, F>);

impl<A, F> TopNBy<A, F> {
    pub(crate) fn new(n: usize, compare: F) -> Self {
        TopNBy { n, compare, shape: PhantomData }
    }
}

impl<A> TopN<A> {
    pub(crate) fn new(n: usize) -> Self {
        TopN { n, shape: PhantomData }
    }
}

impl<A, K, F> TopNByKey<A, K, F> {
    pub(crate) fn new(n: usize, key: F) -> Self {
        TopNByKey { n, key, shape: PhantomData }
    }
}

impl<A: ToOwnedItem<Owned: Clone + Ord>> AnswerKernel for TopN<A> {
    type In = A;
    type Out = Vec<A::Owned>;
    type State = Top<A::Owned>;
    const NAME: &'static str = "top_n";

    fn start(&self) -> Top<A::Owned> {
        Top::new(self.n)
    }

    #[inline]
    fn add(&self, top: &mut Top<A::Owned>, value: A::Ref<'_>) {
        let top = top.for_n(self.n);
        if let Some(place) = top.place(|held| A::cmp_owned(held, value)) {
            top.put(place, A::to_owned_item(value));
        }
    }

    fn answer(&self, mut top: Top<A::Owned>) -> Option<Vec<A::Owned>> {
        top.for_n(self.n);
        Some(top.into_vec())
    }

    fn model(&self, values: Vec<A::Ref<'_>>) -> Option<Vec<A::Owned>> {
        let mut values: Vec<A::Owned> = values.into_iter().map(A::to_owned_item).collect();
        values.sort_by(|a, b| b.cmp(a)); // stable
        values.truncate(self.n);
        Some(values)
    }
}

impl<A: Shape + ToOwnedItem<Owned: Clone>, K, F> AnswerKernel for TopNByKey<A, K, F>
where
    K: Item + Clone + Ord,
    F: for<'a> Fn(A::Ref<'a>) -> K + Send + Sync + 'static,
{
    type In = A;
    type Out = Vec<A::Owned>;
    type State = Top<(K, A::Owned)>;
    const NAME: &'static str = "top_n_by_key";

    fn start(&self) -> Self::State {
        Top::new(self.n)
    }

    #[inline]
    fn add(&self, top: &mut Self::State, value: A::Ref<'_>) {
        let (key, top) = ((self.key)(value), top.for_n(self.n));
        if let Some(place) = top.place(|(held, _)| held.cmp(&key)) {
            top.put(place, (key, A::to_owned_item(value)));
        }
    }

    fn answer(&self, mut top: Self::State) -> Option<Vec<A::Owned>> {
        top.for_n(self.n);
        let (keys, values): (Vec<K>, Vec<A::Owned>) = top.into_vec().into_iter().unzip();
        // Here, and not on the way out: there a panic of a key's drop would leak the values (rust-lang/rust#47949).
        drop(keys);
        Some(values)
    }

    fn model(&self, values: Vec<A::Ref<'_>>) -> Option<Vec<A::Owned>> {
        let mut values: Vec<(K, A::Ref<'_>)> = values.into_iter().map(|value| ((self.key)(value), value)).collect();
        values.sort_by(|(a, _), (b, _)| b.cmp(a)); // stable
        Some(values.into_iter().take(self.n).map(|(_, value)| A::to_owned_item(value)).collect())
    }
}

impl<A: ItemShape<Item: Clone>, F> AnswerKernel for TopNBy<A, F>
where
    F: Fn(&A::Item, &A::Item) -> Ordering + Send + Sync + 'static,
{
    type In = A;
    type Out = Vec<A::Item>;
    type State = Top<A::Item>;
    const NAME: &'static str = "top_n_by";

    fn start(&self) -> Top<A::Item> {
        Top::new(self.n)
    }

    #[inline]
    fn add(&self, top: &mut Top<A::Item>, value: A::Ref<'_>) {
        let (value, top) = (A::item(value), top.for_n(self.n));
        if let Some(place) = top.place(|held| (self.compare)(held, value)) {
            top.put(place, value.clone());
        }
    }

    fn answer(&self, mut top: Top<A::Item>) -> Option<Vec<A::Item>> {
        top.for_n(self.n);
        Some(top.into_vec())
    }

    fn model(&self, values: Vec<A::Ref<'_>>) -> Option<Vec<A::Item>> {
        let mut values: Vec<&A::Item> = values.into_iter().map(A::item).collect();
        values.sort_by(|a, b| (self.compare)(b, a)); // stable
        Some(values.into_iter().take(self.n).cloned().collect())
    }
}
