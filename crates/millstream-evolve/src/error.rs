use crate::Token;
use std::io;

/// Why a population cannot continue.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EvolveError {
    /// A token names no state of the population.
    #[error("no state of the population has the token {0}: after a round, only its children are states")]
    Unknown(Token),
    /// A state cannot evolve: its evolution panicked, or the state, its input or its children cannot be read or
    /// written. Every worker would fail in the same way.
    #[error("the state {token} cannot evolve: {message}")]
    Panicked {
        /// The state's token.
        token: Token,
        /// The text of the panic, or of the error.
        message: String,
    },
    /// Worker after worker was lost while it evolved this state.
    #[error(
        "{deaths} workers were lost while they evolved the state {token}: it may end their process, or never return"
    )]
    Deadly {
        /// The state's token.
        token: Token,
        /// The number of workers.
        deaths: u8,
    },
    /// No worker is left, and none joined in time. The reason is that of the last lost worker.
    #[error("no worker is left, and none joined within {0} s{reason}", reason = last(.1))]
    NoWorkers(u64, Option<String>),
    /// Fewer workers joined in time than `wait_for` asked for.
    #[error("{here} of {wanted} workers joined within {seconds} s{reason}", reason = last(lost))]
    TooFew {
        /// The number of workers that joined.
        here: usize,
        /// The number of workers that `wait_for` asked for.
        wanted: usize,
        /// The time limit in seconds.
        seconds: u64,
        /// Why the last worker was lost, if one was.
        lost: Option<String>,
    },
    /// A round failed before this call.
    #[error("an earlier round of this population has failed, so its states are unknown; begin a new population")]
    Broken,
    /// A value could not be written as bytes, or bytes could not be read as a value.
    #[error("a state, input or output does not survive encoding: {0}")]
    Encoding(#[from] postcard::Error),
    /// A value takes more bytes than can be sent.
    #[error("{what} takes {bytes} bytes; at most {most} can be sent")]
    TooLong {
        /// The kind of value.
        what: &'static str,
        /// The value's length in bytes.
        bytes: usize,
        /// The limit in bytes.
        most: usize,
    },
    /// An error of the system at a socket, or at a checkpoint's file.
    #[error("{0}: {1}")]
    Io(String, #[source] io::Error),
    /// A checkpoint cannot be used.
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

/// Bytes from the peer do not follow the protocol.
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
        Violation(format!("bytes that are not a message: {error}"))
    }
}
