//! Random trees of stages with serializable states, and their pipelines on durable rings. The tests of
//! `millstream-state` have this file, too.

use millstream::core::model::Extent;
use millstream::core::plan::{Describe, Port};
use millstream::core::{
    AnyEdge, Arrow, BorrowedKeysExt, Bound, ChoiceExt, ClockExt, Deploy, Determinate, FeedbackExt, KeepsClock, KeysExt,
    Model, On, PartsExt, Quiet, Shardable, StreamsExt, id, pipeline,
};
use millstream::exec::{BoxExact, BoxExt, BoxPipeline, Durable, FreePipe, OnDurable, RingBackend, Wiring};
use millstream::testkit::random::{Pipe, Stream, Value};
use serde::{Deserialize, Serialize};

/// A serializable value.
#[derive(Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(from = "Written", into = "Written")]
pub(crate) struct Lasting(pub(crate) Value);

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
pub(crate) type Whole = BoxPipeline<Lasting, Lasting, OnDurable<FreePipe>>;

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
pub(crate) fn lasting(tree: &Pipe) -> Pipe {
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
        | Pipe::DeadLetterAsync(_, modulus, plus)
        | Pipe::Text { modulus, plus } => Pipe::FilterMap { modulus: *modulus, plus: *plus },
        _ => Pipe::Map { plus: 3 },
    }
}

/// The pipeline of a tree that is [`lasting`].
pub(crate) fn whole(tree: &Pipe) -> Whole {
    pipeline::<Lasting>().any_edge().then(stage(tree)).boxed_as()
}

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
            if keys == 0 {
                let sharded = id::<Edge>().shard_by_ref_within(
                    Bound::forget(most),
                    |value: &Lasting| value,
                    k,
                    |input| input.then(body),
                );
                return sharded.named(name).boxed_as();
            }
            let key = move |value: &Lasting| value.key(keys);
            id::<Edge>().shard_by_within(Bound::forget(most), key, k, |input| input.then(body)).named(name).boxed_as()
        }
        ref other => unreachable!("{other} is not lasting"),
    }
}
