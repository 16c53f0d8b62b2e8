//! The snapshot before END, with which the next start goes on behind the last value.

use super::offers::Order;
use crate::claims::Held;
use millstream_exec::Snapshot;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The snapshot before END and the sinks' claims at it, until the thread that stores takes them. Unlike another one, it
/// waits however many orders there are: no later one makes up for it.
#[derive(Clone, Default)]
pub(super) struct BeforeEnd(Arc<Mutex<Option<Claimed>>>);

type Claimed = (Snapshot, Option<Held>);

impl BeforeEnd {
    fn lock(&self) -> MutexGuard<'_, Option<Claimed>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn put(&self, snapshot: Snapshot, claims: Option<Held>) {
        *self.lock() = Some((snapshot, claims));
    }

    pub(super) fn order(&self) -> Option<Order> {
        let (snapshot, claims) = self.lock().take()?;
        Some(Order::Store(snapshot, claims, None))
    }
}
