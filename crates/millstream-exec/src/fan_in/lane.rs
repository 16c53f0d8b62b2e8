use super::gate::Gate;
use super::producer::Ring;
use millstream_core::Item;
use millstream_ring::spsc;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

/// One producer's ring, as seen by the merge.
pub(super) struct Lane<T: Item> {
    pub(super) producer: u32,
    pub(super) receiver: spsc::Receiver<T>,
    gate: Arc<Gate<Ring<T>>>,
    /// The time before which the producer sends nothing any more, as set by its sender.
    watermark: Arc<AtomicU64>,
    /// The time of its next value, if known.
    at: Option<u64>,
    /// The time of the value before.
    last: u64,
    /// Since when the other lanes have waited for it.
    silent_since: Option<Instant>,
}

impl<T: Item> Lane<T> {
    pub(super) fn new(
        producer: u32,
        receiver: spsc::Receiver<T>,
        gate: Arc<Gate<Ring<T>>>,
        watermark: Arc<AtomicU64>,
    ) -> Self {
        Lane { producer, receiver, gate, watermark, at: None, last: 0, silent_since: None }
    }

    /// Whether everything was taken and no further value is accepted.
    pub(super) fn ended(&mut self) -> bool {
        // Loaded first: every accepted value is visible then.
        let closed = self.gate.is_closed();
        self.receiver.ended() || closed && self.receiver.head().is_none()
    }

    /// The time of its next value, if that is there.
    pub(super) fn time(&mut self, time: &dyn Fn(&T) -> u64) -> Result<Option<u64>, String> {
        if self.at.is_none() {
            let Some(head) = self.receiver.head() else { return Ok(None) };
            let (at, last) = (time(head), self.last);
            if at < last {
                let (producer, number) = (self.producer, self.receiver.taken());
                return Err(format!(
                    "producer {producer}, its number {number}: a value of time {at} after one of time {last}; \
                     sort its values, or let `windows_by` wait for late ones"
                ));
            }
            (self.at, self.last, self.silent_since) = (Some(at), at, None);
        }
        Ok(self.at)
    }

    /// Its next value was taken.
    pub(super) fn passed(&mut self) {
        self.at = None;
    }

    /// The time before which no further value comes. Loaded before the ring is read: values sent earlier are visible
    /// then.
    pub(super) fn watermark(&self) -> u64 {
        self.watermark.load(Ordering::Acquire).max(self.last)
    }

    /// Since when the other lanes have waited for it; starts now if they had not.
    pub(super) fn silent_since(&mut self) -> Instant {
        *self.silent_since.get_or_insert_with(Instant::now)
    }
}
