//! Snapshots of a directory that are in an object store.

use super::StateDir;
use crate::StateError;
use crate::store::{Store, StoreDir};
use std::sync::Arc;

impl StateDir {
    /// Keeps the snapshots in an object store, and not in the directory: a job can go on from there on another machine,
    /// with an empty directory. The directory has the rest: the lock, and the journals of live values, effects and dead
    /// letters. A job with such a journal cannot go on without it, and says so.
    ///
    /// The lock of a directory is no lock on other machines. There the store decides: the process that opened it last
    /// owns it, and the one before it stores no snapshot any more, as [`StoreDir`] says.
    ///
    /// ```
    /// use millstream::state::store::MemoryStore;
    /// use millstream::state::{Cadence, Persistent, StateDir, again};
    /// use millstream::{io::FileSink, prelude::*};
    /// use std::sync::Arc;
    ///
    /// # let directory = tempfile::tempdir()?;
    /// # std::env::set_current_dir(&directory)?;
    /// let sums = pipeline::<u64>().scan(0, |sum, x| { *sum += x; *sum }).named("sum").map(|sum| format!("{sum}\n"));
    /// // Or an `ObjectStorage` in S3.
    /// let store = Arc::new(MemoryStore::default());
    /// for (machine, end) in [("one", 3), ("other", 5)] {
    ///     let state = StateDir::open(machine, "sums")?.snapshots_in(store.clone())?;
    ///     let job = Persistent::new(Rings::new(), state).snapshot_every(Cadence::Numbers(1));
    ///     job.run(&sums, again(move || 0..end), FileSink::append("out"))?;
    /// }
    /// assert_eq!(std::fs::read_to_string("out")?, "0\n1\n3\n6\n10\n");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If the directory has snapshots of its own; and as [`StoreDir::open`], or as [`StoreDir::read`] if the directory
    /// was opened to be read.
    pub fn snapshots_in(mut self, store: Arc<dyn Store>) -> Result<StateDir, StateError> {
        if let Some(own) = self.names()?.first() {
            let why = format!("it has snapshots of its own, such as {own}; use an empty directory");
            return Err(StateError::Refused { path: self.path, why });
        }
        let program = self.program();
        let store = if self.is_read_only() { StoreDir::read(store) } else { StoreDir::open(store, program) };
        self.elsewhere = Some(store?);
        Ok(self)
    }
}
