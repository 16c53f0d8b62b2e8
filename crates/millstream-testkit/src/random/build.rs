use super::changes::{Restart, Restarted, collect_restarted};
use super::edge::{Boxed, Chain};
use super::kind::{F, Kind, Whole, with_whole};
use super::logs::{Logs, Sinks, Taken};
use super::refusing::Refusing;
use super::shape::{Element, RandomShape};
use super::sinks::tee_to;
use super::tree::Pipe;
use super::upgrades::upgraded;
use super::value::Value;
use super::{block, changes, join, leaf};
use crate::check::{Difference, ended};
use crate::deployment::{Deployment, Slots, slots_of};
use crate::way::{QueueFeeding, Way, collect_fan_in_on_queues, collect_on_queues, run_into_on_queues};
use millstream_core::{Arrow, Model, ModelExt, Plan, SequenceNumber};
use millstream_exec::{
    FanIn, FreePipe, Handle, JobRefExt, Queues, Rings, RunEnd, RunError, Runner, Sender, ThroughExt, sink, source,
};
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::thread::JoinHandle;

/// A random pipeline, ready to run.
#[derive(Clone)]
pub struct Built {
    pipeline: Arc<dyn Runs>,
    /// Whether it loses the order on rings with several workers, and keeps it in the model, on queues and on one
    /// thread.
    gives_order_up: bool,
    /// What its named sinks and the receivers of its dead letters get.
    sinks: Logs,
    /// Whether it can end the stream before its source does.
    pub(super) ends: bool,
}

/// What its sinks got in a run, and its output.
pub(super) type Ran = (Taken, Slots<Value>);

/// Values that come one after the other.
type Values = Box<dyn Iterator<Item = Value> + Send>;

/// A pipeline whose output has some shape.
pub(super) trait Runs: Send + Sync {
    fn plan(&self) -> Plan;
    fn model_slots(&self, inputs: Vec<Value>) -> Slots<Value>;
    /// With these options of rings.
    fn collect_with(&self, rings: Rings, inputs: Vec<Value>, deployment: Deployment) -> Result<Slots<Value>, RunError>;
    /// These options, with this pipeline from that number on. Counts its deployments.
    fn upgraded(self: Arc<Self>, rings: Rings, at: SequenceNumber, deployed: &Arc<AtomicUsize>) -> Rings;
    /// After a stage whose states are migrated, and go to other shards.
    fn collect_changed(
        self: Arc<Self>,
        inputs: Vec<Value>,
        changes: (Deployment, &[(u64, usize)]),
        done: &Arc<AtomicUsize>,
    ) -> Result<Slots<Value>, RunError>;
    /// After that stage, in a run that begins with a snapshot of another version.
    fn collect_restarted(
        self: Arc<Self>,
        inputs: Vec<Value>,
        restart: (Deployment, Restart),
    ) -> Result<Option<Restarted<Value>>, RunError>;
    fn collect_slots(&self, inputs: Vec<Value>, deployment: Deployment) -> Result<Slots<Value>, RunError> {
        self.collect_with(deployment.rings(), inputs, deployment)
    }
    fn collect_on_queues(
        &self,
        inputs: Vec<Value>,
        queues: Queues,
        feeding: QueueFeeding,
    ) -> Result<Slots<Value>, RunError>;
    fn collect_fan_in(&self, fan_in: FanIn<Value>, way: Way, start: Start)
    -> Result<(Slots<Value>, Threads), RunError>;
    /// After values that come when they come.
    fn collect_live(&self, rings: Rings, inputs: Values) -> Result<Slots<Value>, RunError>;
    fn start_fed(&self, rings: &Rings) -> Result<(Sender<Value>, Handle<u64>), RunError>;
    fn start_fan_in(&self, rings: &Rings, fan_in: FanIn<Value>) -> Result<ManyFed, RunError>;
    /// With a sink that refuses every value from this number on.
    fn refused(&self, inputs: Vec<Value>, way: Way, from: u64) -> Result<RunEnd<Slots<Value>>, RunError>;
    fn through(&self, rings: Rings, inputs: Values) -> Values;
}

/// Slots of a sender's ring.
const SENDER_SLOTS: usize = 64;

/// The sender that feeds a run, and the run.
type ManyFed = (Vec<Sender<Value>>, Handle<u64>);

/// Starts producers.
pub(super) type Start = Box<dyn FnOnce(Vec<Sender<Value>>) -> Threads + Send>;
pub(super) type Threads = Vec<JoinHandle<()>>;

