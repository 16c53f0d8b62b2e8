use super::message::Queue;
use crate::Queues;
use millstream_core::{Choice, Density, Event, Flow, Lens, Like, Masked, On, OneOf, Own, Pair, Seen, Val};

/// A shape whose owned values can be lent to a stage: the other way round than [`Own`]. Nothing to implement.
pub trait Lend: Own {
    /// What a stage gets of a value.
    fn lend(owned: &Self::Owned) -> Self::Ref<'_>;
}

/// A shape that queues carry: every shape of this project whose values are `Clone`, since every reader gets a copy of
/// its own. Nothing to implement.
pub trait Queued: Lend + On<Queues, Edge = Queue<<Self as Own>::Owned>> {}
impl<F: Lend + On<Queues, Edge = Queue<<F as Own>::Owned>>> Queued for F {}

impl<T: Event + Clone, D: Density> On<Queues> for Val<T, D> {
    type Edge = Queue<T>;
}

impl<T: Event + Clone, D: Density> Lend for Val<T, D> {
    fn lend(owned: &T) -> &T {
        owned
    }
}

impl<A: Lend, B: Lend> On<Queues> for Pair<A, B> {
    type Edge = Queue<(A::Owned, B::Owned)>;
}

impl<A: Lend, B: Lend> Lend for Pair<A, B> {
    fn lend((a, b): &Self::Owned) -> Self::Ref<'_> {
        (A::lend(a), B::lend(b))
    }
}

impl<A: Lend, B: Lend> On<Queues> for Choice<A, B> {
    type Edge = Queue<<Self as Own>::Owned>;
}

impl<A: Lend, B: Lend> Lend for Choice<A, B> {
    fn lend(owned: &Self::Owned) -> Self::Ref<'_> {
        owned.as_ref().map_either(A::lend, B::lend)
    }
}

impl<A: Lend, B: Lend + Like<A>> On<Queues> for OneOf<A, B> {
    type Edge = Queue<A::Owned>;
}

impl<A: Lend, B: Lend + Like<A>> Lend for OneOf<A, B> {
    fn lend(owned: &A::Owned) -> A::Ref<'_> {
        A::lend(owned)
    }
}

impl<A: Lend> On<Queues> for Masked<A> {
    type Edge = Queue<A::Owned>;
}

impl<A: Lend> Lend for Masked<A> {
    fn lend(owned: &A::Owned) -> A::Ref<'_> {
        A::lend(owned)
    }
}

impl<A: Flow, L: Lens<A, Target: Lend>> On<Queues> for Seen<A, L> {
    type Edge = Queue<<L::Target as Own>::Owned>;
}

impl<A: Flow, L: Lens<A, Target: Lend>> Lend for Seen<A, L> {
    fn lend(owned: &Self::Owned) -> Self::Ref<'_> {
        <L::Target as Lend>::lend(owned)
    }
}
