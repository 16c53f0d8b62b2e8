//! The tools that a fresh machine may lack, and how to get them.

use crate::cmd::Cmd;

/// Is a missing tool a failure? (`MILLSTREAM_REQUIRE=all`, as in `.ci/run`.)
pub(crate) fn require_all() -> bool {
    std::env::var_os("MILLSTREAM_REQUIRE").is_some_and(|value| value == "all")
}

/// The version of cargo-deny that is installed where it is missing.
const DENY: &str = "0.20.2";

/// Miri on the nightly toolchain, installed if need be; or why it is not there.
pub(crate) fn miri() -> Result<(), String> {
    if Cmd::cargo("+nightly miri --version").succeeds() {
        return Ok(());
    }
    let get = if Cmd::cargo("+nightly --version").succeeds() {
        "component add --toolchain nightly miri rust-src"
    } else {
        "toolchain install nightly --profile minimal --component miri --component rust-src"
    };
    rustup(get)
}

/// A component of the toolchain in use; or why it is not there.
pub(crate) fn component(cargo_command: &str, component: &str) -> Result<(), String> {
    if Cmd::cargo(&format!("{cargo_command} --version")).succeeds() {
        return Ok(());
    }
    rustup(&format!("component add {component}"))
}

fn install_cargo(tool: &str, version: &str) -> Result<(), String> {
    Cmd::cargo(&format!("install {tool} --locked --version {version}"))
        .own_target(tool)
        .run()
        .map_err(|error| error.message)
}

/// cargo-deny. Building it takes minutes, so this is done only on request.
pub(crate) fn deny(install: bool) -> Result<(), String> {
    if Cmd::cargo("deny --version").succeeds() {
        return Ok(());
    }
    if !install {
        return Err("cargo-deny is not installed; `cargo xtask lint --deny` installs it".to_owned());
    }
    install_cargo("cargo-deny", DENY)
}

/// The version of cargo-fuzz that is installed where it is missing.
const FUZZ: &str = "0.13.2";

/// cargo-fuzz, and the nightly toolchain that it needs. Building it takes a minute, so this is done only on request.
pub(crate) fn fuzz(install: bool) -> Result<(), String> {
    if !Cmd::cargo("+nightly --version").succeeds() {
        if !install {
            return Err("there is no nightly toolchain; `cargo xtask fuzz` installs it".to_owned());
        }
        rustup("toolchain install nightly --profile minimal")?;
    }
    if Cmd::cargo("fuzz --version").succeeds() {
        return Ok(());
    }
    if !install {
        return Err("cargo-fuzz is not installed; `cargo xtask fuzz` installs it".to_owned());
    }
    install_cargo("cargo-fuzz", FUZZ)
}

/// The version of mdbook that is installed where it is missing.
const MDBOOK: &str = "0.5.4";

/// mdbook. Building it takes minutes, so this is done only on request.
pub(crate) fn mdbook(install: bool) -> Result<(), String> {
    if Cmd::new("mdbook", ["--version"]).succeeds() {
        return Ok(());
    }
    if !install {
        return Err("mdbook is not installed; `cargo xtask docs --book` installs it".to_owned());
    }
    // Without its server, which takes most of the time.
    Cmd::cargo(&format!("install mdbook --locked --no-default-features --version {MDBOOK}"))
        .own_target("mdbook")
        .run()
        .map_err(|error| error.message)
}

/// perf, which no package manager of Rust can install.
pub(crate) fn perf() -> Result<(), String> {
    if Cmd::new("perf", ["--version"]).succeeds() {
        return Ok(());
    }
    Err("perf is not installed (Debian and Ubuntu: linux-perf or linux-tools-generic)".to_owned())
}

/// A program that is the one of a Debian package of its name, installed if need be and if this may be done.
pub(crate) fn package(name: &str) -> Result<(), String> {
    let here = || Cmd::new(name, ["--version"]).succeeds();
    let install = || Cmd::new("apt-get", ["install", "--yes", "--no-install-recommends", name]).succeeds();
    // A fresh machine may have no list of packages yet.
    if here() || (install() && here()) || (Cmd::new("apt-get", ["update"]).succeeds() && install() && here()) {
        return Ok(());
    }
    Err(format!("{name} is not installed, and `apt-get install {name}` does not install it"))
}

fn rustup(args: &str) -> Result<(), String> {
    Cmd::new("rustup", args.split_whitespace()).run().map_err(|error| error.message)
}
