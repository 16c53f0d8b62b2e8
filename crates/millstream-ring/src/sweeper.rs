use crate::gate::Gating;
use crate::shared::Shared;
use crate::sync::Arc;
use millstream_core::Item;

/// Drops what the readers of one ring have released, in place of its producer: see
/// [`Producer::sweep_apart`](crate::Producer::sweep_apart).
pub struct Sweeper<S: Item> {
    shared: Arc<Shared<S>>,
    gating: Gating,
}

impl<S: Item> Sweeper<S> {
    pub(crate) fn new(shared: Arc<Shared<S>>) -> Self {
        Sweeper { shared, gating: Gating::new() }
    }

    /// Drops what every reader has released, and makes room of it; whether there was anything. Types without `Drop`
    /// need no sweep: of them there is never anything.
    ///
    /// If the drop of a value panics, the others are dropped all the same, and their room is free.
    pub fn sweep(&mut self) -> bool {
        if !std::mem::needs_drop::<S>() {
            return false;
        }
        let swept = self.shared.swept();
        let released = self.gating.released(&self.shared.gates, self.shared.cursor());
        if released <= swept {
            return false;
        }
        // SAFETY: all readers have released these numbers, and they are published, so they hold values that nobody
        // looks at. The producer writes over them only once `swept` says that they are dropped, and has left the
        // sweeping to this one for good.
        unsafe { self.shared.sweep(released) };
        true
    }
}

impl<S: Item> std::fmt::Debug for Sweeper<S> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Sweeper").field("swept", &self.shared.swept()).finish_non_exhaustive()
    }
}
