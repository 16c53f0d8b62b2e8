//! A session with a server, in which every wait has a limit.

use super::wait::after;
use millstream_core::blocking::block_until;
use std::collections::{HashMap, VecDeque};
use std::fmt::{self, Debug};
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::Duration;
use std::{error, io};
use tokio::task::JoinHandle;
use tokio_postgres::types::private::BytesMut;
use tokio_postgres::types::{IsNull, ToSql, Type, to_sql_checked};
use tokio_postgres::{Client, Error, Row, Statement};

/// The most statements whose answers are not there yet.
const UNDER_WAY: usize = 1024;

/// The most statements that stay prepared: a program should have few, whose values are parameters.
const PREPARED: usize = 256;

/// An open transaction of a [`Postgres`](super::Postgres), for the rows of one number. The sink begins and ends it: a
/// statement such as `COMMIT` would separate the rows from their number.
#[derive(Debug)]
pub struct PostgresTransaction<'a> {
    session: &'a mut Session,
}

impl<'a> PostgresTransaction<'a> {
    pub(super) fn new(session: &'a mut Session) -> Self {
        PostgresTransaction { session }
    }

    /// Executes a statement, whose parameters are `$1`, `$2` and so on, without waiting for its answer: many statements
    /// can be under way at a time. If it fails, a later call or the commit returns the error. The statement is prepared
    /// once for all numbers.
    ///
    /// # Errors
    ///
    /// If a parameter does not fit, or the statement cannot be prepared; and if an earlier one has failed.
    pub fn send(&mut self, statement: &str, values: &[&(dyn ToSql + Sync)]) -> io::Result<()> {
        self.session.send(statement, values)
    }

    /// Executes a statement as [`send`](Self::send) does, waits for its answer, and returns how many rows it has
    /// changed.
    ///
    /// # Errors
    ///
    /// If it fails, or takes longer than the sink's [patience](super::Postgres::patience).
    pub fn execute(&mut self, statement: &str, values: &[&(dyn ToSql + Sync)]) -> io::Result<u64> {
        self.session.execute(statement, values)
    }

    /// The rows of a query, which sees the effects of earlier statements.
    ///
    /// # Errors
    ///
    /// As [`execute`](Self::execute).
    pub fn query(&mut self, statement: &str, values: &[&(dyn ToSql + Sync)]) -> io::Result<Vec<Row>> {
        self.session.query(statement, values)
    }
}

type Sent = Pin<Box<dyn Future<Output = Result<u64, Error>> + Send>>;

pub(super) struct Session {
    client: Arc<Client>,
    /// The task that moves the bytes.
    driver: JoinHandle<()>,
    /// Why the connection has ended.
    ended: Arc<Mutex<Option<String>>>,
    prepared: HashMap<String, Statement>,
    sent: VecDeque<Sent>,
    patience: Duration,
    /// The name of the database.
    name: Arc<str>,
}

impl Session {
    pub(super) fn new(
        client: Client,
        driver: JoinHandle<()>,
        ended: Arc<Mutex<Option<String>>>,
        patience: Duration,
        name: Arc<str>,
    ) -> Self {
        let (client, prepared, sent) = (Arc::new(client), HashMap::new(), VecDeque::new());
        Session { client, driver, ended, prepared, sent, patience, name }
    }

    /// Executes statements without parameters.
    pub(super) fn execute_batch(&mut self, statements: &str) -> io::Result<()> {
        self.settle(0)?;
        let client = self.client.clone();
        self.wait(async move { client.batch_execute(statements).await })
    }

