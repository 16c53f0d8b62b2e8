use crate::{RingBackend, RingRunner, Rings};
use millstream_core::{
    AnyEdge, Choice, Density, Filtered, Item, Lens, Maybe, Merged, On, Otherwise, Pair, Part, Projected, SameItem,
    Shows, Text, Val,
};
use millstream_ring::{Kind, Reader, RingLayout};

/// A shape that rings carry: every shape of this project. Nothing to implement.
pub trait RingShape<R: RingRunner = Rings>: RingLayout + On<RingBackend<R>, Edge = Reader<Self>> {}
impl<R: RingRunner, F: RingLayout + On<RingBackend<R>, Edge = Reader<F>>> RingShape<R> for F {}

impl<R: RingRunner, T: Item, D: Density> On<RingBackend<R>> for Val<T, D> {
    type Edge = Reader<Self>;
}

impl<R: RingRunner, A: RingLayout, B: RingLayout> On<RingBackend<R>> for Pair<A, B> {
    type Edge = Reader<Self>;
}

impl<R: RingRunner, A: RingLayout, B: RingLayout> On<RingBackend<R>> for Choice<A, B> {
    type Edge = Reader<Self>;
}

impl<R: RingRunner, A: RingLayout, B: RingLayout + SameItem<A>> On<RingBackend<R>> for Merged<A, B> {
    type Edge = Reader<Self>;
}

impl<R: RingRunner, A: RingLayout, B: RingLayout + SameItem<A>> On<RingBackend<R>> for Otherwise<A, B> {
    type Edge = Reader<Self>;
}

impl<R: RingRunner, A: RingLayout, T: Item, C: Shows<A, T>> On<RingBackend<R>> for Part<A, C, T> {
    type Edge = Reader<Self>;
}

impl<R: RingRunner, A: RingLayout> On<RingBackend<R>> for Maybe<A> {
    type Edge = Reader<Self>;
}

impl<R: RingRunner, A: RingLayout> On<RingBackend<R>> for Filtered<A> {
    type Edge = Reader<Self>;
}

impl<R: RingRunner, T: Item> On<RingBackend<R>> for AnyEdge<T> {
    type Edge = Reader<Self>;
}

impl<R: RingRunner, A: RingLayout, L: Lens<A>> On<RingBackend<R>> for Projected<A, L> {
    type Edge = Reader<Self>;
}

impl<R: RingRunner, T: Kind + ?Sized, D: Density> On<RingBackend<R>> for Text<T, D> {
    type Edge = Reader<Self>;
}

/// The edge of a source.
pub(crate) fn source_edge<R: RingRunner, T: Item>(reader: Reader<Val<T>>) -> <Val<T> as On<RingBackend<R>>>::Edge {
    reader
}
