//! Pipelines whose shapes are known only at run time, and the way back to typed pipelines.

use super::kind::{Kind, Whole};
use super::shape::RandomShape;
use millstream_core::model::Extent;
use millstream_core::plan::{Describe, Port};
use millstream_core::{Arrow, Deploy, Determinate, KeepsClock, Level, Model, On, Quiet, Shardable};
use millstream_exec::{AnyPipe, Everywhere, FreePipe, PurePipe, Queues, QueuesWiring, QuietPipe, RingBackend, Wiring};
use std::any::{Any, type_name};
use std::marker::PhantomData;
use std::sync::Arc;

/// An edge of some deployment and of some shape.
type AnyEdge = Box<dyn Any>;

/// A pipeline between some shapes, on any deployment.
trait Step: Send + Sync {
    fn describe_step(&self, input: Port, plan: &mut Describe) -> Port;
    fn on_model(&self, input: AnyEdge, extent: &mut Extent, outer: bool) -> AnyEdge;
    fn on_rings(&self, input: AnyEdge, wiring: &mut Wiring, outer: bool) -> AnyEdge;
    fn on_queues(&self, input: AnyEdge, wiring: &mut QueuesWiring, outer: bool) -> AnyEdge;
}

fn of_type<E: 'static>(edge: AnyEdge) -> E {
    *edge.downcast().expect("the chain's kinds fit together")
}

impl<P: Everywhere + Arrow<In: RandomShape, Out: RandomShape>> Step for P {
    fn describe_step(&self, input: Port, plan: &mut Describe) -> Port {
        self.describe(input, plan)
    }

    fn on_model(&self, input: AnyEdge, extent: &mut Extent, outer: bool) -> AnyEdge {
        let deploy = if outer { Deploy::<Model>::deploy_outer } else { Deploy::<Model>::deploy };
        Box::new(deploy(self, of_type(input), extent))
    }

    fn on_rings(&self, input: AnyEdge, wiring: &mut Wiring, outer: bool) -> AnyEdge {
        let level = if outer { Level::Outer } else { Level::Body };
        Box::new(Deploy::<RingBackend>::deploy_at(self, of_type(input), level, wiring))
    }

    fn on_queues(&self, input: AnyEdge, wiring: &mut QueuesWiring, outer: bool) -> AnyEdge {
        let deploy = if outer { Deploy::<Queues>::deploy_outer } else { Deploy::<Queues>::deploy };
        Box::new(deploy(self, of_type(input), wiring))
    }
}

/// A step whose last stage or combinator has a name.
struct Called {
    name: String,
    step: Arc<dyn Step>,
}

impl Step for Called {
    fn describe_step(&self, input: Port, plan: &mut Describe) -> Port {
        plan.named(&self.name, |plan| self.step.describe_step(input, plan))
    }

    fn on_model(&self, input: AnyEdge, extent: &mut Extent, outer: bool) -> AnyEdge {
        self.step.on_model(input, extent, outer)
    }

    fn on_rings(&self, input: AnyEdge, wiring: &mut Wiring, outer: bool) -> AnyEdge {
        self.step.on_rings(input, wiring, outer)
    }

    fn on_queues(&self, input: AnyEdge, wiring: &mut QueuesWiring, outer: bool) -> AnyEdge {
        self.step.on_queues(input, wiring, outer)
    }
}

/// Boxes in sequence. The parts of a chain that do not depend on its shapes are here, and compiled once.
#[derive(Clone, Default)]
struct Steps(Vec<Arc<dyn Step>>);

impl Steps {
    fn one(step: Arc<dyn Step>) -> Self {
        Steps(vec![step])
    }

    fn describe(&self, input: Port, plan: &mut Describe) -> Port {
        self.0.iter().fold(input, |port, step| step.describe_step(plan.advance(port), plan))
    }

    fn on_model(&self, input: AnyEdge, extent: &mut Extent, outer: bool) -> AnyEdge {
        self.0.iter().fold(input, |edge, step| step.on_model(edge, extent, outer))
    }

    fn on_rings(&self, input: AnyEdge, wiring: &mut Wiring, outer: bool) -> AnyEdge {
        self.0.iter().fold(input, |edge, step| {
            wiring.advance();
            step.on_rings(edge, wiring, outer)
        })
    }

    fn on_queues(&self, input: AnyEdge, wiring: &mut QueuesWiring, outer: bool) -> AnyEdge {
        self.0.iter().fold(input, |edge, step| {
            wiring.advance();
            step.on_queues(edge, wiring, outer)
        })
    }
}

/// Pipelines in sequence, with the types of their ends and their common properties: a
/// [`BoxPipeline`](millstream_exec::BoxPipeline) for every deployment, queues included.
pub(crate) struct Boxed<A, B, Known = AnyPipe> {
    steps: Steps,
    ends: Ends<A, B, Known>,
}

type Ends<A, B, Known> = PhantomData<fn() -> (A, B, Known)>;

impl<A: RandomShape, B: RandomShape, Known> Boxed<A, B, Known> {
    fn of(pipeline: impl Everywhere<In = A, Out = B>) -> Self {
        Boxed { steps: Steps::one(Arc::new(pipeline)), ends: PhantomData }
    }
}

impl<A, B, Known> Clone for Boxed<A, B, Known> {
    fn clone(&self) -> Self {
        Boxed { steps: self.steps.clone(), ends: PhantomData }
    }
}

impl<A: RandomShape, B: RandomShape> Boxed<A, B> {
    pub(crate) fn new(pipeline: impl Everywhere<In = A, Out = B> + KeepsClock) -> Self {
        Self::of(pipeline)
    }
}

