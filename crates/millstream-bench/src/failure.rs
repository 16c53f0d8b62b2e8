use millstream::prelude::{RunError, UpgradeError};
use std::io;

/// Why there is no result.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    #[error("{who} computed {got} instead of {expected}")]
    Checksum { who: &'static str, expected: String, got: String },
    #[error(transparent)]
    Run(#[from] RunError),
    #[error(transparent)]
    Job(#[from] millstream::state::JobError),
    #[error(transparent)]
    State(#[from] millstream::state::StateError),
    #[error(transparent)]
    Journal(#[from] millstream::state::journal::JournalError),
    #[error(transparent)]
    Upgrade(#[from] UpgradeError),
    #[error("{what}: {source}")]
    Io { what: String, source: io::Error },
    #[error("{0} answered {1} numbers, which is not a valid answer")]
    Answer(&'static str, usize),
    #[error("{0}")]
    Threads(&'static str),
    #[error(
        "of {all} values {saturated} were taken while every producer had something waiting, but a fair share needs at least \
         {enough}: other processes took too much of this machine's time, so run it again while it is less busy"
    )]
    NeverSaturated { all: u64, saturated: u64, enough: u64 },
    #[error("a job stored {0} snapshots, but {1} are needed: it was too short, so set more --items")]
    Snapshots(u64, u64),
    #[error("{0} is {1}, which is no result: there were too few items, or the machine stood still meanwhile")]
    NotFinite(String, f64),
    #[error("there are no results of {0}: see above")]
    Benches(String),
    #[error("`{0}` of --check is no case and no ratio with a bound")]
    NoBound(String),
    #[error("--check has nothing to judge: no ratio of {0} has a bound in this run")]
    NothingToJudge(&'static str),
    #[error("{0}")]
    Report(String),
    #[error("`{0}` failed: {1}")]
    Program(String, String),
}

impl Failure {
    /// For `map_err`: names the operation that failed.
    pub(crate) fn io(what: impl Into<String>) -> impl FnOnce(io::Error) -> Failure {
        let what = what.into();
        |source| Failure::Io { what, source }
    }
}

/// A failure unless ours computed what was expected.
pub(crate) fn checked(expected: u64, got: u64) -> Result<(), Failure> {
    if got == expected {
        return Ok(());
    }
    Err(Failure::Checksum { who: "ours", expected: expected.to_string(), got: got.to_string() })
}

/// Reports that a rival is left out. That is a failure if every program is required.
pub(crate) fn skip(who: &str, reason: &str) -> Result<(), Failure> {
    if std::env::var("MILLSTREAM_REQUIRE").as_deref() == Ok("all") {
        return Err(Failure::Program(who.to_owned(), reason.to_owned()));
    }
    eprintln!("SKIPPED {who}: {reason}");
    Ok(())
}
