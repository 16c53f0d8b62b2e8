//! The `millstream` command: raw flags, then a resolved configuration, then a command that runs.
//!
//! Results go to standard output, everything else to standard error.

mod command;
mod config;
mod deploy;
mod flags;
mod hash;
mod input;
mod interrupts;
mod message;
mod output;
mod panics;
mod stats;

use std::process::ExitCode;

fn main() -> ExitCode {
    let flags = flags::parse();
    match config::resolve(flags) {
        Ok(command) => command.run().into(),
        Err(wrong_use) => flags::refuse(&wrong_use),
    }
}
