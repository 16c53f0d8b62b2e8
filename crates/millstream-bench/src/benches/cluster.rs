//! A NATS server on this machine, for the benches of clusters: with file storage, one copy, and its default settings.
//!
//! The server shares the cores with the measured processes, and writes to the disk of the temporary directory.

mod bare;
mod failover;
mod hop;
mod words;

pub(crate) use failover::run as failover;
pub(crate) use hop::run as hop;
pub(crate) use words::run as words;

use crate::failure::Failure;
use millstream::cluster::{Access, JetStream, Log, LogError, Streams};
use std::cell::Cell;
use std::net::TcpListener;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;
use tempfile::TempDir;

/// How many entries an edge holds: more than any bench appends.
const CAPACITY: u32 = 1 << 20;
const INPUT: &str = "in";
const OUTPUT: &str = "out";

struct Server {
    _home: TempDir,
    url: String,
    child: Child,
    apps: Cell<u32>,
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// For `map_err`: an error of the log.
fn failed(error: impl ToString) -> Failure {
    Failure::Program("nats-server".to_owned(), error.to_string())
}

impl Server {
    /// The server of `cargo xtask nats`, or the one on PATH.
    fn start() -> Result<Self, Failure> {
        let tools =
            std::env::current_exe().ok().and_then(|own| Some(own.parent()?.parent()?.join("tools/nats-server")));
        let program = tools.filter(|program| program.exists()).unwrap_or_else(|| PathBuf::from("nats-server"));
        let home = tempfile::tempdir().map_err(Failure::io("a directory for the server"))?;
        let listener = TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr());
        let port = listener.map_err(Failure::io("a port for the server"))?.port().to_string();
        let mut command = Command::new(program);
        command.args(["-js", "-a", "127.0.0.1", "-p", &port, "-sd"]).arg(home.path());
        let child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn();
        let child = child.map_err(Failure::io("no nats-server, which `cargo xtask nats` installs"))?;
        Ok(Server { _home: home, url: format!("nats://127.0.0.1:{port}"), child, apps: Cell::new(0) })
    }

    /// A new application with both edges.
    fn app(&self) -> Result<JetStream, Failure> {
        self.apps.set(self.apps.get() + 1);
        let access = Access { url: self.url.clone(), app: self.name(), ..Access::default() };
        let streams = Streams { edges: vec![INPUT.to_owned(), OUTPUT.to_owned()], replicas: 1, capacity: CAPACITY };
        JetStream::create(&access, &streams, Duration::from_secs(30)).map_err(failed)
    }

    /// The name of the last application.
    fn name(&self) -> String {
        format!("bench{}", self.apps.get())
    }
}

/// Appends these entries, many at a time.
fn fill(log: &JetStream, edge: &str, entries: &[Vec<u8>]) -> Result<(), Failure> {
    for (first, group) in (0..).step_by(128).zip(entries.chunks(128)) {
        let mut sent: Vec<_> =
            (first..).zip(group).map(|(last, bytes)| log.send_if(edge, last, bytes.clone().into())).collect();
        for sent in &mut sent {
            wait(log, || sent.answer()).map_err(failed)?;
        }
    }
    Ok(())
}

/// Waits for an answer.
fn wait(log: &JetStream, mut answer: impl FnMut() -> Option<Result<(), LogError>>) -> Result<(), LogError> {
    loop {
        match answer() {
            Some(answer) => return answer,
            None => log.wait(Duration::from_millis(5)),
        }
    }
}
