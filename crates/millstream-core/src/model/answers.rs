//! Folds with names: each from the list of all values.

use super::{Extent, Model, ModelShape, Slots, column};
use crate::failure::fail;
use crate::pipe::{Answer, AnswerBy, Count, Extreme, ExtremeByKey, Find, Group, Last, Quantifier, ScanBy, Sum};
use crate::{Bound, Deploy, Item, ToOwnedItem};

/// What `answer` says of all values at END.
fn at_end<A: ModelShape, B>(
    input: &A::Edge,
    extent: Extent,
    answer: impl for<'a> Fn(Vec<A::Ref<'a>>) -> Option<B>,
) -> Slots<B> {
    let values = || (0..A::slots(input)).filter_map(|n| A::at(input, n)).collect();
    column::<A, B>(input, extent, |_, end| if end { answer(values()) } else { None })
}

impl<A: ModelShape> Deploy<Model> for ScanBy<Answer<Count<A>>> {
    fn deploy(&self, input: A::Edge, extent: &mut Extent) -> Slots<u64> {
        at_end::<A, _>(&input, *extent, |values| Some(values.len() as u64))
    }
}

impl<A: ModelShape + ToOwnedItem<Owned: Clone + std::iter::Sum>> Deploy<Model> for ScanBy<Answer<Sum<A>>> {
    fn deploy(&self, input: A::Edge, extent: &mut Extent) -> Slots<A::Owned> {
        at_end::<A, _>(&input, *extent, |values| Some(values.into_iter().map(A::to_owned_item).sum()))
    }
}

impl<A: ModelShape + ToOwnedItem<Owned: Clone>> Deploy<Model> for ScanBy<Answer<Last<A>>> {
    fn deploy(&self, input: A::Edge, extent: &mut Extent) -> Slots<A::Owned> {
        at_end::<A, _>(&input, *extent, |values| values.last().map(|last| A::to_owned_item(*last)))
    }
}

impl<A: ModelShape + ToOwnedItem<Owned: Clone>, F> Deploy<Model> for ScanBy<Answer<Find<A, F>>>
where
    F: for<'a> Fn(A::Ref<'a>) -> bool + Send + Sync + 'static,
{
    fn deploy(&self, input: A::Edge, extent: &mut Extent) -> Slots<A::Owned> {
        let wanted = &self.kernel.kernel.wanted;
        at_end::<A, _>(&input, *extent, |values| values.into_iter().find(|value| wanted(*value)).map(A::to_owned_item))
    }
}

impl<A: ModelShape, F, const ALL: bool> Deploy<Model> for ScanBy<Answer<Quantifier<A, F, ALL>>>
where
    F: for<'a> Fn(A::Ref<'a>) -> bool + Send + Sync + 'static,
{
    fn deploy(&self, input: A::Edge, extent: &mut Extent) -> Slots<bool> {
        let is_so = &self.kernel.kernel.is_so;
        at_end::<A, _>(&input, *extent, |values| {
            let mut values = values.into_iter();
            Some(if ALL { values.all(is_so) } else { values.any(is_so) })
        })
    }
}

impl<A: ModelShape + ToOwnedItem<Owned: Clone + Ord>, const MAX: bool> Deploy<Model>
    for ScanBy<Answer<Extreme<A, MAX>>>
{
    fn deploy(&self, input: A::Edge, extent: &mut Extent) -> Slots<A::Owned> {
        at_end::<A, _>(&input, *extent, |values| {
            let values = values.into_iter().map(A::to_owned_item);
            if MAX { values.max() } else { values.min() }
        })
    }
}

impl<A: ModelShape + ToOwnedItem<Owned: Clone>, K: Item + Clone + Ord, F, const MAX: bool> Deploy<Model>
    for ScanBy<Answer<ExtremeByKey<A, K, F, MAX>>>
where
    F: for<'a> Fn(A::Ref<'a>) -> K + Send + Sync + 'static,
{
    fn deploy(&self, input: A::Edge, extent: &mut Extent) -> Slots<A::Owned> {
        let key = &self.kernel.kernel.key;
        at_end::<A, _>(&input, *extent, |values| {
            let values = values.into_iter();
            let best =
                if MAX { values.max_by_key(|value| key(*value)) } else { values.min_by_key(|value| key(*value)) };
            best.map(A::to_owned_item)
        })
    }
}

/// The values of each key, in the order of the keys.
fn by_key<A: ModelShape, K: Ord + Clone, B>(
    values: Vec<A::Ref<'_>>,
    most: usize,
    key: impl Fn(A::Ref<'_>) -> K,
    answer: impl Fn(Vec<A::Ref<'_>>) -> B,
) -> Vec<(K, B)> {
    let keys: Vec<K> = values.iter().map(|value| key(*value)).collect();
    let mut different = keys.clone();
    different.sort();
    different.dedup();
    if different.len() > most {
        fail(Bound::refuse(most).refusal());
    }
    let own = |of: &K| values.iter().zip(&keys).filter(|(_, key)| *key == of).map(|(value, _)| *value).collect();
    different.into_iter().map(|of| (of.clone(), answer(own(&of)))).collect()
}

impl<A: ModelShape, K: Item + Ord + Clone, F> Deploy<Model> for ScanBy<AnswerBy<Count<A>, K, F>>
where
    F: for<'a> Fn(A::Ref<'a>) -> K + Send + Sync + 'static,
{
    fn deploy(&self, input: A::Edge, extent: &mut Extent) -> Slots<Vec<(K, u64)>> {
        let AnswerBy { most, key, .. } = &*self.kernel;
        at_end::<A, _>(&input, *extent, |values| Some(by_key::<A, K, _>(values, *most, key, |own| own.len() as u64)))
    }
}

impl<A: ModelShape + ToOwnedItem<Owned: Clone>, K: Item + Ord + Clone, F> Deploy<Model>
    for ScanBy<AnswerBy<Group<A>, K, F>>
where
    F: for<'a> Fn(A::Ref<'a>) -> K + Send + Sync + 'static,
{
    fn deploy(&self, input: A::Edge, extent: &mut Extent) -> Slots<Vec<(K, Vec<A::Owned>)>> {
        let AnswerBy { most, key, .. } = &*self.kernel;
        at_end::<A, _>(&input, *extent, |values| {
            Some(by_key::<A, K, _>(values, *most, key, |own| own.into_iter().map(A::to_owned_item).collect::<Vec<_>>()))
        })
    }
}
