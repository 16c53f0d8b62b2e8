//! Runs that begin again after a failure.

use crate::sink_tasklet::{Finish, Left};
use crate::source::Again;
use crate::{Job, Report, RunEnd, RunError, RunOutcome, Runner, RunsOn, Sink, Source};
use millstream_core::{Retry, SequenceNumber, Shape};
use std::borrow::Borrow;
use std::marker::PhantomData;

/// The implementation of [`Runner::run_again`].
pub(crate) fn run_again<R, P, X, F, K, B>(
    on: &R,
    job: Job<P, Again<F>, K, B>,
    retry: Retry,
) -> Result<(K::Output, Report), RunError>
where
    R: Runner,
    P: RunsOn<R>,
    X: Source<P::Item>,
    F: FnMut() -> X,
    K: Sink<P::Out>,
    B: Borrow<P>,
{
    let Job { pipeline, source: Again(mut source), sink, .. } = job;
    let pipeline: &P = pipeline.borrow();
    let mut kept = Kept { sink, next: 0, repeats: false, paused: true, ended: false, in_sink: false };
    let mut pauses = retry.pauses();
    loop {
        let before = kept.next;
        let job: Job<P, X, _, &P> = Job { pipeline, source: source(), sink: kept, kind: PhantomData };
        let RunEnd { output, report, failure } = on.start(job)?.into();
        let Some(after) = output else {
            return Err(failure.unwrap_or_else(|| unreachable!("a sink that is lost is a failure")));
        };
        let pause = match &failure {
            Some(RunError::Stage { .. }) if !after.in_sink => {
                if after.next > before {
                    pauses = retry.pauses();
                }
                pauses.next()
            }
            _ => None,
        };
        let Some(pause) = pause else {
            return Left::<P::Out, K>::of(after.sink, &report).end(report, failure).ok();
        };
        std::thread::sleep(pause);
        kept = Kept { repeats: after.next > 0, ..after };
    }
}

/// A sink, and how far it has come.
struct Kept<K> {
    sink: K,
    /// The first number that it has not received.
    next: u64,
    /// Whether the run is behind it: it repeats numbers that the sink has received.
    repeats: bool,
    /// Whether it has paused since its last value.
    paused: bool,
    /// Whether it knows END's number.
    ended: bool,
    /// Whether it is processing a value: true if it has failed there.
    in_sink: bool,
}

impl<A: Shape, K: Sink<A>> Sink<A> for Kept<K> {
    type Output = Self;
    type Error = K::Error;

    fn put(&mut self, number: SequenceNumber, value: A::Ref<'_>) -> Result<(), K::Error> {
        self.repeats = number.0 < self.next;
        if !self.repeats {
            self.in_sink = true;
            self.sink.put(number, value)?;
            (self.in_sink, self.next, self.paused) = (false, number.0 + 1, false);
        }
        Ok(())
    }

    fn pause(&mut self) -> Result<(), K::Error> {
        if !(self.repeats && self.paused) {
            self.in_sink = true;
            self.sink.pause()?;
            (self.in_sink, self.paused) = (false, true);
        }
        Ok(())
    }

    fn mark(&mut self, next: SequenceNumber) -> Result<(), K::Error> {
        self.repeats = next.0 < self.next;
        // Otherwise it has put more than what is below.
        if !self.repeats {
            self.in_sink = true;
            self.sink.mark(next)?;
            self.in_sink = false;
        }
        Ok(())
    }

    fn end(&mut self, number: SequenceNumber) -> Result<(), K::Error> {
        self.repeats = number.0 < self.next;
        if !self.ended {
            self.in_sink = true;
            self.sink.end(number)?;
            (self.in_sink, self.ended) = (false, true);
        }
        Ok(())
    }

    fn finish(self, _: RunOutcome) -> Result<Self, K::Error> {
        Ok(self)
    }
}
