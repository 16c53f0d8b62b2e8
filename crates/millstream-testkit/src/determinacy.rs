use crate::check::{Checkable, CheckableEverywhere, Difference, check, compare, models};
use crate::way::{Way, collect_on_queues, ways};
use millstream_core::{Item, ModelExt, Plan};
use millstream_exec::Queues;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestCaseError, TestError, TestRunner};
use std::cell::Cell;
use std::fmt;
use std::sync::Arc;

/// Pipelines are built for so many shards at most.
const MOST_SHARDS: usize = 8;

/// How often a case is run again once something was found. A closure that hides something need not show it every time.
const TRIES: usize = 8;

/// How many smaller cases are tried.
const MOST_SHRINKS: u32 = 1 << 14;

/// Asserts that a pipeline gives its model's output in every deployment on rings: random ones, for random inputs. As many
/// cases as `PROPTEST_CASES` says, or 256.
///
/// # Panics
///
/// If a deployment differs from the model, fails where it does not, or hangs for a minute: with the stages that may be to
/// blame, the first number that differs, the smallest input and deployment found, and the plan. If the pipeline panics in
/// the model: with the smallest input found.
pub fn assert_deterministic<T, P>(pipeline: P, inputs: impl Strategy<Value = Vec<T>>)
where
    T: Item + Clone + fmt::Debug,
    P: Checkable<T>,
{
    Determinacy::of(pipeline).assert(inputs);
}

/// As [`assert_deterministic`], and every fourth case on queues, whose stages are a thread each and clone what they hand on:
/// what a `Clone` does that is no copy comes out too.
///
/// # Panics
///
/// As [`assert_deterministic`].
///
/// ```
/// use millstream_core::{Arrow, pipeline};
/// use millstream_testkit::{assert_deterministic_everywhere, proptest::{collection::vec, prelude::any}};
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

/// [`assert_deterministic`], with more to say of the pipeline.
///
/// ```
/// use millstream_core::{Arrow, Val, pipeline};
/// use millstream_exec::Pipeline;
/// use millstream_testkit::{Determinacy, proptest::{collection::vec, prelude::any}};
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

/// A pipeline that is built for a number of shards, and where it can run.
struct Subject<T, P> {
    build: Box<dyn Fn(usize) -> Arc<P>>,
    on_queues: Option<OnQueues<T, P>>,
}

type OnQueues<T, P> = fn(&Arc<P>, &[T], Queues, bool) -> Result<(), Difference>;

/// A pipeline up to one of its stages.
trait Edge<T> {
    fn plan(&self, shards: usize) -> Plan;
    /// Against its model, and its model against that with one shard; nothing where it cannot run that way.
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
            Way::Queues { queues, ready } => self.on_queues?(&pipeline, inputs, queues, ready),
        };
        Some(checked.and_then(|()| as_one()))
    }
}

fn check_on_queues<T, P>(pipeline: &Arc<P>, inputs: &[T], queues: Queues, ready: bool) -> Result<(), Difference>
where
    T: Item + Clone,
    P: CheckableEverywhere<T>,
{
    let model = pipeline.model_slots(inputs.iter().cloned());
    let (pipeline, inputs) = (pipeline.clone(), inputs.to_vec());
    compare(model, move || collect_on_queues(&*pipeline, inputs, queues, ready))
}

impl<T, P> Determinacy<T, P>
where
    T: Item + Clone + fmt::Debug,
    P: Checkable<T>,
{
    /// Of a pipeline with the shards that it has.
    pub fn of(pipeline: P) -> Self {
        let pipeline = Arc::new(pipeline);
        Self::built(Box::new(move |_| pipeline.clone()), 1)
    }

    /// Of a pipeline that is built for a number of shards: 1 to 8, and with all of them the output must be the same.
    pub fn sharded(build: impl Fn(usize) -> P + 'static) -> Self {
        Self::built(Box::new(move |shards| Arc::new(build(shards))), MOST_SHARDS)
    }

    fn built(build: Box<dyn Fn(usize) -> Arc<P>>, shards: usize) -> Self {
        Determinacy { whole: Subject { build, on_queues: None }, shards, edges: Vec::new() }
    }

    /// On queues as well, every fourth case.
    #[must_use]
    pub fn everywhere(mut self) -> Self
    where
        P: CheckableEverywhere<T>,
    {
        self.whole.on_queues = Some(check_on_queues);
        self
    }

    /// The pipeline up to one of its stages, in pipeline order. Where the whole differs, the first edge that differs on
    /// the same input names the stage. Where it differs on queues, only [`edge_everywhere`](Determinacy::edge_everywhere)
    /// helps.
    #[must_use]
    pub fn edge<Q: Checkable<T> + 'static>(self, up_to: impl Fn(usize) -> Q + 'static) -> Self
    where
        T: 'static,
    {
        self.up_to(up_to, None)
    }

    /// As [`edge`](Determinacy::edge), for queues too.
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
        let config = Config { failure_persistence: None, max_shrink_iters: MOST_SHRINKS, ..Config::default() };
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
                    told(&stages)
                )
            }
            Err(TestError::Abort(why)) => panic!("{why}"),
        }
    }

    /// The stages that run up to the first edge that differs, but for those up to edges that do not.
    fn suspects(&self, inputs: &[T], shards: usize, way: Way) -> Vec<String> {
        let mut cleared = Vec::new();
        let left = |plan: Plan, cleared: &[String]| -> Vec<String> {
            plan.stages.into_iter().map(|stage| stage.name).filter(|name| !cleared.contains(name)).collect()
        };
        for edge in &self.edges {
            let mut checked = (0..TRIES).map_while(|_| edge.check(inputs, shards, way)).peekable();
            if checked.peek().is_none() {
                continue;
            }
            let new = left(edge.plan(shards), &cleared);
            if checked.any(|checked| checked.is_err()) {
                return new;
            }
            cleared.extend(new);
        }
        left(self.whole.plan(shards), &cleared)
    }
}

fn told(stages: &[String]) -> String {
    let quoted: Vec<String> = stages.iter().map(|stage| format!("{stage:?}")).collect();
    match &quoted[..] {
        [] => "no stage of its own".to_owned(),
        [one] => format!("stage {one}"),
        [others @ .., last] => format!("stage {} or {last}, which are not known apart", others.join(", ")),
    }
}

impl<T, P> fmt::Debug for Determinacy<T, P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Determinacy").field("edges", &self.edges.len()).finish_non_exhaustive()
    }
}
