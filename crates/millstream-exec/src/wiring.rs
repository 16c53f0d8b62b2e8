use crate::external_source::StopSource;
use crate::fusion::link::{EndsOfRun, Pace};
use crate::keeper::Keeper;
use crate::keyed_stage::Keyed;
use crate::onlooker::{Failing, Member, Members, Onlooker, Place};
use crate::pause::Pauses;
use crate::reactor::Reactor;
use crate::shared::Shared;
use crate::side_sinks::SideSinks;
use crate::snapshot::Beginning;
use crate::stages_on::StagesOn;
use crate::task_probe::{Filled, TaskProbe};
use crate::tasklet::Tasklet;
use crate::watched::{Calls, Role};
use millstream_core::plan::{Branch, NodeId, PlanMismatch, Scoped, StageLookup, Walk};
use millstream_core::{Plan, SequenceNumber};
use millstream_ring::RingProbe;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

/// The most items that one step makes if they own something.
const OWNERS: usize = 512;

/// Collects the tasklets of the stages, in pipeline order, while a pipeline is deployed on rings.
pub struct Wiring {
    pub(crate) slots: usize,
    pub(crate) batch: usize,
    /// The scope of the stages deployed now.
    pub(crate) scope: WiringScope,
    /// Whether everything runs on the calling thread.
    pub(crate) inline: bool,
    /// Ends the stream of a source that is not a tasklet.
    pub(crate) end_source: Option<StopSource>,
    pub(crate) shared: Arc<Shared>,
    pub(crate) tasklets: Vec<Named>,
    pub(crate) side_sinks: SideSinks,
    pub(crate) reactor: Option<Arc<Reactor>>,
    /// The tasks that the run had before.
    before: usize,
    /// The number of loops so far.
    loops: usize,
    pub(crate) plan: Arc<Plan>,
    lookup: StageLookup,
    /// The counters of the source's ring, once there is one.
    pub(crate) source: Option<RingProbe>,
    /// The counters of the next stage's failures.
    calls: Option<Arc<Calls>>,
    /// The states with which the run begins, if it is with a snapshot.
    pub(crate) beginning: Option<Beginning>,
    /// Whether one thread runs all stages, so that they are fused where they can be.
    pub(crate) one_thread: bool,
    /// Whether the run chooses how many workers it has.
    pub(crate) tries_workers: bool,
    /// The stages of the loop that is added next, before its last one.
    fused: Members,
    /// The ends of the run, if a loop between them may use them.
    pub(crate) ends: Option<EndsOfRun>,
    /// Whether a loop may take values from the source itself.
    pub(crate) lends_source: bool,
    /// How much a step of a loop takes past the rings.
    pub(crate) pace: Pace,
    /// Which threads run the stages behind a source that may wait.
    pub(crate) stages_on: StagesOn,
    /// Whether the run is observed from its beginning.
    pub(crate) observed: bool,
    /// Whether a loop goes past the rings of these stages.
    pub(crate) passed: bool,
}

/// The properties that the stages of a body share.
#[doc(hidden)]
#[derive(Clone)]
pub struct WiringScope {
    /// The id of the node that is deployed now.
    id: NodeId,
    /// How many tasklets each stage gets: more than one inside `shard`.
    pub(crate) width: usize,
    /// The context of a `shard_by`'s body.
    pub(crate) keyed: Option<Arc<Keyed>>,
    /// Whether the stages belong to a side output.
    pub(crate) side_output: bool,
    /// The outermost feedback loop around the stages.
    around: Option<usize>,
}

impl std::fmt::Debug for WiringScope {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("WiringScope").field("id", &self.id).finish_non_exhaustive()
    }
}

impl Walk for Wiring {
    type Scope = WiringScope;

    fn scope(&mut self) -> &mut WiringScope {
        &mut self.scope
    }
}

