//! The specification: what a pipeline means, on plain lists.
//!
//! A clock of length L has L + 1 slots: the numbers 0 to L - 1, and number L, called END, which a source leaves empty.
//! An edge is the list of its L + 1 slots, and every impl below is the equation of its combinator. The model is
//! sequential and has one answer. A deployment is correct if its output is the model's, number by number.
//!
//! Its time and its memory are proportional to the slots of all edges, times the logarithm of the number of keys for
//! stages with keys. A value in several windows of event time counts once for each, times the logarithm of the number
//! of open windows. There is one exception: a `feedback` whose body keeps a state runs that body again for every
//! number, on all slots up to it.

use crate::pipe::{
    Both, Delay, Fanout, Filter, FilterMap, Fold, Id, Map, MapBlocking, Named, Policy, Project, Scan, Shard, Tee, Then,
    TryMap,
};
use crate::{
    Arrow, Backend, Cause, Choice, Density, Deploy, Filtered, Item, Lens, Merged, On, Otherwise, Pair, Projected,
    SameItem, SequenceNumber, Shape, SideBySide, ToOwnedItem, Val, lens,
};
use std::sync::Arc;

mod any_edge;
mod asynchronous;
mod choices;
mod clock;
mod dead_letter;
mod extent;
mod feedback;
mod fold_windows;
mod kernels;
mod keys;
pub mod sources;
mod streams;
mod tee_to;
mod text;
mod windows;
mod wires;

pub use extent::Extent;
pub(crate) use fold_windows::folded_windows;
pub use kernels::ModelSlots;
pub(crate) use kernels::by_key;
pub use tee_to::NamedSinks;
pub(crate) use windows::windows;

/// The deployment that is the specification: lists, one stage after another.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Model;

impl Backend for Model {
    type Wiring = Extent;
    type Keeper<S> = ();
    type Ring<T: Item, D: Density> = ();
}

/// The slots of one list. Copies of a list share its values.
pub type Slots<T> = Arc<Vec<Option<Arc<T>>>>;

/// A shape as lists of slots.
pub trait ModelShape: On<Model, Edge: Clone> {
    /// The number of slots of the edge, including END.
    fn slots(edge: &Self::Edge) -> usize;
    /// The value of slot `n`.
    fn at(edge: &Self::Edge, n: usize) -> Option<Self::Ref<'_>>;
    /// The edge whose slot `n` is the one at `from[n]`, or empty if `from[n]` is `None`. There is at least one edge.
    fn gathered(edges: &[Self::Edge], from: &[Option<SlotOf>]) -> Self::Edge;
}

/// A slot of one of several edges.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SlotOf {
    /// The edge.
    pub edge: usize,
    /// The slot of that edge.
    pub slot: usize,
}

/// One list made of several: slot `n` is the one at `from[n]`.
fn of_each<T: Clone>(lists: &[Arc<Vec<T>>], from: &[Option<SlotOf>], nothing: &T) -> Arc<Vec<T>> {
    let slot = |from: &Option<SlotOf>| from.map_or(nothing.clone(), |SlotOf { edge, slot }| lists[edge][slot].clone());
    Arc::new(from.iter().map(slot).collect())
}

impl<T: Item, D: Density> On<Model> for Val<T, D> {
    type Edge = Slots<T>;
}

impl<T: Item, D: Density> ModelShape for Val<T, D> {
    fn slots(edge: &Self::Edge) -> usize {
        edge.len()
    }
    fn at(edge: &Self::Edge, n: usize) -> Option<&T> {
        edge[n].as_deref()
    }
    fn gathered(edges: &[Self::Edge], from: &[Option<SlotOf>]) -> Self::Edge {
        of_each(edges, from, &None)
    }
}

macro_rules! side_by_side {
    ($shape:ident<A, $second:ident: $bound:path>) => {
        impl<A: ModelShape, $second: ModelShape + $bound> On<Model> for $shape<A, $second> {
            type Edge = (A::Edge, $second::Edge);
        }

        impl<A: ModelShape, $second: ModelShape + $bound> ModelShape for $shape<A, $second> {
            fn slots(edge: &Self::Edge) -> usize {
                A::slots(&edge.0)
            }
            fn at(edge: &Self::Edge, n: usize) -> Option<Self::Ref<'_>> {
                Self::join(A::at(&edge.0, n), $second::at(&edge.1, n))
            }
            fn gathered(edges: &[Self::Edge], from: &[Option<SlotOf>]) -> Self::Edge {
                let (first, second): (Vec<_>, Vec<_>) = edges.iter().cloned().unzip();
                (A::gathered(&first, from), $second::gathered(&second, from))
            }
        }
    };
}
side_by_side!(Pair<A, B: Shape>);
side_by_side!(Choice<A, B: Shape>);
side_by_side!(Merged<A, B: SameItem<A>>);
side_by_side!(Otherwise<A, B: SameItem<A>>);

