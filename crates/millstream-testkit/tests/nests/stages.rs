//! The stages of nests, on an edge of any shape.
#![expect(clippy::type_complexity, reason = "the test is about shapes")]
#![expect(clippy::unused_unit, reason = "one macro for all closures")]

use millstream_core::pipe::{Delay, Filter, FilterMap, Fold, Map, Partition, Scan, ScanBy, ScanFinish, Then};
use millstream_core::{
    Arrow, Choice, ChoiceExt, Density, Filtered, Item, Lens, Pair, Projected, Shape, StreamsExt, ToOwnedItem, Tuple,
    Val,
};

/// A shape whose values have a digest.
pub(crate) trait Edge: Shape + ToOwnedItem<Owned: Clone> {
    fn digest(value: Self::Ref<'_>) -> u64;
}

pub(crate) trait Digest: Item + Default + Clone {
    fn digest(&self) -> u64;
}

impl Digest for u64 {
    fn digest(&self) -> u64 {
        *self
    }
}

impl<A: Digest, B: Digest> Digest for (A, B) {
    fn digest(&self) -> u64 {
        self.0.digest().wrapping_mul(31) ^ self.1.digest()
    }
}

impl<T: Digest, D: Density> Edge for Val<T, D> {
    fn digest(value: &T) -> u64 {
        value.digest()
    }
}

impl<A: Edge, B: Edge> Edge for Pair<A, B> {
    fn digest((a, b): Self::Ref<'_>) -> u64 {
        A::digest(a).wrapping_mul(31) ^ B::digest(b)
    }
}

impl<A: Edge, B: Edge, C: Edge> Edge for Tuple<(A, B, C)> {
    fn digest((a, b, c): Self::Ref<'_>) -> u64 {
        (A::digest(a), (B::digest(b), C::digest(c))).digest()
    }
}

impl<A: Edge, B: Edge> Edge for Choice<A, B> {
    fn digest(value: Self::Ref<'_>) -> u64 {
        value.either(|left| A::digest(left).wrapping_mul(3), |right| B::digest(right).wrapping_mul(5))
    }
}

impl<A: Edge> Edge for Filtered<A> {
    fn digest(value: Self::Ref<'_>) -> u64 {
        A::digest(value)
    }
}

impl<A: Shape, L: Lens<A, Target: Edge>> Edge for Projected<A, L> {
    fn digest(value: Self::Ref<'_>) -> u64 {
        <L::Target as Edge>::digest(value)
    }
}

/// A closure's bounds. The closures depend only on the shape, so that all nests share their stages' code.
macro_rules! closure {
    ($edge:ty => $output:ty) => { impl for<'a> Fn(<$edge as Shape>::Ref<'a>) -> $output + Send + Sync + 'static };
    ($edge:ty, $state:ty => $output:ty) => {
        impl for<'a> Fn(&mut $state, <$edge as Shape>::Ref<'a>) -> $output + Send + Sync + 'static
    };
}
pub(crate) use closure;

fn mapper<A: Edge>() -> closure!(A => u64) {
    |value| A::digest(value).wrapping_mul(31)
}

pub(crate) fn map<P: Arrow<Out: Edge>>(p: P) -> Then<P, Map<P::Out, closure!(P::Out => u64), u64>> {
    p.map(mapper::<P::Out>())
}

fn halver<A: Edge>() -> closure!(A => (u64, u64)) {
    |value| (A::digest(value), !A::digest(value))
}

pub(crate) fn tuple<P: Arrow<Out: Edge>>(p: P) -> Then<P, Map<P::Out, closure!(P::Out => (u64, u64)), (u64, u64)>> {
    p.map(halver::<P::Out>())
}

fn judge<A: Edge>() -> closure!(A => bool) {
    |value| !A::digest(value).is_multiple_of(3)
}

pub(crate) fn filter<P: Arrow<Out: Edge>>(p: P) -> Then<P, Filter<P::Out, closure!(P::Out => bool)>> {
    p.filter(judge::<P::Out>())
}

fn chooser<A: Edge>() -> closure!(A => Option<u64>) {
    |value| Some(A::digest(value)).filter(|digest| digest % 4 != 1)
}

pub(crate) fn filter_map<P: Arrow<Out: Edge>>(
    p: P,
) -> Then<P, FilterMap<P::Out, closure!(P::Out => Option<u64>), u64>> {
    p.filter_map(chooser::<P::Out>())
}

fn machine<A: Edge>() -> closure!(A, u64 => u64) {
    |state, value| {
        *state = state.wrapping_mul(31).wrapping_add(A::digest(value));
        *state
    }
}

pub(crate) fn scan<P: Arrow<Out: Edge>>(p: P) -> Then<P, Scan<P::Out, u64, closure!(P::Out, u64 => u64), u64>> {
    p.scan(1, machine::<P::Out>())
}

fn finisher(state: u64) -> Option<u64> {
    Some(!state).filter(|answer| answer % 4 != 0)
}

pub(crate) fn finish<P: Arrow<Out: Edge>>(
    p: P,
) -> Then<P, ScanBy<ScanFinish<P::Out, u64, closure!(P::Out, u64 => u64), fn(u64) -> Option<u64>, u64>>> {
    p.scan_finish(1, machine::<P::Out>(), finisher as fn(u64) -> Option<u64>)
}

fn folder<A: Edge>() -> closure!(A, u64 => ()) {
    |state, value| *state = state.wrapping_mul(17) ^ A::digest(value)
}

pub(crate) fn fold<P: Arrow<Out: Edge>>(
    p: P,
) -> Then<P, Fold<P::Out, u64, closure!(P::Out, u64 => ()), fn(u64) -> u64, u64>> {
    p.fold(1, folder::<P::Out>(), std::convert::identity as fn(u64) -> u64)
}

pub(crate) fn lanes<P: Arrow<Out: Edge>>(p: P) -> Then<P, Partition<P::Out, closure!(P::Out => bool)>> {
    p.partition(judge::<P::Out>())
}

pub(crate) fn delay<P: Arrow<Out: Edge + ToOwnedItem<Owned: Default>>>(p: P) -> Then<P, Delay<P::Out>> {
    p.delay(Default::default())
}
