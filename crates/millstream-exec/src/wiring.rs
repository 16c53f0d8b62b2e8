use crate::handle::StopSource;
use crate::keyed_stage::Keyed;
use crate::pause::Pauses;
use crate::reactor::Reactor;
use crate::shared::Shared;
use crate::tasklet::Tasklet;
use crate::watched::{Calls, Role};
use millstream_core::Plan;
use millstream_ring::RingProbe;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

/// Collects the tasklets of the stages, in pipeline order, while a pipeline is deployed on rings.
pub struct Wiring {
    pub(crate) slots: usize,
    pub(crate) batch: usize,
    /// How many tasklets each stage deployed now gets: more than one inside `shard`.
    pub(crate) width: usize,
    /// The context of a `shard_by`'s body.
    pub(crate) keyed: Option<Keyed>,
    /// Whether the stages deployed now belong to a side output.
    pub(crate) side_output: bool,
    /// Whether everything runs on the calling thread.
    pub(crate) inline: bool,
    /// Ends the stream of a source that is not a tasklet.
    pub(crate) end_source: Option<StopSource>,
    pub(crate) shared: Arc<Shared>,
    pub(crate) tasklets: Vec<Named>,
    reactor: Option<Arc<Reactor>>,
    /// The outermost feedback loop around the stages deployed now, and the number of loops so far.
    around: Option<usize>,
    loops: usize,
    pub(crate) plan: Arc<Plan>,
    /// How many stages of the plan were added.
    stages: usize,
    /// The counters of the source's ring, once there is one.
    pub(crate) source: Option<RingProbe>,
    /// The counters of the next stage's failures.
    calls: Option<Arc<Calls>>,
}

/// A tasklet and the name of its stage.
pub(crate) struct Named {
    pub(crate) name: String,
    pub(crate) role: Role,
    pub(crate) tasklet: Box<dyn Tasklet>,
    pub(crate) home: Home,
    pub(crate) side_output: bool,
    /// The feedback loop that it is part of: its tasklets stay together.
    pub(crate) around: Option<usize>,
    /// The number of keys it holds.
    pub(crate) keys: Option<Arc<AtomicU64>>,
    /// The counters of its failures, if its function can fail.
    pub(crate) calls: Option<Arc<Calls>>,
}

/// Where a tasklet runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Home {
    /// On a worker, together with others: its step does not block.
    Workers,
    /// On a thread of its own.
    Thread,
}

impl Wiring {
    pub(crate) fn new(slots: usize, batch: usize, inline: bool, shared: Arc<Shared>, plan: Arc<Plan>) -> Self {
        Wiring {
            slots,
            batch,
            width: 1,
            keyed: None,
            side_output: false,
            inline,
            end_source: None,
            shared,
            tasklets: Vec::new(),
            reactor: None,
            around: None,
            loops: 0,
            plan,
            stages: 0,
            source: None,
            calls: None,
        }
    }

    /// The most numbers that one step moves: 1 if a step may wait, so that finished numbers do not wait for others.
    pub(crate) fn batch_at(&self, home: Home) -> usize {
        if home == Home::Thread { 1 } else { self.batch }
    }

    /// The runtime around the futures of this run.
    pub(crate) fn reactor(&mut self) -> Arc<Reactor> {
        self.reactor.get_or_insert_with(|| Arc::new(Reactor::here())).clone()
    }

    /// Adds the tasklets of the next stage of the plan.
    pub(crate) fn stage(&mut self, home: Home, tasklets: impl IntoIterator<Item = Box<dyn Tasklet>>) {
        let stage = self.stages;
        self.stages += 1;
        let name = self.plan.stages.get(stage).map_or_else(|| "unplanned".to_owned(), |stage| stage.name.clone());
        let home = if self.inline { Home::Workers } else { home };
        let (side_output, around, calls, role) = (self.side_output, self.around, self.calls.take(), Role::Stage(stage));
        let named = |tasklet| {
            let (name, calls) = (name.clone(), calls.clone());
            Named { name, role, tasklet, home, side_output, around, keys: None, calls }
        };
        self.tasklets.extend(tasklets.into_iter().map(named));
    }

    /// The pauses of the stage that is added next.
    pub(crate) fn pauses(&self) -> Pauses {
        Pauses { shared: self.shared.clone(), task: self.tasklets.len(), side_output: self.side_output }
    }

    /// The counters of the failures of the stage that is added next.
    pub(crate) fn counts_calls(&mut self) -> Arc<Calls> {
        self.calls.get_or_insert_default().clone()
    }

    /// Sets the counter of the keys of the last tasklet added.
    pub(crate) fn counts_keys(&mut self, keys: Arc<AtomicU64>) {
        self.tasklets.last_mut().expect("a stage was added").keys = Some(keys);
    }

    /// Adds the stages of a feedback loop, in which a stage needs a later stage's output for the number before.
    pub(crate) fn in_loop<R>(&mut self, wire: impl FnOnce(&mut Self) -> R) -> R {
        let outside = self.around;
        if outside.is_none() {
            self.around = Some(self.loops);
            self.loops += 1;
        }
        let wired = wire(self);
        self.around = outside;
        wired
    }

    /// Adds a tasklet that is not a stage of the plan: the source or the sink.
    pub(crate) fn end(&mut self, name: &str, role: Role, tasklet: Box<dyn Tasklet>) {
        let (name, home) = (name.to_owned(), Home::Workers);
        self.tasklets.push(Named {
            name,
            role,
            tasklet,
            home,
            side_output: false,
            around: None,
            keys: None,
            calls: None,
        });
    }

    /// Adds the sink of a side output. It has a thread of its own, since it may wait.
    pub(crate) fn side_sink(&mut self, name: String, tasklet: Box<dyn Tasklet>) {
        let home = if self.inline { Home::Workers } else { Home::Thread };
        let (role, around) = (Role::SideOutput, self.around);
        self.tasklets.push(Named { name, role, tasklet, home, side_output: true, around, keys: None, calls: None });
    }
}

impl std::fmt::Debug for Wiring {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let names: Vec<_> = self.tasklets.iter().map(|tasklet| &tasklet.name).collect();
        f.debug_struct("Wiring").field("tasklets", &names).finish_non_exhaustive()
    }
}
