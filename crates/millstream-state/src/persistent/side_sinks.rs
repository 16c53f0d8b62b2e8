//! Sinks on the side that go on where a snapshot says, with the job's own.

use super::{JobError, Persistent};
use crate::Manifest;
use crate::claims::{ClaimingSink, OpenError, SideSink};
use millstream_core::{Plan, SequenceNumber, Shape};

impl Persistent {
    /// Goes on with a sink of `tee_to` as with the job's own: it holds each value once, whatever dies. Pass it at every
    /// start.
    ///
    /// It is an error if the pipeline has no `tee_to` with its name, or more than one stage of that name.
    #[must_use]
    pub fn side_sink<A, K>(mut self, sink: &SideSink<A, K>) -> Self
    where
        A: Shape,
        K: ClaimingSink<A> + Send + Sync + 'static,
    {
        self.side_sinks.push(sink.of_job());
        self
    }

    /// Opens the sink and all side sinks, at their claims of a snapshot or as they are. None is cut if one refuses.
    pub(super) fn open_sinks<A: Shape, K: ClaimingSink<A>>(
        &self,
        sink: &K,
        at: Option<(SequenceNumber, &Manifest)>,
    ) -> Result<K::Open, OpenError> {
        let own = at.map(|(next, manifest)| (next, &manifest.sink));
        let of_side_sink = |name: &str| {
            let (_, Manifest { side_sinks, numbers, .. }) = at?;
            // The snapshot of the beginning has no numbers.
            let next = numbers.get(name).copied().unwrap_or(0);
            Some((SequenceNumber(next), side_sinks.get(name)?))
        };
        sink.can_open(own)?;
        self.side_sinks.iter().try_for_each(|sink| sink.can_open(of_side_sink(sink.name())))?;
        let opened = sink.open(own)?;
        self.side_sinks.iter().try_for_each(|sink| sink.open(of_side_sink(sink.name())))?;
        Ok(opened)
    }

    pub(super) fn check_side_sinks(&self, plan: &Plan) -> Result<(), JobError> {
        let is_alone = |name: &str| {
            let sinks = plan.side_sinks.iter().filter(|sink| sink.name == name);
            sinks.count() == 1 && plan.stages.iter().all(|stage| stage.name != name)
        };
        match self.side_sinks.iter().find(|sink| !is_alone(sink.name())) {
            Some(sink) => Err(JobError::NoSideSink { name: sink.name().to_owned() }),
            None => Ok(()),
        }
    }
}
