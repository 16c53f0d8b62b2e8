//! `cargo xtask bench`: builds millstream-bench and hands everything to it.

use crate::cmd::{Cmd, Result};

/// The arguments are millstream-bench's own.
#[derive(Debug, clap::Args)]
#[command(disable_help_flag = true)]
pub(crate) struct Args {
    /// NAME... [--quick|--full] [--check] [--plot DIR] [--list]
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    args: Vec<String>,
}

pub(crate) fn run(args: &Args) -> Result {
    let cargo = ["run", "--quiet", "--release", "-p", "millstream-bench", "--", "--rivals"];
    let all = cargo.into_iter().chain(args.args.iter().map(String::as_str));
    Cmd::new("cargo", all).run_passing_code()
}
