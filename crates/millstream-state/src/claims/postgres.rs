//! Rows of a PostgreSQL database.

mod connect;
mod session;
mod wait;

pub use session::PostgresTransaction;
pub use tokio_postgres;

use super::progress::{Database, JobRow, LOOK, Progress, TABLE, TAKE_OVER};
use super::{ClaimingSink, Claims, OpenError};
use crate::xxh64::xxh64;
use connect::{Connector, Server};
use millstream_core::{RunOutcome, SequenceNumber, Shape, Sink};
use serde_json::Value;
use session::{Session, text_of};
use std::io;
use std::time::Duration;
use tokio_postgres::tls::{MakeTlsConnect, TlsConnect};
use tokio_postgres::{Config, NoTls, Socket};

/// A PostgreSQL database as a sink: see [`postgres`].
#[derive(Clone, Debug)]
pub struct Postgres<F> {
    /// The configuration, or why there is none.
    config: Result<Config, String>,
    connector: Connector,
    job: String,
    setup: String,
    patience: Duration,
    write: F,
}

/// A PostgreSQL database as a sink that has each number's rows once, whatever dies at any time: this process, the
/// server, or the connection. Needs the feature `postgres`.
///
/// `config` says where the database is, as a URL or as `key=value` pairs, as everywhere with PostgreSQL. `write` gets
/// the transaction, the number and the value; what it executes is that number's rows. `job` names the job: a row of the
/// table `millstream_progress` has the number that it puts next, and is set in the transaction of the rows before that
/// number. So rows and number always agree, and a job that goes on skips the numbers that the database has.
///
/// A transaction is committed at a [pause](millstream_core::Sink::pause), before a snapshot, and after 10,000 values.
///
/// END's value is stored when the source has ended: not after a drain, or if the source has failed, since the job then
/// goes on later. A job that has ended and is started with further input fails, because the database has END's rows.
///
/// * **One owner.** The process that has opened the job last owns it. It ends the sessions that the same user has left
///   behind in this job, so their locks do not hold it up. And each commit locks the job's row and checks its epoch: a
///   process that was taken for dead and wakes up fails at its next commit, and changes nothing.
/// * **A lost answer.** If a COMMIT has no answer, the sink connects again, ends the old session, and reads the job's
///   row. If the rows are there, the run goes on. If they are not, or if the server stays away, the run fails; started
///   again, the job goes on where the database is.
/// * **A lost server.** Each statement has [10 seconds](Postgres::patience), and so has a server to restart. Then the
///   run fails with the reason. The rows of the open transaction are gone; the job puts them again when it is started
///   again.
/// * **A database that was restored** from an older backup: the job goes on at an older snapshot if one is kept that
///   fits, and is refused otherwise ([`SinkHoldsLess`](crate::JobError::SinkHoldsLess)).
///
/// The user needs the right to read and change `millstream_progress`, and to make it if it is not there. A pooler of
/// connections must give each session a connection of its own. `synchronous_commit` is `on` in these sessions if it
/// would be `off`.
///
/// ```no_run
/// use millstream::{prelude::*, state::{Persistent, StateDir, again, postgres}};
///
/// let squares = pipeline::<u64>().map(|x| x * x);
/// let rows = postgres("postgresql://user@localhost/numbers", "squares", |rows, number, x: &u64| {
///     rows.send("INSERT INTO squares VALUES ($1, $2)", &[&(number.0 as i64), &(*x as i64)])
/// });
/// let rows = rows.setup("CREATE TABLE IF NOT EXISTS squares (n BIGINT PRIMARY KEY, square BIGINT)");
/// Persistent::new(Rings::new(), StateDir::open("state", "squares")?).run(&squares, again(|| 0..100), rows)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn postgres<B, F>(config: impl AsRef<str>, job: impl Into<String>, write: F) -> Postgres<F>
where
    F: Fn(&mut PostgresTransaction<'_>, SequenceNumber, &B) -> io::Result<()> + Clone + Send + 'static,
{
    Postgres {
        config: config.as_ref().parse().map_err(|error: tokio_postgres::Error| text_of(&error)),
        connector: Connector::new(NoTls),
        job: job.into(),
        setup: String::new(),
        patience: Duration::from_secs(10),
        write,
    }
}

impl<F> Postgres<F> {
    /// Executes these statements when the database is opened, in a transaction: for example a `CREATE TABLE IF NOT
    /// EXISTS`.
    #[must_use]
    pub fn setup(self, statements: impl Into<String>) -> Self {
        Postgres { setup: statements.into(), ..self }
    }

    /// Sets how long a statement may take, and how long the sink tries to reach a server that is away. Then the run
    /// fails.
    #[must_use]
    pub fn patience(self, patience: Duration) -> Self {
        Postgres { patience, ..self }
    }

    /// Encrypts the connection, by a connector such as that of the crate `tokio-postgres-rustls`. Without one, the
    /// connection is not encrypted, and a `config` with `sslmode=require` is refused.
    #[must_use]
    pub fn tls<T>(self, connector: T) -> Self
    where
        T: MakeTlsConnect<Socket> + Clone + Send + Sync + 'static,
        T::TlsConnect: Send,
        T::Stream: Send + 'static,
        <T::TlsConnect as TlsConnect<Socket>>::Future: Send,
    {
        Postgres { connector: Connector::new(connector), ..self }
    }
}

/// The open database of a [`Postgres`].
#[derive(Debug)]
pub struct PostgresRows<F> {
    progress: Progress<Connection>,
    write: F,
}

impl<A, F> ClaimingSink<A> for Postgres<F>
where
    A: Shape,
    F: for<'a> Fn(&mut PostgresTransaction<'_>, SequenceNumber, A::Ref<'a>) -> io::Result<()> + Clone + Send + 'static,
{
    type Open = PostgresRows<F>;

    fn open(&self, claim: Option<(SequenceNumber, &Value)>) -> Result<PostgresRows<F>, OpenError> {
        let invalid = |why: &String| io::Error::new(io::ErrorKind::InvalidInput, format!("PostgreSQL: {why}"));
        let config = self.config.as_ref().map_err(invalid)?;
        let server = Server::new(config, &self.connector, self.patience)?;
        let mut session = server.connect()?;
        let (row, label) = take_over(&mut session, &self.job, &self.setup)?;
        let progress = Progress::open(Connection { server, session, label }, &self.job, row, claim)?;
        Ok(PostgresRows { progress, write: self.write.clone() })
    }
}

/// In this isolation a statement reads and changes rows as the last commit left them, even if it has waited for that
/// commit.
const BEGIN: &str = "BEGIN ISOLATION LEVEL READ COMMITTED";

/// One process at a time opens jobs, since two cannot make a table at once. Only this uses the lock's number.
const ALONE: &str = "SELECT pg_advisory_xact_lock(7811882236424023653)";

/// The number of the table, since another schema may have a table of the same name. This query needs no right to create
/// tables.
const FIND_TABLE: &str = "SELECT to_regclass('millstream_progress')::oid::bigint";

/// Ends the sessions of this user whose label begins with `$1`.
const END_SESSIONS: &str = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity \
                            WHERE datname = current_database() AND usename = current_user \
                            AND pid <> pg_backend_pid() AND left(application_name, length($1::text)) = $1::text";

const LABEL: &str = "SELECT set_config('application_name', $1, false)";

/// Makes this process the job's owner. Returns the job's row, and the label of the owner's sessions.
fn take_over(session: &mut Session, job: &str, setup: &str) -> io::Result<(JobRow, String)> {
    session.execute_batch(BEGIN)?;
    session.execute_batch(ALONE)?;
    let table = match find_table(session)? {
        Some(table) => table,
        None => {
            session.execute_batch(TABLE)?;
            find_table(session)?.unwrap_or_default()
        }
    };
    session.execute_batch(setup)?;
    // Sessions that are about to become the owner's have no label yet, and block no other session.
    let label = format!("millstream {table} {:016x} ", xxh64(job.as_bytes()));
    session.query(END_SESSIONS, &[&label])?;
    let row = job_row(session, TAKE_OVER, job)?.ok_or_else(|| session.error("a statement returned no row"))?;
    // The label has an end, or the label of epoch 1 would be the beginning of others.
    let label = format!("{label}{}.", row.epoch);
    session.query(LABEL, &[&label])?;
    session.execute_batch("COMMIT")?;
    Ok((row, label))
}

fn find_table(session: &mut Session) -> io::Result<Option<i64>> {
    let found = session.query(FIND_TABLE, &[])?;
    found.first().map_or(Ok(None), |row| row.try_get(0)).map_err(|error| session.error(&text_of(&error)))
}

fn job_row(session: &mut Session, statement: &str, job: &str) -> io::Result<Option<JobRow>> {
    let rows = session.query(statement, &[&job])?;
    let read = |row: &tokio_postgres::Row| Ok(JobRow { next: row.try_get(0)?, epoch: row.try_get(1)? });
    rows.first().map(read).transpose().map_err(|error: tokio_postgres::Error| session.error(&text_of(&error)))
}

/// A session of the job's owner.
#[derive(Debug)]
struct Connection {
    session: Session,
    server: Server,
    label: String,
}

impl Database for Connection {
    fn name(&self) -> String {
        self.server.name().to_owned()
    }

    fn begin(&mut self) -> io::Result<()> {
        self.session.execute_batch(BEGIN)
    }

    fn advance(&mut self, statement: &str, next: i64, job: &str, row: JobRow) -> io::Result<u64> {
        self.session.execute(statement, &[&next, &job, &row.next, &row.epoch])
    }

    fn commit(&mut self) -> io::Result<()> {
        self.session.execute_batch("COMMIT")
    }

    fn roll_back(&mut self) {
        // Another error is reported already, and without a session there is no transaction.
        let _ = self.session.execute_batch("ROLLBACK");
    }

    fn recover(&mut self, job: &str) -> io::Result<Option<JobRow>> {
        let mut session = self.server.connect()?;
        // The server may not know yet that the old session has lost its client, and would wait for it.
        session.query(END_SESSIONS, &[&self.label])?;
        // It may be in the middle of its COMMIT: the lock waits for the end of that.
        let row = job_row(&mut session, &format!("{LOOK} FOR UPDATE"), job)?;
        session.query(LABEL, &[&self.label])?;
        self.session = session;
        Ok(row)
    }
}

impl<F> Claims for PostgresRows<F> {
    fn claim(&mut self) -> io::Result<Value> {
        self.progress.claim()
    }

    fn holds(&self) -> Option<SequenceNumber> {
        Some(self.progress.holds())
    }
}

impl<A, F> Sink<A> for PostgresRows<F>
where
    A: Shape,
    F: for<'a> Fn(&mut PostgresTransaction<'_>, SequenceNumber, A::Ref<'a>) -> io::Result<()> + Send + 'static,
{
    /// The number up to which the database holds everything.
    type Output = SequenceNumber;
    type Error = io::Error;

    fn put(&mut self, number: SequenceNumber, value: A::Ref<'_>) -> io::Result<()> {
        let write = &self.write;
        self.progress.put(number, |connection| {
            let mut transaction = PostgresTransaction::new(&mut connection.session);
            write(&mut transaction, number, value)
        })
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
