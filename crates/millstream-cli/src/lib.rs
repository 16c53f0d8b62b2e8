//! The `millstream` command, and its subcommands for any program.
//!
//! [`main`] makes a program of a pipeline over lines, and [`Program`] has more options. Results go to standard output,
//! everything else to standard error. Inside, raw flags become a resolved configuration, and that a command that runs.
//!
//! **Where to look**: each command has a file or a directory in `command`: `serve`, `jq`, `run`, `pipe` (its lines in
//! `pipe/lines`), `verify`, `cluster`. `program` is what [`main`] makes of a user's pipeline, `interrupts` has the
//! signals, and `deploy` one file a deployment.
//!
//! **Promises, and their tests** (in `tests/programs`): a program has the same bytes wherever it runs (`deployments`);
//! a signal loses nothing that was accepted (`signals`), nor does a process that takes over (`serve`,
//! `state_taken_over`); every session in the book is as written (`book`).

mod command;
mod config;
mod deploy;
mod environment;
mod flags;
pub mod halves;
mod hash;
mod input;
mod interrupts;
mod message;
mod name;
mod outcome;
mod output;
mod panics;
mod program;
mod progress;
mod resolve;
mod stats;
mod watching;

pub use program::{Line, Printed, Program, main};

use std::process::ExitCode;

/// Runs the `millstream` command with this process's arguments.
#[must_use]
pub fn command() -> ExitCode {
    let flags = flags::parse::<flags::Flags>();
    match resolve::resolve(flags) {
        Ok(command) => command.run().into(),
        Err(wrong_use) => flags::refuse::<flags::Flags>(&wrong_use),
    }
}