impl<A: ModelShape> On<Model> for Filtered<A> {
    type Edge = (A::Edge, Arc<Vec<bool>>);
}

impl<A: ModelShape> ModelShape for Filtered<A> {
    fn slots(edge: &Self::Edge) -> usize {
        edge.1.len()
    }
    fn at(edge: &Self::Edge, n: usize) -> Option<Self::Ref<'_>> {
        if edge.1[n] { A::at(&edge.0, n) } else { None }
    }
    fn gathered(edges: &[Self::Edge], from: &[Option<SlotOf>]) -> Self::Edge {
        let (inner, masks): (Vec<_>, Vec<_>) = edges.iter().cloned().unzip();
        (A::gathered(&inner, from), of_each(&masks, from, &false))
    }
}

impl<A: ModelShape, L: Lens<A>> On<Model> for Projected<A, L> {
    type Edge = A::Edge;
}

impl<A: ModelShape, L: Lens<A>> ModelShape for Projected<A, L> {
    fn slots(edge: &Self::Edge) -> usize {
        A::slots(edge)
    }
    fn at(edge: &Self::Edge, n: usize) -> Option<Self::Ref<'_>> {
        L::focus(A::at(edge, n)?)
    }
    fn gathered(edges: &[Self::Edge], from: &[Option<SlotOf>]) -> Self::Edge {
        A::gathered(edges, from)
    }
}

type OfSource<T> = <Val<T> as On<Model>>::Edge;

/// The edge of a source: every value, and an empty END.
fn source<T: Item>(values: impl IntoIterator<Item = T>) -> OfSource<T> {
    Arc::new(values.into_iter().map(|value| Some(Arc::new(value))).chain([None]).collect())
}

/// The output of a whole pipeline: compiled once, whatever reads it.
fn output_of<T: Item, P>(pipeline: &P, source: OfSource<T>, sinks: &NamedSinks) -> <P::Out as On<Model>>::Edge
where
    P: Deploy<Model> + Arrow<In = Val<T>, Out: ModelShape>,
{
    pipeline.deploy_outer(source, &mut Extent::with(sinks.clone()))
}

/// An edge through a lens.
fn projected<A: ModelShape, L: Lens<A>>(edge: A::Edge) -> <Projected<A, L> as On<Model>>::Edge {
    edge
}

/// One slot for each slot of `input`. The second argument of `f` is whether the slot is END.
fn column<A: ModelShape, B>(
    input: &A::Edge,
    extent: &Extent,
    mut f: impl FnMut(Option<A::Ref<'_>>, bool) -> Option<B>,
) -> Slots<B> {
    let slots = A::slots(input);
    let slot = |n| f(A::at(input, n), extent.has_end() && n + 1 == slots).map(Arc::new);
    Arc::new((0..slots).map(slot).collect())
}

impl<A: ModelShape> Deploy<Model> for Id<A> {
    fn deploy(&self, input: A::Edge, _: &mut Extent) -> A::Edge {
        input
    }
}

impl<P: Deploy<Model>, Q: Deploy<Model> + Arrow<In = P::Out>> Deploy<Model> for Then<P, Q> {
    fn deploy(&self, input: <P::In as On<Model>>::Edge, extent: &mut Extent) -> <Q::Out as On<Model>>::Edge {
        let between = self.first.deploy(input, extent);
        self.second.deploy(between, extent)
    }

    fn deploy_outer(&self, input: <P::In as On<Model>>::Edge, extent: &mut Extent) -> <Q::Out as On<Model>>::Edge {
        let between = self.first.deploy_outer(input, extent);
        self.second.deploy_outer(between, extent)
    }
}

impl<A: ModelShape, F, B: Item> Deploy<Model> for Map<A, F, B>
where
    F: for<'a> Fn(A::Ref<'a>) -> B + Send + Sync + 'static,
{
    fn deploy(&self, input: A::Edge, extent: &mut Extent) -> Slots<B> {
        column::<A, B>(&input, extent, |a, _| Some((self.f)(a?)))
    }
}

