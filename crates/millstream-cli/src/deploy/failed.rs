//! Why a pipeline failed.

use millstream_exec::RunError;
use millstream_state::JobError;
use std::fmt;

/// Why a pipeline failed.
#[derive(Debug)]
#[cfg_attr(not(all(feature = "run", feature = "serve")), expect(dead_code, reason = "some are of runs with clients"))]
pub(crate) enum Failed {
    /// A run failed at a stage and a number.
    Run(RunError),
    /// The model failed. It is a function of whole lists, and knows only the cause.
    Model(String),
    /// A job whose state is kept could not go on.
    Job(JobError),
    /// The process could not take over from another process.
    TakeOver(String),
    /// The other process has not taken over, so the run must be started again.
    GoesOn,
    /// The run must be started again, and follow the other process from a newer snapshot; with its reason.
    LeftBehind(JobError),
    /// The run must be started again, at the newest snapshot, since it cannot follow the other process.
    Restores,
    /// A signal has come before anything was taken over.
    Interrupted,
}

impl fmt::Display for Failed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failed::Run(error) => error.fmt(f),
            Failed::Job(error) => error.fmt(f),
            Failed::TakeOver(why) => f.write_str(why),
            Failed::GoesOn => f.write_str("it goes on"),
            Failed::LeftBehind(error) => {
                write!(f, "the other process removes its state faster than this one reads it: {error}")
            }
            Failed::Restores => f.write_str("it cannot follow the other process"),
            Failed::Interrupted => f.write_str("interrupted before the take-over"),
            Failed::Model(cause) => write!(f, "the model failed, which knows neither stage nor number: {cause}"),
        }
    }
}

impl From<JobError> for Failed {
    fn from(error: JobError) -> Self {
        match error {
            JobError::Run(error) => Failed::Run(error),
            error => Failed::Job(error),
        }
    }
}
