use super::AnswerKernel;
use crate::{Item, ItemShape, Shape, ToOwnedItem};
use std::cmp::Ordering;
use std::marker::PhantomData;

/// Of an [`Extreme`]: the least value.
pub const LEAST: bool = false;
/// Of an [`Extreme`]: the greatest value.
pub const GREATEST: bool = true;

/// The least value, and of equal ones the first; or the greatest, and of equal ones the last.
pub struct Extreme<A, const MAX: bool> {
    shape: PhantomData<fn() -> A>,
}

/// As [`Extreme`], by something that each value has.
pub struct ExtremeByKey<A, K, F, const MAX: bool> {
    /// The key by which values are compared.
    pub key: F,
    shape: PhantomData<fn() -> (A, K)>,
}

/// As [`Extreme`], in an order of its own.
pub struct ExtremeBy<A, F, const MAX: bool> {
    /// How one value compares to another.
    pub compare: F,
    shape: PhantomData<fn() -> A>,
}

impl<A, const MAX: bool> std::fmt::Debug for Extreme<A, MAX> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Extreme")
    }
}

impl<A, K, F, const MAX: bool> std::fmt::Debug for ExtremeByKey<A, K, F, MAX> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("ExtremeByKey")
    }
}

impl<A, F, const MAX: bool> std::fmt::Debug for ExtremeBy<A, F, MAX> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("ExtremeBy")
    }
}

impl<A, const MAX: bool> Extreme<A, MAX> {
    pub(crate) fn new() -> Self {
        Extreme { shape: PhantomData }
    }
}

impl<A, K, F, const MAX: bool> ExtremeByKey<A, K, F, MAX> {
    pub(crate) fn new(key: F) -> Self {
        ExtremeByKey { key, shape: PhantomData }
    }
}

impl<A, F, const MAX: bool> ExtremeBy<A, F, MAX> {
    pub(crate) fn new(compare: F) -> Self {
        ExtremeBy { compare, shape: PhantomData }
    }
}

/// Whether a value takes the place of the best one so far, which compares to it like this.
fn replaces<const MAX: bool>(best: Ordering) -> bool {
    if MAX { best.is_le() } else { best.is_gt() }
}

impl<A: ToOwnedItem<Owned: Clone + Ord>, const MAX: bool> AnswerKernel for Extreme<A, MAX> {
    type In = A;
    type Out = A::Owned;
    type State = Option<A::Owned>;
    const NAME: &'static str = if MAX { "max" } else { "min" };

    fn start(&self) -> Option<A::Owned> {
        None
    }

    #[inline]
    fn add(&self, best: &mut Option<A::Owned>, value: A::Ref<'_>) {
        if best.as_ref().is_none_or(|best| replaces::<MAX>(A::cmp_owned(best, value))) {
            *best = Some(A::to_owned_item(value));
        }
    }

    fn answer(&self, best: Option<A::Owned>) -> Option<A::Owned> {
        best
    }

    fn model(&self, values: Vec<A::Ref<'_>>) -> Option<A::Owned> {
        let values = values.into_iter().map(A::to_owned_item);
        if MAX { values.max() } else { values.min() }
    }
}

impl<A: Shape + ToOwnedItem<Owned: Clone>, K, F, const MAX: bool> AnswerKernel for ExtremeByKey<A, K, F, MAX>
where
    K: Item + Clone + Ord,
    F: for<'a> Fn(A::Ref<'a>) -> K + Send + Sync + 'static,
{
    type In = A;
    type Out = A::Owned;
    type State = Option<(K, A::Owned)>;
    const NAME: &'static str = if MAX { "max_by_key" } else { "min_by_key" };

    fn start(&self) -> Option<(K, A::Owned)> {
        None
    }

    #[inline]
    fn add(&self, best: &mut Option<(K, A::Owned)>, value: A::Ref<'_>) {
        let key = (self.key)(value);
        if best.as_ref().is_none_or(|(best, _)| replaces::<MAX>(best.cmp(&key))) {
            *best = Some((key, A::to_owned_item(value)));
        }
    }

    fn answer(&self, best: Option<(K, A::Owned)>) -> Option<A::Owned> {
        let (key, value) = best?;
        // Here, and not on the way out: there a panic of the key's drop would leak the value (rust-lang/rust#47949).
        drop(key);
        Some(value)
    }

    fn model(&self, values: Vec<A::Ref<'_>>) -> Option<A::Owned> {
        let (values, key) = (values.into_iter(), |value: &A::Ref<'_>| (self.key)(*value));
        let best = if MAX { values.max_by_key(key) } else { values.min_by_key(key) };
        best.map(A::to_owned_item)
    }
}

impl<A: ItemShape<Item: Clone>, F, const MAX: bool> AnswerKernel for ExtremeBy<A, F, MAX>
where
    F: Fn(&A::Item, &A::Item) -> Ordering + Send + Sync + 'static,
{
    type In = A;
    type Out = A::Item;
    type State = Option<A::Item>;
    const NAME: &'static str = if MAX { "max_by" } else { "min_by" };

    fn start(&self) -> Option<A::Item> {
        None
    }

    #[inline]
    fn add(&self, best: &mut Option<A::Item>, value: A::Ref<'_>) {
        let value = A::item(value);
        if best.as_ref().is_none_or(|best| replaces::<MAX>((self.compare)(best, value))) {
            *best = Some(value.clone());
        }
    }

    fn answer(&self, best: Option<A::Item>) -> Option<A::Item> {
        best
    }

    fn model(&self, values: Vec<A::Ref<'_>>) -> Option<A::Item> {
        let values = values.into_iter().map(A::item);
        let compare = |a: &&A::Item, b: &&A::Item| (self.compare)(a, b);
        let best = if MAX { values.max_by(compare) } else { values.min_by(compare) };
        best.cloned()
    }
}
