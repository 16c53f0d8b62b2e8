//! The `millstream` command.

use std::process::ExitCode;

fn main() -> ExitCode {
    millstream_cli::command()
}
