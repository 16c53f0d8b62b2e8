use millstream::prelude::RunError;
use std::io;

/// Why there is no result.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    #[error("{who} came to {got}, not to {expected}")]
    Checksum { who: &'static str, expected: String, got: String },
    #[error(transparent)]
    Run(#[from] RunError),
    #[error("{what}: {source}")]
    Io { what: String, source: io::Error },
    #[error("{0} came to {1} numbers, which is no answer")]
    Answer(&'static str, usize),
    #[error("{0}")]
    Threads(&'static str),
    #[error(
        "of {all} values {saturated} were taken while every producer had something waiting, and a fair share is \
         judged by {enough} at least: the producers have too little of this machine's time, run it again where others leave more"
    )]
    NeverSaturated { all: u64, saturated: u64, enough: u64 },
    #[error("`{0}` failed: {1}")]
    Program(String, String),
}

impl Failure {
    /// For `map_err`: what could not be done.
    pub(crate) fn io(what: impl Into<String>) -> impl FnOnce(io::Error) -> Failure {
        let what = what.into();
        |source| Failure::Io { what, source }
    }
}
