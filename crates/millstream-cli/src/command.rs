//! What the command can do, one program a file.

mod plan;
mod uppercase;
mod wc;

pub(crate) use plan::PlanCommand;
pub(crate) use uppercase::Uppercase;
pub(crate) use wc::Wc;

use crate::message::say;
use millstream_exec::RunError;
use std::process::{self, ExitCode};

/// A command with everything that it needs.
#[derive(Debug)]
pub(crate) enum Command {
    Wc(Wc),
    Uppercase(Uppercase),
    Plan(PlanCommand),
}

impl Command {
    pub(crate) fn run(self) -> Outcome {
        match self {
            Command::Wc(wc) => wc.run(),
            Command::Uppercase(uppercase) => uppercase.run(),
            Command::Plan(plan) => plan.run(),
        }
    }
}

/// How a command ended. Wrong use, exit code 2, is refused before there is a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// Everything asked for was done, or its reader has gone away.
    Done,
    /// An input or the output failed; the rest was processed.
    InputOrOutputFailed,
    /// The pipeline failed; standard error says where.
    PipelineFailed,
}

impl Outcome {
    /// Ends the process here and now, whatever its other threads do.
    pub(crate) fn exit(self) -> ! {
        process::exit(self.code().into())
    }

    fn code(self) -> u8 {
        match self {
            Outcome::Done => 0,
            Outcome::InputOrOutputFailed => 1,
            Outcome::PipelineFailed => 3,
        }
    }
}

impl From<Outcome> for ExitCode {
    fn from(outcome: Outcome) -> Self {
        outcome.code().into()
    }
}

/// What a failed pipeline leaves to be done.
fn failed(error: &RunError) -> Outcome {
    say(&format!("millstream: {error}"));
    Outcome::PipelineFailed
}
