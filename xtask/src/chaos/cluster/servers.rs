//! Three servers of NATS on this machine.

use super::{Process, io};
use crate::cmd::Result;
use std::net::TcpListener;
use std::path::Path;
use std::time::Duration;

pub(super) struct Servers {
    processes: Vec<Process>,
    ports: Vec<u16>,
}

/// Ports that are free now.
fn free(count: usize) -> Result<Vec<u16>> {
    let listeners = (0..count).map(|_| TcpListener::bind("127.0.0.1:0")).collect::<std::io::Result<Vec<_>>>();
    let ports = listeners.and_then(|all| all.iter().map(|one| Ok(one.local_addr()?.port())).collect());
    ports.map_err(io("find a port"))
}

impl Servers {
    pub(super) fn start(program: &Path, home: &Path) -> Result<Self> {
        let ports = free(6)?;
        let (ports, routes) = ports.split_at(3);
        let to: Vec<String> = routes.iter().map(|port| format!("\"nats://127.0.0.1:{port}\"")).collect();
        let mut processes = Vec::new();
        for (n, (port, route)) in ports.iter().zip(routes).enumerate() {
            let file = home.join(format!("n{n}.conf"));
            let config = format!(
                "server_name: n{n}\nlisten: \"127.0.0.1:{port}\"\njetstream {{ store_dir: {:?} }}\n\
                 cluster {{ name: chaos, listen: \"127.0.0.1:{route}\", routes: [{}] }}\n",
                home.join(format!("n{n}")),
                to.join(", ")
            );
            std::fs::write(&file, config).map_err(io("write a file"))?;
            processes.push(Process::start(program, &["-c", &file.to_string_lossy()], None)?);
        }
        Ok(Servers { processes, ports: ports.to_vec() })
    }

    pub(super) fn url(&self) -> String {
        let urls: Vec<String> = self.ports.iter().map(|port| format!("nats://127.0.0.1:{port}")).collect();
        urls.join(",")
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
