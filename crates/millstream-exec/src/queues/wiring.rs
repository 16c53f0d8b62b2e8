use super::control::{Activity, Control, Pauses};
use super::keyed::KeySlotSenders;
use super::message::{Outlet, Queue, queue, queue_bytes};
use crate::Queues;
use crate::reactor::Reactor;
use crate::side_sinks::SideSinks;
use millstream_core::plan::{Branch, NodeId, PlanMismatch, Scoped, StageLookup, Walk};
use millstream_core::{Backend, Density, Item, Plan};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

/// Collects the threads, in pipeline order, while a pipeline is deployed on queues.
pub struct QueuesWiring {
    slots: usize,
    plan: Plan,
    lookup: StageLookup,
    /// The clock that the next stage reads.
    clock: usize,
    pub(crate) bytes: usize,
    pub(crate) threads: Vec<Thread>,
    pub(crate) side_sinks: SideSinks,
    control: Arc<Control>,
    reactor: Option<Arc<Reactor>>,
    /// The scope of the stages deployed now.
    pub(crate) scope: QueuesScope,
}

impl Backend for Queues {
    type Wiring = QueuesWiring;
    type Keeper<S> = ();
    type Ring<T: Item, D: Density> = ();

    fn advance(wiring: &mut QueuesWiring) {
        wiring.advance();
    }
}

/// The properties that the stages of a body share.
#[doc(hidden)]
#[derive(Clone, Default)]
pub struct QueuesScope {
    /// The id of the node that is deployed now.
    id: NodeId,
    /// Which copy of the body: a shard deploys its body more than once.
    copy: usize,
    /// Whether the stages belong to a side output.
    side_output: bool,
    /// The senders of key slots, inside the body of a `shard_by`.
    pub(crate) key_slots: Option<Arc<KeySlotSenders>>,
}

impl std::fmt::Debug for QueuesScope {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("QueuesScope").field("id", &self.id).finish_non_exhaustive()
    }
}

impl Walk for QueuesWiring {
    type Scope = QueuesScope;

    fn scope(&mut self) -> &mut QueuesScope {
        &mut self.scope
    }
}

/// The work of one thread, and its name.
pub(crate) struct Thread {
    pub(crate) name: String,
    /// Whether it only joins stages: it copies, routes or gathers what they write.
    helps: bool,
    pub(crate) work: Box<dyn Work>,
    /// The number of keys it holds.
    pub(crate) keys: Option<Arc<AtomicU64>>,
    /// Whether it belongs to a side output.
    pub(crate) side_output: bool,
    /// The clock of its input.
    pub(crate) clock: usize,
}

impl Thread {
    /// Its stage in the plan, if it is one, or the end that it is.
    pub(crate) fn stage(&self) -> Option<String> {
        (!self.helps).then(|| self.name.clone())
    }
}

/// The work of one thread, from its first slot to its last. It owns its queues, so that they outlive a panic: readers
/// must not take a failure for the end of the stream.
pub(crate) trait Work: Send {
    /// Works until the stream ends, the run is stopped, or the reader of the output is gone.
    fn run(&mut self, activity: &Activity);
    /// How many slots are left in its input.
    fn left(&self) -> usize;
}

/// Work on the slots of a queue.
struct Worked<T, F> {
    input: Queue<T>,
    work: F,
}

impl<T: Send, F: FnMut(&mut Queue<T>, &Activity) + Send> Work for Worked<T, F> {
    fn run(&mut self, activity: &Activity) {
        (self.work)(&mut self.input, activity);
    }

    fn left(&self) -> usize {
        self.input.len()
    }
}

impl QueuesWiring {
    pub(crate) fn new(slots: usize, (plan, lookup): (Plan, StageLookup), control: Arc<Control>) -> Self {
        QueuesWiring {
            slots,
            plan,
            lookup,
            clock: 0,
            bytes: 0,
            threads: Vec::new(),
            side_sinks: SideSinks::default(),
            control,
            reactor: None,
            scope: QueuesScope::default(),
        }
    }

    /// Goes on to the pipeline that runs after the one deployed last, in the same body.
    pub fn advance(&mut self) {
        self.scope.id.advance();
    }

