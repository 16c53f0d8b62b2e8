//! The edges of every program: its pipeline up to each of its stages.

use super::trace::Trace;
use super::ways::{Place, Way};
use crate::command::copying::{five, summed};
use crate::command::hidden_clock::{squared, stamped};
use crate::command::wc::pipelines;
use crate::command::{idle::idle, panic::panicking, sleep::sleep, uppercase::uppercase};
use crate::deploy::Hashed;
use crate::flags::Program;
use millstream_core::model::Listed;
use millstream_core::{Arrow, Event, Flow, Model, Own, Val};
use millstream_exec::{Carried, Everywhere, Queued, RunError, Runner, source::ready};
use millstream_io::Block;
use std::borrow::Cow;
use std::time::Duration;

/// The output of a stage.
pub(crate) struct Edge {
    pub(crate) name: String,
    trace: Box<Run>,
}

type Run = dyn Fn(&Way) -> Result<Trace, RunError>;

impl Edge {
    /// The output of a pipeline, named after its last stage, on this input.
    pub(crate) fn new<T, P, O, B>(
        name: &str,
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
        let trace = move |way: &Way| {
            let (p, input, bytes) = (&pipeline, input.clone(), bytes.clone());
            match way.place {
                Place::Model => traced(&Model, p, input, bytes),
                Place::Inline { ring, batch } => traced(&Place::inline(ring, batch), p, input, bytes),
                Place::Queues { ring } => traced(&Place::queues(ring), p, input, bytes),
                Place::Rings { workers, ring, batch } => traced(&Place::rings(workers, ring, batch), p, input, bytes),
            }
        };
        Edge { name: name.to_owned(), trace: Box::new(trace) }
    }

    /// What it holds, run this way.
    pub(crate) fn trace(&self, way: &Way) -> Result<Trace, RunError> {
        (self.trace)(way)
    }
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

fn edge<T, P, O, B>(name: &str, pipeline: P, input: &[T]) -> Edge
where
    T: Event + Clone,
    P: Everywhere + Arrow<In = Val<T>, Out = O>,
    O: Carried + Listed + Queued + Own<Owned = B> + for<'a> Flow<Ref<'a> = &'a B>,
    B: Event + Hashed,
{
    Edge::new(name, pipeline, input.to_vec(), B::bytes)
}

/// The numbers that programs without an input begin with.
fn numbers(n: u64) -> Vec<u64> {
    (0..n).collect()
}

/// The edges of a program's pipeline with so many shards, in pipeline order.
pub(crate) fn edges(program: Program, shards: usize, input: &[Block]) -> Vec<Edge> {
    match program {
        Program::Wc => wc(shards, input),
        Program::Uppercase => vec![edge("uppercase", uppercase(shards), input)],
        Program::Sleep => vec![edge("last", sleep(shards, Duration::from_micros(100)), &numbers(20))],
        Program::Panic => vec![edge("third", panicking(u64::MAX, shards), &numbers(1000))],
        Program::Idle => vec![edge("idle", idle(shards), &numbers(1000))],
        Program::Copying => {
            vec![edge("mix", five(), &numbers(1000)), edge("sum", summed(five()), &numbers(1000))]
        }
        Program::HiddenClock => {
            vec![edge("square", squared(shards), &numbers(100)), edge("stamp", stamped(shards), &numbers(100))]
        }
    }
}

fn wc(shards: usize, input: &[Block]) -> Vec<Edge> {
    if shards == 1 {
        return vec![
            edge("lines", pipelines::lines(), input),
            edge("words", pipelines::words(), input),
            edge("bytes", pipelines::bytes(), input),
            edge("counts", pipelines::whole(), input),
        ];
    }
    let parts = || pipelines::parts(shards);
    vec![
        edge("parts", parts(), input),
        edge("lines", parts().then(pipelines::lines_of_parts()), input),
        edge("words", parts().then(pipelines::words_of_parts()), input),
        edge("bytes", parts().then(pipelines::bytes_of_parts()), input),
        edge("counts", pipelines::sharded(shards), input),
    ]
}
