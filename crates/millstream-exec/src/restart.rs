//! Runs that begin again after a failure.

use crate::{Report, Rings, Run, RunError, Source};
use millstream_core::{Item, Retry, SequenceNumber, Shape};

/// Running a pipeline again after a failure, a limited number of times.
pub trait RunAgain<T: Item>: Run<T> {
    /// As [`run_with`](Run::run_with). If a stage or the source fails, the pipeline is run again from number 0, on a
    /// new source, after a pause, as [`Retry`] says. The tries are counted from the last failure after which new output
    /// came.
    ///
    /// The sink receives every number once. A pipeline is determinate: output at a number that the sink has received is
    /// the same as before, and is skipped. That requires that `source` yields the same values every time, at least as
    /// far as it was read. All work before the failure is repeated. A failure of the sink is final, since the progress
    /// of its state is unknown.
    ///
    /// ```
    /// use millstream_core::{Arrow, Retry, pipeline};
    /// use millstream_exec::{Rings, RunAgain};
    /// use std::sync::atomic::{AtomicBool, Ordering};
    /// use std::time::Duration;
    /// let broken = AtomicBool::new(true);
    /// let p = pipeline::<u64>().try_map(move |x| match *x == 5 && broken.swap(false, Ordering::Relaxed) {
    ///     true => Err("the server has gone away"),
    ///     false => Ok(x * 10),
    /// });
    /// let retry = Retry::times(3).backoff(Duration::from_millis(1));
    /// let (all, _) = p.run_again(&Rings::new(), retry, || 0..8, Vec::new(), |all, _, x| all.push(*x))?;
    /// assert_eq!(all, [0, 10, 20, 30, 40, 50, 60, 70]);
    /// # Ok::<(), millstream_exec::RunError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// The last failure, if there were too many, or if the sink failed; if the options contradict each other.
    fn run_again<X: Source<T>, S: Send + 'static, F>(
        &self,
        rings: &Rings,
        retry: Retry,
        mut source: impl FnMut() -> X,
        state: S,
        sink: F,
    ) -> Result<(S, Report), RunError>
    where
        F: for<'a> FnMut(&mut S, SequenceNumber, <Self::Out as Shape>::Ref<'a>) + Send + 'static,
    {
        let mut kept = Kept { state, sink, next: 0, in_sink: false };
        let mut pauses = retry.pauses();
        loop {
            let before = kept.next;
            let put = |kept: &mut Kept<S, F>, number: SequenceNumber, value: <Self::Out as Shape>::Ref<'_>| {
                if number.0 >= kept.next {
                    kept.in_sink = true;
                    (kept.sink)(&mut kept.state, number, value);
                    (kept.in_sink, kept.next) = (false, number.0 + 1);
                }
            };
            let ended = self.start(rings, source(), kept, put)?.join();
            let failure = match ended.failure {
                None => {
                    let kept = ended.state.expect("a sink leaves its state when it is dropped");
                    return Ok((kept.state, ended.report));
                }
                Some(failure) => failure,
            };
            kept = match ended.state {
                Some(kept) if !kept.in_sink && matches!(failure, RunError::Stage { .. }) => kept,
                _ => return Err(failure),
            };
            if kept.next > before {
                pauses = retry.pauses();
            }
            match pauses.next() {
                Some(pause) => std::thread::sleep(pause),
                None => return Err(failure),
            }
        }
    }
}

impl<T: Item, P: Run<T>> RunAgain<T> for P {}

/// The progress of a sink.
struct Kept<S, F> {
    state: S,
    /// The closure, with what it has captured.
    sink: F,
    /// The first number that it has not received.
    next: u64,
    /// Whether it is processing a value: true if it has failed there.
    in_sink: bool,
}
