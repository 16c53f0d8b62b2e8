use super::outputs::said_lost;
use crate::message::{Complaints, cause, quoted};
use millstream_io::text::line_ends;
use std::fs::File;
use std::io::{self, Read, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Whether the name of a sink is a URL to post to, and not a file.
pub(super) fn is_url(name: &str) -> bool {
    ["http://", "https://"].iter().any(|scheme| name.starts_with(scheme))
}

/// The database and the table in the name of a sink, if it names them.
#[cfg(feature = "sqlite")]
pub(super) use millstream_mill::table_of;

#[cfg(not(feature = "sqlite"))]
pub(super) fn table_of(_: &str) -> Option<(&str, &str)> {
    None
}

/// The file that a sink with this name writes.
pub(super) fn file_of(name: &str) -> &str {
    table_of(name).map_or(name, |(database, _)| database)
}

/// The bytes for a file, without their `header` if the file begins with the same one. The sink writes its header at its
/// first rows, also if an earlier text has written the file: what that knew of the file is gone.
pub(super) fn without_known<'a>(header: Option<&[u8]>, name: &str, bytes: &'a [u8]) -> &'a [u8] {
    let begins_with = |header: &&[u8]| {
        let mut there = Vec::new();
        let read = File::open(name).and_then(|file| file.take(header.len() as u64).read_to_end(&mut there));
        read.is_ok() && there == *header
    };
    header.filter(begins_with).and_then(|header| bytes.strip_prefix(header)).unwrap_or(bytes)
}

/// A database. Each of its sinks writes a table.
#[cfg(feature = "sqlite")]
pub(super) type SharedDatabase = Arc<Mutex<super::sqlite::Database>>;

/// A file that a run writes, or a URL to which it posts. A write may wait for another process, so each has its own
/// lock.
pub(super) struct SinkFile {
    name: String,
    is_open: AtomicBool,
    state: Mutex<State>,
}

struct State {
    to: To,
    /// The lines that are not written, or not whole, once a write has failed.
    lost: Option<u64>,
}

/// A write has failed.
#[derive(Debug)]
pub(super) struct Lost(io::Error);

enum To {
    /// A file. If it `is_old`, of an earlier run, it is emptied before the first write.
    File {
        file: File,
        is_old: bool,
    },
    #[cfg(feature = "serve")]
    Url(Box<super::posting::Posting>),
    #[cfg(feature = "sqlite")]
    Table {
        database: SharedDatabase,
        table: String,
        /// Whether each block of rows is committed at once, since the next one may take long to arrive.
        live: bool,
    },
    Nothing,
}

impl SinkFile {
    /// A file of this name. If it `is_old`, it is emptied before the first write.
    pub(super) fn new(name: String, file: File, is_old: bool) -> Arc<Self> {
        SinkFile::to(name, To::File { file, is_old })
    }

    /// A URL.
    ///
    /// # Errors
    ///
    /// If the command cannot post to it.
    #[cfg(feature = "serve")]
    pub(super) fn posting(url: String) -> Result<Arc<Self>, String> {
        let posting = super::posting::Posting::to(&url)?;
        Ok(SinkFile::to(url, To::Url(Box::new(posting))))
    }

    #[cfg(not(feature = "serve"))]
    pub(super) fn posting(url: String) -> Result<Arc<Self>, String> {
        Err(format!("{url}: this command was built without the feature `serve`, which posts"))
    }

    /// A table of a database.
    #[cfg(feature = "sqlite")]
    pub(super) fn table(name: String, database: SharedDatabase, live: bool) -> Arc<Self> {
        let table = table_of(&name).map_or_else(String::new, |(_, table)| table.to_owned());
        SinkFile::to(name, To::Table { database, table, live })
    }

    /// Its database, if it writes a table.
    #[cfg(feature = "sqlite")]
    pub(super) fn database(&self) -> Option<SharedDatabase> {
        match &self.state().to {
            To::Table { database, .. } => Some(database.clone()),
            _ => None,
        }
    }

