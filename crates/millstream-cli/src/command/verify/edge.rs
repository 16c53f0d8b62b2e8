use super::trace::Trace;
use super::ways::{Deployment, Way};
use millstream_core::model::ModelShape;
use millstream_core::text::{Block, Piece};
use millstream_core::{Arrow, Item, Model, Plan, SequenceNumber, Shape, ToOwnedItem, Val};
use millstream_exec::{Everywhere, JobRefExt, QueueShape, RingShape, RunError, Runner, RunsOn, Source};
use std::borrow::Cow;

/// The output of a pipeline, on one input, run in any way.
pub(crate) struct Edge {
    /// The name of the stage that writes it.
    pub(crate) name: String,
    /// All stages that run for it.
    pub(crate) stages: Vec<String>,
    trace: Box<Run>,
}

type Run = dyn Fn(&Way, Trace) -> Result<Trace, RunError>;

impl Edge {
    /// The output of a pipeline on this input; `bytes` returns the bytes of a value that a hash covers.
    pub(crate) fn new<T, P, O, B>(
        pipeline: P,
        input: Vec<T>,
        bytes: impl Fn(&B) -> Cow<'_, [u8]> + Clone + Send + 'static,
    ) -> Self
    where
        T: Item + Clone,
        P: Everywhere + Arrow<In = Val<T>, Out = O>,
        O: RingShape + ModelShape + QueueShape + ToOwnedItem<Owned = B> + for<'a> Shape<Ref<'a> = &'a B>,
        B: Item,
    {
        Edge::noted(pipeline, input, move |trace, number, value: &B| trace.slot(number, &bytes(value)))
    }

    /// The same as [`new`](Edge::new), for an output that is text.
    pub(crate) fn text<P, O>(pipeline: P, input: Vec<Block>) -> Self
    where
        P: Everywhere + Arrow<In = Val<Block>, Out = O>,
        O: RingShape + ModelShape + QueueShape + for<'a> Shape<Ref<'a> = Piece<'a>>,
    {
        Edge::noted(pipeline, input, |trace, number, piece: Piece<'_>| trace.slot(number, &piece))
    }

    fn noted<T, P, O>(
        pipeline: P,
        input: Vec<T>,
        note: impl for<'a> Fn(&mut Trace, SequenceNumber, O::Ref<'a>) + Clone + Send + 'static,
    ) -> Self
    where
        T: Item + Clone,
        P: Everywhere + Arrow<In = Val<T>, Out = O>,
        O: RingShape + ModelShape + QueueShape,
    {
        let plan = pipeline.plan();
        let trace = move |way: &Way, into: Trace| {
            let (p, input, note) = (&pipeline, input.clone(), note.clone());
            match way.place {
                Deployment::Model => traced(&Model, p, input, into, note),
                Deployment::Inline { ring, batch } => traced(&Deployment::inline(ring, batch), p, input, into, note),
                Deployment::Queues { ring } => traced(&Deployment::queues(ring), p, input, into, note),
                Deployment::Rings { workers, ring, batch } => {
                    traced(&Deployment::rings(workers, ring, batch), p, input, into, note)
                }
            }
        };
        let name = writer(&plan).to_owned();
        Edge { name, stages: plan.stages.into_iter().map(|stage| stage.name).collect(), trace: Box::new(trace) }
    }

    /// Runs the pipeline this way, and records its output in an empty trace.
    pub(crate) fn trace(&self, way: &Way, into: Trace) -> Result<Trace, RunError> {
        (self.trace)(way, into)
    }
}

/// The last stage that writes the pipeline's output.
fn writer(plan: &Plan) -> &str {
    let stage = plan.output.iter().filter_map(|ring| plan.rings[*ring].writer).max();
    stage.map_or("source", |stage| &plan.stages[stage].name)
}

fn traced<T: Item, P: Arrow<In = Val<T>> + RunsOn<R, Item = T>, R: Runner>(
    on: &R,
    pipeline: &P,
    input: Vec<T>,
    into: Trace,
    note: impl for<'a> Fn(&mut Trace, SequenceNumber, <P::Out as Shape>::Ref<'a>) + Send + 'static,
) -> Result<Trace, RunError> {
    let (trace, report) = on.run(pipeline.from(Given(input)).to_fold(into, note))?;
    Ok(trace.ended_at(report.numbers))
}

/// A source of values that are in memory. The loops over the values are here, so that they are not compiled for each of
/// many pipelines.
struct Given<T>(Vec<T>);

impl<T: Item> Source<T> for Given<T> {
    type Values = std::vec::IntoIter<T>;
    const WAITS: bool = false;
    const IN_LOOP: bool = false;
    const LOOP_BEHIND: bool = false;

    fn into_values(self) -> Self::Values {
        self.0.into_iter()
    }
}
