//! Sinks with names.

use super::{Extent, Model, ModelShape};
use crate::failure::{StageFailure, caught, fail};
use crate::pipe::TeeTo;
use crate::{Deploy, RunOutcome, Sink};
use std::cell::Cell;
use std::panic::resume_unwind;

/// The sink gets all values at once, and is finished then.
impl<A: ModelShape, K: Sink<A> + Clone + Sync> Deploy<Model> for TeeTo<A, K> {
    fn deploy(&self, input: A::Edge, extent: &mut Extent) -> A::Edge {
        // A loop computes a prefix at every number, but the sink gets each value once.
        if extent.has_end() {
            self.put_all(&input, extent);
        }
        input
    }
}

impl<A: ModelShape, K: Sink<A> + Clone> TeeTo<A, K> {
    fn put_all(&self, edge: &A::Edge, extent: &Extent) {
        let (mut sink, at) = (self.sink.clone(), Cell::new(0));
        let done = caught(|| {
            for n in 0..A::slots(edge) {
                let number = extent.number(n);
                at.set(number.0);
                if let Some(value) = A::at(edge, n) {
                    sink.put(number, value).unwrap_or_else(|error| fail(error));
                }
            }
            sink.pause().unwrap_or_else(|error| fail(error));
            sink.finish(RunOutcome::End).unwrap_or_else(|error| fail(error))
        });
        if let Err(payload) = done {
            resume_unwind(Box::new(StageFailure { stage: self.name.clone(), number: at.get(), payload }));
        }
    }
}