impl<A: RandomShape, B: RandomShape> Boxed<A, B, FreePipe> {
    pub(crate) fn free(pipeline: impl Everywhere<In = A, Out = B>) -> Self {
        Self::of(pipeline)
    }
}

/// Boxes in sequence, and the shape of their output.
#[derive(Clone)]
pub(crate) struct Chain {
    steps: Steps,
    pub(crate) output: Kind,
}

impl Chain {
    pub(crate) fn empty(kind: Kind) -> Self {
        Chain { steps: Steps::default(), output: kind }
    }

    /// Appends a box. `A` must be the shape of the output so far, and `B` must have a name.
    pub(crate) fn then<A: RandomShape, B: RandomShape, Known: 'static>(self, pipeline: Boxed<A, B, Known>) -> Self {
        let whole = Whole::of::<B>().unwrap_or_else(|| panic!("{} has no name", type_name::<B>()));
        self.then_as(pipeline, Kind::Whole(whole))
    }

    /// As [`then`](Chain::then); `output` must be the name of `B`.
    pub(crate) fn then_as<A: RandomShape, B: RandomShape, Known: 'static>(
        self,
        pipeline: Boxed<A, B, Known>,
        output: Kind,
    ) -> Self {
        self.followed_by(Chain { steps: pipeline.steps, output })
    }

    pub(crate) fn followed_by(mut self, next: Chain) -> Self {
        self.steps.0.extend(next.steps.0);
        self.output = next.output;
        self
    }

    /// The chain, whose last stage or combinator has this name.
    pub(crate) fn called(mut self, name: String) -> Self {
        if let Some(step) = self.steps.0.pop() {
            self.steps.0.push(Arc::new(Called { name, step }));
        }
        self
    }

    /// The chain as a boxed pipeline. `A` must be the shape of its input, and `B` that of its output.
    pub(crate) fn boxed<A: RandomShape, B: RandomShape>(self) -> Boxed<A, B> {
        Boxed { steps: self.steps, ends: PhantomData }
    }

    /// As [`boxed`](Chain::boxed), for a chain that may renumber.
    pub(crate) fn boxed_free<A: RandomShape, B: RandomShape>(self) -> Boxed<A, B, FreePipe> {
        Boxed { steps: self.steps, ends: PhantomData }
    }

    /// As [`boxed`](Chain::boxed), for a chain that is quiet.
    pub(crate) fn boxed_quiet<A: RandomShape, B: RandomShape>(self) -> Boxed<A, B, QuietPipe> {
        Boxed { steps: self.steps, ends: PhantomData }
    }

    /// As [`boxed`](Chain::boxed), for a chain that is stateless and quiet.
    pub(crate) fn boxed_pure<A: RandomShape, B: RandomShape>(self) -> Boxed<A, B, PurePipe> {
        Boxed { steps: self.steps, ends: PhantomData }
    }
}

impl<A, B, Known> Determinate for Boxed<A, B, Known> {}
impl<A, B> KeepsClock for Boxed<A, B, AnyPipe> {}
impl<A, B> KeepsClock for Boxed<A, B, QuietPipe> {}
impl<A, B> KeepsClock for Boxed<A, B, PurePipe> {}
impl<A, B> Quiet for Boxed<A, B, QuietPipe> {}
impl<A, B> Quiet for Boxed<A, B, PurePipe> {}
impl<A, B> Shardable for Boxed<A, B, PurePipe> {}

impl<A: RandomShape, B: RandomShape, Known: 'static> Arrow for Boxed<A, B, Known> {
    type In = A;
    type Out = B;

    fn describe(&self, input: Port, plan: &mut Describe) -> Port {
        self.steps.describe(input, plan)
    }
}

impl<A: RandomShape, B: RandomShape, Known: 'static> Deploy<Model> for Boxed<A, B, Known> {
    fn deploy(&self, input: <A as On<Model>>::Edge, extent: &mut Extent) -> <B as On<Model>>::Edge {
        of_type(self.steps.on_model(Box::new(input), extent, false))
    }

    fn deploy_outer(&self, input: <A as On<Model>>::Edge, extent: &mut Extent) -> <B as On<Model>>::Edge {
        of_type(self.steps.on_model(Box::new(input), extent, true))
    }
}

impl<A: RandomShape, B: RandomShape, Known: 'static> Deploy<RingBackend> for Boxed<A, B, Known> {
    fn deploy(&self, input: <A as On<RingBackend>>::Edge, wiring: &mut Wiring) -> <B as On<RingBackend>>::Edge {
        of_type(self.steps.on_rings(Box::new(input), wiring, false))
    }

    fn deploy_outer(&self, input: <A as On<RingBackend>>::Edge, wiring: &mut Wiring) -> <B as On<RingBackend>>::Edge {
        of_type(self.steps.on_rings(Box::new(input), wiring, true))
    }
}

impl<A: RandomShape, B: RandomShape, Known: 'static> Deploy<Queues> for Boxed<A, B, Known> {
    fn deploy(&self, input: <A as On<Queues>>::Edge, wiring: &mut QueuesWiring) -> <B as On<Queues>>::Edge {
        of_type(self.steps.on_queues(Box::new(input), wiring, false))
    }

    fn deploy_outer(&self, input: <A as On<Queues>>::Edge, wiring: &mut QueuesWiring) -> <B as On<Queues>>::Edge {
        of_type(self.steps.on_queues(Box::new(input), wiring, true))
    }
}

/// Appends the result of the closure for a stage with this name, if there is one.
macro_rules! then_called {
    ($chain:expr, $name:expr, $stage:expr, |$called:ident| $boxed:expr) => {
        match $name {
            Some(name) => {
                let $called = $stage.named(name);
                $chain.then($boxed)
            }
            None => {
                let $called = $stage;
                $chain.then($boxed)
            }
        }
    };
}

pub(crate) use then_called;
