//! The same on durable rings, for trees of stages with serializable states.

use super::slots_of;
use crate::reference::versions::changed;
use millstream_core::model::Extent;
use millstream_core::plan::{Describe, Port};
use millstream_core::{
    AnyEdge, Arrow, Bound, ChoiceExt, ClockExt, Deploy, Determinate, FeedbackExt, KeepsClock, KeysExt, Model, On,
    PartsExt, Quiet, SequenceNumber, Shardable, StreamsExt, id, pipeline,
};
use millstream_exec::{
    BoxExact, BoxExt, BoxPipeline, Durable, FreePipe, JobRefExt, OnDurable, RingBackend, Rings, RunError, Runner,
    Snapshot, Upgrade, Wiring, source,
};
use millstream_testkit::random::{Pipe, Stream, Value};
use millstream_testkit::{Deployment, Feeding};
use serde::{Deserialize, Serialize};
use std::sync::{Arc, Mutex};

/// A serializable value.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
#[serde(from = "Written", into = "Written")]
struct Lasting(Value);

#[derive(Serialize, Deserialize)]
enum Written {
    I(i64),
    Pair(Box<(Written, Written)>),
    L(Box<Written>),
    R(Box<Written>),
    List(Vec<Written>),
}

impl From<Lasting> for Written {
    fn from(Lasting(value): Lasting) -> Self {
        let of = |value| Written::from(Lasting(value));
        match value {
            Value::I(i) => Written::I(i),
            Value::Pair(pair) => Written::Pair((of(pair.0), of(pair.1)).into()),
            Value::L(value) => Written::L(of(*value).into()),
            Value::R(value) => Written::R(of(*value).into()),
            Value::List(list) => Written::List(list.into_iter().map(of).collect()),
            Value::Sabotaged(value) => unreachable!("{value:?} is in no input"),
        }
    }
}

impl From<Written> for Lasting {
    fn from(written: Written) -> Self {
        let of = |written| Lasting::from(written).0;
        Lasting(match written {
            Written::I(i) => Value::I(i),
            Written::Pair(pair) => Value::pair(of(pair.0), of(pair.1)),
            Written::L(value) => Value::L(of(*value).into()),
            Written::R(value) => Value::R(of(*value).into()),
            Written::List(list) => Value::List(list.into_iter().map(of).collect()),
        })
    }
}

impl Lasting {
    fn digest(&self) -> i64 {
        self.0.digest()
    }

    fn mapped(&self, plus: i64) -> Self {
        number(self.digest().wrapping_mul(31).wrapping_add(plus))
    }

    fn is_kept(&self, modulus: i64) -> bool {
        self.digest().rem_euclid(modulus) != 0
    }

    fn key(&self, keys: i64) -> i64 {
        self.digest().rem_euclid(keys)
    }
}

fn number(i: i64) -> Lasting {
    Lasting(Value::I(i))
}

fn scanned(state: &mut Lasting, value: &Lasting) -> Lasting {
    *state = state.mapped(value.digest());
    state.clone()
}

fn expanded(value: &Lasting, modulus: i64) -> Vec<Lasting> {
    (0..value.key(modulus)).map(|plus| value.mapped(plus)).collect()
}

type Edge = AnyEdge<Lasting>;
type Stage = BoxExact<Edge, Edge, OnDurable<FreePipe>>;
type Whole = BoxPipeline<Lasting, Lasting, OnDurable<FreePipe>>;

/// A stage as a body. Its tree ensures that it has the properties of a body.
struct Body(Stage);

impl KeepsClock for Body {}
impl Quiet for Body {}
impl Shardable for Body {}
impl Determinate for Body {}

impl Arrow for Body {
    type In = Edge;
    type Out = Edge;

    fn describe(&self, input: Port, plan: &mut Describe) -> Port {
        self.0.describe(input, plan)
    }
}

type On_<K> = <Edge as On<K>>::Edge;

