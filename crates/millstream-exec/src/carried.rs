use crate::Rings;
use millstream_core::{Choice, Density, Event, Lens, Like, Masked, On, OneOf, Pair, Seen, Text, Val};
use millstream_ring::{Kind, Reader, Wire};

/// A shape that rings carry: every shape of this project. Nothing to implement.
pub trait Carried: Wire + On<Rings, Edge = Reader<Self>> {}
impl<F: Wire + On<Rings, Edge = Reader<F>>> Carried for F {}

impl<T: Event, D: Density> On<Rings> for Val<T, D> {
    type Edge = Reader<Self>;
}

impl<A: Wire, B: Wire> On<Rings> for Pair<A, B> {
    type Edge = Reader<Self>;
}

impl<A: Wire, B: Wire> On<Rings> for Choice<A, B> {
    type Edge = Reader<Self>;
}

impl<A: Wire, B: Wire + Like<A>> On<Rings> for OneOf<A, B> {
    type Edge = Reader<Self>;
}

impl<A: Wire> On<Rings> for Masked<A> {
    type Edge = Reader<Self>;
}

impl<A: Wire, L: Lens<A>> On<Rings> for Seen<A, L> {
    type Edge = Reader<Self>;
}

impl<T: Kind + ?Sized, D: Density> On<Rings> for Text<T, D> {
    type Edge = Reader<Self>;
}

/// The edge of a source.
pub(crate) fn source_edge<T: Event>(reader: Reader<Val<T>>) -> <Val<T> as On<Rings>>::Edge {
    reader
}
