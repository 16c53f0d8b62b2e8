//! The memory of a server with many connections, each of which has had one answer and is idle now.

use super::client::Client;
use super::server::Server;
use super::{deposit, limited};
use crate::failure::Failure;
use crate::figure::{Figure, Results, Unit};
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
    let limit = limit(connections);
    if limit.is_none() {
        let note = format!("idle: {connections} connections, since no more descriptors are allowed; the limit is for");
        results.notes.push(format!("{note} {CONNECTIONS}"));
    }
    setting.progress.say("idle");
    let server = Server::millstream(millstream, &["--idle", "600"], None)?;
    let mut client = Client::connect(server.at, connections as usize)?;
    client.closed(connections, &deposit)?;
    if let Some(peak) = peak_of(&server.id().to_string()) {
        match limit {
            Some(limit) => limited(&mut results, "idle", peak as f64, limit),
            None => results.figures.push(Figure::new("idle", "ours", vec![peak as f64], Unit::Bytes)),
        }
    }
    setting.progress.done();
    Ok(results)
}

/// The most memory of this many connections. Fewer than all are no test of the limit.
fn limit(connections: u64) -> Option<f64> {
    (connections >= CONNECTIONS).then_some(MOST)
}

/// Raises the limit of descriptors of this process, and of its children, as far as the system allows. Returns the
/// limit.
fn raise_descriptors() -> u64 {
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    let raised = setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum }).is_ok();
    (if raised { maximum } else { current }).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_few_connections_are_not_judged() {
        assert_eq!((limit(924), limit(CONNECTIONS)), (None, Some(MOST)));
    }
}
