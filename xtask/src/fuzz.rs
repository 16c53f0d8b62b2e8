//! `cargo xtask fuzz`: feeds untrusted bytes to the parsers, by libFuzzer, which searches for new code paths.

use crate::cmd::{Cmd, Result, failure, root, target_dir};
use crate::report::Step;
use crate::tools;

/// The duration.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Seconds for each target
    #[arg(value_name = "SECONDS", default_value_t = 60)]
    seconds: u64,
}

/// A crate with a directory `fuzz`, and its target.
const TARGETS: [(&str, &str); 9] = [
    ("crates/millstream-evolve", "stranger"),
    ("crates/millstream-jq", "filter"),
    ("crates/millstream-jq", "json"),
    ("crates/millstream-net", "http"),
    ("crates/millstream-net", "lines"),
    ("crates/millstream-net", "records"),
    ("crates/millstream-registry", "text"),
    ("crates/millstream-state", "manifest"),
    ("crates/millstream-state", "segment"),
];

pub(crate) fn run(args: &Args) -> Result {
    match smoke(args.seconds, true)? {
        Step::Done => Ok(()),
        Step::Skipped(reason) => Err(failure(reason)),
    }
}

/// Fuzzes each target for this many seconds. New inputs are kept below the target directory; the corpus of the
/// repository stays as it is, and is what `cargo test` uses too.
pub(crate) fn smoke(seconds: u64, install: bool) -> Result<Step> {
    if let Err(reason) = tools::fuzz(install) {
        return Ok(Step::Skipped(reason));
    }
    for (package, target) in TARGETS {
        let found = target_dir().join("fuzz").join(target);
        std::fs::create_dir_all(&found).map_err(|error| failure(format!("{}: {error}", found.display())))?;
        let known = root().join(package).join("fuzz/corpus").join(target);
        let (found, known) = (found.to_string_lossy(), known.to_string_lossy());
        let seconds = format!("-max_total_time={seconds}");
        let arguments = ["+nightly", "fuzz", "run", target, &found, &known, "--", &seconds, "-max_len=1024"];
        Cmd::new("cargo", arguments).current_dir(&root().join(package)).own_target("fuzz").run()?;
    }
    Ok(Step::Done)
}
