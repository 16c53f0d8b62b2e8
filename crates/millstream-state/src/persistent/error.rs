//! Why a job cannot go on.

use crate::StateError;
use crate::claims::OpenError;
use crate::journal::JournalError;
use millstream_core::SequenceNumber;
use millstream_exec::{CorruptSnapshot, RunError};
use std::{error, fmt, io};

/// Why a persistent job could not start, or has failed.
#[non_exhaustive]
pub enum JobError {
    /// The state directory cannot be read or written.
    State(StateError),
    /// A snapshot's parts are whole, but cannot be read.
    Corrupt {
        /// The snapshot's id.
        snapshot: u64,
        /// What is wrong with it.
        why: CorruptSnapshot,
    },
    /// A stored state has no place in the pipeline.
    OtherStates {
        /// The snapshot's id.
        snapshot: u64,
        /// A line for each stage.
        states: Vec<String>,
    },
    /// The snapshot is of a version from which the job cannot go on: see
    /// [`Persistent::judged_by`](crate::Persistent::judged_by).
    OtherVersion {
        /// The snapshot's id.
        snapshot: u64,
        /// Why it does not.
        why: String,
    },
    /// The sink holds less than it claimed at every snapshot that is kept, or at every one with which this version can
    /// go on.
    SinkHoldsLess {
        /// The number that came next for the sink at the newest of them.
        next: SequenceNumber,
        /// What it holds.
        why: String,
    },
    /// A [replay](crate::replay) cannot find a number of the run again, as the source is cut into values in another way
    /// by now.
    NotExact {
        /// The number.
        number: u64,
        /// The number of the nearest kept snapshot at or before it: there the states are known.
        before: Option<u64>,
        /// The number of the nearest kept snapshot after it.
        after: Option<u64>,
    },
    /// The pipeline has no `tee_to` with the name of a [side sink](crate::SideSink), or more than one stage of that
    /// name.
    NoSideSink {
        /// The name.
        name: String,
    },
    /// A sink or an effect keeps what it has by the source's numbers, and the source does not
    /// [repeat](crate::Resumable::repeats) its values: after a restart it may have others at these numbers. Or an
    /// effect is at no stage of its name, so it is not known what its numbers are.
    OtherNumbers {
        /// What keeps it.
        what: String,
    },
    /// Numbers should be done again, but a sink cannot give up values: see
    /// [`Persistent::redo`](crate::Persistent::redo).
    SinkStays,
    /// The job has dead letters, side sinks, numbers to do again, or effects that do not
    /// [follow](crate::effects::Effects::follow), or its source has no journal. Only the process that owns the
    /// directory writes their records, so no other process can follow: see
    /// [`Persistent::follow`](crate::Persistent::follow).
    CannotFollow,
    /// The run that this one has [followed](crate::Persistent::follow_run) has not said where it stopped, or has
    /// stopped elsewhere. Nothing has changed: a start at the newest snapshot is still right.
    OtherEnd {
        /// What is wrong.
        why: String,
    },
    /// No snapshot from before the first dead letter is kept any more.
    LettersTooOld,
    /// The dead letters cannot be written.
    Letters(JournalError),
    /// The record of effects of a process that is [followed](crate::effects::Effects::follow) cannot be read, or not be
    /// taken over.
    Effects(JournalError),
    /// The source cannot begin at its position, or its values have ended early.
    Source(io::Error),
    /// The sink cannot be opened, or cannot say what it holds.
    Sink(io::Error),
    /// The run could not start, or has failed.
    Run(RunError),
}

impl JobError {
    /// Whether the other process has removed what a [follower](crate::Persistent::follow) was about to read. The
    /// follower may follow again: there is a newer snapshot.
    #[must_use]
    pub fn is_left_behind(&self) -> bool {
        let journal = match self {
            JobError::State(StateError::Io { source, .. }) => return source.kind() == io::ErrorKind::NotFound,
            JobError::Source(error) => error.get_ref().and_then(|error| error.downcast_ref::<JournalError>()),
            JobError::Effects(error) => Some(error),
            _ => None,
        };
        journal.is_some_and(JournalError::is_gone)
    }

    pub(super) fn holds_less((next, why): (SequenceNumber, String)) -> Self {
        JobError::SinkHoldsLess { next, why }
    }

