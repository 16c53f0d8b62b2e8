use super::control::Activity;
use super::message::Queue;
use super::pauses::PausesBetweenValues;
use super::queue_shape::QueueShape;
use super::wiring::Work;
use crate::sink::Sink;
use crate::sink_tasklet::{Left, Seen};
use millstream_core::failure::fail;
use millstream_core::{SequenceNumber, ToOwnedItem};
use std::sync::Arc;

/// The end of a run: a sink that sees every value, with its number.
pub(crate) struct SinkThread<A: QueueShape, K> {
    input: Queue<<A as ToOwnedItem>::Owned>,
    sink: Option<K>,
    /// The next number.
    next: u64,
    values: u64,
    ended: bool,
    left: Arc<Left<A, K>>,
}

impl<A: QueueShape, K> SinkThread<A, K> {
    pub(crate) fn new(input: Queue<A::Owned>, sink: K, left: Arc<Left<A, K>>) -> Self {
        SinkThread { input, sink: Some(sink), next: 0, values: 0, ended: false, left }
    }
}

impl<A: QueueShape, K: Sink<A>> Work for SinkThread<A, K> {
    fn run(&mut self, activity: &Activity) {
        let Some(sink) = self.sink.as_mut() else { return };
        let mut pauses = PausesBetweenValues::default();
        while let Some(message) = self.input.take(activity) {
            let at = message.at();
            self.next = at.number;
            if let Some(value) = message.into_value() {
                sink.put(SequenceNumber(at.number), A::lend(&value)).unwrap_or_else(|error| fail(error));
                self.values += 1;
            }
            let is_last_here = at.end || self.input.len() == 0;
            pauses.after_value(is_last_here, || sink.pause().unwrap_or_else(|error| fail(error)));
            self.next = at.number + u64::from(!at.end);
            self.ended = at.end;
        }
    }

    fn left(&self) -> usize {
        self.input.len()
    }
}

/// However it ended, it leaves its sink to the thread that waits for it.
impl<A: QueueShape, K> Drop for SinkThread<A, K> {
    fn drop(&mut self) {
        if let Some(sink) = self.sink.take() {
            let (first, numbers) = (SequenceNumber(0), SequenceNumber(self.next));
            let seen = Seen { first, numbers, values: self.values, ended: self.ended };
            self.left.leave(sink, seen);
        }
    }
}
