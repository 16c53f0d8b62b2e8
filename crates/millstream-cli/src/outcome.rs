//! How a command ends.

use crate::{progress, watching};
use std::process::{self, ExitCode};
use std::sync::{Mutex, PoisonError};

/// Ends what would outlive the process.
static BEFORE_EXIT: Mutex<Vec<Box<dyn Fn() + Send>>> = Mutex::new(Vec::new());

/// How a command ended. Most wrong use is refused before there is a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// All work was done, or the reader of the output is gone.
    Done,
    /// An input or the output failed; the rest was processed.
    InputOrOutputFailed,
    /// This machine cannot do what the flags ask for.
    WrongUse,
    /// The pipeline failed; standard error says where.
    PipelineFailed,
    /// A comparison found a difference; standard error says where.
    CheckFailed,
    /// All work was done, and the program's own rules give this exit code.
    #[cfg(feature = "jq")]
    Chosen(u8),
    /// This signal came; what was accepted before it was processed.
    Interrupted(u8),
}

/// Calls `end` before an [exit](Outcome::exit). It must not wait.
pub(crate) fn before_exit(end: impl Fn() + Send + 'static) {
    BEFORE_EXIT.lock().unwrap_or_else(PoisonError::into_inner).push(Box::new(end));
}

impl Outcome {
    /// Ends the process now, without waiting for its other threads.
    pub(crate) fn exit(self) -> ! {
        progress::end();
        watching::ended(self);
        BEFORE_EXIT.lock().unwrap_or_else(PoisonError::into_inner).iter().for_each(|end| end());
        process::exit(self.code().into())
    }

    /// The outcome in words, with the number of bytes read, for readers of the page.
    #[cfg(feature = "page")]
    pub(crate) fn sentence(self) -> String {
        let how = match self {
            Outcome::Done => "done".to_owned(),
            Outcome::InputOrOutputFailed => "an input or an output failed".to_owned(),
            Outcome::WrongUse => "refused".to_owned(),
            Outcome::PipelineFailed => "the pipeline failed".to_owned(),
            Outcome::CheckFailed => "the check failed".to_owned(),
            #[cfg(feature = "jq")]
            Outcome::Chosen(code) => format!("done, with exit code {code}"),
            Outcome::Interrupted(signal) => format!("ended by signal {signal}"),
        };
        let read = progress::bytes();
        if read == 0 { how } else { format!("{how}, {read} bytes read") }
    }

    pub(crate) fn code(self) -> u8 {
        match self {
            Outcome::Done => 0,
            Outcome::InputOrOutputFailed => 1,
            Outcome::WrongUse => 2,
            Outcome::PipelineFailed => 3,
            Outcome::CheckFailed => 4,
            #[cfg(feature = "jq")]
            Outcome::Chosen(code) => code,
            // The exit code that a shell reports for a program that a signal has ended.
            Outcome::Interrupted(signal) => 128 + signal,
        }
    }
}

impl From<Outcome> for ExitCode {
    fn from(outcome: Outcome) -> Self {
        outcome.code().into()
    }
}
