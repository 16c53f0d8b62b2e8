//! A bounded queue behind a lock and two conditions: what `ArrayBlockingQueue` is.

use super::{Batches, CAPACITY};
use crate::failure::Failure;
use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

struct Queue {
    within: Mutex<Within>,
    not_full: Condvar,
    not_empty: Condvar,
}

struct Within {
    /// Never more than its capacity, so that it never grows.
    events: VecDeque<u64>,
    ended: bool,
}

/// The sum of the random longs that so many consumers take from a queue, in batches of the size in which they come.
pub(super) fn queued(consumers: usize, what: Batches) -> Result<u64, Failure> {
    let events = VecDeque::with_capacity(CAPACITY);
    let within = Mutex::new(Within { events, ended: false });
    let queue = Queue { within, not_full: Condvar::new(), not_empty: Condvar::new() };
    std::thread::scope(|scope| {
        let start = |consume| std::thread::Builder::new().spawn_scoped(scope, consume);
        let threads: Result<Vec<_>, _> = (0..consumers).map(|_| start(|| queue.consume(what.batch))).collect();
        queue.produce(what);
        let threads = threads.map_err(Failure::io("a thread"))?;
        let sums = threads.into_iter().map(|thread| thread.join().unwrap_or_default());
        Ok(sums.fold(0, u64::wrapping_add))
    })
}

impl Queue {
    fn lock(&self) -> MutexGuard<'_, Within> {
        self.within.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn produce(&self, what: Batches) {
        for batch in what.each() {
            let mut within = self.lock();
            while within.events.len() + batch.len() > CAPACITY {
                within = self.not_full.wait(within).unwrap_or_else(PoisonError::into_inner);
            }
            within.events.extend(batch);
            drop(within);
            self.not_empty.notify_one();
        }
        self.lock().ended = true;
        self.not_empty.notify_all();
    }

    fn consume(&self, batch: usize) -> u64 {
        let (mut sum, mut taken) = (0_u64, vec![0; batch]);
        loop {
            let mut within = self.lock();
            while within.events.is_empty() && !within.ended {
                within = self.not_empty.wait(within).unwrap_or_else(PoisonError::into_inner);
            }
            let len = within.events.len().min(batch);
            if len == 0 {
                return sum;
            }
            taken.iter_mut().zip(within.events.drain(..len)).for_each(|(slot, x)| *slot = x);
            let more = !within.events.is_empty();
            drop(within);
            self.not_full.notify_one();
            if more {
                self.not_empty.notify_one();
            }
            sum = taken[..len].iter().fold(sum, |sum, x| sum.wrapping_add(*x));
        }
    }
}
