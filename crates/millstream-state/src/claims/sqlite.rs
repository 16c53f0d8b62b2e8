//! Rows of a SQLite database.

use super::progress::{Database, JobRow, LOOK, Progress, TABLE, TAKE_OVER};
use super::{ClaimingSink, Claims, OpenError};
use crate::before;
use millstream_core::{RunOutcome, SequenceNumber, Shape, Sink};
use rusqlite::{Connection, OptionalExtension, Row, params};
use serde_json::Value;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// A SQLite database as a sink: see [`sqlite`].
#[derive(Clone, Debug)]
pub struct Sqlite<F> {
    path: PathBuf,
    job: String,
    setup: String,
    write: F,
}

/// A SQLite database as a sink that has each number's rows once, whatever dies at any time. `write` gets the
/// connection, within a transaction, the number and the value; what it executes is that number's rows. `job` names the
/// job: a row of the table `millstream_progress` has the number that it puts next, and is set in the transaction of the
/// rows before that number. So rows and number always agree, and a job that goes on skips the numbers that the database
/// has.
///
/// A transaction is committed at a [pause](millstream_core::Sink::pause), before a snapshot, and after 10,000 values.
/// The process that has opened the job last owns it: each commit checks the epoch in that row, so a process that was
/// taken for dead and wakes up fails at its next commit, and changes nothing.
///
/// END's value is stored when the source has ended: not after a drain, or if the source has failed, since the job then
/// goes on later. A job that has ended and is started with further input fails, because the database has END's rows.
///
/// ```
/// use millstream::{prelude::*, state::{Persistent, StateDir, again, sqlite}};
///
/// # let directory = tempfile::tempdir()?;
/// # std::env::set_current_dir(&directory)?;
/// let squares = pipeline::<u64>().map(|x| x * x);
/// let rows = sqlite("squares.db", "squares", |rows, number, x: &u64| {
///     let row = (number.0 as i64, *x as i64);
///     rows.execute("INSERT INTO squares VALUES (?, ?)", row).map(drop)
/// });
/// let rows = rows.setup("CREATE TABLE IF NOT EXISTS squares (n INTEGER PRIMARY KEY, square INTEGER)");
/// Persistent::new(Rings::new(), StateDir::open("state", "squares")?).run(&squares, again(|| 0..100), rows)?;
/// let sum = "SELECT SUM(square) FROM squares";
/// let sum: i64 = rusqlite::Connection::open("squares.db")?.query_row(sum, (), |row| row.get(0))?;
/// assert_eq!(sum, 328_350);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn sqlite<B, F>(path: impl Into<PathBuf>, job: impl Into<String>, write: F) -> Sqlite<F>
where
    F: Fn(&Connection, SequenceNumber, &B) -> rusqlite::Result<()> + Clone + Send + 'static,
{
    Sqlite { path: path.into(), job: job.into(), setup: String::new(), write }
}

impl<F> Sqlite<F> {
    /// Executes these statements when the database is opened: for example a `CREATE TABLE IF NOT EXISTS`.
    #[must_use]
    pub fn setup(self, statements: impl Into<String>) -> Self {
        Sqlite { setup: statements.into(), ..self }
    }
}

/// The open database of a [`Sqlite`].
#[derive(Debug)]
pub struct SqliteRows<F> {
    progress: Progress<File>,
    write: F,
}

/// The file of a database.
#[derive(Debug)]
struct File {
    connection: Connection,
    path: PathBuf,
}

impl<A, F> ClaimingSink<A> for Sqlite<F>
where
    A: Shape,
    F: for<'a> Fn(&Connection, SequenceNumber, A::Ref<'a>) -> rusqlite::Result<()> + Clone + Send + 'static,
{
    type Open = SqliteRows<F>;

    fn open(&self, claim: Option<(SequenceNumber, &Value)>) -> Result<SqliteRows<F>, OpenError> {
        let failed = |error| OpenError::Failed(named(&self.path, error));
        let connection = Connection::open(&self.path).map_err(failed)?;
        let row = take_over(&connection, &self.job, &self.setup).map_err(failed)?;
        let progress = Progress::open(File { connection, path: self.path.clone() }, &self.job, row, claim)?;
        Ok(SqliteRows { progress, write: self.write.clone() })
    }
}

/// Makes this process the job's owner.
fn take_over(connection: &Connection, job: &str, setup: &str) -> rusqlite::Result<JobRow> {
    connection.busy_timeout(Duration::from_secs(10))?;
    connection.pragma_update(None, "journal_mode", "WAL")?;
    connection.execute_batch(setup)?;
    connection.execute_batch("BEGIN IMMEDIATE")?;
    connection.execute_batch(TABLE)?;
    let row = connection.query_row(TAKE_OVER, [job], job_row)?;
    connection.execute_batch("COMMIT")?;
    Ok(row)
}

fn job_row(row: &Row<'_>) -> rusqlite::Result<JobRow> {
    Ok(JobRow { next: row.get(0)?, epoch: row.get(1)? })
}

impl File {
    fn execute(&self, statement: &str) -> io::Result<()> {
        self.connection.execute_batch(statement).map_err(|error| named(&self.path, error))
    }
}

impl Database for File {
    fn name(&self) -> String {
        self.path.display().to_string()
    }

    fn begin(&mut self) -> io::Result<()> {
        self.execute("BEGIN IMMEDIATE")
    }

    fn advance(&mut self, statement: &str, next: i64, job: &str, row: JobRow) -> io::Result<u64> {
        let changed = self.connection.execute(statement, params![next, job, row.next, row.epoch]);
        changed.map(|rows| rows as u64).map_err(|error| named(&self.path, error))
    }

    fn commit(&mut self) -> io::Result<()> {
        self.execute("COMMIT")
    }

    fn roll_back(&mut self) {
        // Another error is reported already; and there may be no transaction any more.
        let _ = self.execute("ROLLBACK");
    }

    fn recover(&mut self, job: &str) -> io::Result<Option<JobRow>> {
        self.roll_back();
        self.connection.query_row(LOOK, [job], job_row).optional().map_err(|error| named(&self.path, error))
    }
}

impl<F> Claims for SqliteRows<F> {
    fn claim(&mut self) -> io::Result<Value> {
        self.progress.claim()
    }

    fn holds(&self) -> Option<SequenceNumber> {
        Some(self.progress.holds())
    }
}

impl<A, F> Sink<A> for SqliteRows<F>
where
    A: Shape,
    F: for<'a> Fn(&Connection, SequenceNumber, A::Ref<'a>) -> rusqlite::Result<()> + Send + 'static,
{
    /// The number up to which the database holds everything.
    type Output = SequenceNumber;
    type Error = io::Error;

    fn put(&mut self, number: SequenceNumber, value: A::Ref<'_>) -> io::Result<()> {
        let write = &self.write;
        self.progress
            .put(number, |file| write(&file.connection, number, value).map_err(|error| named(&file.path, error)))
    }

    fn pause(&mut self) -> io::Result<()> {
        self.progress.pause()
    }

    fn mark(&mut self, next: SequenceNumber) -> io::Result<()> {
        self.progress.mark(next)
    }

    fn end(&mut self, number: SequenceNumber) -> io::Result<()> {
        self.progress.end(number)
    }

    fn finish(self, outcome: RunOutcome) -> io::Result<SequenceNumber> {
        self.progress.finish(outcome)
    }
}

fn named(path: &Path, error: rusqlite::Error) -> io::Error {
    before::named(path, io::Error::other(error))
}
