//! A job whose rows are in a file or a database, for tests that kill it.
#![allow(dead_code, reason = "the tests and the program that `cargo xtask chaos state` kills use parts of it")]

use millstream::io::FileSink;
use millstream::prelude::*;
use millstream::state::claims::{Postgres, PostgresTransaction, Sqlite};
use millstream::state::{Cadence, JobError, Persistent, Retention, StateDir, Stored, again, postgres, sqlite, written};
use std::path::{Path, PathBuf};
use std::time::Duration;
use std::{fmt, fs, io, thread};
use tokio_postgres::{Client, NoTls};

/// A number and the sum of all up to it.
pub(crate) type Row = (i64, i64);

/// Where the rows are.
#[derive(Clone, Debug)]
pub(crate) enum Place {
    File(PathBuf),
    Sqlite(PathBuf),
    Postgres(String),
}

impl Place {
    /// `file:PATH`, `sqlite:PATH`, or the URL of a PostgreSQL database.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let (kind, rest) = text.split_once(':')?;
        match kind {
            "file" => Some(Place::File(rest.into())),
            "sqlite" => Some(Place::Sqlite(rest.into())),
            "postgresql" => Some(Place::Postgres(text.to_owned())),
            _ => None,
        }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Place::File(path) => write!(f, "file:{}", path.display()),
            Place::Sqlite(path) => write!(f, "sqlite:{}", path.display()),
            Place::Postgres(url) => f.write_str(url),
        }
    }
}

const JOB: &str = "sums";

/// Without a key, so that a row that is written twice is there twice.
const SETUP: &str = "CREATE TABLE IF NOT EXISTS sums (n BIGINT, sum BIGINT)";

const ALL: &str = "SELECT n, sum FROM sums ORDER BY n, sum";

/// The numbers are paced as a live source's are: this long for each 64.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Numbers {
    pub(crate) below: u64,
    pub(crate) pace: Duration,
}

impl Numbers {
    pub(crate) fn below(below: u64) -> Self {
        Numbers { below, pace: Duration::ZERO }
    }

    fn values(self) -> impl Iterator<Item = u64> + Send {
        (0..self.below).inspect(move |x| {
            if x % 64 == 0 && !self.pace.is_zero() {
                thread::sleep(self.pace);
            }
        })
    }
}

/// Some numbers have no row.
fn sums() -> impl Pipeline<u64, (u64, u64)> + Lasting {
    pipeline::<u64>()
        .scan(0_u64, |sum, x| {
            *sum += x;
            (*x, *sum)
        })
        .named("sums")
        .filter(|(x, _)| x % 7 != 3)
        .any_edge()
}

/// What an undisturbed run writes.
pub(crate) fn expected(below: u64) -> Vec<Row> {
    let rows = sums().collect(source::ready(0..below)).unwrap();
    rows.into_iter().map(|(x, sum)| (x as i64, sum as i64)).collect()
}

/// The job on this state. It takes a snapshot every 50 numbers, and keeps this many.
pub(crate) fn run(place: &Place, state: &Path, numbers: Numbers, keep: usize) -> Result<Stored, JobError> {
    let job = || -> Result<Persistent, JobError> {
        let keep = Retention { count: Some(keep), ..Retention::default() };
        let job = Persistent::new(Rings::new().batch(8), StateDir::open(state, JOB)?);
        Ok(job.snapshot_every(Cadence::Numbers(50)).keep(keep))
    };
    let source = again(move || numbers.values());
    let (_, stored) = match place {
        Place::File(path) => {
            let lines = written(FileSink::append(path), |(x, sum): &(u64, u64), line| {
                line.extend(format!("{x} {sum}\n").bytes());
            });
            let (_, stored) = job()?.run(&sums(), source, lines)?;
            return Ok(stored);
        }
        Place::Sqlite(path) => job()?.run(&sums(), source, in_sqlite(path))?,
        Place::Postgres(url) => job()?.run(&sums(), source, in_postgres(url))?,
    };
    Ok(stored)
}

pub(crate) type InSqlite = fn(&rusqlite::Connection, SequenceNumber, &(u64, u64)) -> rusqlite::Result<()>;

pub(crate) fn in_sqlite(path: &Path) -> Sqlite<InSqlite> {
    let write: InSqlite =
        |rows, _, (x, sum)| rows.execute("INSERT INTO sums VALUES (?, ?)", (*x as i64, *sum as i64)).map(drop);
    sqlite(path, JOB, write).setup(SETUP)
}

pub(crate) type InPostgres = fn(&mut PostgresTransaction<'_>, SequenceNumber, &(u64, u64)) -> io::Result<()>;

pub(crate) fn in_postgres(url: &str) -> Postgres<InPostgres> {
    let write: InPostgres =
        |rows, _, (x, sum)| rows.send("INSERT INTO sums VALUES ($1, $2)", &[&(*x as i64), &(*sum as i64)]);
    postgres(url, JOB, write).setup(SETUP)
}

/// What is in the place.
pub(crate) fn rows(place: &Place) -> Vec<Row> {
    match place {
        Place::File(path) => {
            let text = fs::read_to_string(path).unwrap_or_default();
            let row = |line: &str| {
                let (x, sum) = line.split_once(' ')?;
                Some((x.parse().ok()?, sum.parse().ok()?))
            };
            text.lines().map(|line| row(line).unwrap_or_else(|| panic!("a line {line:?}"))).collect()
        }
        Place::Sqlite(path) => {
            let connection = rusqlite::Connection::open(path).unwrap();
            let Ok(mut all) = connection.prepare(ALL) else { return Vec::new() };
            all.query_map((), |row| Ok((row.get(0)?, row.get(1)?))).unwrap().collect::<Result<_, _>>().unwrap()
        }
        Place::Postgres(url) => on_server(url, async |client| match client.query(ALL, &[]).await {
            Ok(rows) => rows.iter().map(|row| (row.get(0), row.get(1))).collect(),
            // There is no table yet.
            Err(_) => Vec::new(),
        }),
    }
}

/// Removes what is in the place, and what it says of the job.
pub(crate) fn clear(place: &Place) -> io::Result<()> {
    match place {
        Place::File(path) | Place::Sqlite(path) => match fs::remove_file(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            removed => removed,
        },
        Place::Postgres(url) => {
            execute(url, "DROP TABLE IF EXISTS sums, millstream_progress");
            Ok(())
        }
    }
}

/// Executes statements, such as a user's.
pub(crate) fn execute(url: &str, statements: &str) {
    on_server(url, async |client| client.batch_execute(statements).await.unwrap());
}

fn on_server<R>(url: &str, ask: impl AsyncFnOnce(&Client) -> R) -> R {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    runtime.block_on(async {
        let (client, connection) = tokio_postgres::connect(url, NoTls).await.unwrap();
        let moving = tokio::spawn(connection);
        let answer = ask(&client).await;
        drop(client);
        moving.await.unwrap().unwrap();
        answer
    })
}