impl<B: RandomShape> Runs for Boxed<F, B, FreePipe> {
    fn plan(&self) -> Plan {
        Arrow::plan(self)
    }

    fn model_slots(&self, inputs: Vec<Value>) -> Slots<Value> {
        values::<B>(ModelExt::model_slots(self, inputs))
    }

    fn collect_with(&self, rings: Rings, inputs: Vec<Value>, deployment: Deployment) -> Result<Slots<Value>, RunError> {
        slots_of(deployment.run_with(rings, self, inputs, sink::collect_slots())?).map(values::<B>)
    }

    fn upgraded(self: Arc<Self>, rings: Rings, at: SequenceNumber, deployed: &Arc<AtomicUsize>) -> Rings {
        upgraded(rings, at, self, deployed)
    }

    fn collect_changed(
        self: Arc<Self>,
        inputs: Vec<Value>,
        changes: (Deployment, &[(u64, usize)]),
        done: &Arc<AtomicUsize>,
    ) -> Result<Slots<Value>, RunError> {
        changes::slots(changes::collect_changed(&self, inputs, changes, done)).map(values::<B>)
    }

    fn collect_restarted(
        self: Arc<Self>,
        inputs: Vec<Value>,
        restart: (Deployment, Restart),
    ) -> Result<Option<Restarted<Value>>, RunError> {
        let restarted = collect_restarted(&self, inputs, restart)?;
        Ok(restarted.map(|Restarted { output, slots }| Restarted { output, slots: values::<B>(slots) }))
    }

    fn collect_on_queues(
        &self,
        inputs: Vec<Value>,
        queues: Queues,
        feeding: QueueFeeding,
    ) -> Result<Slots<Value>, RunError> {
        collect_on_queues(self, inputs, queues, feeding).map(values::<B>)
    }

    fn collect_fan_in(
        &self,
        fan_in: FanIn<Value>,
        way: Way,
        start: Start,
    ) -> Result<(Slots<Value>, Threads), RunError> {
        let (slots, threads) = match way {
            Way::Rings(deployment) => deployment.collect_fan_in(self, fan_in, start)?,
            Way::Queues { queues, .. } => collect_fan_in_on_queues(self, fan_in, queues, start)?,
            Way::Model => unreachable!("the model has no live producers"),
        };
        Ok((values::<B>(slots), threads))
    }

    fn collect_live(&self, rings: Rings, inputs: Values) -> Result<Slots<Value>, RunError> {
        slots_of(rings.start(self.from(inputs).to(sink::collect_slots()))?.join()).map(values::<B>)
    }

    fn start_fed(&self, rings: &Rings) -> Result<(Sender<Value>, Handle<u64>), RunError> {
        let (sender, receiver) = source::channel(SENDER_SLOTS);
        let job = self.from(receiver).to_fold(0, |values, _, slot| {
            drop(B::value(slot));
            *values += 1;
        });
        Ok((sender, rings.start(job)?))
    }

    fn start_fan_in(&self, rings: &Rings, fan_in: FanIn<Value>) -> Result<ManyFed, RunError> {
        let (senders, poller) = fan_in.open(rings)?;
        let job = self.from(poller).to_fold(0, |values, _, slot| {
            drop(B::value(slot));
            *values += 1;
        });
        Ok((senders, rings.start(job)?))
    }

    fn refused(&self, inputs: Vec<Value>, way: Way, from: u64) -> Result<RunEnd<Slots<Value>>, RunError> {
        let sink = Refusing { from, refused: false, slots: sink::collect_slots(), value: B::value };
        match way {
            Way::Rings(deployment) => deployment.run_into(self, inputs, sink),
            Way::Queues { queues, feeding } => run_into_on_queues(self, inputs, queues, feeding, sink),
            Way::Model => Model.start(self.from(inputs).to(sink)),
        }
    }

    fn through(&self, rings: Rings, inputs: Values) -> Values {
        Box::new(inputs.through_on(rings, self.clone()).map(|owned| owned.into_value()))
    }
}

fn values<B: RandomShape>(slots: Slots<B::Owned>) -> Slots<Value> {
    slots.into_iter().map(|slot| slot.map(|owned| owned.into_value())).collect()
}

