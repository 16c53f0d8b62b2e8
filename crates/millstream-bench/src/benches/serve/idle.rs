//! The memory of a server with many connections, each of which has had one answer and is idle now.

use super::client::Client;
use super::server::Server;
use super::{deposit, limited};
use crate::failure::Failure;
use crate::figure::Results;
use crate::memory::peak_of;
use crate::setting::Setting;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::path::Path;

const MOST: f64 = 200e6;
const CONNECTIONS: u64 = 10_000;
/// Descriptors for other uses.
const SPARE: u64 = 100;

pub(super) fn run(setting: &Setting, millstream: &Path) -> Result<Results, Failure> {
    let allowed = raise_descriptors();
    let connections = CONNECTIONS.min(allowed.saturating_sub(SPARE));
    let mut results = Results::default();
    if connections < CONNECTIONS {
        results.notes.push(format!("idle: {connections} connections, since no more descriptors are allowed"));
    }
    setting.progress.say("idle");
    let server = Server::millstream(millstream, &["--idle", "600"], None)?;
    let mut client = Client::connect(server.at, connections as usize)?;
    client.closed(connections, &deposit)?;
    if let Some(peak) = peak_of(&server.id().to_string()) {
        limited(&mut results, "idle", peak as f64, MOST);
    }
    setting.progress.done();
    Ok(results)
}

/// Raises the limit of descriptors of this process, and of its children, as far as the system allows. Returns the
/// limit.
fn raise_descriptors() -> u64 {
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    let raised = setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum }).is_ok();
    (if raised { maximum } else { current }).unwrap_or(u64::MAX)
}
