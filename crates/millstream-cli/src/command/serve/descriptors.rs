//! File descriptors: each connection takes one.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Descriptors for files, threads and everything else that is open.
const OTHERS: u64 = 128;

/// Raises the limit of descriptors for this many connections. If the system does not allow that, raises it as far as it
/// can, and returns the number of connections that this suffices for.
pub(super) fn allow(connections: u64) -> Option<u64> {
    let wanted = connections.saturating_add(OTHERS);
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    let allowed = maximum.map_or(wanted, |most| most.min(wanted));
    let mut now = current.unwrap_or(u64::MAX);
    if now < allowed && setrlimit(Resource::Nofile, Rlimit { current: Some(allowed), maximum }).is_ok() {
        now = allowed;
    }
    (now < wanted).then(|| now.saturating_sub(OTHERS))
}
