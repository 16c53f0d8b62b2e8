//! A second version beside the running one: it gets the same numbers, and its output is compared and goes nowhere.
//!
//! At a mark at number N every stage of the running version leaves a clone of its state, and goes on. The shadow begins
//! at N with the clones, reads the source's ring by a reader of its own, and its tasklets are stepped by the same
//! workers. A tasklet at its end reads both outputs side by side ([`Comparer`]). What fails in the shadow ends the
//! shadow, and not the run: its tasklets are dropped, and nothing is left of it.
//!
//! To cut over at number M is an upgrade without a hand-over: the running version retires at M, the comparer leaves its
//! reader of the shadow's output at M to the sink, and the shadow's tasklets, which have gone on meanwhile, are the
//! run's.

mod begin;
mod compare;
mod cut_over;

pub(crate) use begin::Begin;
use compare::Comparer;
pub(crate) use compare::{Agrees, Left};
pub(crate) use cut_over::CutOver;

use crate::marks::Marks;
use crate::side_sinks::SideSinks;
use crate::task::Task;
use crate::watched::Role;
use millstream_core::plan::UpgradeCheck;
use millstream_core::{Plan, SequenceNumber};
use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Why a shadow is over.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ShadowEnd {
    /// The outputs of a number differ.
    Differs {
        /// The stage that writes the output.
        stage: String,
        /// The number.
        number: SequenceNumber,
        /// The running version's value, or that there is none.
        running: String,
        /// The shadow's.
        shadow: String,
    },
    /// A stage of the shadow failed.
    Failed {
        /// Its name.
        stage: String,
        /// The number, if it is known.
        number: Option<SequenceNumber>,
        /// Why.
        cause: String,
    },
    /// It was ended: the program did not want it any more, the pipeline was replaced by another one, or the run ended.
    Dropped,
    /// It has taken the place of the running version.
    CutOver,
}

impl fmt::Display for ShadowEnd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ShadowEnd::Differs { stage, number, running, shadow } => write!(
                f,
                "stage {stage:?}, number {number}: the running version gives {running}, and the shadow {shadow}"
            ),
            ShadowEnd::Failed { stage, number: Some(number), cause } => {
                write!(f, "stage {stage:?}, number {number}: the shadow failed: {cause}")
            }
            ShadowEnd::Failed { stage, number: None, cause } => {
                write!(f, "stage {stage:?}: the shadow failed: {cause}")
            }
            ShadowEnd::Dropped => f.write_str("it was ended before"),
            ShadowEnd::CutOver => f.write_str("it has taken the place of the running version"),
        }
    }
}

/// What a shadow and the run share.
pub(crate) struct ShadowState {
    over: AtomicBool,
    end: Mutex<Option<ShadowEnd>>,
    /// How many numbers were compared and agree.
    pub(crate) agreed: AtomicU64,
    /// What is there to cut over to.
    beside: Mutex<Option<Beside>>,
}

/// A shadow's tasklets and what belongs to them.
pub(super) struct Beside {
    /// With their roles in its own plan.
    pub(super) tasks: Vec<(Arc<Task>, Role)>,
    pub(super) plan: Arc<Plan>,
    pub(super) ring_bytes: usize,
    pub(super) side_sinks: SideSinks,
    pub(super) check: UpgradeCheck,
    pub(super) states: usize,
}

impl ShadowState {
    pub(super) fn new() -> Arc<Self> {
        let (end, beside) = (Mutex::default(), Mutex::default());
        Arc::new(ShadowState { over: AtomicBool::new(false), end, agreed: AtomicU64::new(0), beside })
    }

    fn lock(&self) -> MutexGuard<'_, Option<ShadowEnd>> {
        self.end.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn begun(&self, beside: Beside) {
        *self.beside.lock().unwrap_or_else(PoisonError::into_inner) = Some(beside);
    }

    pub(super) fn take(&self) -> Option<Beside> {
        self.beside.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// It ends, unless it has ended before. Its tasklets drop what they have at their next step.
    pub(crate) fn finish(&self, end: ShadowEnd, marks: &Marks) {
        let mut known = self.lock();
        if known.is_none() {
            // What has taken the place of the running version is stepped on.
            self.over.store(end != ShadowEnd::CutOver, Ordering::Release);
            *known = Some(end);
        }
        drop(known);
        marks.shadow_tasks(0);
    }

    /// Whether its tasklets are to be dropped.
    pub(crate) fn is_over(&self) -> bool {
        self.over.load(Ordering::Acquire)
    }

    pub(crate) fn end(&self) -> Option<ShadowEnd> {
        self.lock().clone()
    }
}