impl Deploy<Model> for Body {
    fn deploy(&self, input: On_<Model>, extent: &mut Extent) -> On_<Model> {
        Deploy::<Model>::deploy(&self.0, input, extent)
    }
}

impl Deploy<RingBackend> for Body {
    fn deploy(&self, input: On_<RingBackend>, wiring: &mut Wiring) -> On_<RingBackend> {
        Deploy::<RingBackend>::deploy(&self.0, input, wiring)
    }
}

impl Deploy<RingBackend<Durable>> for Body {
    fn deploy(&self, input: On_<RingBackend<Durable>>, wiring: &mut Wiring) -> On_<RingBackend<Durable>> {
        Deploy::<RingBackend<Durable>>::deploy(&self.0, input, wiring)
    }
}

/// A similar tree, of the stages that this module has. Parts with the same name are the same in both.
pub(super) fn lasting(tree: &Pipe) -> Pipe {
    let of = |p: &Pipe| Box::new(lasting(p));
    match tree {
        Pipe::Then(p, q) => Pipe::Then(of(p), of(q)),
        Pipe::Fanout(p, q) | Pipe::Both(p, q) => Pipe::Fanout(of(p), of(q)),
        Pipe::Choose(p, q) | Pipe::Merge(p, q) => Pipe::Merge(of(p), of(q)),
        Pipe::Tee(p) => Pipe::Tee(of(p)),
        Pipe::Shard(k, p) => Pipe::Shard(*k, of(p)),
        Pipe::Named(p) | Pipe::Boxed(p) => lasting(p),
        Pipe::ShardBy { keys, most, k, body } => Pipe::ShardBy { keys: *keys, most: *most, k: *k, body: of(body) },
        Pipe::Feedback(start, p) => Pipe::Feedback(*start, of(p)),
        Pipe::FanoutAll(bodies) => Pipe::Fanout(of(&bodies[0]), of(&bodies[1])),
        Pipe::Block(block) => {
            let first = block.bodies().next().map_or(Pipe::Map { plus: 1 }, lasting);
            Pipe::Fanout(first.into(), Pipe::Swap.into())
        }
        Pipe::Called(name, p) => Pipe::Called(*name, of(p)),
        Pipe::TryScan { start, .. } => Pipe::Scan { start: *start },
        Pipe::ScanFinish { .. } | Pipe::Scan { .. } | Pipe::Fold { .. } | Pipe::Delay { .. } => tree.clone(),
        Pipe::FlatMap { .. } | Pipe::FlatScan { .. } | Pipe::Park { .. } => tree.clone(),
        Pipe::Answer(_) => Pipe::Fold { start: 1 },
        Pipe::FoldBy { start, .. } => Pipe::Fold { start: *start },
        Pipe::FoldWindows(of) => Pipe::ScanFinish { start: of.start },
        Pipe::WindowsBy(of) => Pipe::FlatScan { modulus: 1 + of.size as i64 % 3, finish: of.keep },
        Pipe::Stream(Stream::Chunks(n)) => Pipe::ScanFinish { start: *n as i64 },
        Pipe::Stream(Stream::Skip(n) | Stream::Take(n)) => Pipe::Stream(Stream::Skip(*n)),
        Pipe::Stream(Stream::Windows(n) | Stream::MapWindows(n)) => Pipe::Stream(Stream::MapWindows(*n)),
        Pipe::Stream(Stream::Pairwise) => Pipe::Stream(Stream::MapWindows(2)),
        Pipe::Stream(Stream::Enumerate | Stream::Inspect | Stream::MapM(_)) => Pipe::Map { plus: 2 },
        Pipe::Stream(_) => Pipe::Scan { start: 3 },
        Pipe::Row(row) if tree.is_pure() => Pipe::FilterMap { modulus: row.modulus, plus: row.plus },
        Pipe::Row(row) if tree.is_quiet() => Pipe::Scan { start: row.plus },
        Pipe::Row(row) => Pipe::ScanFinish { start: row.plus },
        starts if starts.renumbers() => Pipe::FlatMap { modulus: 2 },
        Pipe::Id | Pipe::Swap | Pipe::Fork => tree.clone(),
        Pipe::Map { plus } | Pipe::MapOwned { plus } | Pipe::MapBlocking { plus } | Pipe::MapAsync { plus, .. } => {
            Pipe::Map { plus: *plus }
        }
        Pipe::Filter { modulus } | Pipe::Partition { modulus } => Pipe::Filter { modulus: *modulus },
        Pipe::FilterMap { modulus, plus }
        | Pipe::TryMap { modulus, plus }
        | Pipe::TryMapOrError(modulus, plus)
        | Pipe::DeadLetter { modulus, plus }
        | Pipe::Text { modulus, plus } => Pipe::FilterMap { modulus: *modulus, plus: *plus },
        _ => Pipe::Map { plus: 3 },
    }
}

