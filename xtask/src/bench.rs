//! `cargo xtask bench`: builds millstream-bench, and passes all arguments to it.

use crate::cmd::{Cmd, Result};
use crate::tools;

/// The arguments are millstream-bench's own.
#[derive(Debug, clap::Args)]
#[command(disable_help_flag = true)]
pub(crate) struct Args {
    /// NAME... | --all [--quick|--full] [--check] [--plot DIR] [--list]
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    args: Vec<String>,
}

/// Benches of shell programs, and the programs that they are compared with.
const PROGRAMS: [&str; 6] = ["spaces-long", "spaces-short", "spaces-pipe", "wc-fast", "uppercase", "pipe"];
const RIVALS: [&str; 2] = ["pv", "parallel"];
/// The bench of JSON, and its rival. The other one, jaq, is built by the bench.
const JSON: &str = "jq";
/// The bench that counts, and its counter.
const COUNTS: (&str, &str) = ("instructions", "valgrind");

pub(crate) fn run(args: &Args) -> Result {
    let is_wanted = |names: &[&str]| args.args.iter().any(|arg| arg == "--all" || names.contains(&arg.as_str()));
    let rivals = RIVALS.into_iter().filter(|_| is_wanted(&PROGRAMS));
    for rival in rivals.chain(is_wanted(&[JSON]).then_some(JSON)).chain(is_wanted(&[COUNTS.0]).then_some(COUNTS.1)) {
        // Without it, the bench prints which contestants it leaves out.
        if let Err(reason) = tools::package(rival) {
            eprintln!("{reason}");
        }
    }
    let cargo = ["run", "--quiet", "--release", "-p", "millstream-bench", "--", "--rivals"];
    let all = cargo.into_iter().chain(args.args.iter().map(String::as_str));
    Cmd::new("cargo", all).run_passing_code()
}
