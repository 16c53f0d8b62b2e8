use millstream_core::SequenceNumber;
use millstream_core::failure::{SharedError, discard, error_of, message};
use millstream_core::plan::PlanMismatch;
use std::any::Any;
use std::error::Error;
use std::{fmt, ops};

/// Why a run ended before its source did.
///
/// The first failure stops every other stage at its next step. A run therefore has several failures only if stages were
/// working at the same time. It then reports the one that a single thread would have met first: on different clocks,
/// the one downstream of the renumbering stage; on one clock, the one at the least number; at one number, the one of
/// the first stage in pipeline order. How far each stage had come when the first one failed depends on timing. Two runs
/// of a pipeline that fails at several numbers may therefore report different failures.
///
/// Where a closure or a sink returned an error, that error is the [`source`](Error::source):
///
/// ```
/// use millstream::prelude::*;
/// use std::{error::Error, num::ParseIntError};
/// let parse = pipeline().try_map(|text: &&str| text.parse::<u64>());
/// let error = parse.collect(["1", "x"]).unwrap_err();
/// assert_eq!(
///     error.to_string(),
///     "stage \"try_map-1\", number 1: invalid digit found in string"
/// );
/// assert!(error.source().unwrap().is::<ParseIntError>());
/// ```
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum RunError {
    /// A stage failed. The sink received nothing after this number.
    Stage {
        /// The stage's name in the plan; `source` and `sink` are the ends.
        stage: String,
        /// The number it was processing, if any.
        number: Option<SequenceNumber>,
        /// The cause, in words.
        cause: FailureCause,
    },
    /// The options contradict each other.
    Options(crate::OptionsError),
    /// Draining took longer than its time, and the run was stopped.
    DrainTimeout {
        /// How many accepted values did not come out. After a stage that renumbers, such as `flat_map` or a window, and
        /// if only the sink of a `tee` has not ended, this counts the values left before all stages. 0 if only END was
        /// left, with the values that stages emit there.
        left: u64,
    },
    /// The snapshot with which the run should begin does not fit its pipeline.
    Snapshot(crate::SnapshotMismatch),
    /// The run is on `Durable` rings, but another process could not find some states of the pipeline.
    NotDurable(millstream_core::plan::NotDurable),
    /// The planned replacement of the run's pipeline at a number was refused.
    Upgrade(crate::UpgradeError),
    /// A thread could not be started.
    Spawn(String),
    /// A combinator deployed other stages than it described. Nothing was started. A combinator of this library never
    /// does that.
    Plan(PlanMismatch),
}

impl RunError {
    /// The failure of a source's thread, the calling one, that panics while `number` is the next to send.
    pub(crate) fn panicked(stage: String, number: u64) -> Self {
        let thread = std::thread::current();
        let name = thread.name().map_or(String::new(), |name| format!(" {name:?}"));
        let cause = format!("its thread{name} panicked").into();
        RunError::Stage { stage, number: Some(SequenceNumber(number)), cause }
    }

    /// The failure by a panic of the user's code, with this payload.
    pub(crate) fn unwound(stage: &str, number: Option<u64>, payload: &(dyn Any + Send)) -> Self {
        let cause = FailureCause { message: message(payload), error: error_of(payload) };
        RunError::Stage { stage: stage.to_owned(), number: number.map(SequenceNumber), cause }
    }

    /// As [`unwound`](RunError::unwound), and drops the payload.
    pub(crate) fn unwound_with(stage: &str, number: Option<u64>, payload: Box<dyn Any + Send>) -> Self {
        let failure = RunError::unwound(stage, number, payload.as_ref());
        discard(payload);
        failure
    }
}

/// The same as [`Display`](fmt::Display): a `main` that returns it prints this.
impl fmt::Debug for RunError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for RunError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RunError::Stage { stage, number: Some(number), cause } => {
                write!(f, "stage {stage:?}, number {number}: {cause}")
            }
            RunError::Stage { stage, number: None, cause } => write!(f, "stage {stage:?}: {cause}"),
            RunError::Options(error) => error.fmt(f),
            RunError::DrainTimeout { left } => {
                write!(f, "draining timed out; {left} accepted values were not processed")
            }
            RunError::Snapshot(mismatch) => mismatch.fmt(f),
            RunError::NotDurable(missing) => missing.fmt(f),
            RunError::Upgrade(error) => error.fmt(f),
            RunError::Spawn(why) => write!(f, "a worker could not be started: {why}"),
            RunError::Plan(mismatch) => mismatch.fmt(f),
        }
    }
}

impl Error for RunError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            RunError::Stage { cause, .. } => cause.error.as_ref().map(|error| &**error as &(dyn Error + 'static)),
            RunError::Options(error) => error.source(),
            RunError::Plan(mismatch) => mismatch.source(),
            RunError::Upgrade(error) => error.source(),
            RunError::DrainTimeout { .. } | RunError::Snapshot(_) | RunError::NotDurable(_) | RunError::Spawn(_) => {
                None
            }
        }
    }
}

impl From<PlanMismatch> for RunError {
    fn from(mismatch: PlanMismatch) -> Self {
        RunError::Plan(mismatch)
    }
}

impl From<crate::OptionsError> for RunError {
    fn from(error: crate::OptionsError) -> Self {
        RunError::Options(error)
    }
}

/// What made a stage fail: its message, as a `str`, and the error, if it was one and not a panic.
///
/// The message has the error and its sources, from the outermost on. Two causes are equal if their messages are.
#[derive(Clone)]
pub struct FailureCause {
    message: String,
    error: Option<SharedError>,
}

impl FailureCause {
    /// The error that a closure, the source or the sink returned; none of a panic.
    #[must_use]
    pub fn error(&self) -> Option<&SharedError> {
        self.error.as_ref()
    }
}

impl ops::Deref for FailureCause {
    type Target = str;

    fn deref(&self) -> &str {
        &self.message
    }
}

impl From<String> for FailureCause {
    fn from(message: String) -> Self {
        FailureCause { message, error: None }
    }
}

impl From<&str> for FailureCause {
    fn from(message: &str) -> Self {
        message.to_owned().into()
    }
}

impl From<FailureCause> for String {
    fn from(cause: FailureCause) -> Self {
        cause.message
    }
}

impl PartialEq for FailureCause {
    fn eq(&self, other: &Self) -> bool {
        self.message == other.message
    }
}

impl Eq for FailureCause {}

impl PartialEq<str> for FailureCause {
    fn eq(&self, other: &str) -> bool {
        self.message == other
    }
}

impl PartialEq<String> for FailureCause {
    fn eq(&self, other: &String) -> bool {
        self.message == *other
    }
}

impl PartialEq<&str> for FailureCause {
    fn eq(&self, other: &&str) -> bool {
        self.message == *other
    }
}

impl fmt::Display for FailureCause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl fmt::Debug for FailureCause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.message.fmt(f)
    }
}
