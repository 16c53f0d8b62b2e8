//! The named sinks of random pipelines, and the values that they got.

use super::edge::{Boxed, Chain};
use super::kind::{F, H, Kind, Whole};
use super::leaf::on_ring;
use super::shape::RandomShape;
use super::value::Value;
use crate::check::Difference;
use millstream_core::{PartsExt, SequenceNumber, id};
use millstream_exec::sink::{self, Output};
use std::cell::RefCell;

/// Numbers and values, in the order in which they came.
pub(super) type Got = Vec<(u64, Value)>;

/// The outputs of the sinks, while a pipeline is built.
#[derive(Default)]
pub(super) struct Sinks(RefCell<Vec<Output<Got>>>);

impl Sinks {
    pub(super) fn into_outputs(self) -> Vec<Output<Got>> {
        self.0.into_inner()
    }

    /// A sink on this edge.
    pub(super) fn tee_to(&self, input: Kind) -> Chain {
        on_ring(input, |input| match input {
            Kind::Whole(Whole::F) => self.on::<F>(input),
            _ => self.on::<H>(input),
        })
    }

    fn on<A: RandomShape>(&self, input: Kind) -> Chain {
        let put = |got: &mut Got, number: SequenceNumber, slot: A::Ref<'_>| got.push((number.0, A::value(slot)));
        let (sink, output) = sink::with_output(sink::fold(Got::new(), put));
        let name = format!("kept-{}", self.0.borrow().len());
        self.0.borrow_mut().push(output);
        Chain::empty(input).then_as(Boxed::new(id::<A>().tee_to(name, sink)), input)
    }
}

/// The values that the sinks got in the last run.
pub(super) fn taken(outputs: &[Output<Got>]) -> Vec<Option<Got>> {
    outputs.iter().map(Output::take).collect()
}

/// The first sink whose values differ from the model's. If the stream ends before its source does, the timing decides
/// how many values an upstream sink gets.
pub(super) fn same(model: &[Option<Got>], deployed: &[Option<Got>], ends: bool) -> Result<(), Difference> {
    for (sink, (model, deployed)) in model.iter().zip(deployed).enumerate() {
        let fits = match (model, deployed) {
            (Some(model), Some(deployed)) if ends => model.starts_with(deployed),
            _ => model == deployed && model.is_some(),
        };
        if !fits {
            let (model, deployed) = (format!("{model:?}"), format!("{deployed:?}"));
            return Err(Difference::Sink { sink, model, deployed });
        }
    }
    Ok(())
}
