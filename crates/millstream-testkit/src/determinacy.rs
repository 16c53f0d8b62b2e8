use crate::check::{Checkable, CheckableEverywhere, Difference, check, compare, models};
use crate::way::{QueueFeeding, Way, collect_on_queues, ways};
use millstream_core::{Item, ModelExt, Plan};
use millstream_exec::Queues;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestCaseError, TestError, TestRunner};
use std::cell::Cell;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

/// The greatest number of shards that pipelines are built for.
const MOST_SHARDS: usize = 8;

/// How often a case is repeated after a difference was found. A closure with hidden state need not differ every time.
const TRIES: usize = 8;

/// The greatest number of smaller cases that are tried.
const MOST_SHRINKS: u32 = 1 << 14;

/// The milliseconds after which no smaller case is tried. Each that hangs takes a minute.
const LONGEST_SHRINK: u32 = 180_000;

/// Asserts that a pipeline has its model's output in random deployments on rings, for random inputs. The number of
/// cases is `PROPTEST_CASES`, or 256. Outputs are compared by `==`; those that are not equal to themselves, as with a
/// NaN, are compared as `{:?}` prints them.
///
/// # Panics
///
/// If a deployment differs from the model, fails where the model does not, or hangs for a minute; or if the pipeline
/// panics in the model. The message has the stages that may be the cause, the first number that differs or what the
/// panic says, the smallest input and deployment found in three minutes, and the plan.
pub fn assert_deterministic<T, P>(pipeline: P, inputs: impl Strategy<Value = Vec<T>>)
where
    T: Item + Clone + fmt::Debug,
    P: Checkable<T>,
{
    Determinacy::of(pipeline).assert(inputs);
}

/// As [`assert_deterministic`], with every fourth case on queues. There each stage has its own thread and clones the
/// values that it passes on, so a `Clone` that is not a true copy shows as a difference. `Durable` is not among its
/// deployments: it has the rings of `Rings`, and writes states only at a snapshot.
///
/// # Panics
///
/// As [`assert_deterministic`].
///
/// ```
/// use millstream::prelude::*;
/// use millstream::testkit::assert_deterministic_everywhere;
/// use millstream::testkit::proptest::{collection::vec, prelude::any};
///
/// let p = pipeline::<u32>().fanout(|p| p.delay(0), |p| p.map(|x| x.count_ones()));
/// assert_deterministic_everywhere(p, vec(any::<u32>(), 0..50));
/// ```
pub fn assert_deterministic_everywhere<T, P>(pipeline: P, inputs: impl Strategy<Value = Vec<T>>)
where
    T: Item + Clone + fmt::Debug,
    P: CheckableEverywhere<T>,
{
    Determinacy::of(pipeline).everywhere().assert(inputs);
}

/// [`assert_deterministic`] with more options.
///
/// ```
/// use millstream::prelude::*;
/// use millstream::testkit::{Determinacy, proptest::{collection::vec, prelude::any}};
///
/// fn ones(shards: usize) -> impl Pipeline<u32, u32> {
///     pipeline::<u32>().shard(shards, |p| p.map(|x: &u32| x.count_ones())).named("ones")
/// }
/// fn sums(shards: usize) -> impl Pipeline<u32, u32> {
///     ones(shards).scan(0, |sum, x: &u32| { *sum += x; *sum }).named("sum")
/// }
/// Determinacy::sharded(sums).edge(ones).assert(vec(any::<u32>(), 0..50));
/// ```
pub struct Determinacy<T, P> {
    whole: Subject<T, P>,
    shards: usize,
    edges: Vec<Box<dyn Edge<T>>>,
}

/// A pipeline that is built for a number of shards, and the deployments on which it can run.
struct Subject<T, P> {
    build: Box<dyn Fn(usize) -> Arc<P>>,
    on_queues: Option<OnQueues<T, P>>,
}

type OnQueues<T, P> = fn(&Arc<P>, &[T], Queues, QueueFeeding) -> Result<(), Difference>;

/// A pipeline up to one of its stages.
trait Edge<T> {
    fn plan(&self, shards: usize) -> Plan;
    /// Compares it with its model, and its model with that of one shard. `None` if it cannot run in that way.
    fn check(&self, inputs: &[T], shards: usize, way: Way) -> Option<Result<(), Difference>>;
}

impl<T: Item + Clone, P: Checkable<T>> Edge<T> for Subject<T, P> {
    fn plan(&self, shards: usize) -> Plan {
        (self.build)(shards).plan()
    }

    fn check(&self, inputs: &[T], shards: usize, way: Way) -> Option<Result<(), Difference>> {
        let pipeline = (self.build)(shards);
        let as_one = || if shards == 1 { Ok(()) } else { models(&*(self.build)(1), &*pipeline, inputs) };
        let checked = match way {
            Way::Rings(deployment) => check(&pipeline, inputs, deployment),
            Way::Queues { queues, feeding } => self.on_queues?(&pipeline, inputs, queues, feeding),
            Way::Model => return None,
        };
        Some(checked.and_then(|()| as_one()))
    }
}

fn check_on_queues<T, P>(
    pipeline: &Arc<P>,
    inputs: &[T],
    queues: Queues,
    feeding: QueueFeeding,
) -> Result<(), Difference>
where
    T: Item + Clone,
    P: CheckableEverywhere<T>,
{
    let model = pipeline.model_slots(inputs.iter().cloned());
    let (pipeline, inputs) = (pipeline.clone(), inputs.to_vec());
    compare(model, move || collect_on_queues(&*pipeline, inputs, queues, feeding))
}

