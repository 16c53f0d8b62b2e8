use crate::RunError;
use crate::shared::Shared;
use std::error::Error;
use std::fmt;
use std::sync::Arc;

/// Why a call has no answer.
///
/// ```
/// use millstream::prelude::*;
///
/// let (client, _run) = service(requests::<u64>().map(|x| 12 / x).named("divide")).start()?;
/// assert_eq!(client.call_blocking(4)?, 3);
/// let failed = client.call_blocking(0).unwrap_err();
/// assert_eq!(
///     failed.to_string(),
///     "the service has failed: stage \"divide\", number 1: panicked: attempt to divide by zero"
/// );
/// let CallError::Failed(error) = failed else { panic!("{failed}") };
/// assert!(matches!(&*error, RunError::Stage { stage, .. } if stage == "divide"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum CallError {
    /// The service left the request's slot empty.
    NoAnswer,
    /// The service has ended: it was drained or stopped, or the handle of its run was dropped, which stops it.
    Ended,
    /// A stage of the service failed, and it has ended before it answered. Its [`source`](Error::source) is the error
    /// that the stage's closure returned, if it returned one.
    ///
    /// All requests that were accepted have the error that the run's handle returns. A request that is refused while
    /// the run's threads are leaving may have another one, if several stages fail at the same time.
    Failed(Arc<RunError>),
    /// The time is over.
    TimedOut,
}

impl CallError {
    /// The error of a request that a run dropped, or no longer takes.
    pub(super) fn of(run: &Shared) -> Self {
        run.failure().map_or(CallError::Ended, |failure| CallError::Failed(Arc::new(failure)))
    }
}

impl fmt::Display for CallError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CallError::NoAnswer => {
                f.write_str("the service has no answer to this request: a stage left it out, or failed on it")
            }
            CallError::Ended => f.write_str(
                "the service has ended before it answered: it was drained or stopped, or its handle was dropped",
            ),
            CallError::Failed(failure) => write!(f, "the service has failed: {failure}"),
            CallError::TimedOut => f.write_str("there was no answer in time"),
        }
    }
}

impl Error for CallError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        if let CallError::Failed(failure) = self { failure.source() } else { None }
    }
}
