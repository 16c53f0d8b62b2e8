//! The named sinks of random pipelines.

use super::edge::{Boxed, Chain};
use super::kind::{F, H, Kind, Whole};
use super::leaf::on_ring;
use super::logs::{Log, Sinks, locked};
use super::shape::RandomShape;
use super::value::Value;
use millstream_core::{PartsExt, SequenceNumber, id};
use millstream_exec::sink;

/// A sink on this edge.
pub(super) fn tee_to(input: Kind, sinks: &Sinks) -> Chain {
    on_ring(input, |input| match input {
        Kind::Whole(Whole::F) => on::<F>(input, sinks),
        _ => on::<H>(input, sinks),
    })
}

fn on<A: RandomShape>(input: Kind, sinks: &Sinks) -> Chain {
    let log: Log<Value> = Log::default();
    let got = log.clone();
    let put = move |(): &mut (), number: SequenceNumber, slot: A::Ref<'_>| {
        let value = (number.0, A::value(slot));
        locked(&got).push(value);
    };
    let (sink, output) = sink::with_output(sink::fold((), put));
    let name = format!("kept-{}", sinks.named());
    sinks.add(log, output);
    Chain::empty(input).then_as(Boxed::new(id::<A>().tee_to(name, sink)), input)
}
