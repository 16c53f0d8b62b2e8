//! Stages that end one clock and start the next: lists of values, and an empty END behind them.

use super::{Listed, Model, source};
use crate::pipe::{Compact, FlatMap, Flatten, Renumber};
use crate::{Deploy, Event, Own};
use std::sync::Arc;

pub(super) type Slots<T> = Arc<Vec<Option<T>>>;

/// The values of an edge, END's the last.
pub(super) fn values<A: Listed>(edge: &A::Edge) -> impl Iterator<Item = A::Ref<'_>> {
    (0..A::slots(edge)).filter_map(|n| A::at(edge, n))
}

impl<A: Listed, F, I> Deploy<Model> for Renumber<FlatMap<A, F, I>>
where
    I: IntoIterator<Item: Event, IntoIter: Send + 'static> + 'static,
    F: for<'a> Fn(A::Ref<'a>) -> I + Send + Sync + 'static,
{
    fn deploy(&self, input: A::Edge, (): &mut ()) -> Slots<I::Item> {
        source(values::<A>(&input).flat_map(|value| (self.expand.f)(value)))
    }
}

impl<A: Listed + Own<Owned: IntoIterator<Item: Event, IntoIter: Send + 'static>>> Deploy<Model>
    for Renumber<Flatten<A>>
{
    fn deploy(&self, input: A::Edge, (): &mut ()) -> Slots<<A::Owned as IntoIterator>::Item> {
        source(values::<A>(&input).flat_map(A::own))
    }
}

impl<A: Listed + Own> Deploy<Model> for Renumber<Compact<A>> {
    fn deploy(&self, input: A::Edge, (): &mut ()) -> Slots<A::Owned> {
        source(values::<A>(&input).map(A::own))
    }
}