    /// Commits the rows of a table, at the end of a run.
    #[cfg(feature = "sqlite")]
    pub(super) fn finish(&self, complaints: &Complaints) {
        let Some(database) = self.database() else { return };
        let committed = database.lock().unwrap_or_else(PoisonError::into_inner).commit();
        if let (Err(error), None) = (committed, self.state().lost) {
            self.complain(&Lost(error), complaints);
        }
    }

    /// Says why a write has failed.
    pub(super) fn complain(&self, Lost(error): &Lost, complaints: &Complaints) {
        complaints.lose(&format!("{}: {}", self.shown(), cause(error)));
    }

    /// Says how much is not written since a write has failed.
    pub(super) fn say_lost(&self, complaints: &Complaints) {
        if let Some(lost) = self.state().lost {
            complaints.note(&said_lost(&self.shown(), lost));
        }
    }

    fn shown(&self) -> String {
        quoted(file_of(&self.name).as_ref())
    }

    fn to(name: String, to: To) -> Arc<Self> {
        Arc::new(SinkFile { name, is_open: AtomicBool::new(true), state: Mutex::new(State { to, lost: None }) })
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// Whether a write has failed.
    pub(super) fn has_failed(&self) -> bool {
        self.state().lost.is_some()
    }

    /// Whether it is open. Does not wait.
    pub(super) fn is_open(&self) -> bool {
        self.is_open.load(Ordering::Relaxed)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The same file for another sink; the two take turns. `None` once it is closed.
    pub(super) fn try_clone(&self) -> Option<io::Result<File>> {
        match &self.state().to {
            To::File { file, .. } => Some(file.try_clone()),
            _ => None,
        }
    }

    /// Writes rows, which may begin with a `header`, to the file, or posts them. After a failure it only counts them.
    ///
    /// # Errors
    ///
    /// The first failure.
    pub(super) fn write(&self, bytes: &[u8], header: Option<&[u8]>) -> Result<(), Lost> {
        let mut state = self.state();
        let lines = || line_ends(bytes).max(1);
        if let Some(lost) = &mut state.lost {
            *lost += lines();
            return Ok(());
        }
        let written = match &mut state.to {
            To::Nothing => Ok(()),
            to @ To::File { .. } => {
                let header = header.filter(|_| to.is_regular());
                let written = |file: &mut File| file.write_all(without_known(header, &self.name, bytes));
                to.ready().and_then(|file| file.map_or(Ok(()), written))
            }
            #[cfg(feature = "serve")]
            To::Url(posting) => posting.post(bytes),
            #[cfg(feature = "sqlite")]
            To::Table { database, table, live } => {
                let mut database = database.lock().unwrap_or_else(PoisonError::into_inner);
                database.insert(table, bytes).and_then(|()| database.end_block(*live))
            }
        };
        written.map_err(|error| {
            state.lost = Some(lines());
            Lost(error)
        })
    }

    /// Empties the file of an earlier run. The next write repeats an error of this.
    pub(super) fn begin(&self) {
        let _ = self.state().to.ready();
    }

    pub(super) fn close(&self) {
        self.is_open.store(false, Ordering::Relaxed);
        #[cfg(feature = "sqlite")]
        if let To::Table { database, .. } = &self.state().to {
            // Commits this table's rows now, since other sinks may go on writing to the database for long.
            let _ = database.lock().unwrap_or_else(PoisonError::into_inner).commit();
        }
        self.state().to = To::Nothing;
    }
}

impl To {
    /// Whether it is a file that can be read again.
    fn is_regular(&self) -> bool {
        matches!(self, To::File { file, .. } if file.metadata().is_ok_and(|there| there.is_file()))
    }

    /// The file, without the contents of an earlier run.
    fn ready(&mut self) -> io::Result<Option<&mut File>> {
        let To::File { file, is_old } = self else { return Ok(None) };
        if *is_old && file.metadata()?.is_file() {
            file.set_len(0)?;
        }
        *is_old = false;
        Ok(Some(file))
    }
}
