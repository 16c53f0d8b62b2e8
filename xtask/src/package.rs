//! `cargo xtask package`: makes the archives that would be published, and checks that they fit together.

use crate::cmd::{Cmd, Result, failure};
use crate::tools;

/// The checks after the archives are made.
#[derive(Debug, Default, clap::Args)]
pub(crate) struct Args {
    /// Build each crate from its archive, with the archives of those that it depends on (minutes)
    #[arg(long)]
    verify: bool,
    /// Check that the public API is compatible with this revision's, by cargo-semver-checks; it is installed if it is
    /// missing (minutes)
    #[arg(long, value_name = "REVISION")]
    since: Option<String>,
}

/// Packages the crates of the workspace in the order of their dependencies. Cargo takes crates that are in no registry
/// yet from their archives.
pub(crate) fn run(args: &Args) -> Result {
    let verify = if args.verify { "" } else { " --no-verify" };
    Cmd::cargo(&format!(
        "package --workspace --exclude millstream-bench --exclude xtask --locked --allow-dirty{verify}"
    ))
    .run()?;
    if let Some(revision) = &args.since {
        tools::semver_checks(true).map_err(failure)?;
        Cmd::cargo(&format!(
            "semver-checks --workspace --exclude millstream-bench --exclude xtask --all-features \
             --baseline-rev {revision}"
        ))
        .run()?;
    }
    Ok(())
}