/// The pipeline of a tree that is [`lasting`].
fn stage(tree: &Pipe) -> Stage {
    match tree {
        Pipe::Called(name, p) => called(&format!("s{name}"), p),
        Pipe::Id => id::<Edge>().boxed_as(),
        Pipe::Swap => {
            let swapped = |value: &Lasting| {
                let (a, b) = value.0.halves();
                Lasting(Value::pair(b, a))
            };
            id::<Edge>().map(swapped).boxed_as()
        }
        Pipe::Fork => id::<Edge>().map(|Lasting(value)| Lasting(Value::pair(value.clone(), value.clone()))).boxed_as(),
        Pipe::Map { plus } => {
            let plus = *plus;
            id::<Edge>().map(move |value| value.mapped(plus)).boxed_as()
        }
        Pipe::Filter { modulus } => {
            let modulus = *modulus;
            id::<Edge>().filter(move |value| value.is_kept(modulus)).boxed_as()
        }
        Pipe::FilterMap { modulus, plus } => {
            let (modulus, plus) = (*modulus, *plus);
            id::<Edge>().filter_map(move |value| value.is_kept(modulus).then(|| value.mapped(plus))).boxed_as()
        }
        Pipe::Then(p, q) => stage(p).then(stage(q)).boxed_as(),
        Pipe::Fanout(p, q) => {
            let (p, q) = (Body(stage(p)), Body(stage(q)));
            let both = id::<Edge>().fanout(|input| input.then(p), |input| input.then(q));
            both.map(|(a, b)| Lasting(Value::pair(a.0.clone(), b.0.clone()))).boxed_as()
        }
        Pipe::Merge(p, q) => {
            let (p, q) = (Body(stage(p)), Body(stage(q)));
            let sides = id::<Edge>().map(|value| value.0.either().map_either(Lasting, Lasting));
            sides.merge(|left| left.any_edge().then(p), |right| right.any_edge().then(q)).boxed_as()
        }
        Pipe::Tee(p) => {
            let p = Body(stage(p));
            id::<Edge>().tee(|input| input.then(p)).boxed_as()
        }
        Pipe::Shard(k, p) => {
            let p = Body(stage(p));
            id::<Edge>().shard(*k, |input| input.then(p)).boxed_as()
        }
        other => unreachable!("{other} is not lasting, or has no name"),
    }
}

