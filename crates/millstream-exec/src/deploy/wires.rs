//! Named wires on rings: a wire is a fork of a reader, and a join of wires reads their rings side by side.

use crate::keeps::{RingBackend, RingRunner};
use crate::{RingShape, Wiring};
use millstream_core::pipe::{ShowPart, ToMaybe};
use millstream_core::plan::Branch;
use millstream_core::wires::{BlockBackend, Forks, Joins, Merges};
use millstream_core::{Deploy, Item, Maybe, Merged, Otherwise, Pair, Part, SameItem, Shows};
use millstream_ring::Reader;

impl<R: RingRunner> BlockBackend for RingBackend<R> {
    fn in_body<T>(wiring: &mut Wiring, branch: Branch, inside: impl FnOnce(&mut Wiring) -> T) -> T {
        inside(&mut wiring.body(branch))
    }
}

impl<R: RingRunner, F: RingShape<R>> Forks<F> for RingBackend<R> {
    fn fork(edge: Reader<F>, _: &mut Wiring) -> (Reader<F>, Reader<F>) {
        (edge.fork(), edge)
    }
}

impl<R: RingRunner, A: RingShape<R>, B: RingShape<R>> Joins<A, B> for RingBackend<R> {
    fn join(first: Reader<A>, second: Reader<B>, _: &mut Wiring) -> Reader<Pair<A, B>> {
        first.zip(second)
    }
}

impl<R: RingRunner, A: RingShape<R>, B: RingShape<R> + SameItem<A>> Merges<A, B> for RingBackend<R> {
    fn merge(left: Reader<A>, right: Reader<B>, _: &mut Wiring) -> Reader<Merged<A, B>> {
        left.or(right)
    }

    fn otherwise(first: Reader<A>, second: Reader<B>, _: &mut Wiring) -> Reader<Otherwise<A, B>> {
        first.otherwise(second)
    }
}

impl<R: RingRunner, A: RingShape<R>, T: Item, C: Shows<A, T>> Deploy<RingBackend<R>> for ShowPart<A, C, T> {
    fn deploy(&self, input: Reader<A>, _: &mut Wiring) -> Reader<Part<A, C, T>> {
        input.part(self.shows.clone())
    }
}

impl<R: RingRunner, A: RingShape<R>> Deploy<RingBackend<R>> for ToMaybe<A> {
    fn deploy(&self, input: Reader<A>, _: &mut Wiring) -> Reader<Maybe<A>> {
        input.maybe()
    }
}
