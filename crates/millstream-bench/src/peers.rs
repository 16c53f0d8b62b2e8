//! Builds other programs: the rivals' programs, each a manifest of its own below `peers`, and ours.

use crate::failure::{Failure, skip};
use crate::progress::Progress;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

const PEERS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/peers");

/// The program `name` of the manifest in `peers/DIR`, built in a directory beside this program's.
pub(crate) fn built(dir: &str, name: &str) -> Result<PathBuf, Failure> {
    let target = peers_dir()?;
    let mut cargo = cargo();
    cargo
        .args(["build", "--quiet", "--release", "--locked", "--manifest-path"])
        .arg(format!("{PEERS}/{dir}/Cargo.toml"));
    succeed(cargo.arg("--target-dir").arg(&target))?;
    Ok(target.join("release").join(name).with_extension(std::env::consts::EXE_EXTENSION))
}

/// The program of `peers/go`.
pub(crate) fn built_by_go() -> Result<PathBuf, Failure> {
    let program = peers_dir()?.join("millstream-go-peers");
    let mut go = Command::new("go");
    succeed(go.arg("build").arg("-o").arg(absolute(&program)?).arg(".").current_dir(format!("{PEERS}/go")))?;
    Ok(program)
}

/// The command that runs the class `main` of `peers/DIR`.
pub(crate) fn built_by_maven(dir: &str, main: &str) -> Result<Command, Failure> {
    let out = absolute(&peers_dir()?.join(dir))?;
    let mut maven = Command::new("mvn");
    maven.args(["--quiet", "--batch-mode", "--file", &format!("{PEERS}/{dir}/pom.xml"), "package"]);
    succeed(maven.arg(format!("-Dout={}", out.display())).stdout(Stdio::null()))?;
    let mut java = Command::new("java");
    // Libraries that would take every core have as many as ours has workers.
    java.arg("-XX:ActiveProcessorCount=2");
    java.arg("-Xmx4g").arg("-cp").arg(format!("{0}/classes:{0}/lib/*", out.display())).arg(main);
    Ok(java)
}

fn absolute(path: &Path) -> Result<PathBuf, Failure> {
    std::path::absolute(path).map_err(Failure::io(path.display().to_string()))
}

/// The program of the package `name`, installed in a directory beside this program's. If it cannot be built, it is left
/// out.
pub(crate) fn installed(progress: &Progress, name: &str, version: &str) -> Result<Option<PathBuf>, Failure> {
    let peers = peers_dir()?;
    let root = peers.join(format!("{name}-{version}"));
    let program = root.join("bin").join(name).with_extension(std::env::consts::EXE_EXTENSION);
    if !program.exists() {
        progress.say(&format!("building {name}"));
        let mut cargo = cargo();
        cargo.args(["install", "--quiet", "--locked", name, "--version", &format!("={version}"), "--root"]).arg(root);
        return left_out_unless(name, succeed(cargo.arg("--target-dir").arg(peers.join("installing"))), program);
    }
    Ok(Some(program))
}

/// The program, unless it could not be installed.
fn left_out_unless(name: &str, installed: Result<(), Failure>, program: PathBuf) -> Result<Option<PathBuf>, Failure> {
    match installed {
        Ok(()) => Ok(Some(program)),
        Err(failure) => skip(name, &failure.to_string()).map(|()| None),
    }
}

/// The program at `path` in the Python package `name`, installed in a directory beside this program's. Without Python
/// there is none.
pub(crate) fn installed_by_pip(
    progress: &Progress,
    name: &str,
    version: &str,
    path: &str,
) -> Result<Option<PathBuf>, Failure> {
    let root = peers_dir()?.join(format!("{name}-{version}"));
    let program = root.join(path);
    if !program.exists() {
        progress.say(&format!("installing {name}"));
        let mut pip = Command::new("python3");
        pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--root-user-action", "ignore"]);
        pip.arg("--target").arg(root).arg(format!("{name}=={version}"));
        return left_out_unless(name, succeed(&mut pip), program);
    }
    Ok(Some(program))
}

/// The `millstream` command, built in this program's directory.
pub(crate) fn millstream(progress: &Progress) -> Result<PathBuf, Failure> {
    millstream_with(progress, "default")
}

