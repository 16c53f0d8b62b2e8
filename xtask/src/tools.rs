//! The tools that a fresh machine may lack, and their installation.

use crate::cmd::Cmd;

/// Whether a missing tool is a failure (`MILLSTREAM_REQUIRE=all`, as in `.ci/run`).
pub(crate) fn require_all() -> bool {
    std::env::var_os("MILLSTREAM_REQUIRE").is_some_and(|value| value == "all")
}

/// Installs miri for the nightly toolchain if it is missing. An error says why it is not there.
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

/// Installs a component of the current toolchain if it is missing. An error says why it is not there.
pub(crate) fn component(cargo_command: &str, component: &str) -> Result<(), String> {
    if Cmd::cargo(&format!("{cargo_command} --version")).succeeds() {
        return Ok(());
    }
    rustup(&format!("component add {component}"))
}

/// A tool that cargo builds if it is missing. That takes minutes, so it is done only on request.
struct Built {
    package: &'static str,
    version: &'static str,
    flags: &'static str,
    /// The chore that installs it.
    chore: &'static str,
}

const DENY: Built =
    Built { package: "cargo-deny", version: "0.20.2", flags: "--debug", chore: "cargo xtask lint --deny" };
const FUZZ: Built = Built { package: "cargo-fuzz", version: "0.13.2", flags: "", chore: "cargo xtask fuzz" };
// Without its server, which takes most of the build time.
const MDBOOK: Built =
    Built { package: "mdbook", version: "0.5.4", flags: "--no-default-features", chore: "cargo xtask docs --book" };
const INFERNO: Built = Built {
    package: "inferno",
    version: "0.12.8",
    flags: "--no-default-features --features cli",
    chore: "cargo xtask profile",
};

const SEMVER: Built = Built {
    package: "cargo-semver-checks",
    version: "0.51.0",
    flags: "",
    chore: "cargo xtask package --since REVISION",
};

impl Built {
    /// Installs it unless `here` succeeds. An error says why it is not there.
    fn get(&self, here: Cmd, install: bool) -> Result<(), String> {
        let Built { package, version, flags, chore } = self;
        if here.succeeds() {
            return Ok(());
        }
        if !install {
            return Err(format!("{package} is not installed; `{chore}` installs it"));
        }
        Cmd::cargo(&format!("install {package} --locked {flags} --version {version}"))
            .own_target(package)
            .run()
            .map_err(|error| error.message)
    }
}

pub(crate) fn deny(install: bool) -> Result<(), String> {
    DENY.get(Cmd::cargo("deny --version"), install)
}

/// cargo-fuzz, and the nightly toolchain that it needs.
pub(crate) fn fuzz(install: bool) -> Result<(), String> {
    if !Cmd::cargo("+nightly --version").succeeds() {
        if !install {
            return Err("there is no nightly toolchain; `cargo xtask fuzz` installs it".to_owned());
        }
        rustup("toolchain install nightly --profile minimal")?;
    }
    FUZZ.get(Cmd::cargo("fuzz --version"), install)
}

pub(crate) fn mdbook(install: bool) -> Result<(), String> {
    MDBOOK.get(Cmd::new("mdbook", ["--version"]), install)
}

/// The program that draws flame graphs from recordings of perf.
pub(crate) fn flame_graph(install: bool) -> Result<(), String> {
    // It has no `--version`.
    INFERNO.get(Cmd::new("inferno-flamegraph", ["--help"]), install)
}

/// The tool that compares the public APIs of two revisions.
pub(crate) fn semver_checks(install: bool) -> Result<(), String> {
    SEMVER.get(Cmd::cargo("semver-checks --version"), install)
}

/// perf, which no package manager of Rust can install.
pub(crate) fn perf() -> Result<(), String> {
    if Cmd::new("perf", ["--version"]).succeeds() {
        return Ok(());
    }
    Err("perf is not installed (Debian and Ubuntu: linux-perf or linux-tools-generic)".to_owned())
}

/// Installs a program from the Debian package of the same name, if it is missing and may be installed.
pub(crate) fn package(name: &str) -> Result<(), String> {
    program_of(name, name)
}

/// The same, for a package whose program has another name.
pub(crate) fn program_of(name: &str, program: &str) -> Result<(), String> {
    let here = || Cmd::new(program, ["--version"]).succeeds();
    let install = || Cmd::new("apt-get", ["install", "--yes", "--no-install-recommends", name]).succeeds();
    // A fresh machine may have no package lists yet.
    if here() || (install() && here()) || (Cmd::new("apt-get", ["update"]).succeeds() && install() && here()) {
        return Ok(());
    }
    Err(format!("{name} is not installed, and `apt-get install {name}` does not install it"))
}

fn rustup(args: &str) -> Result<(), String> {
    Cmd::new("rustup", args.split_whitespace()).run().map_err(|error| error.message)
}
