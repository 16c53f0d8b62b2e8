//! Workers on cores of their own, distinct physical cores first.
//!
//! Each worker pins itself, then reads back whether it is pinned. A worker that cannot be pinned runs unpinned, and the
//! report says why.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

/// Which worker is to be pinned to which core, and what came of it.
pub(crate) struct Pins {
    /// The core of every worker, or why no worker has one.
    cores: Result<Vec<usize>, String>,
    /// By worker, of those that have begun.
    outcomes: Mutex<BTreeMap<usize, Result<usize, String>>>,
}

impl Pins {
    /// Worker i gets the i-th core that the calling thread may use, those on distinct physical cores first.
    pub(crate) fn on_physical_cores() -> Self {
        Pins::new(system::cores())
    }

    /// Nobody is pinned, for this reason.
    pub(crate) fn refused(reason: &str) -> Self {
        Pins::new(Err(reason.to_owned()))
    }

    fn new(cores: Result<Vec<usize>, String>) -> Self {
        Pins { cores, outcomes: Mutex::default() }
    }

    /// Pins the calling thread, which is this worker's, and makes sure that it is pinned.
    pub(crate) fn pin(&self, worker: usize) {
        let core = self.cores.as_ref().map_err(Clone::clone).and_then(|cores| {
            let too_few = || format!("there are {} cores to pin to", cores.len());
            cores.get(worker).copied().ok_or_else(too_few)
        });
        let outcome = core.and_then(|core| system::pin_to(core).map(|()| core));
        self.outcomes.lock().unwrap_or_else(PoisonError::into_inner).insert(worker, outcome);
    }

    /// Every worker's core, if it has one.
    pub(crate) fn pinned(&self) -> Vec<Option<usize>> {
        let outcomes = self.outcomes.lock().unwrap_or_else(PoisonError::into_inner);
        outcomes.values().map(|outcome| outcome.as_ref().ok().copied()).collect()
    }

    /// Which workers are pinned, and why others are not.
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
                let told = |(reason, workers): (&str, Vec<String>)| {
                    format!("not pinned: worker {}: {reason}", workers.join(", "))
                };
                decisions.extend(unpinned.into_iter().map(told));
            }
        }
        decisions
    }
}

/// Keeps the calling thread on the `index`-th physical core that it may use, on the first of its hyperthreads, and makes
/// sure that it is kept there; gives the core's number. The siblings of these cores belong to nobody's index, so threads
/// with indices of their own never share a physical core.
///
/// # Errors
///
/// Where there are fewer physical cores, or the system refuses, or only seems to accept: the reason.
pub fn pin_to_physical_core(index: usize) -> Result<usize, String> {
    let cores = system::physical_cores()?;
    let too_few = || format!("there are {} physical cores to pin to", cores.len());
    let core = cores.get(index).copied().ok_or_else(too_few)?;
    system::pin_to(core).map(|()| core)
}

/// The physical cores that the calling thread may use, each by the first of its hyperthreads.
///
/// # Errors
///
/// Where the system does not tell.
pub fn physical_cores() -> Result<Vec<usize>, String> {
    system::physical_cores()
}

#[cfg(target_os = "linux")]
mod system {
    use crate::machine::cpus::{one_of_each, physical_first, siblings};
    use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
    use std::path::Path;

    /// The cores that the calling thread may use, as they are to be taken.
    pub(super) fn cores() -> Result<Vec<usize>, String> {
        Ok(physical_first(allowed()?, |core| siblings(Path::new("/"), core)))
    }

    pub(super) fn physical_cores() -> Result<Vec<usize>, String> {
        Ok(one_of_each(allowed()?, |core| siblings(Path::new("/"), core)))
    }

    /// Keeps the calling thread on one core. That the call is not refused is not enough: some sandboxes accept it and do
    /// nothing.
    pub(super) fn pin_to(core: usize) -> Result<(), String> {
        let mut only = CpuSet::new();
        only.set(core);
        sched_setaffinity(None, &only).map_err(|error| format!("the system refuses core {core}: {error}"))?;
        match allowed()? {
            now if now == [core] => Ok(()),
            now => Err(format!("the system accepted core {core}, and the thread may still run on {now:?}")),
        }
    }

    fn allowed() -> Result<Vec<usize>, String> {
        let allowed = sched_getaffinity(None);
        let allowed = allowed.map_err(|error| format!("the system does not tell the usable cores: {error}"))?;
        Ok((0..CpuSet::MAX_CPU).filter(|core| allowed.is_set(*core)).collect())
    }
}

#[cfg(not(target_os = "linux"))]
mod system {
    const REASON: &str = "this system has no call for it that this library knows";

    pub(super) fn cores() -> Result<Vec<usize>, String> {
        Err(REASON.to_owned())
    }

    pub(super) fn physical_cores() -> Result<Vec<usize>, String> {
        Err(REASON.to_owned())
    }

    pub(super) fn pin_to(_: usize) -> Result<(), String> {
        Err(REASON.to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::Pins;

    #[test]
    fn workers_without_a_core_say_so() {
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
        assert_eq!(pins.decisions(), ["not pinned: worker 0, 1: there are 0 cores to pin to"]);
    }

    #[test]
    fn a_core_that_is_not_there_is_refused_and_told() {
        let pins = Pins::new(Ok(vec![1023]));
        std::thread::scope(|scope| scope.spawn(|| pins.pin(0)).join().unwrap());
        assert_eq!(pins.pinned(), [None]);
        let decisions = pins.decisions().join("\n");
        assert!(decisions.starts_with("not pinned: worker 0: "), "{decisions}");
    }

    #[test]
    fn a_reason_that_holds_for_all_is_told_once() {
        let pins = Pins::refused("everything on the calling thread");
        assert_eq!(pins.decisions(), ["not pinned: everything on the calling thread"]);
    }
}
