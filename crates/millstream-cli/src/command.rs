//! The command's programs, one for each file.

#[cfg(feature = "completions")]
mod completions;
mod copying;
mod evolve;
mod graph;
mod hidden_clock;
mod idle;
#[cfg(feature = "completions")]
mod man;
pub(crate) mod panic;
pub(crate) mod pipe;
mod plan;
pub(crate) mod sleep;
pub(crate) mod spaces;
#[cfg(feature = "top")]
mod top;
mod uppercase;
pub(crate) mod verify;
pub(crate) mod wc;

pub(crate) use copying::{Copying, Fanout};
pub(crate) use evolve::{Evolve, Worker as EvolveWorker};
pub(crate) use graph::{Graph, HowToDraw};
pub(crate) use idle::Idle;
#[cfg(feature = "completions")]
pub(crate) use man::Man;
pub(crate) use panic::Panic;
pub(crate) use pipe::Pipe;
pub(crate) use plan::{HowToShow, PlanCommand};
pub(crate) use sleep::Sleep;
pub(crate) use spaces::Spaces;
#[cfg(feature = "top")]
pub(crate) use top::Top;
pub(crate) use uppercase::Uppercase;
pub(crate) use verify::Verify;
pub(crate) use wc::Wc;

use crate::{progress, watching};
use std::process::{self, ExitCode};

/// A command with everything that it needs.
#[derive(Debug)]
pub(crate) enum Command {
    Wc(Wc),
    Uppercase(Uppercase),
    Spaces(Spaces),
    Sleep(Sleep),
    Panic(Panic),
    Idle(Idle),
    Copying(Copying),
    Pipe(Pipe),
    Evolve(Evolve),
    EvolveWorker(EvolveWorker),
    Verify(Verify),
    Plan(PlanCommand),
    Graph(Graph),
    #[cfg(feature = "top")]
    Top(Top),
    #[cfg(feature = "completions")]
    Completions(clap_complete::Shell),
    #[cfg(feature = "completions")]
    Man(Man),
}

impl Command {
    pub(crate) fn run(self) -> Outcome {
        match self {
            Command::Wc(wc) => wc.run(),
            Command::Uppercase(uppercase) => uppercase.run(),
            Command::Spaces(spaces) => spaces.run(),
            Command::Sleep(sleep) => sleep.run(),
            Command::Panic(panic) => panic.run(),
            Command::Idle(idle) => idle.run(),
            Command::Copying(copying) => copying.run(),
            Command::Pipe(pipe) => pipe.run(),
            Command::Evolve(evolve) => evolve.run(),
            Command::EvolveWorker(worker) => worker.run(),
            Command::Verify(verify) => verify.run(),
            Command::Plan(plan) => plan.run(),
            Command::Graph(graph) => graph.run(),
            #[cfg(feature = "top")]
            Command::Top(top) => top.run(),
            #[cfg(feature = "completions")]
            Command::Completions(shell) => completions::run(shell),
            #[cfg(feature = "completions")]
            Command::Man(man) => man.run(),
        }
    }
}

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
    /// This signal came; what was accepted before it was processed.
    Interrupted(u8),
}

impl Outcome {
    /// Ends the process now, without waiting for its other threads.
    pub(crate) fn exit(self) -> ! {
        progress::end();
        watching::ended(self);
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
