//! Sinks with names, each on a thread after one that copies.

use super::Owning;
use crate::Queues;
use crate::queues::copy::copied;
use crate::queues::sink::SinkThread;
use crate::queues::{QueueShape, QueuesWiring};
use crate::sink_tasklet::Left;
use millstream_core::pipe::TeeTo;
use millstream_core::{Deploy, Sink, ToOwnedItem};

impl<A: QueueShape + ToOwnedItem<Owned: Clone>, K: Sink<A> + Clone + Sync> Deploy<Queues> for TeeTo<A, K> {
    fn deploy(&self, input: Owning<A>, wiring: &mut QueuesWiring) -> Owning<A> {
        let (read, on) = copied(input, wiring);
        let left = Left::nothing();
        let sink = SinkThread::<A, K>::new(read, self.sink.clone(), left.clone());
        wiring.side_output().thread(&self.name, sink);
        wiring.side_sinks.add(&self.name, left);
        on
    }
}