/// A tasklet and the name of its stage.
pub(crate) struct Named {
    pub(crate) name: String,
    pub(crate) role: Role,
    /// Its place among all tasklets that the run has had: upstream comes before downstream.
    pub(crate) order: usize,
    pub(crate) tasklet: Box<dyn Tasklet>,
    pub(crate) home: Home,
    pub(crate) side_output: bool,
    /// The feedback loop that it is part of: its tasklets stay together.
    pub(crate) around: Option<usize>,
    /// The stage in whose loop it is.
    pub(crate) fused_into: Option<String>,
    /// The number of keys it holds.
    pub(crate) keys: Option<Arc<AtomicU64>>,
    /// The counters of its failures, if its function can fail.
    pub(crate) calls: Option<Arc<Calls>>,
    /// The clock of the numbers it reads, where its role does not say it.
    pub(crate) clock: Option<usize>,
}

impl Named {
    /// A tasklet that is not a stage of the plan.
    pub(crate) fn apart(name: String, role: Role, order: usize, tasklet: Box<dyn Tasklet>) -> Self {
        let home = Home::Workers;
        let (side_output, around, fused_into, keys, calls, clock) = (false, None, None, None, None, None);
        Named { name, role, order, tasklet, home, side_output, around, fused_into, keys, calls, clock }
    }
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
    pub(crate) fn new(
        slots: usize,
        batch: usize,
        inline: bool,
        shared: Arc<Shared>,
        before: usize,
        (plan, lookup): (Arc<Plan>, StageLookup),
    ) -> Self {
        Wiring {
            slots,
            batch,
            scope: WiringScope { id: NodeId::default(), width: 1, keyed: None, side_output: false, around: None },
            inline,
            end_source: None,
            shared,
            tasklets: Vec::new(),
            side_sinks: SideSinks::default(),
            reactor: None,
            before,
            loops: 0,
            plan,
            lookup,
            source: None,
            calls: None,
            beginning: None,
            one_thread: inline,
            tries_workers: false,
            fused: Members::default(),
            ends: None,
            lends_source: false,
            pace: Pace::default(),
            stages_on: StagesOn::default(),
            observed: false,
            passed: false,
        }
    }

    /// Goes on to the pipeline that runs after the one deployed last, in the same body.
    pub fn advance(&mut self) {
        self.scope.id.advance();
    }

    /// The order of the tasklet that is added next.
    pub(crate) fn next_order(&self) -> usize {
        self.before + self.tasklets.len()
    }

