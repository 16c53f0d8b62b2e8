//! The same snapshots in an object store, such as Amazon's S3 and what speaks its protocol.
//!
//! A [`Store`] has objects by name. A [`StoreDir`] keeps a job's snapshots there, as a [`StateDir`](crate::StateDir)
//! does on a disk, in the same bytes and under the same names.
//!
//! A store has no locks. Each [`open`](StoreDir::open) makes an object of the next epoch, which only one process can
//! make; from then on the process before it saves nothing more. A snapshot that it was saving at that time may still
//! appear, under a name with its own epoch, and counts as older than everything of the later process.
//!
//! | object | what it is |
//! | --- | --- |
//! | `job/EPOCH` | the program whose state it is, and the epoch; the last two stay |
//! | `snapshots/ID-EPOCH.snapshot` | the snapshots: see [`manifest`](crate::manifest) |
//!
//! A job keeps its snapshots there if its directory says so: [`snapshots_in`](crate::StateDir::snapshots_in).
//!
//! With the feature `object-store`, `ObjectStorage` is a [`Store`] in any store of the crate
//! [`object_store`](https://docs.rs/object_store).

mod dir;
mod memory;
#[cfg(feature = "object-store")]
mod object;

use crate::disk::{Disk, RealDisk};
use std::ops::Range;
use std::{fmt, io};

pub use dir::StoreDir;
pub use memory::MemoryStore;
#[cfg(feature = "object-store")]
pub use object::ObjectStorage;

/// A store of objects by name. An object is put as a whole, is durable once it is there, and is never changed.
///
/// Names have `/` in them, as paths do. Calls may come from several threads.
pub trait Store: fmt::Debug + Send + Sync {
    /// Puts an object, whose bytes are these pieces, one after the other. Returns when it is durable.
    ///
    /// # Errors
    ///
    /// If there is one of this name ([`AlreadyExists`](io::ErrorKind::AlreadyExists)): of several calls with one name,
    /// one alone succeeds. If the store fails; then the object may be there all the same.
    fn put(&self, name: &str, pieces: &[&[u8]]) -> io::Result<()>;

    /// The bytes of an object in a range, which is inside it.
    ///
    /// # Errors
    ///
    /// If there is none ([`NotFound`](io::ErrorKind::NotFound)), or the store fails.
    fn get(&self, name: &str, range: Range<u64>) -> io::Result<Vec<u8>>;

    /// The names that begin with a prefix, sorted, each with the length of its object in bytes. An object that was put
    /// is in each later list.
    ///
    /// # Errors
    ///
    /// If the store fails.
    fn list(&self, prefix: &str) -> io::Result<Vec<(String, u64)>>;

    /// Removes an object. It is no error if there is none.
    ///
    /// # Errors
    ///
    /// If the store fails.
    fn delete(&self, name: &str) -> io::Result<()>;

    /// Milliseconds since 1970, by a clock that may jump: by default this machine's.
    fn now_unix_ms(&self) -> u64 {
        RealDisk.now_unix_ms()
    }
}
