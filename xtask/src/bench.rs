//! `cargo xtask bench`: builds millstream-bench, and passes all arguments to it.

use crate::cmd::{Cmd, Result};
use crate::tools;

/// The arguments are millstream-bench's own.
#[derive(Debug, clap::Args)]
#[command(disable_help_flag = true)]
pub(crate) struct Args {
    /// NAME... | --all [--quick|--full] [--check[=CASE[.WHO],..]] [--plot DIR] | --list | --report
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    args: Vec<String>,
}

/// Benches, and a package and program that they need or are compared with.
const TOOLS: [(&[&str], &str, &str); 8] = [
    (PROGRAMS, "pv", "pv"),
    (PROGRAMS, "parallel", "parallel"),
    // The other rival, jaq, is built by the bench.
    (&["jq"], "jq", "jq"),
    (&["csv"], "miller", "mlr"),
    (&["csv"], "mawk", "mawk"),
    (&["instructions", "observe"], "valgrind", "valgrind"),
    (&["observe"], "chromium", "chromium"),
    (&["spaces-long"], "linux-perf", "perf"),
];
/// Benches of shell programs.
const PROGRAMS: &[&str] = &["spaces-long", "spaces-short", "spaces-pipe", "wc-fast", "uppercase", "pipe"];

pub(crate) fn run(args: &Args) -> Result {
    let is_wanted = |names: &[&str]| args.args.iter().any(|arg| arg == "--all" || names.contains(&arg.as_str()));
    for (_, package, program) in TOOLS.into_iter().filter(|(benches, ..)| is_wanted(benches)) {
        // Without it, the bench prints which contestants it leaves out.
        if let Err(reason) = tools::program_of(package, program) {
            eprintln!("{reason}");
        }
    }
    let cargo = ["run", "--quiet", "--release", "-p", "millstream-bench", "--", "--rivals"];
    let all = cargo.into_iter().chain(args.args.iter().map(String::as_str));
    Cmd::new("cargo", all).run_passing_code()
}