impl<A: ModelShape, F, B: Item> Deploy<Model> for MapBlocking<A, F, B>
where
    F: for<'a> Fn(A::Ref<'a>) -> B + Send + Sync + 'static,
{
    fn deploy(&self, input: A::Edge, extent: &mut Extent) -> Slots<B> {
        column::<A, B>(&input, extent, |a, _| Some((self.f)(a?)))
    }
}

/// A failure that ends the run unwinds. The model does not sleep between retries.
impl<A: ModelShape, F, B: Item, E: Cause, P: Policy> Deploy<Model> for TryMap<A, F, B, E, P>
where
    F: for<'a> Fn(A::Ref<'a>) -> Result<B, E> + Send + Sync + 'static,
    P::Output<B, E>: Item,
{
    fn deploy(&self, input: A::Edge, extent: &mut Extent) -> Slots<P::Output<B, E>> {
        column::<A, P::Output<B, E>>(&input, extent, |a, _| {
            let a = a?;
            self.policy.judge(|| (self.f)(a), |_| ())
        })
    }
}

impl<A: ModelShape, F, B: Item> Deploy<Model> for FilterMap<A, F, B>
where
    F: for<'a> Fn(A::Ref<'a>) -> Option<B> + Send + Sync + 'static,
{
    fn deploy(&self, input: A::Edge, extent: &mut Extent) -> Slots<B> {
        column::<A, B>(&input, extent, |a, _| (self.f)(a?))
    }
}

impl<A: ModelShape, F> Deploy<Model> for Filter<A, F>
where
    F: for<'a> Fn(A::Ref<'a>) -> bool + Send + Sync + 'static,
{
    fn deploy(&self, input: A::Edge, _: &mut Extent) -> (A::Edge, Arc<Vec<bool>>) {
        let mask = (0..A::slots(&input)).map(|n| A::at(&input, n).is_some_and(|a| (self.keep)(a))).collect();
        (input, Arc::new(mask))
    }
}

impl<A: ModelShape, S: Item + Clone, F, B: Item> Deploy<Model> for Scan<A, S, F, B>
where
    F: for<'a> Fn(&mut S, A::Ref<'a>) -> B + Send + Sync + 'static,
{
    fn deploy(&self, input: A::Edge, extent: &mut Extent) -> Slots<B> {
        let mut state = self.state.clone();
        column::<A, B>(&input, extent, |a, _| Some((self.f)(&mut state, a?)))
    }
}

impl<A: ModelShape, S: Item + Clone, F, G, B: Item> Deploy<Model> for Fold<A, S, F, G, B>
where
    F: for<'a> Fn(&mut S, A::Ref<'a>) + Send + Sync + 'static,
    G: Fn(S) -> B + Send + Sync + 'static,
{
    fn deploy(&self, input: A::Edge, extent: &mut Extent) -> Slots<B> {
        let mut state = self.state.clone();
        column::<A, B>(&input, extent, |a, end| {
            if let Some(a) = a {
                (self.f)(&mut state, a);
            }
            end.then(|| (self.finish)(state.clone()))
        })
    }
}

impl<A: ModelShape + ToOwnedItem<Owned: Clone>> Deploy<Model> for Delay<A> {
    fn deploy(&self, input: A::Edge, extent: &mut Extent) -> Slots<A::Owned> {
        let mut before = self.first.clone();
        column::<A, A::Owned>(&input, extent, |a, _| Some(std::mem::replace(&mut before, A::to_owned_item(a?))))
    }
}

impl<P: Deploy<Model>, Q: Deploy<Model> + Arrow<In = P::In>> Deploy<Model> for Fanout<P, Q>
where
    P::In: ModelShape,
    P::Out: ModelShape,
    Q::Out: ModelShape,
{
    fn deploy(&self, input: <P::In as On<Model>>::Edge, extent: &mut Extent) -> <Self::Out as On<Model>>::Edge {
        (self.first.deploy(input.clone(), extent), self.second.deploy(input, extent))
    }
}

