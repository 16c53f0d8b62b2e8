//! Stages that end one clock and start the next.

use super::Owning;
use crate::Queues;
use crate::queues::stage::renumber_stage;
use crate::queues::{Queue, QueueShape, QueuesWiring};
use millstream_core::Deploy;
use millstream_core::pipe::{ExpandKernel, Renumber};

impl<E: ExpandKernel<In: QueueShape, Item: Clone>> Deploy<Queues> for Renumber<E> {
    fn deploy(&self, input: Owning<E::In>, wiring: &mut QueuesWiring) -> Queue<E::Item> {
        renumber_stage(input, wiring, self.expand.clone())
    }
}
