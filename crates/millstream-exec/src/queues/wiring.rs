use super::control::{Activity, Control, Pauses};
use super::keyed::KeySlotSenders;
use super::message::{Outlet, Queue, queue, queue_bytes};
use crate::reactor::Reactor;
use millstream_core::Plan;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

/// Collects the threads, in pipeline order, while a pipeline is deployed on queues.
pub struct QueuesWiring {
    slots: usize,
    plan: Plan,
    /// The clock that the next stage reads.
    clock: usize,
    /// How many stages of the plan have their threads.
    named: usize,
    pub(crate) bytes: usize,
    pub(crate) threads: Vec<Thread>,
    control: Arc<Control>,
    /// Whether the stages deployed now belong to a side output.
    pub(crate) side_output: bool,
    reactor: Option<Arc<Reactor>>,
    /// The senders of key slots, inside the body of a `shard_by`.
    pub(crate) key_slots: Option<Arc<KeySlotSenders>>,
}

/// The work of one thread, and its name.
pub(crate) struct Thread {
    pub(crate) name: String,
    pub(crate) work: Box<dyn Work>,
    /// The number of keys it holds.
    pub(crate) keys: Option<Arc<AtomicU64>>,
    /// Whether it belongs to a side output.
    pub(crate) side_output: bool,
    /// The clock of its input.
    pub(crate) clock: usize,
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
    pub(crate) fn new(slots: usize, plan: Plan, control: Arc<Control>) -> Self {
        QueuesWiring {
            slots,
            plan,
            clock: 0,
            named: 0,
            bytes: 0,
            threads: Vec::new(),
            control,
            side_output: false,
            reactor: None,
            key_slots: None,
        }
    }

    /// The pauses of the thread that is added next.
    pub(crate) fn pauses(&self) -> Pauses {
        Pauses { control: self.control.clone(), thread: self.threads.len(), side_output: self.side_output }
    }

    /// Deploys stages of a side output.
    pub(crate) fn in_side_output<R>(&mut self, deploy: impl FnOnce(&mut Self) -> R) -> R {
        let outside = std::mem::replace(&mut self.side_output, true);
        let deployed = deploy(self);
        self.side_output = outside;
        deployed
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

    /// Adds the thread of the next stage of the plan.
    pub(crate) fn stage<T: Send + 'static>(
        &mut self,
        input: Queue<T>,
        work: impl FnMut(&mut Queue<T>, &Activity) + Send + 'static,
    ) {
        let stage = self.plan.stages.get(self.named);
        let name = stage.map_or_else(|| "unplanned".to_owned(), |stage| stage.name.clone());
        // It reads one clock, and may start the next.
        let next = stage.and_then(|stage| self.plan.rings.get(stage.writes)).map_or(self.clock, |ring| ring.clock);
        self.named += 1;
        self.helper(&name, input, work);
        self.clock = next;
    }

    /// Adds a thread that is not a stage of the plan.
    pub(crate) fn helper<T: Send + 'static>(
        &mut self,
        name: &str,
        input: Queue<T>,
        work: impl FnMut(&mut Queue<T>, &Activity) + Send + 'static,
    ) {
        self.thread(name, Worked { input, work });
    }

    pub(crate) fn thread(&mut self, name: &str, work: impl Work + 'static) {
        let (side_output, clock) = (self.side_output, self.clock);
        self.threads.push(Thread { name: name.to_owned(), work: Box::new(work), keys: None, side_output, clock });
    }

    /// Sets the counter of the keys of the last thread added.
    pub(crate) fn counts_keys(&mut self, keys: Arc<AtomicU64>) {
        self.threads.last_mut().expect("a thread was added").keys = Some(keys);
    }

    /// Calls `deploy` `k` times, each time for the same stages of the plan.
    pub(crate) fn copies<R>(&mut self, k: usize, mut deploy: impl FnMut(&mut Self) -> R) -> Vec<R> {
        let first = self.named;
        let copy = |_| {
            self.named = first;
            deploy(self)
        };
        (0..k).map(copy).collect()
    }
}

impl std::fmt::Debug for QueuesWiring {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let names: Vec<_> = self.threads.iter().map(|thread| &thread.name).collect();
        f.debug_struct("QueuesWiring").field("threads", &names).finish_non_exhaustive()
    }
}
