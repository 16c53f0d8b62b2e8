//! Steps in an order that a seed chooses: schedules that can be replayed, on one thread.

use crate::fusion::JobEnds;
use crate::keeps::RingBackend;
use crate::start::{Threads, wire};
use crate::{Handle, RingShape, Rings, RunError, Runner, RunsOn, Sink, Source};
use millstream_core::{Arrow, Deploy, Item, Val};

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

impl<T: Item, P: Deploy<RingBackend> + Arrow<In = Val<T>, Out: RingShape>> RunsOn<Stepped> for P {
    type Item = T;

    fn start_on<X, K>(&self, on: &Stepped, source: X, sink: K) -> Result<Handle<K::Output>, RunError>
    where
        X: Source<T>,
        K: Sink<P::Out>,
    {
        wire::<Rings, JobEnds<X::Values, K>, _, _, _, true>(self, &on.rings, source, Threads::Stepped(on.seed))?
            .start_into(&on.rings, sink)
    }
}
