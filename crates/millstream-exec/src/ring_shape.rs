use crate::Rings;
use millstream_core::{
    AnyEdge, Choice, Density, Filtered, Item, Lens, Merged, On, Pair, Projected, SameItem, Text, Val,
};
use millstream_ring::{Kind, Reader, RingLayout};

/// A shape that rings carry: every shape of this project. Nothing to implement.
pub trait RingShape: RingLayout + On<Rings, Edge = Reader<Self>> {}
impl<F: RingLayout + On<Rings, Edge = Reader<F>>> RingShape for F {}

impl<T: Item, D: Density> On<Rings> for Val<T, D> {
    type Edge = Reader<Self>;
}

impl<A: RingLayout, B: RingLayout> On<Rings> for Pair<A, B> {
    type Edge = Reader<Self>;
}

impl<A: RingLayout, B: RingLayout> On<Rings> for Choice<A, B> {
    type Edge = Reader<Self>;
}

impl<A: RingLayout, B: RingLayout + SameItem<A>> On<Rings> for Merged<A, B> {
    type Edge = Reader<Self>;
}

impl<A: RingLayout> On<Rings> for Filtered<A> {
    type Edge = Reader<Self>;
}

impl<T: Item> On<Rings> for AnyEdge<T> {
    type Edge = Reader<Self>;
}

impl<A: RingLayout, L: Lens<A>> On<Rings> for Projected<A, L> {
    type Edge = Reader<Self>;
}

impl<T: Kind + ?Sized, D: Density> On<Rings> for Text<T, D> {
    type Edge = Reader<Self>;
}

/// The edge of a source.
pub(crate) fn source_edge<T: Item>(reader: Reader<Val<T>>) -> <Val<T> as On<Rings>>::Edge {
    reader
}
