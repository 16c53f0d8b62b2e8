use crate::sink_tasklet::{Finish, Left, Seen};
use crate::{Report, RunError, RunOutcome, Sink};
use millstream_core::Shape;
use millstream_core::failure::{Finished, caught};
use std::sync::Arc;

/// The sinks with names of one run, in pipeline order, which are finished when it is over.
#[derive(Default)]
pub(crate) struct SideSinks(Vec<(String, Arc<dyn SideSink>)>);

impl SideSinks {
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

trait SideSink: Send + Sync {
    /// The number that comes next.
    fn number(&self) -> Option<u64>;
    /// Finishes the sink, unless that was done.
    fn finish(&self, outcome: RunOutcome) -> Finished<()>;
}

impl<A: Shape, K: Sink<A>> SideSink for Left<A, K> {
    fn number(&self) -> Option<u64> {
        self.seen().map(|Seen { numbers, .. }| numbers.0)
    }

    fn finish(&self, outcome: RunOutcome) -> Finished<()> {
        // Its result is the user's, and so is the drop of the result.
        Finish::finish(self, outcome).map_or(Ok(()), |finished| finished.and_then(|output| caught(|| drop(output))))
    }
}

impl SideSinks {
    pub(crate) fn add<A: Shape, K: Sink<A>>(&mut self, name: &str, left: Arc<Left<A, K>>) {
        self.0.push((name.to_owned(), left));
    }

    pub(crate) fn extend(&mut self, others: SideSinks) {
        self.0.extend(others.0);
    }

    /// Finishes all of them. If one cannot finish, the run ends with a failure, and the later ones get that outcome.
    pub(crate) fn finish(self, report: &mut Report, failure: &mut Option<RunError>) {
        for (name, sink) in self.0 {
            let number = sink.number();
            if let Err(payload) = sink.finish(report.outcome) {
                let failed = RunError::unwound_with(&name, number, payload);
                report.outcome = RunOutcome::Failed;
                failure.get_or_insert(failed);
            }
        }
    }
}

impl std::fmt::Debug for SideSinks {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.0.iter().map(|(name, _)| name)).finish()
    }
}
