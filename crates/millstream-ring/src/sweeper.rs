use crate::gate::Gating;
use crate::shared::Shared;
use crate::sync::Arc;
use millstream_core::Item;

/// Drops the values that the readers of one ring have released, in place of its producer: see
/// [`Producer::sweep_apart`](crate::Producer::sweep_apart).
pub struct Sweeper<S: Item> {
    shared: Arc<Shared<S>>,
    gating: Gating,
}

impl<S: Item> Sweeper<S> {
    pub(crate) fn new(shared: Arc<Shared<S>>) -> Self {
        Sweeper { shared, gating: Gating::new() }
    }

    /// Drops the values that every reader has released, which makes room for the producer. Returns whether there were
    /// any. Types without `Drop` need no sweep: for them this returns false.
    ///
    /// If the drop of a value panics, the others are dropped all the same, and their slots are free.
    pub fn sweep(&mut self) -> bool {
        if !std::mem::needs_drop::<S>() {
            return false;
        }
        let swept = self.shared.swept();
        let released = self.gating.released(&self.shared.gates, self.shared.cursor());
        if self.shared.slots_below(released) <= swept {
            return false;
        }
        // SAFETY: all readers have released these numbers, and they are published, so they hold values that no thread
        // looks at. The producer writes into them only once `swept` is beyond them, and has left sweeping to this
        // sweeper for good.
        unsafe { self.shared.sweep(released) };
        true
    }
}

impl<S: Item> std::fmt::Debug for Sweeper<S> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Sweeper").field("swept", &self.shared.swept()).finish_non_exhaustive()
    }
}