fn called(name: &str, tree: &Pipe) -> Stage {
    let ring = || id::<Edge>().filter_map(|value| Some(value.clone()));
    match *tree {
        Pipe::Scan { start } => id::<Edge>().scan(number(start), scanned).named(name).boxed_as(),
        Pipe::ScanFinish { start } => {
            let finished =
                |state: Lasting| state.is_kept(3).then(|| number(state.digest().wrapping_mul(17).wrapping_add(1)));
            id::<Edge>().scan_finish(number(start), scanned, finished).named(name).boxed_as()
        }
        Pipe::Fold { start } => {
            let folded = |state: &mut Lasting, value: &Lasting| {
                *state = number(state.digest().wrapping_mul(17) ^ value.digest());
            };
            id::<Edge>().fold(number(start), folded, |state| state).named(name).boxed_as()
        }
        Pipe::Delay { first } => {
            let (a, b) = Value::I(first).halves();
            ring().delay(Lasting(Value::pair(a, b))).named(name).boxed_as()
        }
        Pipe::Stream(Stream::Skip(n)) => id::<Edge>().skip(n).named(name).boxed_as(),
        Pipe::Stream(Stream::MapWindows(n)) => {
            let list = |all: &[Lasting]| Lasting(Value::List(all.iter().map(|value| value.0.clone()).collect()));
            id::<Edge>().map_windows(n, list).named(name).boxed_as()
        }
        Pipe::Park { keys, modulus, plus } => {
            let judge = move |value: &Lasting| if value.is_kept(modulus) { Ok(value.mapped(plus)) } else { Err("no") };
            id::<Edge>().try_map_or_park(name, move |value| value.key(keys), judge, |_| ()).boxed_as()
        }
        Pipe::FlatMap { modulus } => {
            id::<Edge>().flat_map(move |value| expanded(value, modulus)).named(name).boxed_as()
        }
        Pipe::FlatScan { modulus, finish } => {
            let step = move |state: &mut Lasting, value: &Lasting| expanded(&scanned(state, value), modulus);
            let last = move |state: Lasting| if finish { expanded(&state, modulus + 2) } else { Vec::new() };
            id::<Edge>().flat_scan_finish(number(modulus), step, last).named(name).boxed_as()
        }
        Pipe::Feedback(start, ref body) => {
            let body = Body(stage(body));
            let looped = ring().feedback(number(start), |input| {
                let pair = input.map(|(value, state)| Lasting(Value::pair(value.0.clone(), state.0.clone())));
                pair.any_edge().then(body).map(|output| {
                    let (output, state) = output.0.halves();
                    (Lasting(output), number(state.digest()))
                })
            });
            looped.named(name).map(Lasting::clone).boxed_as()
        }
        Pipe::ShardBy { keys, most, k, ref body } => {
            let body = Body(stage(body));
            let key = move |value: &Lasting| value.key(keys);
            id::<Edge>().shard_by_within(Bound::forget(most), key, k, |input| input.then(body)).named(name).boxed_as()
        }
        ref other => unreachable!("{other} is not lasting"),
    }
}

/// A version, from its number on, with the states of the previous version that are lost.
struct Version {
    at: u64,
    pipeline: Whole,
    dropped: Vec<String>,
}

impl Version {
    fn upgrade(&self) -> Upgrade<Whole> {
        self.dropped.iter().fold(Upgrade::to(self.pipeline.clone()), Upgrade::dropping)
    }
}

/// Versions of a pipeline on durable rings.
pub(super) struct Versions {
    trees: Vec<(u64, Pipe)>,
    versions: Vec<Version>,
}

impl Versions {
    pub(super) fn of(first: &Pipe) -> Self {
        let mut versions = Versions { trees: Vec::new(), versions: Vec::new() };
        versions.change(0, lasting(first));
        versions
    }

    pub(super) fn last(&self) -> &Pipe {
        &self.trees[self.trees.len() - 1].1
    }

    /// Goes on with this tree at the number, unless the plans do not allow it.
    pub(super) fn change(&mut self, at: u64, tree: Pipe) -> bool {
        let pipeline: Whole = pipeline::<Lasting>().any_edge().then(stage(&tree)).boxed_as();
        let mut next = Version { at, pipeline, dropped: Vec::new() };
        if let Some(last) = self.versions.last() {
            let (old, new) = (last.pipeline.plan(), next.pipeline.plan());
            let lost = |name: &str| new.stages.iter().all(|stage| stage.name != name);
            let states = old.stages.iter().filter(|stage| stage.state.is_some() && lost(&stage.name));
            next.dropped = states.map(|stage| stage.name.clone()).collect();
            if !next.upgrade().check(&old).is_allowed() {
                return false;
            }
        }
        self.trees.push((at, tree));
        self.versions.push(next);
        true
    }

