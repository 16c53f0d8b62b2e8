//! Steps in an order that a seed chooses: schedules that can be replayed, on one thread.

use crate::pool::Pool;
use crate::start::{Threads, wire};
use crate::{Handle, RingShape, Rings, RunError, Runner, RunsOn, Sink, Source};
use millstream_core::{Arrow, Deploy, Item, SplitMix64, Val};

/// For tests: the deployment on the calling thread with the stages' steps in an order that a seed chooses. The same
/// seed replays the same schedule. A run panics if its stages wait for each other: a deadlock.
#[doc(hidden)]
#[derive(Clone, Debug)]
pub struct Stepped {
    rings: Rings,
    seed: u64,
}

impl Stepped {
    /// With the ring and batch sizes of these options.
    #[must_use]
    pub fn new(rings: Rings, seed: u64) -> Self {
        Stepped { rings, seed }
    }
}

impl Runner for Stepped {
    type Handle<O: Send + 'static> = Handle<O>;
}

impl<T: Item, P: Deploy<Rings> + Arrow<In = Val<T>, Out: RingShape>> RunsOn<Stepped> for P {
    type Item = T;

    fn start_on<X, K>(&self, on: &Stepped, source: X, sink: K) -> Result<Handle<K::Output>, RunError>
    where
        X: Source<T>,
        K: Sink<P::Out>,
    {
        wire(self, &on.rings, source, Threads::Stepped(on.seed))?.start_into(&on.rings, sink)
    }
}

/// Steps the tasklets in an order that the seed chooses, until all are done or the run is stopped.
///
/// # Panics
///
/// If none of them can make progress and not all are done.
pub(crate) fn work(pool: &Pool, seed: u64) {
    let mut random = SplitMix64::new(seed);
    let tasks = pool.tasks().len();
    let mut idle = 0;
    while !pool.finished() {
        let chosen = random.below(tasks as u64) as usize;
        if pool.step(chosen, &mut None) != Some(0) {
            idle = 0;
            continue;
        }
        idle += 1;
        if idle > 8 * tasks {
            idle = 0;
            // Twice: the first round may only have dropped released values.
            let moved = (0..2).any(|_| pool.round(pool.everything(), false).moved > 0);
            let unfinished = (0..tasks).filter(|task| !pool.is_done(*task)).map(|task| &*pool.tasks()[task].name);
            assert!(moved || pool.finished(), "deadlock of {}", unfinished.collect::<Vec<_>>().join(", "));
        }
    }
}
