use crate::pipe::{
    Answer, Count, EVERY, Extreme, ExtremeBy, ExtremeByKey, Find, GREATEST, LEAST, Last, Quantifier, SOME, ScanBy, Sum,
    Then, TopN, TopNBy, TopNByKey,
};
use crate::{Arrow, Item, ItemShape, Shape, ToOwnedItem};
use std::cmp::Ordering;

/// The pipeline that one of the folds of [`FoldExt`] returns.
pub type Answered<P, K> = Then<P, ScanBy<Answer<K>>>;

/// Folds with names: each yields one answer about all values, at END, as [`fold`](Arrow::fold) does. For every
/// [`Arrow`].
///
/// As with every fold, the output is empty below END and nothing is written there: the edge is filled
/// [`AtEnd`](crate::AtEnd) alone. Where [`Iterator`] returns `None`, END is left empty. A fold reads its input to the
/// end: on an endless source, let [`take`](crate::StreamsExt::take) end the stream first.
///
/// ```
/// use millstream::prelude::*;
/// let range = pipeline::<u64>().fanout(|p| p.min(), |p| p.max());
/// assert_eq!(range.model([3, 1, 2]), [(1, 3)]);
/// assert_eq!(range.model([]), []);
/// ```
pub trait FoldExt: Arrow {
    /// Counts the values.
    ///
    /// ```
    /// use millstream::prelude::*;
    /// let even = pipeline::<u64>().filter(|x| x % 2 == 0).count();
    /// assert_eq!(even.model(0..5), [3]);
    /// ```
    #[doc(alias = "len")]
    fn count(self) -> Answered<Self, Count<Self::Out>> {
        answered(self, Count::new())
    }

    /// Adds up all values, from the first to the last. The sum of none is zero; of floats it is -0.0.
    ///
    /// As with [`Iterator::sum`], a sum of integers that does not fit panics if overflow checks are on. To add up in a
    /// larger type, [`map`](Arrow::map) to it first.
    ///
    /// ```
    /// use millstream::prelude::*;
    /// assert_eq!(pipeline::<u8>().map(|x| u64::from(*x)).sum().model([200, 100]), [300]);
    /// assert_eq!(pipeline::<u64>().sum().model([]), [0]);
    /// ```
    #[doc(alias = "total")]
    fn sum(self) -> Answered<Self, Sum<Self::Out>>
    where
        Self::Out: ToOwnedItem<Owned: Clone + std::iter::Sum>,
    {
        answered(self, Sum::new())
    }

    /// Yields the last value; nothing if there is none. Clones every value, since each may be the last.
    ///
    /// ```
    /// use millstream::prelude::*;
    /// assert_eq!(pipeline::<u64>().last().model([3, 1, 2]), [2]);
    /// ```
    fn last(self) -> Answered<Self, Last<Self::Out>>
    where
        Self::Out: ToOwnedItem<Owned: Clone>,
    {
        answered(self, Last::new())
    }

    /// Yields the least value, and of equal ones the first; nothing if there is none.
    ///
    /// Clones a value if it is less than all before it. Edges side by side (a pair, a flat tuple, a choice) and what
    /// `maybe` shows cannot be compared in their slots: of these each value is cloned. `f64` has no [`Ord`]: see
    /// [`min_by`](FoldExt::min_by).
    ///
    /// ```
    /// use millstream::prelude::*;
    /// assert_eq!(pipeline::<i64>().min().model([2, -3, 1]), [-3]);
    /// ```
    #[doc(alias = "minimum")]
    fn min(self) -> Answered<Self, Extreme<Self::Out, LEAST>>
    where
        Self::Out: ToOwnedItem<Owned: Clone + Ord>,
    {
        answered(self, Extreme::new())
    }

    /// Yields the greatest value, and of equal ones the last; nothing if there is none.
    ///
    /// Clones a value if none before it is greater; or each value, where [`min`](FoldExt::min) does.
    ///
    /// `f64` has no [`Ord`]: see [`max_by`](FoldExt::max_by).
    ///
    /// ```
    /// use millstream::prelude::*;
    /// assert_eq!(pipeline::<i64>().max().model([2, -3, 1]), [2]);
    /// ```
    #[doc(alias = "maximum")]
    fn max(self) -> Answered<Self, Extreme<Self::Out, GREATEST>>
    where
        Self::Out: ToOwnedItem<Owned: Clone + Ord>,
    {
        answered(self, Extreme::new())
    }

