//! Blocks of wires: every wire is a list of slots.

use super::{Extent, Model, ModelShape, SlotOf};
use crate::pipe::{ShowPart, ToMaybe};
use crate::plan::Branch;
use crate::shape::{Part, Shows};
use crate::wires::{BlockBackend, Forks, Joins, Merges};
use crate::{Deploy, Item, Maybe, Merged, On, Otherwise, Pair, SameItem, Shape};
use std::sync::Arc;

impl BlockBackend for Model {
    fn in_body<T>(extent: &mut Extent, _: Branch, inside: impl FnOnce(&mut Extent) -> T) -> T {
        inside(extent)
    }
}

impl<F: ModelShape> Forks<F> for Model {
    fn fork(edge: F::Edge, _: &mut Extent) -> (F::Edge, F::Edge) {
        (edge.clone(), edge)
    }
}

impl<A: ModelShape, B: ModelShape> Joins<A, B> for Model {
    fn join(first: A::Edge, second: B::Edge, _: &mut Extent) -> <Pair<A, B> as On<Model>>::Edge {
        (first, second)
    }
}

impl<A: ModelShape, B: ModelShape + SameItem<A>> Merges<A, B> for Model {
    fn merge(left: A::Edge, right: B::Edge, _: &mut Extent) -> <Merged<A, B> as On<Model>>::Edge {
        (left, right)
    }

    fn otherwise(first: A::Edge, second: B::Edge, _: &mut Extent) -> <Otherwise<A, B> as On<Model>>::Edge {
        (first, second)
    }
}

impl<F: ModelShape, T: Item, C: Shows<F, T>> On<Model> for Part<F, C, T> {
    type Edge = (F::Edge, Arc<C>);
}

impl<F: ModelShape, T: Item, C: Shows<F, T>> ModelShape for Part<F, C, T> {
    fn slots(edge: &Self::Edge) -> usize {
        F::slots(&edge.0)
    }
    fn at(edge: &Self::Edge, n: usize) -> Option<&T> {
        F::at(&edge.0, n).map(|whole| edge.1.show(whole))
    }
    fn gathered(edges: &[Self::Edge], from: &[Option<SlotOf>]) -> Self::Edge {
        let (inner, shows): (Vec<_>, Vec<_>) = edges.iter().cloned().unzip();
        let shows = shows.into_iter().next().expect("a list is gathered from others");
        (F::gathered(&inner, from), shows)
    }
}

impl<F: ModelShape, T: Item, C: Shows<F, T>> Deploy<Model> for ShowPart<F, C, T> {
    fn deploy(&self, input: F::Edge, _: &mut Extent) -> (F::Edge, Arc<C>) {
        (input, self.shows.clone())
    }
}

/// The list, and which of its slots are filled even where the list is empty.
impl<F: ModelShape> On<Model> for Maybe<F> {
    type Edge = (F::Edge, Arc<Vec<bool>>);
}

impl<F: ModelShape> ModelShape for Maybe<F> {
    fn slots(edge: &Self::Edge) -> usize {
        edge.1.len()
    }
    fn at(edge: &Self::Edge, n: usize) -> Option<<Self as Shape>::Ref<'_>> {
        let value = F::at(&edge.0, n);
        (value.is_some() || edge.1[n]).then_some(value)
    }
    fn gathered(edges: &[Self::Edge], from: &[Option<SlotOf>]) -> Self::Edge {
        let (inner, filled): (Vec<_>, Vec<_>) = edges.iter().cloned().unzip();
        (F::gathered(&inner, from), super::of_each(&filled, from, &false))
    }
}

impl<F: ModelShape> Deploy<Model> for ToMaybe<F> {
    fn deploy(&self, input: F::Edge, extent: &mut Extent) -> (F::Edge, Arc<Vec<bool>>) {
        let slots = F::slots(&input);
        let end = |n| extent.has_end() && n + 1 == slots;
        let filled = Arc::new((0..slots).map(|n| !end(n)).collect());
        (input, filled)
    }
}
