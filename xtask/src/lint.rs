//! `cargo xtask lint`: all checks that need no run of the code.

use std::path::{Path, PathBuf};

use crate::cmd::{Cmd, Result, failure, root};
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
        let manifests = apart(&root())?;
        let args = |manifest: &Path| ["fmt".into(), "--check".into(), "--manifest-path".into(), manifest.to_owned()];
        manifests.iter().try_for_each(|manifest| Cmd::new("cargo", args(manifest)).run())
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

/// The manifests of workspaces of their own, such as those of fuzz targets: `--all` means the members of ours.
fn apart(root: &Path) -> Result<Vec<PathBuf>> {
    let (mut manifests, members) = (tidy::files(root, "toml")?, tidy::manifests(root)?);
    manifests.retain(|file| file.ends_with("Cargo.toml") && !members.contains(file));
    Ok(manifests)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn workspaces_of_their_own_are_found() {
        let (root, found) = (root(), apart(&root()).unwrap());
        let has = |dir: &str| found.contains(&root.join(dir).join("Cargo.toml"));
        assert!(has("crates/millstream-net/fuzz") && has("crates/millstream-bench/peers/axum"), "{found:?}");
        assert!(!has("crates/millstream-net") && !has("xtask"), "{found:?}");
    }
}
