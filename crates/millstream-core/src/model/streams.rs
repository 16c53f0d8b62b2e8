//! `inspect` and `partition`: an edge with a list beside it.

use super::{Extent, Model, ModelShape, On, Slots, column};
use crate::Deploy;
use crate::pipe::{InLanes, Inspect, Partition};

impl<A: ModelShape, F> Deploy<Model> for Inspect<A, F>
where
    F: for<'a> Fn(A::Ref<'a>) + Send + Sync + 'static,
{
    fn deploy(&self, input: A::Edge, extent: &mut Extent) -> (A::Edge, Slots<()>) {
        let seen = column::<A, ()>(&input, extent, |a, _| {
            (self.f)(a?);
            Some(())
        });
        (input, seen)
    }
}

impl<A: ModelShape, F> Deploy<Model> for Partition<A, F>
where
    F: for<'a> Fn(A::Ref<'a>) -> bool + Send + Sync + 'static,
{
    fn deploy(&self, input: A::Edge, extent: &mut Extent) -> <InLanes<A> as On<Model>>::Edge {
        (column::<A, bool>(&input, extent, |a, _| Some((self.is_left)(a?))), input)
    }
}
