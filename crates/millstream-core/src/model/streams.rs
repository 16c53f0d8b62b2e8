//! Stages with a state: each output from the values up to its slot.

use super::{Extent, Model, ModelShape, Slots, column};
use crate::pipe::{
    Annotate, Chunks, Dedup, Enumerate, FilterBy, Inspect, MapM, Pairwise, ScanBy, ScanPolicy, Skip, SkipWhile, Take,
    TakeWhile, TryScan, Windows,
};
use crate::{Cause, Deploy, Item, SequenceNumber, ToOwnedItem};
use std::sync::Arc;

type Mask = Arc<Vec<bool>>;

/// An edge that keeps the values for which `keep` returns true.
fn masked<A: ModelShape>(input: A::Edge, mut keep: impl FnMut(A::Ref<'_>) -> bool) -> (A::Edge, Mask) {
    let mask = (0..A::slots(&input)).map(|n| A::at(&input, n).is_some_and(&mut keep)).collect();
    (input, Arc::new(mask))
}

/// An edge that ends at number `end`, with an empty END; unchanged unless that is before its own END.
fn cut<E>((edge, mask): (E, Mask), end: Option<usize>) -> (E, Mask) {
    match end {
        Some(end) if end + 1 < mask.len() => (edge, Arc::new(mask[..end].iter().copied().chain([false]).collect())),
        _ => (edge, mask),
    }
}

impl<A: ModelShape> Deploy<Model> for FilterBy<Take<A>> {
    fn deploy(&self, input: A::Edge, _: &mut Extent) -> (A::Edge, Mask) {
        let mut taken = 0..self.kernel.n;
        masked::<A>(input, |_| taken.next().is_some())
    }

    fn deploy_outer(&self, input: A::Edge, extent: &mut Extent) -> (A::Edge, Mask) {
        let (edge, mask) = self.deploy(input, extent);
        let taken: Vec<usize> = (0..mask.len()).filter(|n| mask[*n]).collect();
        let end = if taken.len() == self.kernel.n { Some(taken.last().map_or(0, |last| last + 1)) } else { None };
        cut((edge, mask), end)
    }
}

impl<A: ModelShape, F> Deploy<Model> for FilterBy<TakeWhile<A, F>>
where
    F: for<'a> Fn(A::Ref<'a>) -> bool + Send + Sync + 'static,
{
    fn deploy(&self, input: A::Edge, _: &mut Extent) -> (A::Edge, Mask) {
        let mut refused = false;
        masked::<A>(input, |a| {
            refused = refused || !(self.kernel.wanted)(a);
            !refused
        })
    }

    fn deploy_outer(&self, input: A::Edge, extent: &mut Extent) -> (A::Edge, Mask) {
        let (edge, mask) = self.deploy(input, extent);
        let refused = (0..mask.len()).find(|n| A::at(&edge, *n).is_some() && !mask[*n]);
        cut((edge, mask), refused)
    }
}

impl<A: ModelShape> Deploy<Model> for FilterBy<Skip<A>> {
    fn deploy(&self, input: A::Edge, _: &mut Extent) -> (A::Edge, Mask) {
        let mut skipped = 0..self.kernel.n;
        masked::<A>(input, |_| skipped.next().is_none())
    }
}

impl<A: ModelShape, F> Deploy<Model> for FilterBy<SkipWhile<A, F>>
where
    F: for<'a> Fn(A::Ref<'a>) -> bool + Send + Sync + 'static,
{
    fn deploy(&self, input: A::Edge, _: &mut Extent) -> (A::Edge, Mask) {
        let mut wanted = false;
        masked::<A>(input, |a| {
            wanted = wanted || !(self.kernel.unwanted)(a);
            wanted
        })
    }
}

