//! A bounded queue with a lock and two conditions, as `ArrayBlockingQueue` is.

use super::{Batches, mixed};
use crate::failure::Failure;
use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

pub(super) struct Queue<T> {
    within: Mutex<Within<T>>,
    not_full: Condvar,
    not_empty: Condvar,
    capacity: usize,
}

struct Within<T> {
    /// No longer than the capacity, so it never grows.
    events: VecDeque<T>,
    ended: bool,
}

/// The sum of the random longs that these consumers take from one queue, in batches of the size in which they were
/// sent.
pub(super) fn queued(consumers: usize, what: Batches, capacity: usize) -> Result<u64, Failure> {
    let queue = Queue::new(capacity);
    let consume = || {
        let (mut sum, mut taken) = (0_u64, Vec::with_capacity(what.batch));
        while queue.take(&mut taken, what.batch) {
            sum = taken.iter().fold(sum, |sum, x| sum.wrapping_add(*x));
        }
        sum
    };
    let sums = queue.serve(consumers, consume, || what.each().for_each(|batch| queue.put(batch.iter().copied())))?;
    Ok(sums.into_iter().fold(0, u64::wrapping_add))
}

/// The sum over consumers that each see all longs: each has a queue of this capacity, and the producer puts every batch
/// into all queues.
pub(super) fn queued_by_all(consumers: usize, what: Batches, capacity: usize) -> Result<u64, Failure> {
    let queues: Vec<_> = (0..consumers).map(|_| Queue::new(capacity)).collect();
    let consume = |queue: &Queue<u64>| {
        let (mut sum, mut taken) = (0_u64, Vec::with_capacity(what.batch));
        while queue.take(&mut taken, what.batch) {
            sum = taken.iter().fold(sum, |sum, x| sum.wrapping_add(mixed(x)));
        }
        sum
    };
    std::thread::scope(|scope| {
        let start = |queue| std::thread::Builder::new().spawn_scoped(scope, move || consume(queue));
        let threads: Result<Vec<_>, _> = queues.iter().map(start).collect();
        if threads.is_ok() {
            what.each().for_each(|batch| queues.iter().for_each(|queue| queue.put(batch.iter().copied())));
        }
        queues.iter().for_each(Queue::end);
        let threads = threads.map_err(Failure::io("a thread"))?;
        Ok(threads.into_iter().filter_map(|thread| thread.join().ok()).fold(0, u64::wrapping_add))
    })
}

impl<T: Send> Queue<T> {
    pub(super) fn new(capacity: usize) -> Self {
        let within = Within { events: VecDeque::with_capacity(capacity), ended: false };
        Queue { within: Mutex::new(within), not_full: Condvar::new(), not_empty: Condvar::new(), capacity }
    }

    /// Runs the consumers on threads of their own, and the producer in this thread. Returns the consumers' results.
    pub(super) fn serve<R: Send>(
        &self,
        consumers: usize,
        consume: impl Fn() -> R + Sync,
        produce: impl FnOnce(),
    ) -> Result<Vec<R>, Failure> {
        std::thread::scope(|scope| {
            let start = || std::thread::Builder::new().spawn_scoped(scope, &consume);
            let threads: Result<Vec<_>, _> = (0..consumers).map(|_| start()).collect();
            produce();
            self.end();
            let threads = threads.map_err(Failure::io("a thread"))?;
            Ok(threads.into_iter().filter_map(|thread| thread.join().ok()).collect())
        })
    }

    fn lock(&self) -> MutexGuard<'_, Within<T>> {
        self.within.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Puts a batch as soon as there is room for all of it.
    pub(super) fn put(&self, batch: impl ExactSizeIterator<Item = T>) {
        let mut within = self.lock();
        while within.events.len() + batch.len() > self.capacity {
            within = self.not_full.wait(within).unwrap_or_else(PoisonError::into_inner);
        }
        within.events.extend(batch);
        drop(within);
        self.not_empty.notify_one();
    }

    fn end(&self) {
        self.lock().ended = true;
        self.not_empty.notify_all();
    }

    /// Replaces `taken` by at most `most` events. Returns false once the queue has ended and is empty.
    pub(super) fn take(&self, taken: &mut Vec<T>, most: usize) -> bool {
        taken.clear();
        let mut within = self.lock();
        while within.events.is_empty() && !within.ended {
            within = self.not_empty.wait(within).unwrap_or_else(PoisonError::into_inner);
        }
        let len = within.events.len().min(most);
        taken.extend(within.events.drain(..len));
        let more = !within.events.is_empty();
        drop(within);
        self.not_full.notify_one();
        if more {
            self.not_empty.notify_one();
        }
        len > 0
    }
}