impl<A: ModelShape, P, Q> Deploy<Model> for Both<A, P, Q>
where
    lens::First: Lens<A>,
    lens::Second: Lens<A>,
    P: Deploy<Model> + Arrow<In = Projected<A, lens::First>, Out: ModelShape>,
    Q: Deploy<Model> + Arrow<In = Projected<A, lens::Second>, Out: ModelShape>,
{
    fn deploy(&self, input: A::Edge, extent: &mut Extent) -> <Self::Out as On<Model>>::Edge {
        (
            self.first.deploy(projected::<A, lens::First>(input.clone()), extent),
            self.second.deploy(projected::<A, lens::Second>(input), extent),
        )
    }
}

impl<A: ModelShape, L: Lens<A>> Deploy<Model> for Project<A, L> {
    fn deploy(&self, input: A::Edge, _: &mut Extent) -> A::Edge {
        input
    }
}

impl<P: Deploy<Model>> Deploy<Model> for Tee<P>
where
    P::In: ModelShape,
{
    fn deploy(&self, input: <P::In as On<Model>>::Edge, extent: &mut Extent) -> <P::In as On<Model>>::Edge {
        // The body can begin a new clock, which has numbers of its own.
        self.body.deploy(input.clone(), &mut extent.clone());
        input
    }
}

impl<P: Deploy<Model>> Deploy<Model> for Shard<P> {
    fn deploy(&self, input: <P::In as On<Model>>::Edge, extent: &mut Extent) -> <P::Out as On<Model>>::Edge {
        self.body.deploy(input, extent)
    }
}

impl<P: Deploy<Model>> Deploy<Model> for Named<P> {
    fn deploy(&self, input: <P::In as On<Model>>::Edge, extent: &mut Extent) -> <P::Out as On<Model>>::Edge {
        self.body.deploy(input, extent)
    }

    fn deploy_outer(&self, input: <P::In as On<Model>>::Edge, extent: &mut Extent) -> <P::Out as On<Model>>::Edge {
        self.body.deploy_outer(input, extent)
    }
}

/// Runs a pipeline as its model.
pub trait ModelExt<T: Item>: Deploy<Model> + Arrow<In = Val<T>, Out: ModelShape + ToOwnedItem> {
    /// Returns every output, in order.
    ///
    /// It holds the whole input and every edge in memory, so it is for tests and small lists. It panics if a closure of
    /// the pipeline panics.
    fn model(&self, input: impl IntoIterator<Item = T>) -> Vec<<Self::Out as ToOwnedItem>::Owned> {
        self.model_slots(input).into_iter().flatten().collect()
    }

    /// Returns every slot of the output by number, including empty ones and END.
    fn model_slots(&self, input: impl IntoIterator<Item = T>) -> Vec<Option<<Self::Out as ToOwnedItem>::Owned>> {
        let sinks = NamedSinks::default();
        let output = output_of(self, source(input), &sinks);
        sinks.end();
        (0..Self::Out::slots(&output)).map(|n| Self::Out::at(&output, n).map(Self::Out::to_owned_item)).collect()
    }

    /// Calls `sink` with every value of the output and its number, in order, including END's value; returns END's
    /// number.
    fn model_each(
        &self,
        input: impl IntoIterator<Item = T>,
        sink: impl for<'a> FnMut(SequenceNumber, <Self::Out as Shape>::Ref<'a>),
    ) -> SequenceNumber {
        let sinks = NamedSinks::default();
        let end = self.model_each_beside(&sinks, input, sink);
        sinks.end();
        end
    }

    /// As [`model_each`](ModelExt::model_each), and does not finish the sinks with names, also if it unwinds.
    #[doc(hidden)]
    fn model_each_beside(
        &self,
        sinks: &NamedSinks,
        input: impl IntoIterator<Item = T>,
        mut sink: impl for<'a> FnMut(SequenceNumber, <Self::Out as Shape>::Ref<'a>),
    ) -> SequenceNumber {
        let output = output_of(self, source(input), sinks);
        let slots = Self::Out::slots(&output);
        for (n, number) in (0..slots).zip(0..) {
            if let Some(value) = Self::Out::at(&output, n) {
                sink(SequenceNumber(number), value);
            }
        }
        SequenceNumber(slots as u64 - 1)
    }
}

impl<T: Item, P: Deploy<Model> + Arrow<In = Val<T>, Out: ModelShape + ToOwnedItem>> ModelExt<T> for P {}
