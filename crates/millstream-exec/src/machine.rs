//! What this process may use of the machine it runs on: cores, their quota, memory.
//!
//! Everything is read from a tree of files, so that a made-up tree can stand for a machine.

mod account;
mod cgroup;
mod cores;
mod cpus;
mod memory;
mod pin;
mod spread;

pub(crate) use account::{Account, Accounts};
pub use cores::Cores;
pub use memory::{LimitedBy, MemoryLimit};
pub(crate) use pin::Pins;
pub use pin::{physical_cores, pin_to_physical_core};
pub(crate) use spread::{Moves, Spread};

use std::path::Path;

/// The cores that the calling thread may use, and why so many.
pub(crate) fn usable_cores() -> Cores {
    cores::usable(Path::new("/"))
}

/// The memory that this process may use, if that is known.
pub(crate) fn memory_limit() -> Option<MemoryLimit> {
    memory::limit(Path::new("/"))
}
