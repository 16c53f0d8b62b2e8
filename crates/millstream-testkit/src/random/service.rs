//! Services of random stages.

use super::build::chain;
use super::edge::Boxed;
use super::kind::{Any, Kind, Whole};
use super::logs::Sinks;
use super::tree::Pipe;
use super::value::Value;
use crate::deployment::Slots;
use millstream_core::{Arrow, ModelExt, PartsExt, pipeline};
use millstream_exec::{Service, service};

/// The stages of a random service.
pub struct BuiltService {
    stages: Boxed<Any, Any>,
}

impl Pipe {
    /// Builds the pipeline as the stages of a service.
    ///
    /// # Panics
    ///
    /// As [`build`](Pipe::build), and if the pipeline [renumbers](Pipe::renumbers).
    #[must_use]
    pub fn build_service(&self) -> BuiltService {
        assert!(!self.renumbers(), "{self} does not keep the clock of its requests");
        let stages = Pipe::Boxed(Box::new(self.clone()));
        BuiltService { stages: chain(&stages, Kind::Whole(Whole::Any), &Sinks::default()).boxed::<Any, Any>() }
    }
}

impl BuiltService {
    /// The service.
    pub fn service(&self) -> Service<Value, Value> {
        service(self.stages.clone())
    }

    /// The model's answers to these requests.
    #[must_use]
    pub fn answers(&self, requests: Vec<Value>) -> Slots<Value> {
        // As a body, since the stages of a service end no stream.
        let stages = pipeline::<Value>().fanout(|p| p.any_edge().then(self.stages.clone()), |p| p).firsts();
        let mut slots = stages.model_slots(requests);
        slots.pop();
        slots
    }
}

impl std::fmt::Debug for BuiltService {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("BuiltService").finish_non_exhaustive()
    }
}
