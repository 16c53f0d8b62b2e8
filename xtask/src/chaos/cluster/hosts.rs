//! Three hosts on this machine: network namespaces on one bridge, each with a server and a worker. The network of a
//! host can be cut, and healed. That needs Linux, its `ip` (iproute2), and root.

use super::io;
use crate::cmd::{Result, failure};
use std::process::Command;
use std::thread::sleep;
use std::time::Duration;

pub(super) struct Hosts {
    /// The first part of all names.
    name: String,
    /// The first three numbers of all addresses.
    net: String,
}

/// Runs `ip` with arguments that are split at white space.
fn ip(args: &str) -> Result {
    let output = Command::new("ip").args(args.split_whitespace()).output().map_err(io("start `ip`, of iproute2"))?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    Err(failure(format!("`ip {args}` failed: {}; --hosts needs root", said.trim())))
}

impl Hosts {
    pub(super) const COUNT: usize = 3;

    /// Makes the namespaces, and the bridge between them and this machine.
    pub(super) fn new() -> Result<Self> {
        let id = std::process::id();
        // Names of interfaces have at most 15 bytes.
        let hosts = Hosts { name: format!("ms{id}"), net: format!("10.213.{}", id % 256) };
        let Hosts { name, net } = &hosts;
        ip(&format!("link add {name}b type bridge"))?;
        ip(&format!("addr add {net}.254/24 dev {name}b"))?;
        ip(&format!("link set {name}b up"))?;
        for host in 0..Self::COUNT {
            let (inside, outside) = (hosts.namespace(host), hosts.outside(host));
            ip(&format!("netns add {inside}"))?;
            ip(&format!("link add {outside} type veth peer name net netns {inside}"))?;
            ip(&format!("link set {outside} master {name}b up"))?;
            ip(&format!("-n {inside} addr add {}/24 dev net", hosts.address(host)))?;
            ip(&format!("-n {inside} link set net up"))?;
            ip(&format!("-n {inside} link set lo up"))?;
        }
        Ok(hosts)
    }

    pub(super) fn namespace(&self, host: usize) -> String {
        format!("{}h{host}", self.name)
    }

    /// The end of its cable that is at the bridge.
    fn outside(&self, host: usize) -> String {
        format!("{}v{host}", self.name)
    }

    pub(super) fn address(&self, host: usize) -> String {
        format!("{}.{}", self.net, host + 1)
    }

    /// Cuts a host off from all others, for this time.
    pub(super) fn cut(&self, host: usize, time: Duration) -> Result {
        ip(&format!("link set {} down", self.outside(host)))?;
        sleep(time);
        ip(&format!("link set {} up", self.outside(host)))
    }
}

impl Drop for Hosts {
    fn drop(&mut self) {
        for host in 0..Self::COUNT {
            // Its cable goes with it.
            let _ = ip(&format!("netns del {}", self.namespace(host)));
        }
        let _ = ip(&format!("link del {}b", self.name));
    }
}
