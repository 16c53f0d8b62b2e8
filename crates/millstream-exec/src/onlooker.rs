//! The tasklets of fused stages, which do no work: the loop's tasklet does it.

use crate::task_probe::{Filled, TaskProbe};
use crate::tasklet::{Progress, Tasklet};
use crate::watched::Calls;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The stage of a loop whose function has panicked, by its index; `usize::MAX` if none has.
#[derive(Clone)]
struct Panicked(Arc<AtomicUsize>);

/// Where a stage is in its loop.
#[derive(Default)]
pub(crate) struct Place {
    index: usize,
    panicked: Option<Panicked>,
}

impl Place {
    /// Which stage of the loop it is.
    pub(crate) fn index(&self) -> usize {
        self.index
    }

    /// Calls the user's code. If it panics, the failure names this stage.
    #[inline(always)]
    pub(crate) fn call<T>(&self, f: impl FnOnce() -> T) -> T {
        let unwinding = Unwinding(self);
        let returned = f();
        std::mem::forget(unwinding);
        returned
    }
}

struct Unwinding<'p>(&'p Place);

impl Drop for Unwinding<'_> {
    #[cold]
    fn drop(&mut self) {
        if let Some(Panicked(panicked)) = &self.0.panicked {
            panicked.store(self.0.index, Ordering::Relaxed);
        }
    }
}

/// A stage of a loop, before its last one.
pub(crate) struct Member {
    pub(crate) stage: usize,
    pub(crate) calls: Option<Arc<Calls>>,
    /// Whether its own ring would be a mask.
    pub(crate) masks: bool,
    /// Whether its output is filled exactly where the loop's is.
    pub(crate) filled_alike: bool,
}

/// The stages of a loop before its last one, while they are added.
pub(crate) struct Members {
    members: Vec<Member>,
    panicked: Panicked,
}

impl Default for Members {
    fn default() -> Self {
        Members { members: Vec::new(), panicked: Panicked(Arc::new(AtomicUsize::new(usize::MAX))) }
    }
}

impl Members {
    /// Adds a stage, and returns its place.
    pub(crate) fn add(&mut self, member: Member) -> Place {
        self.members.push(member);
        Place { index: self.members.len() - 1, panicked: Some(self.panicked.clone()) }
    }

    /// The stages, and the record of which of them has failed. `name` returns the name of a stage of the plan.
    pub(crate) fn finish(self, name: impl Fn(usize) -> String) -> (Vec<Member>, Failing) {
        let names = self.members.iter().map(|member| name(member.stage)).collect();
        (self.members, Failing { names, panicked: Some(self.panicked) })
    }
}

/// Which stage of a loop has failed, if it is not the last one.
#[derive(Default)]
pub(crate) struct Failing {
    names: Vec<String>,
    panicked: Option<Panicked>,
}

impl Failing {
    /// Its index.
    pub(crate) fn index(&self) -> Option<usize> {
        let Panicked(panicked) = self.panicked.as_ref()?;
        Some(panicked.load(Ordering::Relaxed)).filter(|index| *index < self.names.len())
    }

    /// Its name.
    pub(crate) fn stage(&self) -> Option<&str> {
        self.names.get(self.index()?).map(String::as_str)
    }
}

/// Counts the numbers that a loop moves, for one of its stages.
pub(crate) struct Onlooker {
    probe: TaskProbe,
    /// The numbers that it has counted.
    seen: u64,
}

impl Onlooker {
    /// `probe` is that of the loop.
    pub(crate) fn new(probe: &TaskProbe, filled: Filled) -> Self {
        let probe = probe.clone().of_onlooker(filled);
        let onlooker = Onlooker { probe, seen: 0 };
        Onlooker { seen: onlooker.published(), ..onlooker }
    }

    fn published(&self) -> u64 {
        self.probe.output().map_or(0, |output| output.published())
    }
}

impl Tasklet for Onlooker {
    fn step(&mut self, _: usize) -> Progress {
        // The loop publishes END before it drops its reader.
        let done = self.probe.consumed().is_none();
        Progress { elsewhere: self.published() > self.seen, done, ..Progress::NONE }
    }

    fn passed_elsewhere(&mut self) -> usize {
        let published = self.published();
        published.saturating_sub(std::mem::replace(&mut self.seen, published)) as usize
    }

    fn failed_at(&self) -> Option<u64> {
        None
    }

    fn backlog(&self) -> u64 {
        0
    }

    fn probe(&self) -> TaskProbe {
        self.probe.clone()
    }
}
