//! The share of its machine that this process may use: cores, their quota, memory.
//!
//! Everything is read from a tree of files, so a test can make a machine up. Cores are the affinity mask, limited by
//! the quota of every control group above the process, version 1 and 2; memory is the least of the groups' limits and
//! the machine's. A run whose rings take more memory than that is refused before the first ring is allocated.

mod account;
mod cgroup;
mod core_balancer;
mod cores;
mod cpus;
mod host;
mod lately;
mod memory;
mod pin;

pub(crate) use account::{Account, Accounts};
pub(crate) use core_balancer::{CoreBalancer, MigrationBackoff};
pub use cores::Cores;
pub use host::is_here;
pub use memory::{LimitedBy, MemoryLimit};
pub(crate) use pin::Pins;
#[cfg(feature = "tokio")]
pub(crate) use pin::{allow, allowed};
pub use pin::{physical_cores, pin_to_physical_core};

use lately::Lately;
use std::path::Path;

/// The cores that the calling thread may use, and why that many. A changed quota of a control group is seen within a
/// second.
pub(crate) fn usable_cores() -> Cores {
    static LATELY: Lately<Result<Vec<usize>, String>, Cores> = Lately::new();
    LATELY.get(pin::allowed(), || cores::usable(Path::new("/")))
}

/// The memory that this process may use, if that is known. A changed limit is seen within a second.
pub(crate) fn memory_limit() -> Option<MemoryLimit> {
    static LATELY: Lately<(), Option<MemoryLimit>> = Lately::new();
    LATELY.get((), || memory::limit(Path::new("/")))
}
