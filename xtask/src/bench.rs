//! `cargo xtask bench`: builds millstream-bench, and passes all arguments to it.

use crate::cmd::{Cmd, Result};
use crate::tools;

/// The arguments are millstream-bench's own.
#[derive(Debug, clap::Args)]
#[command(disable_help_flag = true)]
pub(crate) struct Args {
    /// NAME... [--quick|--full] [--check] [--plot DIR] [--list]
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    args: Vec<String>,
}

/// Benches of shell programs, and the programs that they are compared with.
const PROGRAMS: [&str; 6] = ["spaces-long", "spaces-short", "spaces-pipe", "wc-fast", "uppercase", "pipe"];
const RIVALS: [&str; 2] = ["pv", "parallel"];

pub(crate) fn run(args: &Args) -> Result {
    if args.args.iter().any(|arg| PROGRAMS.contains(&arg.as_str())) {
        for rival in RIVALS {
            // Without it, the bench prints which contestants it leaves out.
            if let Err(reason) = tools::package(rival) {
                eprintln!("{reason}");
            }
        }
    }
    let cargo = ["run", "--quiet", "--release", "-p", "millstream-bench", "--", "--rivals"];
    let all = cargo.into_iter().chain(args.args.iter().map(String::as_str));
    Cmd::new("cargo", all).run_passing_code()
}
