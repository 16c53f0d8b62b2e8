//! The application as its worker knows it: another one may get its name, and with it its log.

use crate::log::Answered;
use crate::{App, Entry, Log, LogError, Record, ReplicaError, Sent};
use bytes::Bytes;
use std::ops::Range;
use std::time::Duration;

/// An application is removed if this many looks in a row have not found it, in five seconds at most: a server that lags
/// behind may not have it.
const REMOVED: u32 = 10;

/// The application as its worker knows it.
#[derive(Clone, Copy, Default)]
pub(super) struct Known {
    /// Its id, once its plan was found.
    id: Option<u64>,
    /// How many looks since then have not found a plan.
    missed: u32,
}

impl Known {
    /// Whether its plan was ever found.
    pub(super) fn is_found(&self) -> bool {
        self.id.is_some()
    }

    /// The plan now; `None` if there is none, or none yet where the log looked.
    pub(super) fn look<L: Log>(&mut self, log: &L) -> Result<Option<App>, ReplicaError> {
        let Some((app, id)) = App::with_id(log).map_err(ReplicaError::Log)? else {
            self.missed += u32::from(self.is_found());
            return if self.missed < REMOVED { Ok(None) } else { Err(ReplicaError::Removed) };
        };
        self.missed = 0;
        if *self.id.get_or_insert(id) != id {
            return Err(ReplicaError::Removed);
        }
        Ok(Some(app))
    }

    /// Why the replica failed: its edges may be those of another application.
    pub(super) fn cause<L: Log>(&mut self, log: &L, error: ReplicaError) -> ReplicaError {
        match self.look(log) {
            Err(removed @ ReplicaError::Removed) => removed,
            _ => error,
        }
    }
}

/// The log of an application. What begins an edge or the snapshots would begin those of another application of that
/// name, and what drops something would drop it there: such a call first looks whose log it is. The condition of any
/// other write is one that only this application's log has met, as long as the other one is shorter.
pub(super) struct Own<L> {
    log: L,
    known: Known,
}

impl<L: Log> Own<L> {
    pub(super) fn new(log: L, known: Known) -> Self {
        Own { log, known }
    }

    /// An error if the log is, or may be, another application's. The worker learns of it by its own looks.
    fn is_own(&self) -> Result<(), LogError> {
        let mut known = self.known;
        match known.look(&self.log) {
            Ok(Some(_)) => Ok(()),
            Ok(None) if !known.is_found() => Ok(()),
            Err(ReplicaError::Log(error)) => Err(error),
            Ok(None) | Err(_) => Err(LogError::Unavailable("the application is not there".to_owned())),
        }
    }
}

impl<L: Log> Log for Own<L> {
    fn append_if(&self, edge: &str, last: u64, bytes: &[u8]) -> Result<(), LogError> {
        if last == 0 {
            self.is_own()?;
        }
        self.log.append_if(edge, last, bytes)
    }

    fn send_if(&self, edge: &str, last: u64, bytes: Bytes) -> Box<dyn Sent> {
        let own = if last == 0 { self.is_own() } else { Ok(()) };
        match own {
            Ok(()) => self.log.send_if(edge, last, bytes),
            Err(error) => Box::new(Answered(Some(Err(error)))),
        }
    }

    fn read_from(&self, edge: &str, first: u64, most: usize) -> Result<Vec<Entry>, LogError> {
        self.log.read_from(edge, first, most)
    }

    fn last(&self, edge: &str) -> Result<u64, LogError> {
        self.log.last(edge)
    }

    fn kept(&self, edge: &str) -> Result<Range<u64>, LogError> {
        self.log.kept(edge)
    }

    fn trim(&self, edge: &str, below: u64) -> Result<(), LogError> {
        self.is_own()?;
        self.log.trim(edge, below)
    }

    fn get(&self, key: &str) -> Result<Option<Record>, LogError> {
        self.log.get(key)
    }

    fn compare_and_set(&self, key: &str, revision: u64, value: &[u8]) -> Result<(), LogError> {
        if revision == 0 {
            self.is_own()?;
        }
        self.log.compare_and_set(key, revision, value)
    }

    fn put_blob(&self, name: &str, bytes: &[u8]) -> Result<(), LogError> {
        self.log.put_blob(name, bytes)
    }

    fn blob(&self, name: &str) -> Result<Option<Vec<u8>>, LogError> {
        self.log.blob(name)
    }

    fn remove_blob(&self, name: &str) -> Result<(), LogError> {
        self.is_own()?;
        self.log.remove_blob(name)
    }

    fn blob_names(&self) -> Result<Vec<String>, LogError> {
        self.log.blob_names()
    }

    fn wait(&self, most: Duration) {
        self.log.wait(most);
    }
}
