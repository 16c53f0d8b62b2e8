//! An output of a program whose state is kept: a file, a database, or a URL to which rows are posted.

#[cfg(feature = "serve")]
use super::super::posting::{Posting, new_run};
use super::super::sink_file::{is_url, table_of};
#[cfg(feature = "sqlite")]
use super::super::sqlite::Database;
use millstream_core::SequenceNumber;
use millstream_io::{FileSink, FileSinkOptions};
#[cfg(feature = "sqlite")]
use millstream_mill::SinkOf;
use millstream_state::{Claims, OpenError};
use serde_json::Value;
use std::io;

/// The destination of an output.
#[derive(Clone, Debug)]
pub(super) enum To {
    File(FileSinkOptions),
    Url(String),
    /// A database, by its file.
    #[cfg(feature = "sqlite")]
    Database(String),
}

/// An open output.
pub(super) enum OpenOutput {
    File(Box<FileSink>),
    #[cfg(feature = "serve")]
    Url {
        posting: Box<Posting>,
        url: String,
    },
    #[cfg(feature = "sqlite")]
    Database {
        database: Box<Database>,
        file: String,
    },
}

impl To {
    /// The destination with this name.
    pub(super) fn named(name: &str) -> Self {
        if is_url(name) {
            return To::Url(name.to_owned());
        }
        #[cfg(feature = "sqlite")]
        if let Some((file, _)) = table_of(name) {
            return To::Database(file.to_owned());
        }
        To::File(FileSink::append(name).after_contents())
    }
}

/// The name of a sink's output. All tables of a database are one output.
pub(super) fn output_of_sink(name: &str) -> &str {
    table_of(name).map_or(name, |(_, table)| &name[..name.len() - table.len()])
}

#[cfg(feature = "page")]
impl To {
    pub(super) fn url(&self) -> Option<&str> {
        match self {
            To::Url(url) => Some(url),
            _ => None,
        }
    }
}

impl OpenOutput {
    pub(super) fn file(file: FileSink) -> Self {
        OpenOutput::File(Box::new(file))
    }

    /// An output that posts to a URL.
    #[cfg(feature = "serve")]
    pub(super) fn posting(url: &str) -> Result<Self, OpenError> {
        let posting = Posting::to(url).map_err(io::Error::other)?;
        Ok(OpenOutput::Url { posting: Box::new(posting), url: url.to_owned() })
    }

    #[cfg(not(feature = "serve"))]
    pub(super) fn posting(url: &str) -> Result<Self, OpenError> {
        Err(io::Error::other(format!("{url}: this command was built without the feature `serve`, which posts")).into())
    }

    /// Opens a database for a run that begins to write it.
    #[cfg(feature = "sqlite")]
    pub(super) fn database(file: &str) -> Result<Self, OpenError> {
        let database = Database::open(file).and_then(Database::begin_parts);
        Ok(OpenOutput::of_database(database.map_err(|error| of_file(file, &error))?, file))
    }

    #[cfg(feature = "sqlite")]
    pub(super) fn of_database(database: Database, file: &str) -> Self {
        OpenOutput::Database { database: Box::new(database), file: file.to_owned() }
    }

    /// Removes from a database the rows that were added since the claim that it was opened at.
    #[cfg(feature = "sqlite")]
    pub(super) fn go_back(&mut self) -> io::Result<()> {
        match self {
            OpenOutput::Database { database, file } => database.go_back().map_err(|error| of_file(file, &error)),
            _ => Ok(()),
        }
    }

    /// Adds rows to a table of a database.
    #[cfg(feature = "sqlite")]
    pub(super) fn insert(&mut self, table: &str, rows: &[u8]) -> io::Result<()> {
        match self {
            OpenOutput::Database { database, file } => database
                .insert(table, rows)
                .and_then(|()| database.end_block(false))
                .map_err(|error| of_file(file, &error)),
            _ => Ok(()),
        }
    }

    /// Writes the output of a number. A posted body has a key of this run.
    #[cfg_attr(not(feature = "serve"), expect(unused_variables, reason = "nothing is posted"))]
    pub(super) fn write(&mut self, number: SequenceNumber, bytes: &[u8], run: &str) -> io::Result<()> {
        match self {
            OpenOutput::File(file) => file.write(number, bytes),
            #[cfg(feature = "serve")]
            OpenOutput::Url { posting, url } => posting
                .post_again(run, url, number, bytes)
                .map_err(|error| io::Error::new(error.kind(), format!("{url}: {error}"))),
            #[cfg(feature = "sqlite")]
            OpenOutput::Database { .. } => Ok(()),
        }
    }

    pub(super) fn flush(&mut self) -> io::Result<()> {
        match self {
            OpenOutput::File(file) => file.flush(),
            #[cfg(feature = "serve")]
            OpenOutput::Url { .. } => Ok(()),
            #[cfg(feature = "sqlite")]
            OpenOutput::Database { database, file } => database.commit().map_err(|error| of_file(file, &error)),
        }
    }

    /// The claim of the output. Posted rows cannot be taken back.
    pub(super) fn claim(&mut self) -> io::Result<Value> {
        match self {
            OpenOutput::File(file) => Claims::claim(&mut **file),
            #[cfg(feature = "serve")]
            OpenOutput::Url { .. } => Ok(Value::Null),
            #[cfg(feature = "sqlite")]
            OpenOutput::Database { database, file } => database.claim().map_err(|error| of_file(file, &error)),
        }
    }

    /// No start goes back before this claim any more.
    #[cfg(feature = "sqlite")]
    pub(super) fn forget(&mut self, oldest: &Value) {
        if let OpenOutput::Database { database, .. } = self {
            database.forget(oldest);
        }
    }

    pub(super) fn finish(self) -> io::Result<()> {
        match self {
            OpenOutput::File(file) => file.finish().map(drop),
            #[cfg(feature = "serve")]
            OpenOutput::Url { .. } => Ok(()),
            #[cfg(feature = "sqlite")]
            OpenOutput::Database { mut database, file } => database.commit().map_err(|error| of_file(&file, &error)),
        }
    }
}

/// Opens the databases that a run goes on writing, each at its claim, or returns why one does not hold its claim.
/// Changes nothing.
#[cfg(feature = "sqlite")]
pub(super) fn database_at(file: &str, claim: &Value) -> Result<Database, OpenError> {
    let database = match std::fs::metadata(file) {
        Err(error) => Err(error),
        Ok(_) => Database::open(file),
    };
    let database = database.and_then(|database| database.with_parts(claim)).map_err(|error| of_file(file, &error))?;
    database.map_err(|why| OpenError::HoldsLess(format!("{file}: {why}")))
}

#[cfg(feature = "sqlite")]
pub(super) fn of_file(file: &str, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{file}: {error}"))
}

/// The table of a sink, if the sink writes to a database.
#[cfg(feature = "sqlite")]
pub(super) fn table_written(sink: &SinkOf) -> Option<String> {
    Some(table_of(sink.file.as_deref()?)?.1.to_owned())
}

/// The name of a run, which becomes a part of the keys that it posts.
pub(super) fn run_of(stored: &str) -> String {
    #[cfg(feature = "serve")]
    if stored.is_empty() {
        return new_run();
    }
    stored.to_owned()
}
