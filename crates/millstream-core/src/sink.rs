//! The end of a run: the sink of its values, and its outcome.

use crate::failure::Cause;
use crate::{SequenceNumber, Shape};
use std::convert::Infallible;

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize), serde(rename_all = "kebab-case"))]
pub enum RunOutcome {
    /// The source ended.
    End,
    /// It was drained: the source was ended, and everything accepted was finished.
    Drained,
    /// It was stopped: something may be left.
    Stopped,
    /// It failed.
    Failed,
}

impl RunOutcome {
    /// Whether everything that was accepted came out: the source ended, or was ended by a drain.
    #[must_use]
    pub fn is_complete(self) -> bool {
        matches!(self, RunOutcome::End | RunOutcome::Drained)
    }
}

/// The end of a job: it gets every value of the output with its number, in order.
///
/// All calls come from one thread at a time: on `Rings` a worker, or the thread that runs the stages in its place, on
/// `Queues` a thread of the sink's own, on `Inline` and [`Model`](crate::Model) the caller. An error that a call
/// returns, and a panic, is a failure of the stage `sink`: the run ends, and its `RunError` has the error as its
/// [`source`](std::error::Error::source).
///
/// ```
/// use millstream::prelude::*;
/// use std::io::{self, BufWriter, Write};
///
/// struct Lines<W: Write>(BufWriter<W>);
///
/// impl<W: Write + Send + 'static> Sink<Val<u64>> for Lines<W> {
///     type Output = BufWriter<W>;
///     type Error = io::Error;
///     fn put(&mut self, number: SequenceNumber, value: &u64) -> io::Result<()> {
///         writeln!(self.0, "{number}: {value}")
///     }
///     fn pause(&mut self) -> io::Result<()> {
///         self.0.flush()
///     }
///     fn finish(self, _: RunOutcome) -> io::Result<BufWriter<W>> {
///         Ok(self.0)
///     }
/// }
///
/// let mut lines = Lines(BufWriter::new(Vec::new()));
/// lines.put(SequenceNumber(7), &49)?;
/// lines.pause()?;
/// assert_eq!(lines.finish(RunOutcome::End)?.get_ref(), b"7: 49\n");
/// # Ok::<(), io::Error>(())
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a sink for the edge `{A}`: write `.to_each(..)`, `.to_fold(..)` or `.to(sink)`",
    label = "this job needs a sink for `{A}`",
    note = "a job with `NoSink` has none yet; `collect`, `for_each`, `last` and `iter` need none",
    note = "a function is a sink, also of `tee_to`, in `sink::each(|number: SequenceNumber, value: &T| ..)`; what cannot be cloned is one in `sink::again(|| FileSink::replace(path).open())`"
)]
pub trait Sink<A: Shape>: Send + 'static {
    /// The type of the run's result.
    type Output: Send + 'static;
    /// Why it can fail.
    type Error: Cause;

    /// Takes the value of this number. Numbers increase; an empty slot has no call. END may have a value.
    ///
    /// # Errors
    ///
    /// The run ends, and `put` is not called again.
    fn put(&mut self, number: SequenceNumber, value: A::Ref<'_>) -> Result<(), Self::Error>;

    /// Called when no more values are there for now: the time to flush gathered values, so that nothing waits for the
    /// next value. While more are there all the time, it is called about every 20 ms, or after each value that takes
    /// longer, so that a slow stage's values come out as they are made. Where it takes long itself, it is called more
    /// seldom then: a tenth of the time is for pauses, at most. On the model it is called at the end alone.
    ///
    /// It is also called at the end of the stream, and before the sink passes the mark of a snapshot or of an upgrade,
    /// and never twice for the same slot. After a stop or a failure it is not called, only [`finish`](Sink::finish).
    ///
    /// # Errors
    ///
    /// The run ends.
    fn pause(&mut self) -> Result<(), Self::Error> {
        Ok(())
    }

    /// Called when a snapshot is taken before the number `next`: everything below it was put, and nothing from it on.
    /// Called once for each snapshot, after [`pause`](Sink::pause), even if nothing was put since the last one; on
    /// `Rings` only. A sink that must have stored everything before a snapshot stores it here, and may note how far it
    /// has come.
    ///
    /// # Errors
    ///
    /// The run ends.
    fn mark(&mut self, next: SequenceNumber) -> Result<(), Self::Error> {
        let _ = next;
        Ok(())
    }

    /// Called when the stream ends, with END's number: everything below it was put, and what is put after this is END's
    /// value. On `Rings` only. A sink that must not store END's value before it knows how the run has ended, since a
    /// drained one goes on later, notes it here.
    ///
    /// # Errors
    ///
    /// The run ends.
    fn end(&mut self, number: SequenceNumber) -> Result<(), Self::Error> {
        let _ = number;
        Ok(())
    }

    /// Returns what the run returns. The thread that waits for the run calls it once, when all else is over, with the
    /// outcome of the run. A sink that must be complete or not be there at all, such as a file that replaces another,
    /// checks whether the outcome [is complete](RunOutcome::is_complete). It is not called if no thread waits: dropping
    /// the handle drops the sink.
    ///
    /// A named sink of a pipeline that is replaced while the run goes on is finished then, by a thread of the run, with
    /// the outcome [`Drained`](RunOutcome::Drained), unless it [goes on](Sink::goes_on).
    ///
    /// # Errors
    ///
    /// The run fails, unless it had failed before: then that failure counts.
    fn finish(self, outcome: RunOutcome) -> Result<Self::Output, Self::Error>;

    /// Whether all clones are one sink, which goes on when a running pipeline is replaced by one with a clone of it.
    /// Then no clone is finished before the end of the run, and several may be. `false` unless a sink says otherwise.
    fn goes_on(&self) -> bool {
        false
    }
}

/// What a sink's closure may return: nothing, or a `Result` whose error ends the run.
#[diagnostic::on_unimplemented(
    message = "a sink's closure returns nothing or a `Result<(), _>`, and not `{Self}`",
    label = "this returns `{Self}`",
    note = "the error may be any `std::error::Error + Send + Sync`, a `String` or a `&str`"
)]
pub trait SinkResult: Send + 'static {
    /// Why it can fail.
    type Error: Cause;
    /// As a result.
    ///
    /// # Errors
    ///
    /// The closure's.
    fn result(self) -> Result<(), Self::Error>;
}

impl SinkResult for () {
    type Error = Infallible;

    #[inline(always)]
    fn result(self) -> Result<(), Infallible> {
        Ok(())
    }
}

impl<E: Cause + Send> SinkResult for Result<(), E> {
    type Error = E;

    #[inline(always)]
    fn result(self) -> Result<(), E> {
        self
    }
}