    /// Runs the versions from this one on, the first of them from a snapshot, if there is one.
    fn run(
        &self,
        first: usize,
        rings: Rings,
        inputs: &[Value],
        feeding: Feeding,
    ) -> Result<Vec<Option<Value>>, RunError> {
        let changed =
            |durable: Durable, version: &Version| durable.upgrade_at(SequenceNumber(version.at), version.upgrade());
        let durable = self.versions[first + 1..].iter().fold(Durable::new(rings), changed);
        let inputs: Vec<Lasting> = inputs.iter().cloned().map(Lasting).collect();
        let pipeline = &self.versions[first].pipeline;
        let slots = match feeding {
            Feeding::Channel => {
                let (sender, receiver) = source::channel(8);
                let feeding = std::thread::spawn(move || drop(sender.send_all(inputs)));
                let slots = durable.collect_slots(pipeline.from(receiver));
                feeding.join().expect("it sends numbers");
                slots
            }
            Feeding::Waiting => durable.collect_slots(pipeline.from(inputs)),
            _ => durable.collect_slots(pipeline.from(source::ready(inputs))),
        }?;
        Ok(slots.into_iter().map(|slot| slot.map(|value| value.0)).collect())
    }

    /// Compares a run with the equations, and then runs that go on from its snapshots, as bytes. Returns the number of
    /// those runs.
    pub(super) fn check(&self, inputs: &[Value], deployment: Deployment, every: u64) -> Result<usize, String> {
        let trees: Vec<(u64, &Pipe)> = self.trees.iter().map(|(at, tree)| (*at, tree)).collect();
        let model = changed(&trees, &slots_of(inputs));
        let same = |what: &str, from: usize, given: Result<Vec<Option<Value>>, RunError>| match given {
            Err(error) => Err(format!("{what} fails: {error}")),
            Ok(given) if given.len() != model.len() || given[from..] != model[from..] => {
                Err(format!("{what} gives {:?}, and not {:?}", &given[from..], &model[from..]))
            }
            Ok(_) => Ok(()),
        };
        let taken: Arc<Mutex<Vec<Snapshot>>> = Arc::default();
        let keep = taken.clone();
        let rings = deployment.rings();
        let taking = rings.clone().snapshot_every(every, move |snapshot| keep.lock().unwrap().push(snapshot));
        same("the run", 0, self.run(0, taking, inputs, deployment.feeding))?;
        let taken = std::mem::take(&mut *taken.lock().unwrap());
        // At the number of a change, a snapshot may be of either version.
        let between = |snapshot: &&Snapshot| self.versions[1..].iter().all(|version| version.at != snapshot.at().0);
        let mut resumed = 0;
        for snapshot in taken.iter().filter(between).take(3) {
            let at = snapshot.at().0;
            let bytes = snapshot.to_bytes().map_err(|error| error.to_string())?;
            let read = Snapshot::from_bytes(&bytes).map_err(|error| error.to_string())?;
            let version = self.versions.iter().rposition(|version| version.at < at).unwrap_or(0);
            let output = snapshot.output_at().map_or(0, |number| number.0 as usize);
            let rest = self.run(version, rings.clone().resume(read), &inputs[at as usize..], deployment.feeding);
            same(&format!("a run from {at} on"), output, rest)?;
            resumed += 1;
        }
        Ok(resumed)
    }
}

impl std::fmt::Display for Versions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.trees.iter().try_for_each(|(at, tree)| write!(f, "from {at} on {tree}; "))
    }
}
