//! Stateless stages in families of their own.

use super::Owning;
use crate::Queues;
use crate::queues::stage::owning_stage;
use crate::queues::{Queue, QueueShape, QueuesWiring};
use millstream_core::pipe::{OwnedBy, OwnedKernel, Partition};
use millstream_core::{Arrow, Deploy, Either};

impl<K: OwnedKernel<In: QueueShape, Out: Clone>> Deploy<Queues> for OwnedBy<K> {
    fn deploy(&self, input: Owning<K::In>, wiring: &mut QueuesWiring) -> Queue<K::Out> {
        let kernel = self.kernel.clone();
        owning_stage(input, wiring, move |value, _| value.map(|value| kernel.apply(value)))
    }
}

impl<A: QueueShape, F> Deploy<Queues> for Partition<A, F>
where
    F: for<'a> Fn(A::Ref<'a>) -> bool + Send + Sync + 'static,
{
    fn deploy(&self, input: Owning<A>, wiring: &mut QueuesWiring) -> Owning<<Self as Arrow>::Out> {
        let is_left = self.is_left.clone();
        owning_stage(input, wiring, move |value, _| {
            value.map(|value| if is_left(A::lend(&value)) { Either::Left(value) } else { Either::Right(value) })
        })
    }
}