    /// Yields the value with the least key, and of equal ones the first; nothing if there is none.
    ///
    /// ```
    /// use millstream::prelude::*;
    /// assert_eq!(
    ///     pipeline::<&str>().min_by_key(|word| word.len()).model(["to", "be", "not"]),
    ///     ["to"]
    /// );
    /// ```
    fn min_by_key<K, F>(self, key: F) -> Answered<Self, ExtremeByKey<Self::Out, K, F, LEAST>>
    where
        Self::Out: ToOwnedItem<Owned: Clone>,
        K: Item + Clone + Ord,
        F: for<'a> Fn(<Self::Out as Shape>::Ref<'a>) -> K + Send + Sync + 'static,
    {
        answered(self, ExtremeByKey::new(key))
    }

    /// Yields the value with the greatest key, and of equal ones the last; nothing if there is none.
    ///
    /// ```
    /// use millstream::prelude::*;
    /// let longest = pipeline::<&str>().max_by_key(|word| word.len());
    /// assert_eq!(longest.model(["to", "be", "not", "nor"]), ["nor"]);
    /// ```
    fn max_by_key<K, F>(self, key: F) -> Answered<Self, ExtremeByKey<Self::Out, K, F, GREATEST>>
    where
        Self::Out: ToOwnedItem<Owned: Clone>,
        K: Item + Clone + Ord,
        F: for<'a> Fn(<Self::Out as Shape>::Ref<'a>) -> K + Send + Sync + 'static,
    {
        answered(self, ExtremeByKey::new(key))
    }

    /// Yields the least value in an order of your own, and of equal ones the first; nothing if there is none.
    ///
    /// `compare(least, value)` gets the least value so far, then the next one. It must be a total order; otherwise any
    /// value may be the answer. Clones a value if it is less than all before it. Pairs, choices and texts are
    /// [mapped](Arrow::map) to one item first.
    ///
    /// `f64::total_cmp` orders all floats: NaN is above infinity, or below minus infinity if its sign is set. To leave
    /// NaN out, [`filter`](Arrow::filter) first.
    ///
    /// ```
    /// use millstream::prelude::*;
    /// assert_eq!(pipeline::<f64>().min_by(f64::total_cmp).model([0.5, -2.5, 1.0]), [-2.5]);
    /// ```
    fn min_by<T, F>(self, compare: F) -> Answered<Self, ExtremeBy<Self::Out, F, LEAST>>
    where
        Self::Out: ItemShape<Item = T>,
        T: Item + Clone,
        F: Fn(&T, &T) -> Ordering + Send + Sync + 'static,
    {
        answered(self, ExtremeBy::new(compare))
    }

    /// Yields the greatest value in an order of your own, and of equal ones the last; nothing if there is none.
    ///
    /// `compare(greatest, value)` gets the greatest value so far, then the next one. Clones a value if none before it
    /// is greater. Otherwise as [`min_by`](FoldExt::min_by).
    ///
    /// ```
    /// use millstream::prelude::*;
    /// assert_eq!(pipeline::<f64>().max_by(f64::total_cmp).model([0.5, 2.5, 1.0]), [2.5]);
    /// // The dearest, and of equal ones that whose name comes first.
    /// let dearest = pipeline::<(String, u64)>()
    ///     .max_by(|(a, cost), (b, other)| cost.cmp(other).then(b.cmp(a)));
    /// let costs = [("tea", 3), ("cup", 5), ("bun", 5)].map(|(name, cost)| (name.to_owned(), cost));
    /// assert_eq!(dearest.model(costs)[0].0, "bun");
    /// ```
    fn max_by<T, F>(self, compare: F) -> Answered<Self, ExtremeBy<Self::Out, F, GREATEST>>
    where
        Self::Out: ItemShape<Item = T>,
        T: Item + Clone,
        F: Fn(&T, &T) -> Ordering + Send + Sync + 'static,
    {
        answered(self, ExtremeBy::new(compare))
    }

    /// Yields a `Vec` of the `n` greatest values, the greatest first; of equal ones the first that came.
    ///
    /// The `Vec` is shorter if there are fewer values. Clones a value if it is among the `n` greatest so far, and keeps
    /// those; or for each comparison, where [`min`](FoldExt::min) clones each value. For the greatest of each window or
    /// key, make a [`Top`](crate::Top) the state of the fold.
    ///
    /// ```
    /// use millstream::prelude::*;
    /// assert_eq!(pipeline::<u64>().top_n(2).model([3, 1, 4, 1, 5]), [vec![5, 4]]);
    /// ```
    #[doc(alias("k_largest", "largest", "top_k"))]
    fn top_n(self, n: usize) -> Answered<Self, TopN<Self::Out>>
    where
        Self::Out: ToOwnedItem<Owned: Clone + Ord>,
    {
        answered(self, TopN::new(n))
    }

    /// Yields a `Vec` of the `n` values with the greatest keys, the greatest first; of equal ones the first that came.
    ///
    /// As [`top_n`](FoldExt::top_n). `key` is called once for every value.
    ///
    /// ```
    /// use millstream::prelude::*;
    /// let longest = pipeline::<&str>().top_n_by_key(2, |word| word.len());
    /// assert_eq!(longest.model(["a", "bb", "cc", "d"]), [["bb", "cc"]]);
    /// ```
    fn top_n_by_key<K, F>(self, n: usize, key: F) -> Answered<Self, TopNByKey<Self::Out, K, F>>
    where
        Self::Out: ToOwnedItem<Owned: Clone>,
        K: Item + Clone + Ord,
        F: for<'a> Fn(<Self::Out as Shape>::Ref<'a>) -> K + Send + Sync + 'static,
    {
        answered(self, TopNByKey::new(n, key))
    }

    /// Yields a `Vec` of the `n` greatest values in an order of your own, the greatest first; of equal ones the first
    /// that came.
    ///
    /// As [`top_n`](FoldExt::top_n). `compare(held, value)` gets a value that is kept, then the new one, and must be a
    /// total order; otherwise any values may be the answer, and the model may panic.
    ///
    /// ```
    /// use millstream::prelude::*;
    /// let greatest = pipeline::<f64>().top_n_by(2, f64::total_cmp);
    /// assert_eq!(greatest.model([0.5, 2.5, 1.0]), [[2.5, 1.0]]);
    /// ```
    #[doc(alias = "k_largest_by")]
    fn top_n_by<T, F>(self, n: usize, compare: F) -> Answered<Self, TopNBy<Self::Out, F>>
    where
        Self::Out: ItemShape<Item = T>,
        T: Item + Clone,
        F: Fn(&T, &T) -> Ordering + Send + Sync + 'static,
    {
        answered(self, TopNBy::new(n, compare))
    }

    /// Yields the first value for which `wanted` returns true; nothing if there is none.
    ///
    /// `wanted` is not called after that value. The answer comes at END. To have the value at its own number, and to
    /// end the stream there, use [`filter`](Arrow::filter) and [`take(1)`](crate::StreamsExt::take).
    ///
    /// ```
    /// use millstream::prelude::*;
    /// let p = pipeline::<u64>().find(|x| x % 5 == 0);
    /// assert_eq!(p.model_slots([3, 5, 10]), [None, None, None, Some(5)]);
    /// assert!(p.model([1]).is_empty());
    /// ```
    #[doc(alias = "first_where")]
    fn find<F>(self, wanted: F) -> Answered<Self, Find<Self::Out, F>>
    where
        Self::Out: ToOwnedItem<Owned: Clone>,
        F: for<'a> Fn(<Self::Out as Shape>::Ref<'a>) -> bool + Send + Sync + 'static,
    {
        answered(self, Find::new(wanted))
    }

    /// Yields whether `is_so` returns true for some value; false if there are no values.
    ///
    /// `is_so` is not called after the first such value.
    ///
    /// ```
    /// use millstream::prelude::*;
    /// assert_eq!(pipeline::<u64>().any(|x| *x > 2).model([1, 2, 3]), [true]);
    /// assert_eq!(pipeline::<u64>().all(|x| *x > 2).model([]), [true]);
    /// ```
    #[doc(alias("exists", "contains"))]
    fn any<F>(self, is_so: F) -> Answered<Self, Quantifier<Self::Out, F, SOME>>
    where
        F: for<'a> Fn(<Self::Out as Shape>::Ref<'a>) -> bool + Send + Sync + 'static,
    {
        answered(self, Quantifier::new(is_so))
    }

    /// Yields whether `is_so` returns true for every value; true if there are no values.
    ///
    /// `is_so` is not called after the first value for which it returns false.
    ///
    /// ```
    /// use millstream::prelude::*;
    /// assert_eq!(pipeline::<u64>().all(|x| *x < 3).model([1, 2, 3]), [false]);
    /// ```
    #[doc(alias = "every")]
    fn all<F>(self, is_so: F) -> Answered<Self, Quantifier<Self::Out, F, EVERY>>
    where
        F: for<'a> Fn(<Self::Out as Shape>::Ref<'a>) -> bool + Send + Sync + 'static,
    {
        answered(self, Quantifier::new(is_so))
    }
}

impl<P: Arrow> FoldExt for P {}

fn answered<P: Arrow, K>(pipeline: P, kernel: K) -> Answered<P, K> {
    Then::new(pipeline, ScanBy::new(Answer::new(kernel)))
}