impl Pipe {
    /// Builds the pipeline: a box at every node, and rings, masks and pairs of rings between them.
    ///
    /// # Panics
    ///
    /// If the body of a shard is not [pure](Pipe::is_pure), a lane is not [quiet](Pipe::is_quiet), a body
    /// [renumbers](Pipe::renumbers), or a shard has no tasklets.
    #[must_use]
    pub fn build(&self) -> Built {
        let sinks = Sinks::default();
        let chain = chain(self, Kind::Whole(Whole::F), &sinks);
        let Kind::Whole(whole) = chain.output else { unreachable!("only a body sees a half or a lane") };
        let pipeline: Arc<dyn Runs> = with_whole!(whole, B => Arc::new(chain.boxed_free::<F, B>()));
        Built { pipeline, gives_order_up: self.gives_order_up(), sinks: sinks.into_logs(), ends: self.ends() }
    }
}

pub(super) fn chain(tree: &Pipe, input: Kind, sinks: &Sinks) -> Chain {
    match tree {
        Pipe::Then(p, q) => {
            let first = chain(p, input, sinks);
            let second = chain(q, first.output, sinks);
            first.followed_by(second)
        }
        Pipe::Fanout(p, q) | Pipe::Both(p, q) if p.renumbers() || q.renumbers() => {
            panic!("{tree} has a body that renumbers")
        }
        Pipe::Fanout(p, q) => join::fanout(input, chain(p, input, sinks), chain(q, input, sinks)),
        Pipe::FanoutAll(bodies) => {
            assert!(!bodies.iter().any(Pipe::renumbers), "{tree} has a body that renumbers");
            let before = join::as_ring(Chain::empty(input));
            let bodies = bodies.iter().map(|body| chain(body, before.output, sinks)).collect();
            let joined = join::fanout_all(before.output, bodies);
            before.followed_by(joined)
        }
        Pipe::Both(p, q) => {
            let (before, whole) = join::halved(input);
            let joined = join::both(whole, chain(p, Kind::First(whole), sinks), chain(q, Kind::Second(whole), sinks));
            before.followed_by(joined)
        }
        Pipe::Choose(p, q) | Pipe::Merge(p, q) => {
            assert!(p.is_quiet() && q.is_quiet(), "{p} and {q} cannot be lanes");
            let (before, whole) = join::laned(input);
            let merge = matches!(tree, Pipe::Merge(..));
            let joined =
                join::lanes(whole, chain(p, Kind::Left(whole), sinks), chain(q, Kind::Right(whole), sinks), merge);
            before.followed_by(joined)
        }
        Pipe::Feedback(start, p) => {
            assert!(!p.renumbers(), "{tree} has a body that renumbers");
            join::feedback(*start, None, input, |looped| chain(p, looped, sinks))
        }
        Pipe::Tee(p) => {
            assert!(!p.renumbers(), "{tree} has a body that renumbers");
            join::tee(input, chain(p, input, sinks))
        }
        Pipe::Shard(k, p) => {
            assert!(p.is_pure(), "{p} cannot be a shard's body");
            join::shard(*k, input, chain(p, input, sinks))
        }
        Pipe::ShardBy { keys, most, k, body } => {
            assert!(body.is_quiet(), "{body} cannot be a key's body");
            join::shard_by(*keys, *most, *k, input, |input| chain(body, input, sinks))
        }
        Pipe::Called(name, p) => called(&format!("s{name}"), p, input, sinks),
        Pipe::Named(p) => join::named("named", input, |input| chain(p, input, sinks)),
        Pipe::Boxed(p) => join::boxed(input, |input| chain(p, input, sinks)),
        Pipe::Block(graph) => {
            assert!(!graph.bodies().any(Pipe::renumbers), "{tree} has a body that renumbers");
            block::block(graph, input, &|body, input| chain(body, input, sinks))
        }
        Pipe::TeeTo => tee_to(input, sinks),
        leaf => leaf::leaf(leaf, input, sinks),
    }
}

fn called(name: &str, tree: &Pipe, input: Kind, sinks: &Sinks) -> Chain {
    match tree {
        Pipe::Feedback(start, p) => {
            assert!(!p.renumbers(), "{tree} has a body that renumbers");
            join::feedback(*start, Some(name), input, |looped| chain(p, looped, sinks))
        }
        Pipe::ShardBy { .. } => chain(tree, input, sinks).called(name.to_owned()),
        leaf => leaf::leaf_called(leaf, input, Some(name), sinks),
    }
}

impl Built {
    pub(super) fn runs(&self) -> &Arc<dyn Runs> {
        &self.pipeline
    }

