//! Threads of the program that run the stages for a while: those of a service's callers, and one that sends batches.

use crate::pool::Pool;
use std::cell::Cell;
use std::sync::atomic::Ordering;

/// A stage may call another service, and so on: this is the greatest depth.
const DEEPEST: usize = 4;

thread_local! {
    /// The addresses of the pools whose stages this thread runs; 0 for none. It has no destructor, so that a thread
    /// can make a call while it exits.
    static VISITED: Cell<[usize; DEEPEST]> = const { Cell::new([0; DEEPEST]) };
    /// The address of the pool that has started this thread; 0 for none.
    static STARTED_BY: Cell<usize> = const { Cell::new(0) };
}

/// While it lives, the thread that made it counts as one of the run's.
pub(crate) struct Visit<'p> {
    pool: &'p Pool,
    depth: usize,
}

impl<'p> Visit<'p> {
    /// None if this thread is in too many visits.
    pub(crate) fn of(pool: &'p Pool) -> Option<Self> {
        let mut visited = VISITED.get();
        let depth = visited.iter().position(|address| *address == 0)?;
        visited[depth] = address(pool);
        VISITED.set(visited);
        pool.visitors.fetch_add(1, Ordering::SeqCst);
        Some(Visit { pool, depth })
    }
}

impl Drop for Visit<'_> {
    fn drop(&mut self) {
        let mut visited = VISITED.get();
        visited[self.depth] = 0;
        VISITED.set(visited);
        self.pool.visitors.fetch_sub(1, Ordering::SeqCst);
        // The last thread of a run drops its values, except those in the middle of a step.
        if self.pool.abandoned.load(Ordering::SeqCst) && self.pool.has_left() {
            self.pool.clear();
        }
        #[cfg(feature = "service")]
        self.pool.release_if_over();
    }
}

impl Pool {
    /// Notes that the calling thread is one of this pool's.
    pub(super) fn starts_here(&self) {
        STARTED_BY.set(address(self));
    }

    /// Whether the calling thread is one of this pool's, or in a [`Visit`].
    pub(crate) fn is_here(&self) -> bool {
        STARTED_BY.get() == address(self) || VISITED.get().contains(&address(self))
    }
}

/// Whether the calling thread, which is one of the program's, runs the stages of a run now: what panics then is a
/// closure of that run.
#[must_use]
pub fn runs_stages() -> bool {
    VISITED.get().iter().any(|address| *address != 0)
}

fn address(pool: &Pool) -> usize {
    std::ptr::from_ref(pool).addr()
}
