//! Rows of a SQLite database.

use super::{ClaimingSink, Claims, OpenError};
use crate::before;
use millstream_core::{RunOutcome, SequenceNumber, Shape, Sink};
use rusqlite::{Connection, OptionalExtension, params};
use serde_json::{Value, json};
use std::io;
use std::path::{Path, PathBuf};

/// A SQLite database as a sink: see [`sqlite`].
#[derive(Clone, Debug)]
pub struct Sqlite<F> {
    path: PathBuf,
    job: String,
    setup: String,
    write: F,
}

/// A SQLite database as a sink that has each number's rows once, whatever died when. `write` gets the connection,
/// within a transaction, the number and the value; what it executes is that number's rows. `job` names the job: a row
/// of the table `millstream_progress` says which number it puts next, and is set in the transaction of the rows before
/// it. So rows and number cannot part, and a job that goes on passes over the numbers that the database has.
///
/// A transaction is committed at a pause of the stream, in front of a snapshot, and after 10,000 values. The process
/// that has opened the job last owns it: each commit checks the epoch in that row, so a process that was taken for dead
/// and wakes up fails at its next commit, and changes nothing.
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
    /// Executes these statements when the database is opened, tables that may be there already for example.
    #[must_use]
    pub fn setup(self, statements: impl Into<String>) -> Self {
        Sqlite { setup: statements.into(), ..self }
    }
}

/// The open database of a [`Sqlite`].
#[derive(Debug)]
pub struct SqliteRows<F> {
    connection: Connection,
    path: PathBuf,
    job: String,
    write: F,
    /// The number up to which the database holds everything.
    held: u64,
    /// The next number to put, and the values since the last commit.
    next: u64,
    values: u64,
    epoch: i64,
}

/// The most values of a transaction.
const MOST: u64 = 10_000;

const PROGRESS: &str = "CREATE TABLE IF NOT EXISTS millstream_progress \
                        (job TEXT PRIMARY KEY, next INTEGER NOT NULL, epoch INTEGER NOT NULL)";

impl<A, F> ClaimingSink<A> for Sqlite<F>
where
    A: Shape,
    F: for<'a> Fn(&Connection, SequenceNumber, A::Ref<'a>) -> rusqlite::Result<()> + Clone + Send + 'static,
{
    type Open = SqliteRows<F>;

    fn open(&self, claim: Option<(SequenceNumber, &Value)>) -> Result<SqliteRows<F>, OpenError> {
        let failed = |error| OpenError::Failed(named(&self.path, error));
        let connection = Connection::open(&self.path).map_err(failed)?;
        let (held, epoch) = take_over(&connection, &self.job, &self.setup).map_err(failed)?;
        if let Some((next, _)) = claim
            && held < next.0
        {
            let path = self.path.display();
            return Err(OpenError::HoldsLess(format!(
                "{path}: it has the numbers below {held}, and had those below {next}"
            )));
        }
        let (path, job, write) = (self.path.clone(), self.job.clone(), self.write.clone());
        Ok(SqliteRows { connection, path, job, write, held, next: held, values: 0, epoch })
    }
}

/// Makes this process the job's owner. Returns up to which number the database holds everything, and the epoch.
fn take_over(connection: &Connection, job: &str, setup: &str) -> rusqlite::Result<(u64, i64)> {
    connection.busy_timeout(std::time::Duration::from_secs(10))?;
    connection.pragma_update(None, "journal_mode", "WAL")?;
    connection.execute_batch(setup)?;
    connection.execute_batch("BEGIN IMMEDIATE")?;
    connection.execute_batch(PROGRESS)?;
    let there: Option<(i64, i64)> = connection
        .query_row("SELECT next, epoch FROM millstream_progress WHERE job = ?", [job], |row| {
            Ok((row.get(0)?, row.get(1)?))
        })
        .optional()?;
    let (held, epoch) = there.map_or((0, 1), |(held, epoch)| (held, epoch + 1));
    let row = "INSERT OR REPLACE INTO millstream_progress VALUES (?, ?, ?)";
    connection.execute(row, params![job, held, epoch])?;
    connection.execute_batch("COMMIT")?;
    Ok((held.unsigned_abs(), epoch))
}

impl<F> SqliteRows<F> {
    /// Commits the rows of the numbers below `next`.
    fn commit(&mut self) -> io::Result<()> {
        if self.next == self.held {
            return Ok(());
        }
        let [held, next] = [self.held, self.next].map(|number| i64::try_from(number).unwrap_or(i64::MAX));
        let set = "UPDATE millstream_progress SET next = ? WHERE job = ? AND next = ? AND epoch = ?";
        let begun = if self.values == 0 { self.connection.execute_batch("BEGIN IMMEDIATE") } else { Ok(()) };
        let set = begun.and_then(|()| self.connection.execute(set, params![next, self.job, held, self.epoch]));
        match set.map_err(|error| named(&self.path, error))? {
            1 => self.connection.execute_batch("COMMIT").map_err(|error| named(&self.path, error))?,
            _ => {
                let _ = self.connection.execute_batch("ROLLBACK"); // the first error is reported
                let why = format!("another process has taken over the job {:?}", self.job);
                return Err(io::Error::other(format!("{}: {why}", self.path.display())));
            }
        }
        (self.held, self.values) = (self.next, 0);
        Ok(())
    }
}

impl<F> Claims for SqliteRows<F> {
    fn claim(&mut self) -> io::Result<Value> {
        self.commit()?;
        Ok(json!({ "next": self.held }))
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
        if number.0 < self.held {
            return Ok(());
        }
        if self.values == 0 {
            self.connection.execute_batch("BEGIN IMMEDIATE").map_err(|error| named(&self.path, error))?;
        }
        (self.write)(&self.connection, number, value).map_err(|error| named(&self.path, error))?;
        (self.next, self.values) = (number.0 + 1, self.values + 1);
        if self.values >= MOST { self.commit() } else { Ok(()) }
    }

    fn pause(&mut self) -> io::Result<()> {
        self.commit()
    }

    fn mark(&mut self, next: SequenceNumber) -> io::Result<()> {
        // Numbers without a value are held as well.
        self.next = self.next.max(next.0);
        Ok(())
    }

    fn finish(mut self, outcome: RunOutcome) -> io::Result<SequenceNumber> {
        if outcome.is_complete() {
            self.commit()?;
        }
        Ok(SequenceNumber(self.held))
    }
}

fn named(path: &Path, error: rusqlite::Error) -> io::Error {
    before::named(path, io::Error::other(error))
}
