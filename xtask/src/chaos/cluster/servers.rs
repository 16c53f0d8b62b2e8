//! Three servers of NATS on this machine, each on a host of its own if there are hosts.

use super::hosts::Hosts;
use super::{ELECTION, Process, blobs, io};
use crate::cmd::Result;
use std::collections::BTreeSet;
use std::net::TcpListener;
use std::path::Path;
use std::thread::sleep;
use std::time::{Duration, Instant};

/// The end of the name of a configuration.
pub(super) const CONFIG: &str = ".conf";

pub(super) struct Servers {
    // Before the hosts, which are dropped once nothing runs there.
    processes: Vec<Process>,
    urls: Vec<String>,
    hosts: Option<Hosts>,
}

/// Ports that are free now.
fn free(count: usize) -> Result<Vec<u16>> {
    let listeners = (0..count).map(|_| TcpListener::bind("127.0.0.1:0")).collect::<std::io::Result<Vec<_>>>();
    let ports = listeners.and_then(|all| all.iter().map(|one| Ok(one.local_addr()?.port())).collect());
    ports.map_err(io("find a port"))
}

impl Servers {
    pub(super) fn start(program: &Path, home: &Path, hosts: Option<Hosts>) -> Result<Self> {
        let ports = free(2 * Hosts::COUNT)?;
        let (ports, routes) = ports.split_at(Hosts::COUNT);
        let address = |host| hosts.as_ref().map_or_else(|| "127.0.0.1".to_owned(), |hosts| hosts.address(host));
        let all = |ports: &[u16]| -> Vec<String> {
            ports.iter().enumerate().map(|(n, port)| format!("nats://{}:{port}", address(n))).collect()
        };
        let mut processes = Vec::new();
        for (n, (port, route)) in ports.iter().zip(routes).enumerate() {
            let (file, address) = (home.join(format!("n{n}{CONFIG}")), address(n));
            let config = format!(
                "server_name: n{n}\nlisten: \"{address}:{port}\"\njetstream {{ store_dir: {:?} }}\n\
                 cluster {{ name: chaos, listen: \"{address}:{route}\", routes: {:?} }}\n",
                home.join(format!("n{n}")),
                all(routes)
            );
            std::fs::write(&file, config).map_err(io("write a file"))?;
            let host = hosts.as_ref().map(|hosts| hosts.namespace(n));
            processes.push(Process::start_on(host.as_deref(), program, &["-c", &file.to_string_lossy()])?);
        }
        let urls = all(ports);
        Ok(Servers { processes, urls, hosts })
    }

    pub(super) fn url(&self) -> String {
        self.urls.join(",")
    }

    /// The names of the snapshots that are left, once the servers know them.
    pub(super) fn snapshots(&self) -> Result<BTreeSet<String>> {
        let until = Instant::now() + ELECTION;
        loop {
            let mut asked = self.urls.iter().map(|url| blobs::names(url));
            match asked.find(|names| names.is_ok() || Instant::now() > until) {
                Some(names) => return names.map_err(io("ask for the snapshots")),
                None => sleep(Duration::from_millis(100)),
            }
        }
    }

    /// The network namespace of a host, if there are hosts.
    pub(super) fn namespace(&self, host: usize) -> Option<String> {
        self.hosts.as_ref().map(|hosts| hosts.namespace(host))
    }

    /// Cuts the host of this server off, for this time.
    pub(super) fn cut(&self, which: usize, time: Duration) -> Result {
        self.hosts.as_ref().map_or(Ok(()), |hosts| hosts.cut(which, time))
    }

    pub(super) fn kill_and_start(&mut self, which: usize, pause: Duration) -> Result {
        self.processes[which].kill_and_start(pause)
    }

    pub(super) fn kill(&mut self, which: usize) -> Result {
        self.processes[which].kill()
    }

    pub(super) fn start_again(&mut self, which: usize) -> Result {
        self.processes[which].start_again()
    }

    pub(super) fn pause(&self, which: usize, pause: Duration) -> Result {
        self.processes[which].pause(pause)
    }
}
