//! The counters of a tasklet during observation, and its role in the plan.

use crate::latency_markers::{LatencyMarkers, MarkerPasses, MarkerWiring};
use crate::task_probe::TaskProbe;
use millstream_core::Plan;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

/// The number of classes of batch sizes: class i has the sizes from 2^i to 2^(i+1) - 1.
pub(crate) const BATCHES: usize = 24;

/// The role of a tasklet in its pipeline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// It writes the source's ring, or drops the released values of that ring.
    Source,
    /// A stage of the plan.
    Stage(usize),
    /// The run's sink.
    Sink,
    /// The sink of a side output.
    SideOutput,
}

impl Role {
    /// The clock of the numbers it reads; none for the sink of a side output, whose place is not in the role.
    pub(crate) fn clock(self, plan: &Plan) -> Option<usize> {
        let ring = match self {
            Role::Source => return Some(0),
            Role::Stage(stage) => *plan.stages.get(stage)?.reads.first()?,
            Role::Sink => *plan.output.first()?,
            Role::SideOutput => return None,
        };
        plan.rings.get(ring).map(|ring| ring.clock)
    }

    /// Whether its output has another clock than its input.
    pub(crate) fn renumbers(self, plan: &Plan) -> bool {
        let Role::Stage(stage) = self else { return false };
        let writes = plan.stages.get(stage).and_then(|stage| plan.rings.get(stage.writes));
        writes.is_some_and(|ring| self.clock(plan).is_some_and(|clock| clock != ring.clock))
    }

    /// Whether it is one of several tasklets that claim runs of the input, as in a `shard`. Those with a state for each
    /// key all pass every number.
    pub(crate) fn claims_runs(self, plan: &Plan) -> bool {
        let Role::Stage(stage) = self else { return false };
        plan.stages.get(stage).is_some_and(|stage| stage.tasklets > 1 && stage.keys.is_none())
    }
}

/// Failed calls of a user's function, counted where they fail.
#[derive(Debug, Default)]
pub(crate) struct Calls {
    failures: AtomicU64,
    retries: AtomicU64,
    parked: AtomicU64,
    /// The counters of the same function in a loop.
    also: OnceLock<Arc<Calls>>,
}

impl Calls {
    /// Counts a failure, and a retry if `again`. Returns the outcome.
    #[inline]
    pub(crate) fn outcome<B, E>(&self, again: bool, outcome: Result<B, E>) -> Result<B, E> {
        if again {
            self.retries.fetch_add(1, Ordering::Relaxed);
        }
        if outcome.is_err() {
            self.failed();
        }
        outcome
    }

    #[cold]
    pub(crate) fn failed(&self) {
        self.failures.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts a value that is parked because an earlier one had failed.
    #[cold]
    pub(crate) fn parked_one(&self) {
        self.parked.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts in these, too.
    pub(crate) fn count_also(&self, others: Arc<Calls>) {
        // They are counted from the beginning, once.
        let _ = self.also.set(others);
    }

    fn with_others(&self, count: impl Fn(&Calls) -> &AtomicU64) -> u64 {
        let others = self.also.get().map_or(0, |others| count(others).load(Ordering::Relaxed));
        count(self).load(Ordering::Relaxed) + others
    }

    pub(crate) fn failures(&self) -> u64 {
        self.with_others(|calls| &calls.failures)
    }

    pub(crate) fn retries(&self) -> u64 {
        self.with_others(|calls| &calls.retries)
    }

    pub(crate) fn parked(&self) -> u64 {
        self.with_others(|calls| &calls.parked)
    }
}

/// The counters of a tasklet that it does not keep itself.
pub(crate) struct Watched {
    pub(crate) role: Role,
    pub(crate) probe: TaskProbe,
    pub(crate) calls: Option<Arc<Calls>>,
    marked: Option<MarkerWiring>,
    passes: Arc<MarkerPasses>,
    /// How many steps moved a batch of each class.
    batches: [AtomicU64; BATCHES],
}

impl Watched {
    pub(crate) fn new(
        role: Role,
        probe: TaskProbe,
        calls: Option<Arc<Calls>>,
        plan: &Plan,
        passes: &Arc<MarkerPasses>,
    ) -> Self {
        let clock = |ring: &usize| plan.rings[*ring].clock;
        let marked = match role {
            Role::Stage(stage) => plan.stages.get(stage).and_then(|described| {
                let (clock, starts) = (described.reads.first().map(clock)?, Some(clock(&described.writes)));
                Some(MarkerWiring { reader: stage, clock, starts })
            }),
            Role::Sink => plan.output.first().map(clock).map(|clock| MarkerWiring {
                reader: plan.stages.len(),
                clock,
                starts: None,
            }),
            Role::Source | Role::SideOutput => None,
        };
        let passes = passes.clone();
        Watched { role, probe, calls, marked, passes, batches: [const { AtomicU64::new(0) }; BATCHES] }
    }

    /// Counts a step. The caller holds the tasklet's lock.
    pub(crate) fn stepped(&self, moved: usize, markers: &LatencyMarkers) {
        if moved > 0 {
            let class = &self.batches[(moved.ilog2() as usize).min(BATCHES - 1)];
            class.store(class.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
        }
        match (self.role, self.marked) {
            (Role::Source, _) if moved > 0 => {
                if let Some(output) = self.probe.output() {
                    markers.published(|| output.published());
                }
            }
            (_, Some(marked)) => markers.pass(&self.passes, marked, &self.probe),
            _ => {}
        }
    }

    pub(crate) fn batches(&self) -> [u64; BATCHES] {
        std::array::from_fn(|class| self.batches[class].load(Ordering::Relaxed))
    }
}
