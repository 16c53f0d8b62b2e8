//! Workers on cores of their own, distinct physical cores first.
//!
//! Each worker pins itself, then reads back whether it is pinned. A worker that cannot be pinned runs unpinned, and the
//! report says why.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

/// The core chosen for each worker, and the result of pinning it.
pub(crate) struct Pins {
    /// The core of every worker, or the reason why no worker has one.
    cores: Result<Vec<usize>, String>,
    /// The result of each worker that has begun.
    outcomes: Mutex<BTreeMap<usize, Result<usize, String>>>,
}

impl Pins {
    /// Worker i gets the i-th core that the calling thread may use; cores on distinct physical cores come first.
    pub(crate) fn on_physical_cores() -> Self {
        Pins::new(system::cores())
    }

    /// No worker is pinned, for this reason.
    pub(crate) fn refused(reason: &str) -> Self {
        Pins::new(Err(reason.to_owned()))
    }

    fn new(cores: Result<Vec<usize>, String>) -> Self {
        Pins { cores, outcomes: Mutex::default() }
    }

    /// Pins the calling thread, which is `worker`'s, and verifies that it is pinned.
    pub(crate) fn pin(&self, worker: usize) {
        let core = self.cores.as_ref().map_err(Clone::clone).and_then(|cores| {
            let too_few = || format!("there are only {} cores to pin to", cores.len());
            cores.get(worker).copied().ok_or_else(too_few)
        });
        let outcome = core.and_then(|core| system::pin_to(core).map(|()| core));
        self.outcomes.lock().unwrap_or_else(PoisonError::into_inner).insert(worker, outcome);
    }

    /// Lets the calling thread run on every core that a worker can be pinned to. A thread begins on the cores of the
    /// thread that starts it.
    pub(crate) fn unpin(&self) {
        if let Ok(cores) = &self.cores {
            // A system that refuses this has not pinned the other thread either.
            let _ = system::allow(cores);
        }
    }

    /// Every worker's core, if it has one.
    pub(crate) fn pinned(&self) -> Vec<Option<usize>> {
        let outcomes = self.outcomes.lock().unwrap_or_else(PoisonError::into_inner);
        outcomes.values().map(|outcome| outcome.as_ref().ok().copied()).collect()
    }

    /// Which workers are pinned, and why the others are not.
    pub(crate) fn decisions(&self) -> Vec<String> {
        let outcomes = self.outcomes.lock().unwrap_or_else(PoisonError::into_inner);
        let mut pinned = Vec::new();
        let mut unpinned: BTreeMap<&str, Vec<String>> = BTreeMap::new();
        for (worker, outcome) in &*outcomes {
            match outcome {
                Ok(core) => pinned.push(format!("worker {worker} to core {core}")),
                Err(reason) => unpinned.entry(reason).or_default().push(worker.to_string()),
            }
        }
        let mut decisions = Vec::new();
        if !pinned.is_empty() {
            decisions.push(format!("pinned: {}", pinned.join(", ")));
        }
        match &self.cores {
            Err(reason) => decisions.push(format!("not pinned: {reason}")),
            Ok(_) => {
                let refusal = |(reason, workers): (&str, Vec<String>)| {
                    format!("not pinned: worker {}: {reason}", workers.join(", "))
                };
                decisions.extend(unpinned.into_iter().map(refusal));
            }
        }
        decisions
    }
}

/// Pins the calling thread to the `index`-th physical core that it may use, on the first of its hyperthreads, and
/// verifies it. Returns the core's number. No other index gets a sibling of that core, so threads with different
/// indices never share a physical core.
///
/// # Errors
///
/// The reason, if there are fewer physical cores, if the system refuses, or if it accepts the call without effect.
pub fn pin_to_physical_core(index: usize) -> Result<usize, String> {
    let cores = system::physical_cores()?;
    let too_few = || format!("there are {} physical cores to pin to", cores.len());
    let core = cores.get(index).copied().ok_or_else(too_few)?;
    system::pin_to(core).map(|()| core)
}