/// The `millstream` command with more features.
pub(crate) fn millstream_with(progress: &Progress, features: &str) -> Result<PathBuf, Failure> {
    progress.say("building millstream-cli");
    let own = std::env::current_exe().map_err(Failure::io("this program"))?;
    let program = own.with_file_name("millstream").with_extension(std::env::consts::EXE_EXTENSION);
    let mut cargo = cargo();
    cargo.args(["build", "--quiet", "--release", "--package", "millstream-cli", "--features", features]);
    if let Some(target) = own.parent().and_then(Path::parent) {
        cargo.arg("--target-dir").arg(target).current_dir(env!("CARGO_MANIFEST_DIR"));
    }
    match succeed(&mut cargo) {
        // Without cargo, the program that is there is used.
        Err(Failure::Io { .. }) | Ok(()) => Ok(program),
        Err(failure) => Err(failure),
    }
}

/// An example of the crate `millstream`, built in this program's directory.
pub(crate) fn example(progress: &Progress, name: &str) -> Result<PathBuf, Failure> {
    progress.say(&format!("building {name}"));
    let own = std::env::current_exe().map_err(Failure::io("this program"))?;
    let program = own.with_file_name("examples").join(name).with_extension(std::env::consts::EXE_EXTENSION);
    let mut cargo = cargo();
    cargo.args(["build", "--quiet", "--release", "--package", "millstream", "--example", name]);
    if let Some(target) = own.parent().and_then(Path::parent) {
        cargo.arg("--target-dir").arg(target).current_dir(env!("CARGO_MANIFEST_DIR"));
    }
    succeed(&mut cargo)?;
    Ok(program)
}

/// The directory for other programs.
fn peers_dir() -> Result<PathBuf, Failure> {
    let own = std::env::current_exe().map_err(Failure::io("this program"))?;
    // The program is in `release`, its tests are in `release/deps`.
    let beside = own.ancestors().skip(1).find(|dir| !dir.ends_with("deps")).and_then(Path::parent);
    Ok(beside.map_or_else(|| PathBuf::from("target"), |dir| dir.join("peers")))
}

/// What the names of the variables begin with that cargo sets for the program it runs. They are about this program. A
/// build that they reach is another one to some build scripts: what depends on those is built again, here and then by
/// the next build without them.
const ABOUT_THIS_PROGRAM: [&str; 5] =
    ["CARGO_PKG_", "CARGO_MANIFEST_", "CARGO_BIN_", "CARGO_CRATE_NAME", "CARGO_PRIMARY_PACKAGE"];

/// Cargo, without the variables about this program.
pub(crate) fn cargo() -> Command {
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    for (name, _) in std::env::vars_os() {
        if ABOUT_THIS_PROGRAM.iter().any(|prefix| name.to_string_lossy().starts_with(prefix)) {
            cargo.env_remove(name);
        }
    }
    cargo
}

/// The time in which other programs were built or installed, so far, in milliseconds.
static BUILDING: AtomicU64 = AtomicU64::new(0);

/// How long other programs were built or installed in this process.
pub(crate) fn building() -> Duration {
    Duration::from_millis(BUILDING.load(Ordering::Relaxed))
}

fn succeed(command: &mut Command) -> Result<(), Failure> {
    let (shown, begun) = (format!("{command:?}"), Instant::now());
    let status = command.stdin(Stdio::null()).status();
    BUILDING.fetch_add(u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX), Ordering::Relaxed);
    let status = status.map_err(Failure::io(shown.clone()))?;
    if status.success() { Ok(()) } else { Err(Failure::Program(shown, status.to_string())) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::byte_loop::headed;
    use crate::golden;
    use crate::programs::Chain;

    /// All rivals but two pass any bytes on. Those two read strings.
    #[test]
    fn the_rivals_put_headers_before_lines() {
        let program = built("text", "millstream-text-peers").unwrap();
        let dir = tempfile::tempdir().unwrap();
        let written = golden::WRITTEN.map(|(text, out)| ("written", text.to_vec(), out.to_vec()));
        let computed = golden::texts().into_iter().map(|(name, text)| {
            let out = headed(&text);
            (name, text, out)
        });
        for (name, text, expected) in written.into_iter().chain(computed) {
            let file = dir.path().join("text");
            std::fs::write(&file, &text).unwrap();
            for who in
                ["std-baseline", "std-64k", "tokio-baseline", "tokio-pipeline", "tokio-threads", "futures-streams"]
            {
                let output = Chain::reading(&file).then(&program, [who]).output();
                if who.starts_with("std-") && std::str::from_utf8(&text).is_err() {
                    let failure = output.unwrap_err().to_string();
                    assert!(failure.contains("exit status: 1"), "{failure}");
                } else {
                    assert!(output.unwrap() == expected, "{who}: {name}");
                }
            }
        }
    }
}
