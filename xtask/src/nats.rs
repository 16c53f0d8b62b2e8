//! `cargo xtask nats`: a server of NATS for tests, from PATH or built by Go.

use crate::cmd::{Cmd, Result, failure, target_dir};
use std::path::PathBuf;
use std::process::Command;

/// The version that is built where PATH has none that will do.
const PINNED: &str = "v2.15.2";
/// The first version that will do.
const FIRST: (u32, u32) = (2, 12);

pub(crate) fn run() -> Result {
    let server = installed().map_err(failure)?;
    println!("{}", server.display());
    Ok(())
}

/// The server, which is built if it is missing. An error says why it is not there.
pub(crate) fn installed() -> std::result::Result<PathBuf, String> {
    let tools = target_dir().join("tools");
    let built = tools.join("nats-server");
    for server in [PathBuf::from("nats-server"), built.clone()] {
        if will_do(&server) {
            return Ok(server);
        }
    }
    let package = format!("github.com/nats-io/nats-server/v2@{PINNED}");
    let install = Cmd::new("go", ["install", &package]).env("GOBIN", &tools).env("CGO_ENABLED", "0");
    install
        .run()
        .map_err(|error| format!("nats-server is not on PATH, and Go does not build it: {}", error.message))?;
    if will_do(&built) { Ok(built) } else { Err(format!("{} does not say its version", built.display())) }
}

fn will_do(server: &PathBuf) -> bool {
    let version = Command::new(server).arg("--version").output();
    version.is_ok_and(|output| version_of(&String::from_utf8_lossy(&output.stdout)).is_some_and(|it| it >= FIRST))
}

/// The first two numbers of `nats-server: v2.15.2`.
fn version_of(text: &str) -> Option<(u32, u32)> {
    let mut numbers = text.trim().rsplit_once('v')?.1.split('.').map(|number| number.parse().ok());
    Some((numbers.next()??, numbers.next()??))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_is_read() {
        assert_eq!(version_of("nats-server: v2.15.2\n"), Some((2, 15)));
        assert!(version_of("nats-server: v2.9.10").is_some_and(|version| version < FIRST));
        assert_eq!(version_of("command not found"), None);
    }
}
