use super::Sink;
use crate::RunOutcome;
use millstream_core::{Cause, SequenceNumber, Shape};
use std::error::Error;
use std::fmt;

/// A sink that is made for every run: see [`again`].
pub struct EachRun<F, K> {
    make: F,
    sink: Option<K>,
    /// Whether `make` has failed: it is not called again in this run.
    refused: bool,
}

/// A sink that `make` makes for every run, for sinks that cannot be cloned, such as files.
///
/// `make` is called at the first value, at a snapshot before it, or at the end of a run without one. Its error ends the
/// run as the sink's do.
///
/// ```
/// use millstream::{io::FileSink, prelude::*};
///
/// let path = std::env::temp_dir().join(format!("millstream-again-{}", std::process::id()));
/// let lines = {
///     let path = path.clone();
///     sink::again(move || FileSink::replace(&path).open())
/// };
/// let p = pipeline::<u64>().map(|x| format!("{x}\n")).tee_to("lines", lines).map(|line| line.len());
/// assert_eq!(p.collect(9..11)?, [2, 3]);
/// assert_eq!(std::fs::read_to_string(&path)?, "9\n10\n");
/// # std::fs::remove_file(&path)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn again<F, K, E>(make: F) -> EachRun<F, K>
where
    F: Fn() -> Result<K, E>,
{
    EachRun { make, sink: None, refused: false }
}

/// The error of `make`, or of the sink.
type AnyError = Box<dyn Error + Send + Sync>;

impl<F, K, E> EachRun<F, K>
where
    F: Fn() -> Result<K, E>,
    E: Cause,
{
    #[inline(always)]
    fn made(&mut self) -> Result<&mut K, AnyError> {
        if self.sink.is_none() {
            if std::mem::replace(&mut self.refused, true) {
                return Err("the sink could not be made".into());
            }
            self.sink = Some((self.make)().map_err(Into::into)?);
        }
        Ok(self.sink.as_mut().expect("it was made"))
    }
}

impl<A: Shape, F, K, E> Sink<A> for EachRun<F, K>
where
    F: Fn() -> Result<K, E> + Send + 'static,
    K: Sink<A>,
    E: Cause,
{
    type Output = K::Output;
    type Error = AnyError;

    #[inline(always)]
    fn put(&mut self, number: SequenceNumber, value: A::Ref<'_>) -> Result<(), AnyError> {
        self.made()?.put(number, value).map_err(Into::into)
    }

    fn pause(&mut self) -> Result<(), AnyError> {
        self.sink.as_mut().map_or(Ok(()), |sink| sink.pause().map_err(Into::into))
    }

    fn mark(&mut self, next: SequenceNumber) -> Result<(), AnyError> {
        self.made()?.mark(next).map_err(Into::into)
    }

    fn end(&mut self, number: SequenceNumber) -> Result<(), AnyError> {
        self.made()?.end(number).map_err(Into::into)
    }

    fn finish(mut self, outcome: RunOutcome) -> Result<K::Output, AnyError> {
        self.made()?;
        self.sink.expect("it was made").finish(outcome).map_err(Into::into)
    }

    fn goes_on(&self) -> bool {
        self.sink.as_ref().is_some_and(<K as Sink<A>>::goes_on)
    }
}

impl<F: Clone, K> Clone for EachRun<F, K> {
    /// The clone has made no sink yet.
    fn clone(&self) -> Self {
        EachRun { make: self.make.clone(), sink: None, refused: false }
    }
}

impl<F, K> fmt::Debug for EachRun<F, K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EachRun").finish_non_exhaustive()
    }
}
