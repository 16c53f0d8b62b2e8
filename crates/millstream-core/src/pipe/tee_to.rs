use crate::plan::{Describe, Port};
use crate::{Arrow, Determinate, KeepsClock, Shape, Sink};
use std::marker::PhantomData;

/// A sink with a name on the side, which gets every value of an edge.
pub struct TeeTo<A, K> {
    /// The sink's name, which its failure has.
    pub name: String,
    /// The sink. Every run gets a clone.
    pub sink: K,
    shape: PhantomData<fn() -> A>,
}
// At a key and in a lane it would get a part of the stream, and in a shard the tasklets have no order: it is not quiet.
#[diagnostic::do_not_recommend]
impl<A, K> KeepsClock for TeeTo<A, K> {}
#[diagnostic::do_not_recommend]
impl<A, K> Determinate for TeeTo<A, K> {}

impl<A, K> TeeTo<A, K> {
    pub(crate) fn new(name: String, sink: K) -> Self {
        TeeTo { name, sink, shape: PhantomData }
    }
}

impl<A, K> std::fmt::Debug for TeeTo<A, K> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TeeTo").field("name", &self.name).finish_non_exhaustive()
    }
}

impl<A: Shape, K: Sink<A> + Clone + Sync> Arrow for TeeTo<A, K> {
    type In = A;
    type Out = A;

    fn describe(&self, input: Port, plan: &mut Describe) -> Port {
        plan.side_sink("tee_to", &self.name, &input);
        input
    }
}
