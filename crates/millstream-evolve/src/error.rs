use crate::Token;
use std::io;

/// Why a population cannot go on.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EvolveError {
    /// A token that names no state of the population.
    #[error("no state of the population has the token {0}; a round's children are the next round's states")]
    Unknown(Token),
    /// A state cannot evolve: its evolution panicked, or it, its input or its children cannot be read or written. That would be so
    /// on any other worker.
    #[error("the state {token} cannot evolve: {message}")]
    Panicked {
        /// The state.
        token: Token,
        /// What it said.
        message: String,
    },
    /// Whoever evolved this state was lost, again and again.
    #[error(
        "{deaths} workers were lost while they evolved the state {token}; does it end their process, or take for ever?"
    )]
    Deadly {
        /// The state.
        token: Token,
        /// How many workers.
        deaths: u8,
    },
    /// Nobody is left, and nobody joined.
    #[error("no worker is left, and none joined within {0} s{reason}", reason = last(.1))]
    NoWorkers(u64, Option<String>),
    /// Fewer have joined than were waited for.
    #[error("{here} of {wanted} workers joined within {seconds} s{reason}", reason = last(lost))]
    TooFew {
        /// How many there are.
        here: usize,
        /// How many were waited for.
        wanted: usize,
        /// For how long.
        seconds: u64,
        /// Why the last one was given up, if one was.
        lost: Option<String>,
    },
    /// A round has failed before.
    #[error("an earlier round of this population has failed, and nobody knows where its states are")]
    Broken,
    /// A value could not be written as bytes, or bytes were no value.
    #[error("a state, input or output does not survive encoding: {0}")]
    Encoding(#[from] postcard::Error),
    /// More bytes than can be sent.
    #[error("{what} takes {bytes} bytes, where {most} are the most")]
    TooLong {
        /// What it is.
        what: &'static str,
        /// How long it is.
        bytes: usize,
        /// And may be.
        most: usize,
    },
    /// A socket, or a checkpoint's file.
    #[error("{0}: {1}")]
    Io(String, #[source] io::Error),
    /// A checkpoint that cannot be used.
    #[error("{0}")]
    Checkpoint(String),
}

fn last(reason: &Option<String>) -> String {
    reason.as_ref().map_or(String::new(), |reason| format!(" (the last one that was lost: {reason})"))
}

impl EvolveError {
    pub(crate) fn io(what: impl Into<String>) -> impl FnOnce(io::Error) -> EvolveError {
        let what = what.into();
        move |error| EvolveError::Io(what, error)
    }
}

/// What came from the other end is not what the protocol says.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Violation(pub(crate) String);

impl Violation {
    pub(crate) fn new(what: impl Into<String>) -> Self {
        Violation(what.into())
    }
}

impl From<postcard::Error> for Violation {
    fn from(error: postcard::Error) -> Self {
        Violation(format!("bytes that are no message: {error}"))
    }
}
