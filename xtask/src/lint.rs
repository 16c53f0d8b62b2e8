//! `cargo xtask lint`: all checks that need no run of the code.

use crate::cmd::{Cmd, Result, failure};
use crate::report::{Report, Step};
use crate::{package, tidy, tools};

/// The extent of the checks.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Install cargo-deny if it is missing (minutes)
    #[arg(long)]
    deny: bool,
}

pub(crate) fn run(args: &Args) -> Result {
    let mut report = Report::default();
    report.must("tidy", tidy::run);
    report.must("fmt", || {
        tools::component("fmt", "rustfmt").map_err(failure)?;
        Cmd::cargo("fmt --all --check").run()?;
        // These are workspaces of their own, which the command above does not check.
        let peers = ["axum", "rust", "text"].into_iter();
        let manifest = |peer| format!("crates/millstream-bench/peers/{peer}/Cargo.toml");
        peers
            .map(manifest)
            .try_for_each(|manifest| Cmd::cargo(&format!("fmt --manifest-path {manifest} --check")).run())
    });
    report.must("clippy", || {
        tools::component("clippy", "clippy").map_err(failure)?;
        Cmd::cargo("clippy --workspace --all-targets --all-features -- -D warnings").run()
    });
    report.must("package", || package::run(&package::Args::default()));
    report.step("deny", || {
        if let Err(reason) = tools::deny(args.deny || tools::require_all()) {
            return Ok(Step::Skipped(reason));
        }
        // Advisories change from day to day: they are no property of a commit.
        Cmd::cargo("deny --all-features check bans licenses sources").run()?;
        Ok(Step::Done)
    });
    report.finish()
}
