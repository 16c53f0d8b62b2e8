use crate::check::{Checkable, Difference, check};
use crate::deployment::{Deployment, deployments};
use millstream_core::{Event, Plan};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestCaseError, TestError, TestRunner};
use std::cell::Cell;
use std::fmt;
use std::sync::Arc;

/// Pipelines are built for so many shards at most.
const MOST_SHARDS: usize = 4;

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
    T: Event + Clone + fmt::Debug,
    P: Checkable<T>,
{
    Determinacy::of(pipeline).assert(inputs);
}

/// [`assert_deterministic`], with more to say of the pipeline.
///
/// ```
/// use millstream_core::{Arrow, Val, pipeline};
/// use millstream_exec::Pipeline;
/// use millstream_testkit::{Determinacy, proptest::{collection::vec, prelude::any}};
///
/// fn ones(shards: usize) -> impl Pipeline<In = Val<u32>, Out = Val<u32>> {
///     pipeline::<u32>().shard(shards, |p| p.map(|x: &u32| x.count_ones())).named("ones")
/// }
/// fn sums(shards: usize) -> impl Pipeline<In = Val<u32>, Out = Val<u32>> {
///     ones(shards).scan(0, |sum, x: &u32| { *sum += x; *sum }).named("sum")
/// }
/// Determinacy::sharded(sums).edge(ones).assert(vec(any::<u32>(), 0..50));
/// ```
pub struct Determinacy<T, P> {
    build: Box<dyn Fn(usize) -> Arc<P>>,
    shards: usize,
    edges: Vec<Box<dyn Edge<T>>>,
}

/// A pipeline up to one of its stages, for so many shards.
trait Edge<T> {
    fn plan(&self, shards: usize) -> Plan;
    fn check(&self, inputs: &[T], shards: usize, deployment: Deployment) -> Result<(), Difference>;
}

struct UpTo<F>(F);

impl<T: Event + Clone, P: Checkable<T>, F: Fn(usize) -> P> Edge<T> for UpTo<F> {
    fn plan(&self, shards: usize) -> Plan {
        self.0(shards).plan()
    }

    fn check(&self, inputs: &[T], shards: usize, deployment: Deployment) -> Result<(), Difference> {
        against_one_shard(&|shards| Arc::new(self.0(shards)), inputs, shards, deployment)
    }
}

/// A pipeline with shards against its own model, and its model against that with one shard.
fn against_one_shard<T: Event + Clone, P: Checkable<T>>(
    build: &dyn Fn(usize) -> Arc<P>,
    inputs: &[T],
    shards: usize,
    deployment: Deployment,
) -> Result<(), Difference> {
    let pipeline = build(shards);
    check(&pipeline, inputs, deployment)?;
    if shards == 1 { Ok(()) } else { crate::check::models(&*build(1), &*pipeline, inputs) }
}

impl<T, P> Determinacy<T, P>
where
    T: Event + Clone + fmt::Debug,
    P: Checkable<T>,
{
    /// Of a pipeline with the shards that it has.
    pub fn of(pipeline: P) -> Self {
        let pipeline = Arc::new(pipeline);
        Determinacy { build: Box::new(move |_| pipeline.clone()), shards: 1, edges: Vec::new() }
    }

    /// Of a pipeline that is built for a number of shards: 1 to 4, and with all of them the output must be the same.
    pub fn sharded(build: impl Fn(usize) -> P + 'static) -> Self {
        Determinacy { build: Box::new(move |shards| Arc::new(build(shards))), shards: MOST_SHARDS, edges: Vec::new() }
    }

    /// The pipeline up to one of its stages, in pipeline order. Where the whole differs, the first edge that differs on
    /// the same input names the stage.
    #[must_use]
    pub fn edge<Q: Checkable<T> + 'static>(mut self, up_to: impl Fn(usize) -> Q + 'static) -> Self {
        self.edges.push(Box::new(UpTo(up_to)));
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
        let cases = (inputs, 1..=self.shards, deployments());
        let outcome = runner.run(&cases, |(inputs, shards, deployment)| {
            let tries = if found.get() { TRIES } else { 1 };
            let compare = |_| against_one_shard(&*self.build, &inputs, shards, deployment).err();
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
            Err(TestError::Fail(why, (inputs, shards, deployment))) => {
                let (stages, plan) = (self.suspects(&inputs, shards, deployment), (self.build)(shards).plan());
                let shards = if shards == 1 { String::new() } else { format!(", shards {shards}") };
                panic!(
                    "{}: {why}\n  input, the smallest found: {inputs:?}\n  deployment: {deployment:?}{shards}\n\n{plan}",
                    told(&stages)
                )
            }
            Err(TestError::Abort(why)) => panic!("{why}"),
        }
    }

    /// The stages that run up to the first edge that differs, but for those up to edges that do not.
    fn suspects(&self, inputs: &[T], shards: usize, deployment: Deployment) -> Vec<String> {
        let mut cleared = Vec::new();
        let left = |plan: Plan, cleared: &[String]| -> Vec<String> {
            plan.stages.into_iter().map(|stage| stage.name).filter(|name| !cleared.contains(name)).collect()
        };
        for edge in &self.edges {
            let new = left(edge.plan(shards), &cleared);
            if (0..TRIES).any(|_| edge.check(inputs, shards, deployment).is_err()) {
                return new;
            }
            cleared.extend(new);
        }
        left((self.build)(shards).plan(), &cleared)
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