    pub(super) fn send(&mut self, statement: &str, values: &[&(dyn ToSql + Sync)]) -> io::Result<()> {
        if self.sent.len() >= UNDER_WAY {
            self.settle(UNDER_WAY / 2)?;
        }
        let statement = self.prepare(statement)?;
        let types = statement.params();
        if types.len() != values.len() {
            let why = format!("the statement has {} parameters, and was given {} values", types.len(), values.len());
            return Err(self.error(&why));
        }
        let encoded: Result<Vec<Encoded>, _> = values.iter().zip(types).map(|(value, of)| encode(*value, of)).collect();
        let encoded = encoded.map_err(|why| self.error(&why.to_string()))?;
        let client = self.client.clone();
        let mut sent: Sent = Box::pin(async move { client.execute_raw(&statement, encoded).await });
        // It is sent when it is polled.
        match sent.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(Err(error)) => return Err(self.said(&error)),
            Poll::Ready(Ok(_)) => {}
            Poll::Pending => self.sent.push_back(sent),
        }
        Ok(())
    }

    pub(super) fn execute(&mut self, statement: &str, values: &[&(dyn ToSql + Sync)]) -> io::Result<u64> {
        self.settle(0)?;
        let (client, statement) = (self.client.clone(), self.prepare(statement)?);
        self.wait(async move { client.execute(&statement, values).await })
    }

    pub(super) fn query(&mut self, statement: &str, values: &[&(dyn ToSql + Sync)]) -> io::Result<Vec<Row>> {
        self.settle(0)?;
        let (client, statement) = (self.client.clone(), self.prepare(statement)?);
        self.wait(async move { client.query(&statement, values).await })
    }

    fn prepare(&mut self, statement: &str) -> io::Result<Statement> {
        if let Some(prepared) = self.prepared.get(statement) {
            return Ok(prepared.clone());
        }
        let client = self.client.clone();
        let prepared = self.wait(async move { client.prepare(statement).await })?;
        if self.prepared.len() >= PREPARED {
            self.prepared.clear();
        }
        self.prepared.insert(statement.to_owned(), prepared.clone());
        Ok(prepared)
    }

    /// Waits for answers until at most this many are missing.
    fn settle(&mut self, missing: usize) -> io::Result<()> {
        while self.sent.len() > missing
            && let Some(sent) = self.sent.pop_front()
        {
            self.wait(sent)?;
        }
        Ok(())
    }

    fn wait<R>(&mut self, request: impl Future<Output = Result<R, Error>>) -> io::Result<R> {
        match block_until(after(self.patience), request) {
            Some(answer) => answer.map_err(|error| self.said(&error)),
            None => {
                // A later answer would be taken for the answer to the next request.
                self.driver.abort();
                Err(self.error(&format!("the server has not answered for {:?}", self.patience)))
            }
        }
    }

    /// The error of the server or of the connection.
    fn said(&self, error: &Error) -> io::Error {
        let ended = self.ended.lock().unwrap_or_else(PoisonError::into_inner).clone();
        match ended.filter(|_| error.is_closed()) {
            Some(why) => self.error(&format!("the connection has ended: {why}")),
            None => self.error(&text_of(error)),
        }
    }

    /// An error, with the name of the database.
    pub(super) fn error(&self, why: &str) -> io::Error {
        io::Error::other(format!("{}: {why}", self.name))
    }
}

/// The text of an error, with its cause, in one line.
pub(super) fn text_of(error: &Error) -> String {
    let text = match (error.as_db_error(), error::Error::source(error)) {
        (Some(said), _) => said.to_string(),
        (None, Some(cause)) => format!("{error}: {cause}"),
        (None, None) => error.to_string(),
    };
    text.replace('\n', "; ")
}

impl Drop for Session {
    fn drop(&mut self) {
        self.driver.abort();
    }
}

impl Debug for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Session").field("name", &self.name).field("sent", &self.sent.len()).finish_non_exhaustive()
    }
}

/// A parameter as the server gets it; none is NULL.
#[derive(Debug)]
struct Encoded(Option<BytesMut>);

type Unfit = Box<dyn error::Error + Sync + Send>;

fn encode(value: &(dyn ToSql + Sync), of: &Type) -> Result<Encoded, Unfit> {
    let mut bytes = BytesMut::new();
    Ok(match value.to_sql_checked(of, &mut bytes)? {
        IsNull::Yes => Encoded(None),
        IsNull::No => Encoded(Some(bytes)),
    })
}

impl ToSql for Encoded {
    fn to_sql(&self, _: &Type, out: &mut BytesMut) -> Result<IsNull, Unfit> {
        let Some(bytes) = &self.0 else { return Ok(IsNull::Yes) };
        out.extend_from_slice(bytes);
        Ok(IsNull::No)
    }

    fn accepts(_: &Type) -> bool {
        true
    }

    to_sql_checked!();
}
