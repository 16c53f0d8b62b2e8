use super::control::Activity;
use super::message::Queue;
use super::queue_shape::QueueShape;
use super::wiring::Work;
use crate::sink::{Sink, SinkPauses};
use crate::sink_tasklet::{Left, Seen};
use millstream_core::failure::fail;
use millstream_core::{SequenceNumber, ToOwnedItem};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The clock is read once for this many values; after a look that found more time gone than [`SLOW`], at the next one.
const LOOKS: u64 = 16;
const SLOW: Duration = Duration::from_millis(1);

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
        let (mut pauses, mut looked, mut slow, mut taken) = (SinkPauses::default(), Instant::now(), true, 0_u64);
        while let Some(message) = self.input.take(activity) {
            let at = message.at();
            self.next = at.number;
            if let Some(value) = message.into_value() {
                sink.put(SequenceNumber(at.number), A::lend(&value)).unwrap_or_else(|error| fail(error));
                self.values += 1;
            }
            taken += 1;
            let mut late = false;
            if slow || taken.is_multiple_of(LOOKS) {
                let now = Instant::now();
                slow = now.duration_since(looked) > SLOW;
                looked = now;
                late = pauses.are_due(now);
            }
            if late || at.end || self.input.len() == 0 {
                sink.pause().unwrap_or_else(|error| fail(error));
            }
            if late {
                let began = looked;
                looked = Instant::now();
                pauses.note(began, looked);
            }
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