    /// The scope of a body of the combinator that is deployed now.
    pub fn body(&mut self, branch: Branch) -> Scoped<'_, Self> {
        let mut body = Scoped::new(self);
        body.scope.id = body.scope.id.body(branch);
        body
    }

    /// The scope of one of `k` copies of the only body.
    pub(crate) fn copy(&mut self, copy: usize, k: usize) -> Scoped<'_, Self> {
        let mut body = self.body(Branch::Only);
        body.scope.copy = body.scope.copy * k + copy;
        body
    }

    /// The scope of a side output.
    pub(crate) fn side_output(&mut self) -> Scoped<'_, Self> {
        let mut inside = Scoped::new(self);
        inside.scope.side_output = true;
        inside
    }

    /// Checks that the deployment and the plan have the same stages.
    pub(crate) fn check(&mut self) -> Result<(), PlanMismatch> {
        std::mem::take(&mut self.lookup).finish(&self.plan)
    }

    /// The name in the plan of the stage that is deployed now.
    pub(crate) fn name(&self) -> Option<&str> {
        self.lookup.at(&self.scope.id).map(|stage| &*self.plan.stages[stage].name)
    }

    /// The pauses of the thread that is added next.
    pub(crate) fn pauses(&self) -> Pauses {
        Pauses { control: self.control.clone(), thread: self.threads.len(), side_output: self.scope.side_output }
    }

    /// The runtime around the futures of this run.
    pub(crate) fn reactor(&mut self) -> Arc<Reactor> {
        self.reactor.get_or_insert_with(|| Arc::new(Reactor::here())).clone()
    }

    /// A new queue.
    pub(crate) fn queue<T>(&mut self) -> (Outlet<T>, Queue<T>) {
        self.queue_of(self.slots)
    }

    /// A queue with `slots` slots, or with the usual number if that is smaller.
    pub(super) fn queue_of<T>(&mut self, slots: usize) -> (Outlet<T>, Queue<T>) {
        let slots = slots.min(self.slots);
        self.bytes += queue_bytes::<T>(slots);
        queue(slots)
    }

    /// Adds the thread of the stage of the plan that is deployed now.
    pub(crate) fn stage<T: Send + 'static>(
        &mut self,
        input: Queue<T>,
        work: impl FnMut(&mut Queue<T>, &Activity) + Send + 'static,
    ) {
        let Some(stage) = self.lookup.stage(&self.scope.id, self.scope.copy) else {
            // The check after the deployment returns the error, and nothing starts.
            return;
        };
        let stage = &self.plan.stages[stage];
        // It reads one clock, and may start the next.
        let (name, next) = (stage.name.clone(), self.plan.rings[stage.writes].clock);
        self.working(&name, input, work);
        self.clock = next;
    }

    /// Adds a thread that joins stages of the plan.
    pub(crate) fn helper<T: Send + 'static>(
        &mut self,
        name: &str,
        input: Queue<T>,
        work: impl FnMut(&mut Queue<T>, &Activity) + Send + 'static,
    ) {
        self.working(name, input, work);
        self.threads.last_mut().expect("it was added").helps = true;
    }

    /// Adds a thread that does this for the slots of a queue.
    pub(crate) fn working<T: Send + 'static>(
        &mut self,
        name: &str,
        input: Queue<T>,
        work: impl FnMut(&mut Queue<T>, &Activity) + Send + 'static,
    ) {
        self.thread(name, Worked { input, work });
    }

    pub(crate) fn thread(&mut self, name: &str, work: impl Work + 'static) {
        let (side_output, clock) = (self.scope.side_output, self.clock);
        let (name, work) = (name.to_owned(), Box::new(work));
        self.threads.push(Thread { name, helps: false, work, keys: None, side_output, clock });
    }

    /// Sets the counter of the keys of the last thread added.
    pub(crate) fn counts_keys(&mut self, keys: Arc<AtomicU64>) {
        if let Some(last) = self.threads.last_mut() {
            last.keys = Some(keys);
        }
    }
}

impl std::fmt::Debug for QueuesWiring {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let names: Vec<_> = self.threads.iter().map(|thread| &thread.name).collect();
        f.debug_struct("QueuesWiring").field("threads", &names).finish_non_exhaustive()
    }
}
