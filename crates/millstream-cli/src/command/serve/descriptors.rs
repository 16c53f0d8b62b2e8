//! File descriptors, of which each connection takes one.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Descriptors for files, threads and what else is open.
const OTHERS: u64 = 128;

/// Allows this process enough descriptors for this many connections. If it may not have that many, as many as it may,
/// and the number of connections for which they are enough is returned.
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