    /// The scope of a body of the combinator that is deployed now.
    pub fn body(&mut self, branch: Branch) -> Scoped<'_, Self> {
        let mut body = Scoped::new(self);
        body.scope.id = body.scope.id.body(branch);
        body
    }

    /// Checks that the deployment and the plan have the same stages.
    pub(crate) fn check(&mut self) -> Result<(), PlanMismatch> {
        std::mem::take(&mut self.lookup).finish(&self.plan)
    }

    /// The name in the plan of the stage that is deployed now.
    pub(crate) fn name(&self) -> Option<&str> {
        self.lookup.at(&self.scope.id).map(|stage| &*self.plan.stages[stage].name)
    }

    /// The keeper of the stage that is added next: it knows the version of its state.
    pub(crate) fn keeper<S>(&self, keeper: Keeper<S>) -> Keeper<S> {
        let stage = self.lookup.at(&self.scope.id).map(|stage| &self.plan.stages[stage]);
        let state = stage.and_then(|stage| stage.state.as_ref());
        keeper.in_version(state.map_or(1, |state| state.version))
    }

    /// The state with which the stage that is added next begins: `start`, unless the run begins with a snapshot.
    pub(crate) fn state_or<S>(&mut self, start: S, keeper: Keeper<S>) -> S {
        self.states_or(vec![start], keeper).pop().expect("there is one state")
    }

    /// As [`state_or`](Wiring::state_or), of a stage with a state for each lane.
    pub(crate) fn states_or<S>(&mut self, start: Vec<S>, keeper: Keeper<S>) -> Vec<S> {
        match self.begins() {
            Some((beginning, stage)) => beginning.states_or(stage, start, keeper),
            None => start,
        }
    }

    /// As [`state_or`](Wiring::state_or), of a stage that starts a clock; with the first number of its output. One that
    /// begins fresh goes on with the numbers of its input, whose next one is `input`.
    pub(crate) fn clock_or<S>(&mut self, input: SequenceNumber, start: S, keeper: Keeper<S>) -> (SequenceNumber, S) {
        match self.begins() {
            Some((beginning, stage)) => beginning.clock_or(stage, input, start, keeper),
            None => (input, start),
        }
    }

    /// The snapshot that the run begins with, and the name of the stage that is added next.
    fn begins(&mut self) -> Option<(&mut Beginning, &str)> {
        let stage = self.lookup.at(&self.scope.id)?;
        Some((self.beginning.as_mut()?, &self.plan.stages[stage].name))
    }

    /// The most numbers that one step moves: 1 if a step may wait, so that finished numbers do not wait for others.
    pub(crate) fn batch_at(&self, home: Home) -> usize {
        if home == Home::Thread { 1 } else { self.batch }
    }

    /// As [`batch_at`](Wiring::batch_at), of a stage that writes items of type `B`: fewer if they own something, such
    /// as memory. A step drops what was read of the items before it makes new ones, and an allocator that gets back the
    /// memory of thousands at once returns it to the system, page by page, and asks for it again.
    pub(crate) fn batch_of<B>(&self, home: Home) -> usize {
        let most = if std::mem::needs_drop::<B>() { OWNERS } else { usize::MAX };
        self.batch_at(home).min(most)
    }

    /// The runtime around the futures of this run.
    pub(crate) fn reactor(&mut self) -> Arc<Reactor> {
        self.reactor.get_or_insert_with(|| Arc::new(Reactor::here())).clone()
    }

    /// Adds the tasklets of the stage of the plan that is deployed now.
    pub(crate) fn stage(&mut self, home: Home, tasklets: impl IntoIterator<Item = Box<dyn Tasklet>>) {
        let Some(stage) = self.lookup.stage(&self.scope.id, 0) else {
            // The check after the deployment returns the error, and nothing starts.
            return;
        };
        let name = self.plan.stages[stage].name.clone();
        let home = if self.inline { Home::Workers } else { home };
        let WiringScope { side_output, around, .. } = self.scope;
        let (calls, role) = (self.calls.take(), Role::Stage(stage));
        let first = self.next_order();
        let named = |(order, tasklet)| {
            let calls = calls.clone();
            Named { side_output, around, calls, home, ..Named::apart(name.clone(), role, order, tasklet) }
        };
        self.tasklets.extend((first..).zip(tasklets).map(named));
    }

    /// Whether stages are fused here: by one thread, or in a feedback loop, whose tasklets are never divided.
    pub(crate) fn fuses(&self) -> bool {
        let WiringScope { width, keyed, around, .. } = &self.scope;
        (self.one_thread || around.is_some()) && *width == 1 && keyed.is_none()
    }

    /// Adds the stage of the plan that is deployed now to the loop that is added next, and returns its place there. The
    /// flags say whether its ring would be a mask, and whether its output is filled exactly where the loop's is.
    pub(crate) fn fuse(&mut self, calls: Option<Arc<Calls>>, masks: bool, filled_alike: bool) -> Place {
        match self.lookup.stage(&self.scope.id, 0) {
            Some(stage) => self.fused.add(Member { stage, calls, masks, filled_alike }),
            // The check after the deployment returns the error, and nothing starts.
            None => Place::default(),
        }
    }

    /// Adds the stages of a loop before its last one, which is added next. `probe` is that of the loop.
    pub(crate) fn onlookers(&mut self, probe: &TaskProbe) -> Failing {
        let name = |stage: usize| self.plan.stages[stage].name.clone();
        let (members, failing) = std::mem::take(&mut self.fused).finish(name);
        let into = self.lookup.at(&self.scope.id).map(|last| self.plan.stages[last].name.clone());
        for Member { stage, calls, masks, filled_alike } in members {
            let WiringScope { side_output, around, .. } = self.scope;
            let planned = &self.plan.stages[stage];
            let filled = match self.plan.rings[planned.writes].dense && !masks {
                true => Filled::All,
                false if filled_alike => Filled::Alike,
                false => Filled::Unknown,
            };
            let (name, tasklet) = (planned.name.clone(), Box::new(Onlooker::new(probe, filled)));
            let onlooker = Named::apart(name, Role::Stage(stage), self.next_order(), tasklet);
            self.tasklets.push(Named { side_output, around, calls, fused_into: into.clone(), ..onlooker });
        }
        failing
    }

    /// Sets the counters of the failures of the stage that is added next.
    pub(crate) fn counts(&mut self, calls: Option<Arc<Calls>>) {
        self.calls = calls;
    }

    /// A wiring in which the stages that will be added here are walked as one loop. None if no loop could take values
    /// from the source.
    pub(crate) fn of_loop(&self) -> Option<Wiring> {
        let lends_source = self.ends.as_ref()?.source.is_some();
        let (plan, lookup) = (self.plan.clone(), self.lookup.clone());
        let of_loop =
            Wiring::new(self.slots, self.batch, self.inline, self.shared.clone(), self.before, (plan, lookup));
        Some(Wiring { lends_source, ..of_loop })
    }

    /// The stages that were walked as one loop, and the record of which of them has failed.
    pub(crate) fn walked(&mut self) -> (Vec<Member>, Failing) {
        let name = |stage: usize| self.plan.stages[stage].name.clone();
        std::mem::take(&mut self.fused).finish(name)
    }

    /// Gives each further stage a tasklet and a ring of its own, which a loop goes past.
    pub(crate) fn is_passed(&mut self) {
        (self.one_thread, self.passed) = (false, true);
    }

    /// The pauses of the stage that is added next.
    pub(crate) fn pauses(&self) -> Pauses {
        Pauses { shared: self.shared.clone(), task: self.next_order(), side_output: self.scope.side_output }
    }

    /// The counters of the failures of the stage that is added next.
    pub(crate) fn counts_calls(&mut self) -> Arc<Calls> {
        self.calls.get_or_insert_default().clone()
    }

    /// Sets the counter of the keys of the last tasklet added.
    pub(crate) fn counts_keys(&mut self, keys: Arc<AtomicU64>) {
        if let Some(last) = self.tasklets.last_mut() {
            last.keys = Some(keys);
        }
    }

    /// The scope of a feedback loop, in which a stage needs a later stage's output for the number before.
    pub(crate) fn in_loop(&mut self) -> Scoped<'_, Self> {
        let mut inside = Scoped::new(self);
        if inside.scope.around.is_none() {
            inside.scope.around = Some(inside.loops);
            inside.loops += 1;
        }
        inside
    }

    /// Adds a tasklet that is not a stage of the plan: the source or the sink.
    pub(crate) fn end(&mut self, name: &str, role: Role, tasklet: Box<dyn Tasklet>) {
        // No version adds a stage after the sink.
        let order = if role == Role::Sink { usize::MAX } else { self.next_order() };
        self.tasklets.push(Named::apart(name.to_owned(), role, order, tasklet));
    }

    /// Adds the sink of a side output that reads this ring of the plan. It has a thread of its own, since it may wait.
    pub(crate) fn side_sink(&mut self, name: String, reads: Option<usize>, tasklet: Box<dyn Tasklet>) {
        let home = if self.inline { Home::Workers } else { Home::Thread };
        let clock = reads.and_then(|ring| self.plan.rings.get(ring)).map(|ring| ring.clock);
        let sink = Named::apart(name, Role::SideOutput, self.next_order(), tasklet);
        self.tasklets.push(Named { home, side_output: true, around: self.scope.around, clock, ..sink });
    }

    /// The ring that the stage that is deployed now writes.
    pub(crate) fn written(&self) -> Option<usize> {
        self.lookup.at(&self.scope.id).map(|stage| self.plan.stages[stage].writes)
    }
}

impl std::fmt::Debug for Wiring {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let names: Vec<_> = self.tasklets.iter().map(|tasklet| &tasklet.name).collect();
        f.debug_struct("Wiring").field("tasklets", &names).finish_non_exhaustive()
    }
}
