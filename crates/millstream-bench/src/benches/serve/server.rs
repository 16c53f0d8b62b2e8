//! Servers, each in its own process: `millstream serve`, a server of the bench, which starts itself, and those of axum.

use super::ingest;
use crate::failure::Failure;
use std::ffi::OsStr;
use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// A variable that is set in a process that must serve lines.
const SERVES: &str = "MILLSTREAM_BENCH_SERVES";

/// The message of a server that listens.
const SAID: &str = "listening at http://";

/// A server, which is killed when this is dropped.
pub(super) struct Server {
    child: Child,
    pub(super) at: SocketAddr,
}

impl Server {
    /// The ledger of `millstream serve`.
    pub(super) fn millstream(program: &Path, args: &[&str], state: Option<&Path>) -> Result<Self, Failure> {
        let mut command = Command::new(program);
        command.args(["serve", "--listen", "127.0.0.1:0"]).args(args);
        if let Some(state) = state {
            command.arg("--state").arg(state);
        }
        Server::start(command)
    }

    /// A server of lines: see [`asked`].
    pub(super) fn ingest() -> Result<Self, Failure> {
        let exe = std::env::current_exe().map_err(Failure::io("this program's file"))?;
        let mut command = Command::new(exe);
        command.env(SERVES, "lines");
        Server::start(command)
    }

    /// One of `peers/axum`, whose program this is.
    pub(super) fn axum(program: &Path, args: &[&OsStr]) -> Result<Self, Failure> {
        let mut command = Command::new(program);
        command.args(args);
        Server::start(command)
    }

    fn start(mut command: Command) -> Result<Self, Failure> {
        let shown = format!("{command:?}");
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        let mut child = command.spawn().map_err(Failure::io(shown.clone()))?;
        let errors = child.stderr.take().expect("it is piped");
        let (mut lines, mut said) = (BufReader::new(errors).lines(), String::new());
        let at = lines.by_ref().map_while(Result::ok).find_map(|line| {
            said.push_str(&line);
            line.split_once(SAID)?.1.trim_end_matches('/').parse().ok()
        });
        // Reads its later messages, so that it never waits for a full pipe.
        std::thread::spawn(move || lines.map_while(Result::ok).for_each(|line| eprintln!("{line}")));
        match at {
            Some(at) => Ok(Server { child, at }),
            None => {
                let _ = child.kill();
                let _ = child.wait();
                Err(Failure::Program(shown, format!("it does not listen: {said}")))
            }
        }
    }

    pub(super) fn id(&self) -> u32 {
        self.child.id()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// In a process that must serve lines, serves until it is killed. Returns `None` in any other process.
pub(crate) fn asked() -> Option<Result<(), Failure>> {
    std::env::var_os(SERVES)?;
    Some(ingest::serve(|at: SocketAddr| eprintln!("{SAID}{at}/")))
}
