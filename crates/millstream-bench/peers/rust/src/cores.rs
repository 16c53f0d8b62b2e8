//! Threads that stay on one physical core each, like the two workers that they are compared with.

use core_affinity::{CoreId, get_core_ids, set_for_current};
use std::thread::{self, JoinHandle};

/// The processor that stands for the physical core of this index: the first of those that share the core, of those
/// that this thread may use.
pub(crate) fn processor_of(core: usize) -> Option<CoreId> {
    let allowed = get_core_ids().unwrap_or_default();
    let is_first = |processor: &&CoreId| {
        let shares = siblings(processor.id);
        allowed.iter().find(|other| shares.contains(&other.id)).is_none_or(|first| first == *processor)
    };
    allowed.iter().filter(is_first).nth(core).copied()
}

/// The processors that share a physical core with this one, as the system lists them: `0,2` or `0-1`. None, if it does
/// not say.
fn siblings(processor: usize) -> Vec<usize> {
    let file = format!("/sys/devices/system/cpu/cpu{processor}/topology/thread_siblings_list");
    let list = std::fs::read_to_string(file).unwrap_or_default();
    let parts = list.trim().split(',').filter_map(|part| {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        Some(first.parse::<usize>().ok()?..=last.parse().ok()?)
    });
    parts.flatten().collect()
}

/// Runs `f` on a thread of its own, pinned to the physical core of this index, if there is one.
pub(crate) fn start_on_core<R: Send + 'static>(core: usize, f: impl FnOnce() -> R + Send + 'static) -> JoinHandle<R> {
    thread::spawn(move || {
        if processor_of(core).is_none_or(|processor| !set_for_current(processor)) {
            eprintln!("millstream-peers: there is no core {core} for this thread alone");
        }
        f()
    })
}

/// As [`start_on_core`], and waits for the result.
pub(crate) fn on_core<R: Default + Send + 'static>(core: usize, f: impl FnOnce() -> R + Send + 'static) -> R {
    start_on_core(core, f).join().unwrap_or_default()
}
