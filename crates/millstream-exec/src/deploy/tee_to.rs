//! Sinks with names: each reads its edge on a thread of its own, and is finished when the run or its version is over.

use crate::sink_tasklet::{Left, SinkTasklet};
use crate::{RingBackend, RingRunner, RingShape, Wiring};
use millstream_core::pipe::TeeTo;
use millstream_core::{Deploy, Sink};
use millstream_ring::Reader;

impl<R: RingRunner, A: RingShape<R>, K: Sink<A> + Clone + Sync> Deploy<RingBackend<R>> for TeeTo<A, K> {
    fn deploy(&self, input: Reader<A>, wiring: &mut Wiring) -> Reader<A> {
        let left = Left::nothing();
        let sink = SinkTasklet::new(input.fork(), self.sink.clone(), wiring.batch, left.clone());
        let reads = wiring.side_sinks.planned_next(&wiring.plan);
        wiring.side_sink(self.name.clone(), reads, Box::new(sink));
        wiring.side_sinks.add(&self.name, left);
        input
    }
}
