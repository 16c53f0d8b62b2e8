//! Jobs whose state survives the process: snapshots and a journal on disk, and runs that go on from there.
//!
//! A [`Persistent`] runs a job that may be killed at any moment: started again, the job goes on at a snapshot.
//!
//! A [`StateDir`] is the directory of one job. One process at a time writes there, under a lock, with an epoch that
//! each process raises. A snapshot is written under another name, synced, and renamed, and then the directory is
//! synced. So a crash leaves all of it or nothing, and it is never written again. Everything that is read is checked.
//!
//! ```
//! use millstream::state::{Saved, StateDir};
//!
//! # let home = tempfile::tempdir()?;
//! # let path = home.path().join("orders");
//! let dir = StateDir::open(&path, "orders")?;
//! let parts = [("total", &b"forty-two"[..]), ("source", b"17")];
//! let manifest = dir.save(&Saved { at: 1000, parts: &parts, ..Saved::default() })?;
//! assert_eq!((manifest.at, manifest.epoch), (1000, 1));
//! drop(dir);
//!
//! let dir = StateDir::open(&path, "orders")?;
//! let newest = dir.newest()?.expect("one was saved");
//! assert_eq!(dir.load(&newest)?[0].bytes, b"forty-two");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! | module | what it has |
//! | --- | --- |
//! | [`persistent`] | jobs that go on, and looks at their states at a number |
//! | [`resumable`] | sources that can begin in the middle |
//! | [`claims`] | sinks that say what they hold, and go back to it |
//! | [`dir`] | the directory of a job: opening, locking, snapshots, and which of them to keep |
//! | [`manifest`] | what the file of a snapshot says about itself, and its bytes |
//! | [`dead_letters`] | failures that were set aside, for a fixed version to do again |
//! | [`effects`] | calls to the outside whose answers are recorded by number |
//! | [`journal`] | values by number, durable before any output for them leaves |
//! | [`store`] | the same snapshots in an object store |
//! | [`door`] | the socket in a directory by which a new process finds the one that has it |
//! | [`disk`] | all file operations of this crate, as a trait; the disk of a test may crash |
//!
//! **Promises, and their tests** (in `tests/all`): a crash at any operation, or a failed sync, loses nothing that was
//! acknowledged, and damage is refused (`crashes`, `damage`, `journal_*`; `src/fuzzed.rs`, fuzzed); a job whose machine
//! crashes at any operation writes what an undisturbed one does (`job_crashes`), whatever its pipeline is and whatever
//! else fails (`random_jobs`); the order in which producers arrived is kept (`fan_in_jobs`); a chain of incremental
//! snapshots holds what a whole one holds (`aged`); an effect that is not idempotent is performed once,
//! or reported, wherever the process dies (`effects`); rows in a database are there once, whatever dies, and a process
//! that was replaced changes none (`databases`, `postgres`, `ends`); a store that fails or is slow loses nothing
//! (`stores`, `s3`, `elsewhere`); a full disk holds up what is live (`full_disks`); a full journal gets room, or says
//! that there is none (`full_journals`).
//!
//! **The journal comes before the ring.** A source commits a group and then passes it on, so no stage, sink, effect or
//! caller ever sees a value that a crash could take back, and none of them has to wait for a mark. So only one place
//! could forget to wait. While a group is processed, the next one is gathered and synced, so the journal costs no more
//! throughput than a reader of the ring beside the stages would. It costs latency: a value waits for its commit and
//! then for the stages, instead of for the slower of the two. Two effects in a row wait for one sync each.
//!
//! **Words**: an *effect* is a call to the outside whose answer is recorded by number; its *intent* is the record that
//! the call is about to be made.

#![forbid(unsafe_code)]
// With fewer features, the links to what is left out lead nowhere.
#![cfg_attr(
    not(all(feature = "object-store", feature = "postgres", feature = "service", feature = "sqlite")),
    allow(rustdoc::broken_intra_doc_links)
)]

mod before;
pub mod claims;
pub mod dead_letters;
pub mod dir;
pub mod disk;
#[cfg(unix)]
pub mod door;
pub mod effects;
mod entry;
mod error;
#[cfg(any(test, feature = "fuzzed"))]
pub mod fuzzed;
pub mod journal;
pub mod manifest;
pub mod persistent;
pub mod resumable;
mod retention;
mod room;
mod saved;
mod sealed;
pub mod store;
mod xxh64;

#[cfg(feature = "postgres")]
pub use claims::postgres;
#[cfg(feature = "sqlite")]
pub use claims::sqlite;
pub use claims::{ClaimingSink, Claims, OpenError, SideSink, written};
pub use dir::StateDir;
pub use entry::SnapshotEntry;
pub use error::StateError;
pub use manifest::{Manifest, Part, PartEntry};
pub use persistent::{
    Cadence, JobError, JobUpgrader, Persistent, Replayed, Running, Span, Stored, Storer, Upgraded, replay,
    replay_migrated,
};
#[cfg(feature = "service")]
pub use persistent::{Follower, Following, FollowingRun};
pub use resumable::{
    Again, FollowedFile, Groups, Places, Position, Recorded, Resumable, TextFiles, again, journaled,
    journaled_in_groups,
};
pub use retention::Retention;
pub use saved::Saved;
