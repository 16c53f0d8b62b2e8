//! Threads that stay on one core each, like the two workers that they are compared with.

use core_affinity::set_for_current;
use std::thread::{self, JoinHandle};

/// Runs `f` on a thread of its own, pinned to the core of this index, if there is one.
pub(crate) fn start_on_core<R: Send + 'static>(core: usize, f: impl FnOnce() -> R + Send + 'static) -> JoinHandle<R> {
    thread::spawn(move || {
        let cores = core_affinity::get_core_ids().unwrap_or_default();
        if cores.get(core).is_none_or(|core| !set_for_current(*core)) {
            eprintln!("millstream-peers: there is no core {core} for this thread alone");
        }
        f()
    })
}

/// As [`start_on_core`], and waits for the result.
pub(crate) fn on_core<R: Default + Send + 'static>(core: usize, f: impl FnOnce() -> R + Send + 'static) -> R {
    start_on_core(core, f).join().unwrap_or_default()
}
