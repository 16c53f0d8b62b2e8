//! Sinks with names.

use super::{Extent, Model, ModelShape};
use crate::failure::{StageFailure, caught, discard, fail};
use crate::pipe::TeeTo;
use crate::{Deploy, RunOutcome, Sink};
use std::cell::Cell;
use std::panic::resume_unwind;
use std::sync::{Arc, Mutex, PoisonError};

type Finish = Box<dyn FnOnce(RunOutcome) -> Result<(), StageFailure> + Send>;

/// The sinks with names of one run of the model, in pipeline order. They have their values, and are finished when the
/// outcome of the run is known.
#[doc(hidden)]
#[derive(Clone, Default)]
pub struct NamedSinks(Arc<Mutex<Vec<Finish>>>);

impl NamedSinks {
    fn add(&self, finish: Finish) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(finish);
    }

    /// The end of a run that did not fail. Unwinds if one cannot finish.
    pub(super) fn end(&self) {
        self.finish(RunOutcome::End).unwrap_or_else(|failure| resume_unwind(Box::new(failure)));
    }

    /// Finishes all of them. If one cannot finish, the later ones get the outcome `Failed`.
    ///
    /// # Errors
    ///
    /// The first failure.
    pub fn finish(&self, mut outcome: RunOutcome) -> Result<(), StageFailure> {
        let sinks = std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner));
        let mut all = Ok(());
        for finish in sinks {
            let Err(failure) = finish(outcome) else { continue };
            outcome = RunOutcome::Failed;
            match all {
                Ok(()) => all = Err(failure),
                Err(_) => discard(failure.payload),
            }
        }
        all
    }
}

impl std::fmt::Debug for NamedSinks {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("NamedSinks").finish_non_exhaustive()
    }
}

/// The sink gets all values at once.
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
            sink.pause().unwrap_or_else(|error| fail(error))
        });
        let (name, number) = (self.name.clone(), at.get());
        extent.sinks().add(Box::new(move |outcome| {
            let finished = caught(|| drop(sink.finish(outcome).unwrap_or_else(|error| fail(error))));
            finished.map_err(|payload| StageFailure { stage: name, number, payload })
        }));
        if let Err(payload) = done {
            resume_unwind(Box::new(StageFailure { stage: self.name.clone(), number, payload }));
        }
    }
}