    pub(super) fn sink(error: OpenError) -> Self {
        match error {
            OpenError::HoldsLess(why) => JobError::Sink(io::Error::other(why)),
            OpenError::Failed(error) => JobError::Sink(error),
        }
    }
}

/// The same as [`Display`](fmt::Display): a `main` that returns it prints this.
impl fmt::Debug for JobError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for JobError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            JobError::State(error) => error.fmt(f),
            JobError::Corrupt { snapshot, why } => write!(f, "snapshot {snapshot}: {why}"),
            JobError::OtherStates { snapshot, states } => {
                write!(
                    f,
                    "the pipeline cannot go on with the states of snapshot {snapshot}: \
                     convert each of these by `migrate`, or let it be lost by `dropping`:"
                )?;
                states.iter().try_for_each(|state| write!(f, "\n  {state}"))
            }
            JobError::OtherVersion { snapshot, why } => write!(f, "snapshot {snapshot} is of another version: {why}"),
            JobError::SinkHoldsLess { next, why } => {
                write!(f, "the sink holds less than it did when number {next} came next: {why}")
            }
            JobError::NotExact { number, before, after } => {
                write!(
                    f,
                    "what the run had at number {number} is not known any more: a number counts blocks, \
                     and the input is cut into other blocks than when the run read it. "
                )?;
                match (before, after) {
                    (Some(before), Some(after)) => write!(f, "The nearest snapshots are at {before} and {after}"),
                    (Some(at), None) => write!(f, "The last snapshot is at {at}, and the end can be reached, too"),
                    (None, Some(at)) => write!(f, "The first snapshot that is kept is at {at}"),
                    (None, None) => f.write_str("No snapshot is kept"),
                }
            }
            JobError::NoSideSink { name } => write!(
                f,
                "the pipeline has no `tee_to({name:?}, ..)`, or more than one stage of that name, \
                 so the claims of the side sink have no number"
            ),
            JobError::OtherNumbers { what } => write!(
                f,
                "{what}, and after a restart the source may have other values at these numbers, as a followed file \
                 has, whose blocks depend on when it was read: put a stage with numbers of its own before it, such as \
                 `lines`; or take a source with a journal, by `journaled`, or a sink that goes back, such as an \
                 appended file"
            ),
            JobError::SinkStays => f.write_str(
                "a sink cannot go back, so its numbers cannot be done again: a file can go back, a table cannot",
            ),
            JobError::CannotFollow => f.write_str(
                "a job with dead letters, side sinks, numbers to do again, or effects that were opened and do not follow, \
                 or without a journal, cannot follow: only one process writes its records",
            ),
            JobError::OtherEnd { why } => write!(f, "the run that was followed has not stopped here: {why}"),
            JobError::LettersTooOld => f.write_str(
                "no snapshot from before the first dead letter is left: \
                 to keep it, name the dead letters at every start",
            ),
            JobError::Letters(error) => write!(f, "the dead letters: {error}"),
            JobError::Effects(error) => write!(f, "the record of effects: {error}"),
            JobError::Source(error) => write!(f, "the source: {error}"),
            JobError::Sink(error) => write!(f, "the sink: {error}"),
            JobError::Run(error) => error.fmt(f),
        }
    }
}

impl error::Error for JobError {
    fn source(&self) -> Option<&(dyn error::Error + 'static)> {
        match self {
            JobError::State(error) => error.source(),
            JobError::Corrupt { why, .. } => Some(why),
            JobError::Source(error) | JobError::Sink(error) => Some(error),
            JobError::Run(error) => error.source(),
            JobError::Letters(error) | JobError::Effects(error) => error.source(),
            JobError::OtherStates { .. }
            | JobError::OtherVersion { .. }
            | JobError::SinkHoldsLess { .. }
            | JobError::NotExact { .. }
            | JobError::NoSideSink { .. }
            | JobError::SinkStays
            | JobError::CannotFollow
            | JobError::OtherEnd { .. }
            | JobError::OtherNumbers { .. }
            | JobError::LettersTooOld => None,
        }
    }
}

impl From<StateError> for JobError {
    fn from(error: StateError) -> Self {
        JobError::State(error)
    }
}

impl From<RunError> for JobError {
    fn from(error: RunError) -> Self {
        JobError::Run(error)
    }
}
