use crate::sink_tasklet::{Finish, Left, Seen};
use crate::{Report, RunError, RunOutcome, Sink};
use millstream_core::failure::{Finished, caught};
use millstream_core::{Plan, Shape};
use std::sync::Arc;

/// The sinks with names of one run, in pipeline order, which are finished when it is over, or their version.
#[derive(Default)]
pub(crate) struct SideSinks(Vec<(String, Arc<dyn SideSink>)>);

impl SideSinks {
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The ring that the sink that is added next reads, in the plan of these sinks.
    pub(crate) fn planned_next(&self, plan: &Plan) -> Option<usize> {
        plan.side_sinks.get(self.0.len())?.reads.first().copied()
    }
}

trait SideSink: Send + Sync {
    /// The number that comes next.
    fn number(&self) -> Option<u64>;
    /// Finishes the sink, unless that was done.
    fn finish(&self, outcome: RunOutcome) -> Finished<()>;
    /// Whether the sink is left, and goes on in the next version.
    fn goes_on(&self) -> bool;
}

impl<A: Shape, K: Sink<A>> SideSink for Left<A, K> {
    fn number(&self) -> Option<u64> {
        self.seen().map(|Seen { numbers, .. }| numbers.0)
    }

    fn finish(&self, outcome: RunOutcome) -> Finished<()> {
        // Its result is the user's, and so is the drop of the result.
        Finish::finish(self, outcome).map_or(Ok(()), |finished| finished.and_then(|output| caught(|| drop(output))))
    }

    fn goes_on(&self) -> bool {
        self.look(<K as Sink<A>>::goes_on)
    }
}

impl SideSinks {
    pub(crate) fn add<A: Shape, K: Sink<A>>(&mut self, name: &str, left: Arc<Left<A, K>>) {
        self.0.push((name.to_owned(), left));
    }

    /// Puts the sinks of the next version in the place of these, which have retired. Returns those that are over, and
    /// those that go on in another one: the last one of a name stays, to be finished with the run.
    pub(crate) fn replace(&mut self, next: SideSinks) -> (SideSinks, SideSinks) {
        let (stays, over): (Vec<_>, _) = self.0.drain(..).partition(|(_, sink)| sink.goes_on());
        let mut go_on = Vec::new();
        for (name, sink) in stays {
            if let Some(before) = self.0.iter().position(|(other, _)| *other == name) {
                go_on.push(self.0.remove(before));
            }
            self.0.push((name, sink));
        }
        self.0.extend(next.0);
        (SideSinks(over), SideSinks(go_on))
    }

    /// Finishes all of them. If one cannot finish, the run ends with a failure, and the later ones get that outcome.
    pub(crate) fn finish(self, report: &mut Report, failure: &mut Option<RunError>) {
        let failed = self.finish_each(&mut report.outcome);
        if failure.is_none() {
            *failure = failed;
        }
    }

    /// Finishes all of them, which get this outcome, or that of a failure once one cannot finish. Returns the first
    /// failure.
    pub(crate) fn finish_each(self, outcome: &mut RunOutcome) -> Option<RunError> {
        let mut failure = None;
        for (name, sink) in self.0 {
            let number = sink.number();
            if let Err(payload) = sink.finish(*outcome) {
                let failed = RunError::unwound_with(&name, number, payload);
                *outcome = RunOutcome::Failed;
                failure.get_or_insert(failed);
            }
        }
        failure
    }
}

impl std::fmt::Debug for SideSinks {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.0.iter().map(|(name, _)| name)).finish()
    }
}