impl<T, P> Determinacy<T, P>
where
    T: Item + Clone + fmt::Debug,
    P: Checkable<T>,
{
    /// Checks a pipeline with its own number of shards.
    pub fn of(pipeline: P) -> Self {
        let pipeline = Arc::new(pipeline);
        Self::built(Box::new(move |_| pipeline.clone()), 1)
    }

    /// Checks a pipeline that is built for a number of shards, from 1 to 8. Its output must be the same for all of
    /// them.
    pub fn sharded(build: impl Fn(usize) -> P + 'static) -> Self {
        Self::built(Box::new(move |shards| Arc::new(build(shards))), MOST_SHARDS)
    }

    fn built(build: Box<dyn Fn(usize) -> Arc<P>>, shards: usize) -> Self {
        Determinacy { whole: Subject { build, on_queues: None }, shards, edges: Vec::new() }
    }

    /// Runs every fourth case on queues.
    #[must_use]
    pub fn everywhere(mut self) -> Self
    where
        P: CheckableEverywhere<T>,
    {
        self.whole.on_queues = Some(check_on_queues);
        self
    }

    /// Adds the pipeline up to one of its stages; call this in pipeline order. If the whole differs, the first edge
    /// that differs on the same input names the stage. If it differs on queues, only edges of
    /// [`edge_everywhere`](Determinacy::edge_everywhere) are compared.
    #[must_use]
    pub fn edge<Q: Checkable<T> + 'static>(self, up_to: impl Fn(usize) -> Q + 'static) -> Self
    where
        T: 'static,
    {
        self.up_to(up_to, None)
    }

    /// As [`edge`](Determinacy::edge), also for queues.
    #[must_use]
    pub fn edge_everywhere<Q: CheckableEverywhere<T> + 'static>(self, up_to: impl Fn(usize) -> Q + 'static) -> Self
    where
        T: 'static,
    {
        self.up_to(up_to, Some(check_on_queues))
    }

    fn up_to<Q: Checkable<T> + 'static>(
        mut self,
        up_to: impl Fn(usize) -> Q + 'static,
        on_queues: Option<OnQueues<T, Q>>,
    ) -> Self
    where
        T: 'static,
    {
        self.edges.push(Box::new(Subject { build: Box::new(move |shards| Arc::new(up_to(shards))), on_queues }));
        self
    }

    /// Runs random deployments on random inputs.
    ///
    /// # Panics
    ///
    /// As [`assert_deterministic`].
    pub fn assert(&self, inputs: impl Strategy<Value = Vec<T>>) {
        let config = Config {
            failure_persistence: None,
            max_shrink_iters: MOST_SHRINKS,
            max_shrink_time: LONGEST_SHRINK,
            ..Config::default()
        };
        let (mut runner, found) = (TestRunner::new(config), Cell::new(false));
        let cases = (inputs, 1..=self.shards, ways(self.whole.on_queues.is_some()));
        let outcome = runner.run(&cases, |(inputs, shards, way)| {
            let tries = if found.get() { TRIES } else { 1 };
            let compare = |_| self.whole.check(&inputs, shards, way)?.err();
            match (0..tries).find_map(compare) {
                None => Ok(()),
                Some(difference) => {
                    found.set(true);
                    Err(TestCaseError::fail(difference.to_string()))
                }
            }
        });
        match outcome {
            Ok(()) => {}
            Err(TestError::Fail(why, (inputs, shards, way))) => {
                let (stages, plan) = (self.suspects(&inputs, shards, way), self.whole.plan(shards));
                let shards = if shards == 1 { String::new() } else { format!(", shards {shards}") };
                panic!(
                    "{}: {why}\n  input, the smallest found: {inputs:?}\n  deployment: {way:?}{shards}\n\n{plan}",
                    described(&stages)
                )
            }
            Err(TestError::Abort(why)) => panic!("{why}"),
        }
    }

    /// The stages up to the first edge that differs, without those up to edges that do not differ.
    fn suspects(&self, inputs: &[T], shards: usize, way: Way) -> Vec<String> {
        let mut cleared = Vec::new();
        let left = |plan: Plan, cleared: &[String]| -> Vec<String> {
            plan.stages.into_iter().map(|stage| stage.name).filter(|name| !cleared.contains(name)).collect()
        };
        for edge in &self.edges {
            // A panic in the model differs, too.
            let differs = |_| match catch_unwind(AssertUnwindSafe(|| edge.check(inputs, shards, way))) {
                Ok(checked) => checked.map(|checked| checked.is_err()),
                Err(_) => Some(true),
            };
            let mut tried = (0..TRIES).map_while(differs).peekable();
            if tried.peek().is_none() {
                continue;
            }
            let new = left(edge.plan(shards), &cleared);
            if tried.any(|differs| differs) {
                return new;
            }
            cleared.extend(new);
        }
        left(self.whole.plan(shards), &cleared)
    }
}

fn described(stages: &[String]) -> String {
    let quoted: Vec<String> = stages.iter().map(|stage| format!("{stage:?}")).collect();
    match &quoted[..] {
        [] => "no stage of its own".to_owned(),
        [one] => format!("stage {one}"),
        [others @ .., last] => format!("stage {} or {last}, which cannot be distinguished", others.join(", ")),
    }
}

impl<T, P> fmt::Debug for Determinacy<T, P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Determinacy").field("edges", &self.edges.len()).finish_non_exhaustive()
    }
}