    pub(super) fn gives_order_up(&self) -> bool {
        self.gives_order_up
    }

    /// The plan of the pipeline.
    #[must_use]
    pub fn plan(&self) -> Plan {
        self.pipeline.plan()
    }

    /// Every slot of the model's output, END last.
    #[must_use]
    pub fn model_slots(&self, inputs: Vec<Value>) -> Vec<Option<Value>> {
        self.pipeline.model_slots(inputs)
    }

    /// Every slot of a deployment's output, END last.
    ///
    /// # Errors
    ///
    /// If the run fails.
    pub fn collect_slots(&self, inputs: Vec<Value>, deployment: Deployment) -> Result<Vec<Option<Value>>, RunError> {
        self.pipeline.collect_slots(inputs, deployment)
    }

    /// Starts a run that is fed by a sender. It counts the output values, and clones each.
    ///
    /// # Errors
    ///
    /// If it cannot be started.
    pub fn start_fed(&self, rings: &Rings) -> Result<(Sender<Value>, Handle<u64>), RunError> {
        self.pipeline.start_fed(rings)
    }

    /// As [`start_fed`](Built::start_fed), with many senders.
    ///
    /// # Errors
    ///
    /// If it cannot be started.
    pub fn start_fan_in(
        &self,
        rings: &Rings,
        fan_in: FanIn<Value>,
    ) -> Result<(Vec<Sender<Value>>, Handle<u64>), RunError> {
        self.pipeline.start_fan_in(rings, fan_in)
    }

    /// The output values, as an iterator. The inputs may come from anywhere, and may be waited for.
    ///
    /// # Panics
    ///
    /// The iterator panics if the run fails.
    #[must_use]
    pub fn through(
        &self,
        rings: Rings,
        inputs: impl IntoIterator<Item = Value, IntoIter: Send + 'static>,
    ) -> Box<dyn Iterator<Item = Value> + Send> {
        self.pipeline.through(rings, Box::new(inputs.into_iter()))
    }

    /// Every slot of the output on queues, END's the last.
    ///
    /// # Errors
    ///
    /// If the run fails.
    pub fn collect_on_queues(
        &self,
        inputs: Vec<Value>,
        queues: Queues,
        feeding: QueueFeeding,
    ) -> Result<Vec<Option<Value>>, RunError> {
        self.pipeline.collect_on_queues(inputs, queues, feeding)
    }

    /// Compares a deployment with the model, as [`check`](crate::check) does, and what its named sinks and the
    /// receivers of its dead letters got, too. If the pipeline [gives its order up](Pipe::gives_order_up) and the
    /// deployment has workers, both outputs are sorted first.
    ///
    /// # Errors
    ///
    /// The first difference.
    pub fn check(&self, inputs: &[Value], deployment: Deployment) -> Result<(), Difference> {
        let (pipeline, given) = (self.pipeline.clone(), inputs.to_vec());
        let ran = self.watched(|| ended(move || pipeline.collect_slots(given, deployment)))?;
        self.judge_run(Way::Rings(deployment), inputs.to_vec(), &ran)
    }

    /// Compares the deployment on queues with the model.
    ///
    /// # Errors
    ///
    /// The first difference.
    pub fn check_on_queues(&self, inputs: &[Value], queues: Queues, feeding: QueueFeeding) -> Result<(), Difference> {
        let (pipeline, given) = (self.pipeline.clone(), inputs.to_vec());
        let ran = self.watched(|| ended(move || pipeline.collect_on_queues(given, queues, feeding)))?;
        self.judge_run(Way::Queues { queues, feeding }, inputs.to_vec(), &ran)
    }

    /// What the sinks get in this run, and its result.
    pub(super) fn watched(&self, run: impl FnOnce() -> Result<Slots<Value>, Difference>) -> Result<Ran, Difference> {
        drop(self.sinks.take());
        run().map(|slots| (self.sinks.take(), slots))
    }

    /// Compares a whole run with the model of these inputs: its output, and what its sinks got.
    pub(super) fn judge_run(&self, way: Way, inputs: Vec<Value>, ran: &Ran) -> Result<(), Difference> {
        let model = self.watched(|| Ok(self.model_slots(inputs)))?;
        self.judge(way, model.1, ran.1.clone())?;
        self.judge_logs(way, &model.0, &ran.0, self.ends)
    }
}

impl std::fmt::Debug for Built {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.plan())
    }
}