/// The physical cores that the calling thread may use, each by the number of its first hyperthread.
///
/// # Errors
///
/// If the system does not report them.
pub fn physical_cores() -> Result<Vec<usize>, String> {
    system::physical_cores()
}

/// The cores that the calling thread may use, in ascending order.
pub(crate) fn allowed() -> Result<Vec<usize>, String> {
    system::allowed()
}

/// Lets the calling thread run on these cores, if there are any. A thread begins on the cores of the thread that starts
/// it, which may be a pinned worker.
#[cfg(feature = "tokio")]
pub(crate) fn allow(cores: &[usize]) {
    // A system that refuses this has not pinned the other thread either.
    let _ = system::allow(cores);
}

#[cfg(target_os = "linux")]
mod system {
    use crate::machine::cpus::{one_of_each, physical_first, siblings};
    use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
    use std::path::Path;

    /// The cores that the calling thread may use, in the order in which workers get them.
    pub(super) fn cores() -> Result<Vec<usize>, String> {
        Ok(physical_first(allowed()?, |core| siblings(Path::new("/"), core)))
    }

    pub(super) fn physical_cores() -> Result<Vec<usize>, String> {
        Ok(one_of_each(allowed()?, |core| siblings(Path::new("/"), core)))
    }

    /// Pins the calling thread to one core and verifies it: some sandboxes accept the call and ignore it.
    pub(super) fn pin_to(core: usize) -> Result<(), String> {
        allow(&[core]).map_err(|error| format!("the system refuses core {core}: {error}"))?;
        match allowed()? {
            now if now == [core] => Ok(()),
            now => Err(format!("the system accepted core {core}, but the thread may still run on {now:?}")),
        }
    }

    /// Lets the calling thread run on these cores only.
    pub(super) fn allow(cores: &[usize]) -> std::io::Result<()> {
        let mut only = CpuSet::new();
        cores.iter().for_each(|core| only.set(*core));
        Ok(sched_setaffinity(None, &only)?)
    }

    pub(super) fn allowed() -> Result<Vec<usize>, String> {
        let allowed = sched_getaffinity(None);
        let allowed = allowed.map_err(|error| format!("the system does not report the usable cores: {error}"))?;
        Ok((0..CpuSet::MAX_CPU).filter(|core| allowed.is_set(*core)).collect())
    }
}

#[cfg(not(target_os = "linux"))]
mod system {
    const REASON: &str = "pinning is not supported on this system";

    pub(super) fn cores() -> Result<Vec<usize>, String> {
        Err(REASON.to_owned())
    }

    pub(super) fn physical_cores() -> Result<Vec<usize>, String> {
        Err(REASON.to_owned())
    }

    pub(super) fn pin_to(_: usize) -> Result<(), String> {
        Err(REASON.to_owned())
    }

    pub(super) fn allow(_: &[usize]) -> std::io::Result<()> {
        Ok(())
    }

    pub(super) fn allowed() -> Result<Vec<usize>, String> {
        Err(REASON.to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::Pins;

    #[test]
    fn a_worker_without_a_core_is_reported() {
        let pins = Pins::new(Ok(vec![]));
        std::thread::scope(|scope| {
            [1, 0].map(|worker| {
                scope
                    .spawn({
                        let pins = &pins;
                        move || pins.pin(worker)
                    })
                    .join()
                    .unwrap()
            })
        });
        assert_eq!(pins.pinned(), [None, None]);
        assert_eq!(pins.decisions(), ["not pinned: worker 0, 1: there are only 0 cores to pin to"]);
    }

    #[test]
    fn a_core_that_does_not_exist_is_refused_and_reported() {
        let pins = Pins::new(Ok(vec![1023]));
        std::thread::scope(|scope| scope.spawn(|| pins.pin(0)).join().unwrap());
        assert_eq!(pins.pinned(), [None]);
        let decisions = pins.decisions().join("\n");
        assert!(decisions.starts_with("not pinned: worker 0: "), "{decisions}");
    }

    #[test]
    fn a_reason_for_all_workers_is_reported_once() {
        let pins = Pins::refused("everything on the calling thread");
        assert_eq!(pins.decisions(), ["not pinned: everything on the calling thread"]);
    }
}
