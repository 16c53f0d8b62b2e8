//! Jobs with a value at END, whose rows are in a database, which cannot go back as a file can. A job that was drained
//! goes on later, and so does one whose source has failed: END's value must not be there yet.

use millstream::prelude::*;
use millstream::state::{
    Cadence, JobError, Persistent, Places, Position, Resumable, StateDir, Stored, claims::Sqlite, sqlite,
};
use rusqlite::Connection;
use std::path::Path;
use std::sync::Mutex;
use std::time::Duration;
use std::{io, thread};

/// Sums, and at END a list of all that there was.
fn sums() -> impl Pipeline<u64, i64> + Lasting {
    pipeline::<u64>()
        .scan_finish(
            0_i64,
            |sum, x| {
                *sum += *x as i64;
                *sum
            },
            |sum| Some(-sum),
        )
        .named("sums")
        .any_edge()
}

/// The numbers to `end`. If the source `fails`, it is there, and at `end` otherwise.
struct Numbers {
    end: u64,
    fails: bool,
    pace: Duration,
    failure: Mutex<Option<io::Error>>,
}

impl Numbers {
    fn to(end: u64) -> Self {
        Numbers { end, fails: false, pace: Duration::ZERO, failure: Mutex::new(None) }
    }
}

struct Counted {
    next: u64,
    end: u64,
    pace: Duration,
}

impl Iterator for Counted {
    type Item = u64;

    fn next(&mut self) -> Option<u64> {
        thread::sleep(self.pace);
        self.next += 1;
        (self.next <= self.end).then(|| self.next - 1)
    }
}

impl Places for Counted {
    type Mark = u64;

    fn place(&self) -> u64 {
        self.next
    }
}

impl Resumable<u64> for Numbers {
    type Mark = u64;
    type Values = Counted;
    const WAITS: bool = true;

    fn begin(&self, position: Option<&Position>) -> io::Result<Counted> {
        if self.fails {
            *self.failure.lock().unwrap() = Some(io::Error::other("the disk is gone"));
        }
        Ok(Counted { next: position.and_then(Position::as_u64).unwrap_or(0), end: self.end, pace: self.pace })
    }

    fn position(&self, mark: &u64) -> io::Result<Position> {
        Ok((*mark).into())
    }

    fn failure(&self) -> Option<io::Error> {
        self.failure.lock().unwrap().take()
    }
}

type InSums = fn(&Connection, SequenceNumber, &i64) -> rusqlite::Result<()>;

fn table(home: &Path) -> Sqlite<InSums> {
    let write: InSums =
        |rows, number, sum| rows.execute("INSERT INTO sums VALUES (?, ?)", (number.0 as i64, *sum)).map(drop);
    sqlite(home.join("sums.db"), "sums", write).setup("CREATE TABLE IF NOT EXISTS sums (n BIGINT, sum BIGINT)")
}

fn rows(home: &Path) -> Vec<i64> {
    let connection = Connection::open(home.join("sums.db")).unwrap();
    let mut all = connection.prepare("SELECT sum FROM sums ORDER BY n, sum").unwrap();
    all.query_map((), |row| row.get(0)).unwrap().collect::<Result<_, _>>().unwrap()
}

fn expected(end: u64) -> Vec<i64> {
    sums().collect(source::ready(0..end)).unwrap()
}

fn job(home: &Path, workers: usize) -> Persistent {
    let state = StateDir::open(home.join("state"), "sums").unwrap();
    Persistent::new(Rings::new().batch(4).workers(workers), state).snapshot_every(Cadence::Numbers(7))
}

fn run(home: &Path, workers: usize, numbers: Numbers) -> Result<Stored, JobError> {
    job(home, workers).run(&sums(), numbers, table(home)).map(|(_, stored)| stored)
}

#[test]
fn a_drained_job_has_no_row_of_its_end_and_goes_on() {
    for workers in [1, 2] {
        let home = tempfile::tempdir().unwrap();
        let numbers = Numbers { pace: Duration::from_millis(1), ..Numbers::to(1_000_000) };
        let running = job(home.path(), workers).start(&sums(), numbers, table(home.path())).unwrap();
        while rows(home.path()).len() < 20 {
            thread::sleep(Duration::from_millis(1));
        }
        running.close();
        running.wait().unwrap();
        let (there, end) = (rows(home.path()), rows(home.path()).len() as u64 + 30);
        assert_eq!(there, expected(end)[..there.len()]);
        run(home.path(), workers, Numbers::to(end)).unwrap();
        assert_eq!(rows(home.path()), expected(end));
    }
}

#[test]
fn a_job_whose_source_has_failed_has_no_row_of_its_end_and_goes_on() {
    for workers in [1, 2] {
        let home = tempfile::tempdir().unwrap();
        let failed = run(home.path(), workers, Numbers { fails: true, ..Numbers::to(33) });
        assert!(
            matches!(&failed, Err(JobError::Source(error)) if error.to_string() == "the disk is gone"),
            "{failed:?}"
        );
        assert_eq!(rows(home.path()), expected(50)[..33]);
        run(home.path(), workers, Numbers::to(50)).unwrap();
        assert_eq!(rows(home.path()), expected(50));
    }
}

#[test]
fn a_job_that_has_ended_ends_again_and_says_why_it_cannot_go_on() {
    for workers in [1, 2] {
        let home = tempfile::tempdir().unwrap();
        for _ in 0..3 {
            run(home.path(), workers, Numbers::to(33)).unwrap();
            assert_eq!(rows(home.path()), expected(33));
        }
        let why = run(home.path(), workers, Numbers::to(50)).unwrap_err().to_string();
        assert!(why.contains("the job \"sums\" has ended at number 33, and its rows have what it yielded"), "{why}");
        assert_eq!(rows(home.path()), expected(33));
        // What the message advises.
        let connection = Connection::open(home.path().join("sums.db")).unwrap();
        connection.execute("DELETE FROM sums WHERE n = 33", ()).unwrap();
        let advised = why[why.find("UPDATE").unwrap()..].split('\n').next().unwrap();
        connection.execute_batch(advised).unwrap();
        run(home.path(), workers, Numbers::to(50)).unwrap();
        assert_eq!(rows(home.path()), expected(50));
    }
}
