use super::trace::Trace;
use super::ways::{Place, Way};
use millstream_core::model::Listed;
use millstream_core::{Arrow, Event, Flow, Model, Own, Plan, Val};
use millstream_exec::{Carried, Everywhere, Queued, RunError, Runner, source::ready};
use std::borrow::Cow;

/// The output of a pipeline, on one input, run in any way.
pub(crate) struct Edge {
    /// Of the stage that writes it.
    pub(crate) name: String,
    /// All that run for it.
    pub(crate) stages: Vec<String>,
    trace: Box<Run>,
}

type Run = dyn Fn(&Way) -> Result<Trace, RunError>;

impl Edge {
    /// The output of a pipeline on this input; `bytes` is what a hash sees of a value.
    pub(crate) fn new<T, P, O, B>(
        pipeline: P,
        input: Vec<T>,
        bytes: impl Fn(&B) -> Cow<'_, [u8]> + Clone + Send + 'static,
    ) -> Self
    where
        T: Event + Clone,
        P: Everywhere + Arrow<In = Val<T>, Out = O>,
        O: Carried + Listed + Queued + Own<Owned = B> + for<'a> Flow<Ref<'a> = &'a B>,
        B: Event,
    {
        let plan = pipeline.plan();
        let trace = move |way: &Way| {
            let (p, input, bytes) = (&pipeline, input.clone(), bytes.clone());
            match way.place {
                Place::Model => traced(&Model, p, input, bytes),
                Place::Inline { ring, batch } => traced(&Place::inline(ring, batch), p, input, bytes),
                Place::Queues { ring } => traced(&Place::queues(ring), p, input, bytes),
                Place::Rings { workers, ring, batch } => traced(&Place::rings(workers, ring, batch), p, input, bytes),
            }
        };
        let name = writer(&plan).to_owned();
        Edge { name, stages: plan.stages.into_iter().map(|stage| stage.name).collect(), trace: Box::new(trace) }
    }

    /// What it holds, run this way.
    pub(crate) fn trace(&self, way: &Way) -> Result<Trace, RunError> {
        (self.trace)(way)
    }
}

/// The last stage that writes what comes out.
fn writer(plan: &Plan) -> &str {
    let stage = plan.output.iter().filter_map(|ring| plan.rings[*ring].writer).max();
    stage.map_or("source", |stage| &plan.stages[stage].name)
}

fn traced<T, P, O, B, R>(
    on: &R,
    pipeline: &P,
    input: Vec<T>,
    bytes: impl Fn(&B) -> Cow<'_, [u8]> + Send + 'static,
) -> Result<Trace, RunError>
where
    T: Event,
    P: Arrow<In = Val<T>, Out = O>,
    O: for<'a> Flow<Ref<'a> = &'a B>,
    R: Runner<T, P>,
{
    let note = move |trace: &mut Trace, number, value: &B| trace.slot(number, &bytes(value));
    let (trace, end) = on.run(pipeline, ready(input), Trace::default(), note)?;
    Ok(trace.ended_at(end))
}
