//! `cargo xtask profile NAME`: one bench under `perf record`.

use crate::cmd::{Cmd, Result, failure, target_dir};
use crate::tools;

/// What to record.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The bench
    name: String,
    /// More arguments for millstream-bench
    #[arg(last = true)]
    more: Vec<String>,
}

pub(crate) fn run(args: &Args) -> Result {
    tools::perf().map_err(failure)?;
    let target = target_dir().join("profile");
    Cmd::cargo("build --release -p millstream-bench")
        .own_target("profile")
        .env("CARGO_PROFILE_RELEASE_DEBUG", "1")
        .env("RUSTFLAGS", "-C force-frame-pointers=yes")
        .run()?;
    let data = target.join(format!("{}.perf", args.name));
    let data = data.to_string_lossy();
    let program = target.join("release/millstream-bench");
    let program = program.to_string_lossy();
    let record = ["record", "--call-graph", "fp", "--output", &data, "--", &program, &args.name];
    let more = args.more.iter().map(String::as_str);
    Cmd::new("perf", record.into_iter().chain(more)).run_passing_code()?;
    println!("perf report --input {data}");
    Ok(())
}