impl<A: ModelShape + ToOwnedItem<Owned: Clone + PartialEq>> Deploy<Model> for FilterBy<Dedup<A>> {
    fn deploy(&self, input: A::Edge, _: &mut Extent) -> (A::Edge, Mask) {
        let mut before = None;
        masked::<A>(input, |a| {
            let now = Some(A::to_owned_item(a));
            let differs = before != now;
            before = now;
            differs
        })
    }
}

impl<A: ModelShape + ToOwnedItem<Owned: Clone>> Deploy<Model> for ScanBy<Chunks<A>> {
    fn deploy(&self, input: A::Edge, extent: &mut Extent) -> Slots<Vec<A::Owned>> {
        let mut chunk = Vec::new();
        column::<A, _>(&input, *extent, |a, end| {
            let complete = a.is_some() && chunk.len() + 1 == self.kernel.n;
            chunk.extend(a.map(A::to_owned_item));
            (complete || end && !chunk.is_empty()).then(|| chunk.split_off(0))
        })
    }
}

impl<A: ModelShape + ToOwnedItem<Owned: Clone>> Deploy<Model> for ScanBy<Windows<A>> {
    fn deploy(&self, input: A::Edge, extent: &mut Extent) -> Slots<Vec<A::Owned>> {
        let mut all = Vec::new();
        column::<A, _>(&input, *extent, |a, _| {
            all.push(A::to_owned_item(a?));
            all.len().checked_sub(self.kernel.n).map(|first| all[first..].to_vec())
        })
    }
}

impl<A: ModelShape, F, B: Item> Deploy<Model> for ScanBy<MapM<A, F, B>>
where
    F: for<'a> Fn(A::Ref<'a>) -> B + Send + Sync + 'static,
{
    fn deploy(&self, input: A::Edge, extent: &mut Extent) -> Slots<B> {
        column::<A, B>(&input, *extent, |a, _| Some((self.kernel.f)(a?)))
    }
}

/// A failure that ends the run unwinds.
impl<A: ModelShape, S: Item + Clone, F, B: Item, E: Cause, P: ScanPolicy> Deploy<Model>
    for ScanBy<TryScan<A, S, F, B, E, P>>
where
    F: for<'a> Fn(&mut S, A::Ref<'a>) -> Result<B, E> + Send + Sync + 'static,
{
    fn deploy(&self, input: A::Edge, extent: &mut Extent) -> Slots<B> {
        let (mut state, policy) = (self.kernel.state.clone(), &self.kernel.policy);
        column::<A, B>(&input, *extent, |a, _| {
            let a = a?;
            let (next, output) = policy.judge(
                || {
                    let mut next = state.clone();
                    (self.kernel.f)(&mut next, a).map(|output| (next, output))
                },
                |_| (),
            )?;
            state = next;
            Some(output)
        })
    }
}

impl<A: ModelShape + ToOwnedItem<Owned: Clone>> Deploy<Model> for Annotate<Pairwise<A>> {
    fn deploy(&self, input: A::Edge, extent: &mut Extent) -> (Slots<A::Owned>, A::Edge) {
        let mut last = None;
        (column::<A, _>(&input, *extent, |a, _| last.replace(A::to_owned_item(a?))), input)
    }
}

impl<A: ModelShape> Deploy<Model> for Annotate<Enumerate<A>> {
    fn deploy(&self, input: A::Edge, _: &mut Extent) -> (Slots<SequenceNumber>, A::Edge) {
        let number = |n: usize| A::at(&input, n).map(|_| Arc::new(SequenceNumber(n as u64)));
        (Arc::new((0..A::slots(&input)).map(number).collect()), input)
    }
}

impl<A: ModelShape, F> Deploy<Model> for Inspect<A, F>
where
    F: for<'a> Fn(A::Ref<'a>) + Send + Sync + 'static,
{
    fn deploy(&self, input: A::Edge, extent: &mut Extent) -> (A::Edge, Slots<()>) {
        let seen = column::<A, ()>(&input, *extent, |a, _| {
            (self.f)(a?);
            Some(())
        });
        (input, seen)
    }
}
