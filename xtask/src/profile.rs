//! `cargo xtask profile NAME`: one bench under `perf record`, and its flame graph.

use std::path::Path;

use crate::cmd::{Cmd, Result, failure, target_dir};
use crate::tools;

/// The bench to record.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The bench
    name: String,
    /// More arguments for millstream-bench
    #[arg(last = true)]
    more: Vec<String>,
}

/// Prints how to view the recording, and the path of its flame graph.
pub(crate) fn run(args: &Args) -> Result {
    tools::perf().map_err(failure)?;
    tools::flame_graph(true).map_err(failure)?;
    let target = target_dir().join("profile");
    Cmd::cargo("build --release -p millstream-bench")
        .own_target("profile")
        .env("CARGO_PROFILE_RELEASE_DEBUG", "1")
        .env("RUSTFLAGS", "-C force-frame-pointers=yes")
        .run()?;
    let data = target.join(format!("{}.perf", args.name));
    let graph = target.join(format!("{}.svg", args.name));
    let program = target.join("release/millstream-bench");
    let runs = target.join("runs"); // measurements under a profiler are no results
    let [recorded, program, runs] = [&data, &program, &runs].map(|path| path.to_string_lossy());
    let record = ["record", "--call-graph", "fp", "--output", &recorded, "--", &program, &args.name, "--runs", &runs];
    let more = args.more.iter().map(String::as_str);
    Cmd::new("perf", record.into_iter().chain(more)).run_passing_code()?;
    draw(&data, &graph)?;
    println!("perf report --input {recorded}");
    println!("{}", graph.display());
    Ok(())
}

/// The flame graph of a recording: the time of each function on a processor, by its callers.
fn draw(data: &Path, graph: &Path) -> Result {
    let line = r#"perf script --input "$1" | inferno-collapse-perf | inferno-flamegraph > "$2""#;
    let paths = [data, graph].map(|path| path.to_string_lossy().into_owned());
    let args = ["-euo", "pipefail", "-c", line, "bash"].map(str::to_owned);
    Cmd::new("bash", args.into_iter().chain(paths)).run()
}
