use super::Sink;
use crate::RunOutcome;
use millstream_core::{SequenceNumber, Shape};
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

/// A sink whose output is kept: see [`with_output`].
pub struct WithOutput<K, O> {
    sink: K,
    output: Output<O>,
}

/// The output of a sink: see [`with_output`].
pub struct Output<O>(Arc<Mutex<Option<O>>>);

/// A sink, and an [`Output`] that has the sink's output after a run. It is for the named sinks of a pipeline
/// ([`tee_to`](millstream_core::PartsExt::tee_to)): the output of a job's own sink is returned by the run.
///
/// ```
/// use millstream::prelude::*;
///
/// let (squares, seen) = sink::with_output(sink::collect());
/// let p = pipeline::<u64>().map(|x| x * x).tee_to("squares", squares).map(|x| x + 1);
/// assert_eq!(p.collect(1..=3)?, [2, 5, 10]);
/// assert_eq!(seen.take(), Some(vec![1, 4, 9]));
/// assert_eq!(Model.collect((&p).from(0..2))?, [1, 2]);
/// assert_eq!(seen.take(), Some(vec![0, 1]));
/// # Ok::<(), RunError>(())
/// ```
///
/// All runs of the pipeline share one [`Output`], which has the output of the run that ended last. For runs at the same
/// time, build a pipeline each.
pub fn with_output<K, O>(sink: K) -> (WithOutput<K, O>, Output<O>) {
    let output = Output(Arc::new(Mutex::new(None)));
    (WithOutput { sink, output: output.clone() }, output)
}

impl<O> Output<O> {
    /// Takes the output of the sink in the last run. `None` before the first run has ended, if the sink failed to
    /// finish, or if the output was taken already.
    #[must_use]
    pub fn take(&self) -> Option<O> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    fn put(&self, output: Option<O>) {
        let before = std::mem::replace(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner), output);
        // Its drop is the user's, and runs after the lock is free.
        drop(before);
    }
}

impl<A: Shape, O: Send + 'static, K: Sink<A, Output = O>> Sink<A> for WithOutput<K, O> {
    type Output = ();
    type Error = K::Error;

    #[inline(always)]
    fn put(&mut self, number: SequenceNumber, value: A::Ref<'_>) -> Result<(), K::Error> {
        self.sink.put(number, value)
    }

    fn pause(&mut self) -> Result<(), K::Error> {
        self.sink.pause()
    }

    fn mark(&mut self, next: SequenceNumber) -> Result<(), K::Error> {
        self.sink.mark(next)
    }

    fn end(&mut self, number: SequenceNumber) -> Result<(), K::Error> {
        self.sink.end(number)
    }

    fn finish(self, outcome: RunOutcome) -> Result<(), K::Error> {
        // The sink may panic: then there is no output, neither that of an earlier run.
        self.output.put(None);
        self.output.put(Some(self.sink.finish(outcome)?));
        Ok(())
    }

    fn goes_on(&self) -> bool {
        self.sink.goes_on()
    }
}

impl<K: Clone, O> Clone for WithOutput<K, O> {
    /// Both put their outputs into the same place.
    fn clone(&self) -> Self {
        WithOutput { sink: self.sink.clone(), output: self.output.clone() }
    }
}

impl<O> Clone for Output<O> {
    /// Both read from the same place.
    fn clone(&self) -> Self {
        Output(self.0.clone())
    }
}

impl<K, O> fmt::Debug for WithOutput<K, O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WithOutput").finish_non_exhaustive()
    }
}

impl<O> fmt::Debug for Output<O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Output").finish_non_exhaustive()
    }
}
