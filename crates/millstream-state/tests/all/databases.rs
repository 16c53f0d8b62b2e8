//! Jobs whose rows are in a database, SQLite or PostgreSQL: they are killed, fenced, and their database forgets.

use crate::postgres::database;
use crate::sums::{self, InSqlite, Numbers, Place, expected, in_sqlite, rows};
use millstream::prelude::*;
use millstream::state::claims::SqliteRows;
use millstream::state::{ClaimingSink, Claims, JobError};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use std::{env, fs, thread};

/// What a child of these tests is to do: the place, the state and the numbers.
const JOB: &str = "MILLSTREAM_STATE_SUMS";

/// This program again, for one test, which then runs the job.
pub(crate) fn child(test: &str, place: &Place, state: &Path, below: u64) -> Child {
    let mut command = Command::new(env::current_exe().unwrap());
    command.args(["--exact", test, "--nocapture"]).env(JOB, format!("{place}\n{}\n{below}", state.display()));
    command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap()
}

/// Runs the job, if this process is such a child.
pub(crate) fn is_child() -> bool {
    let Ok(job) = env::var(JOB) else { return false };
    let [place, state, below] = job.split('\n').collect::<Vec<_>>()[..] else { panic!("{job}") };
    let place = Place::parse(place).unwrap();
    let numbers = Numbers { below: below.parse().unwrap(), pace: Duration::from_millis(4) };
    sums::run(&place, Path::new(state), numbers, 3).unwrap_or_else(|error| panic!("{error}"));
    true
}

/// Kills the job at moments that spread over its lives, and compares. On a machine that is busy, some lives must come
/// far enough, and the others may be as short as it happens.
fn is_killed_and_goes_on(test: &str, place: &Place, home: &Path) {
    const NUMBERS: u64 = 3000;
    let (mut lives, mut in_the_middle) = (0, 0);
    loop {
        let mut job = child(test, place, &home.join("state"), NUMBERS);
        lives += 1;
        if lives <= 20 {
            let (before, begun) = (rows(place).len(), Instant::now());
            while lives % 2 == 0 && rows(place).len() < before + 100 && begun.elapsed() < Duration::from_secs(20) {
                thread::sleep(Duration::from_millis(1));
            }
            thread::sleep(Duration::from_millis(lives * 37 % 60));
        } else {
            assert!(job.wait_with_output().unwrap().status.success());
            break;
        }
        if let Some(status) = job.try_wait().unwrap() {
            assert!(status.success(), "life {lives}");
            break;
        }
        job.kill().unwrap();
        job.wait().unwrap();
        let there = rows(place);
        assert_eq!(there, expected(NUMBERS)[..there.len()], "after life {lives}");
        in_the_middle += u32::from(!there.is_empty() && there.len() < expected(NUMBERS).len());
    }
    assert!(in_the_middle > 0, "no kill came in the middle: {lives} lives");
    assert_eq!(rows(place), expected(NUMBERS), "{lives} lives");
}

#[test]
fn a_job_that_is_killed_has_each_row_once_in_sqlite() {
    if is_child() {
        return;
    }
    let home = tempfile::tempdir().unwrap();
    let test = "databases::a_job_that_is_killed_has_each_row_once_in_sqlite";
    is_killed_and_goes_on(test, &Place::Sqlite(home.path().join("rows.db")), home.path());
}

#[test]
fn a_job_that_is_killed_has_each_row_once_in_postgres() {
    if is_child() {
        return;
    }
    let test = "databases::a_job_that_is_killed_has_each_row_once_in_postgres";
    let Some(database) = database(test) else { return };
    let home = tempfile::tempdir().unwrap();
    is_killed_and_goes_on(test, &Place::Postgres(database.url), home.path());
}

#[test]
fn a_process_whose_sqlite_database_was_taken_over_changes_nothing() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("rows.db");
    let open = || ClaimingSink::<Val<(u64, u64)>>::open(&in_sqlite(&path), None).unwrap();
    let put = |sink: &mut SqliteRows<InSqlite>, x| Sink::<Val<(u64, u64)>>::put(sink, SequenceNumber(x), &(x, x));
    let mut old = open();
    put(&mut old, 0).unwrap();
    old.claim().unwrap();
    // It has put nothing yet, and the old one has the number that comes next.
    let mut new = open();
    put(&mut old, 1).unwrap();
    let fenced = old.claim().unwrap_err().to_string();
    assert!(fenced.ends_with("another process has taken over the job \"sums\""), "{fenced}");
    put(&mut new, 0).unwrap();
    put(&mut new, 1).unwrap();
    new.claim().unwrap();
    assert!(put(&mut old, 2).and_then(|()| old.claim()).is_err());
    assert_eq!(rows(&Place::Sqlite(path.clone())), [(0, 0), (1, 1)]);
}

/// A process is stopped as by a machine that sleeps, another one takes over with the state of a copy, and the first
/// one wakes up.
#[test]
#[cfg(unix)]
fn a_process_that_was_taken_for_dead_changes_nothing_when_it_wakes_up() {
    if is_child() {
        return;
    }
    let test = "databases::a_process_that_was_taken_for_dead_changes_nothing_when_it_wakes_up";
    let Some(database) = database(test) else { return };
    let (home, place) = (tempfile::tempdir().unwrap(), Place::Postgres(database.url));
    let old = child(test, &place, &home.path().join("old"), 100_000);
    let begun = Instant::now();
    while rows(&place).len() < 100 {
        assert!(begun.elapsed() < Duration::from_secs(60));
        thread::sleep(Duration::from_millis(5));
    }
    signal("STOP", &old);
    sums::run(&place, &home.path().join("new"), Numbers::below(5000), 3).unwrap();
    assert_eq!(rows(&place), expected(5000));
    signal("CONT", &old);
    let said = old.wait_with_output().unwrap();
    let why = String::from_utf8_lossy(&said.stderr);
    assert!(!said.status.success(), "{why}");
    // It says that the job was taken over, or that its session was ended, or that its connection was reset.
    assert!(why.contains("stage \"sink\"") && why.contains(": the database db"), "{why}");
    assert_eq!(rows(&place), expected(5000));
}

#[cfg(unix)]
fn signal(signal: &str, process: &Child) {
    let kill = format!("kill -{signal} {}", process.id());
    assert!(Command::new("sh").args(["-c", &kill]).status().unwrap().success());
}

/// `back_up` and `restore` do that with the database.
fn forgets(place: &Place, home: &Path, back_up: impl Fn(), restore: impl Fn()) {
    let run = |below, keep| sums::run(place, &home.join("state"), Numbers::below(below), keep);
    run(300, 100).unwrap();
    back_up();
    run(600, 100).unwrap();
    restore();
    // Older snapshots are there, and one fits.
    assert!(rows(place).len() < expected(600).len());
    run(900, 1).unwrap();
    assert_eq!(rows(place), expected(900));
    run(1200, 1).unwrap();
    restore();
    let refused = run(1500, 1).unwrap_err();
    assert!(matches!(refused, JobError::SinkHoldsLess { .. }), "{refused}");
    let why = refused.to_string();
    assert!(why.contains("it has the numbers below 300 of the job \"sums\", and had those below "), "{why}");
    assert_eq!(rows(place), expected(300), "nothing is written behind a gap");
}

#[test]
fn a_sqlite_database_that_was_restored_is_refused_unless_an_older_snapshot_fits() {
    let home = tempfile::tempdir().unwrap();
    let (path, backup) = (home.path().join("rows.db"), home.path().join("backup"));
    let copy = |from: &Path, to: &Path| {
        // Into one file first.
        let connection = rusqlite::Connection::open(from).unwrap();
        connection.pragma_update(None, "journal_mode", "DELETE").unwrap();
        drop(connection);
        fs::copy(from, to).unwrap();
    };
    let restore = || {
        let connection = rusqlite::Connection::open(&path).unwrap();
        connection.pragma_update(None, "journal_mode", "DELETE").unwrap();
        drop(connection);
        fs::copy(&backup, &path).unwrap();
    };
    forgets(&Place::Sqlite(path.clone()), home.path(), || copy(&path, &backup), restore);
}

#[test]
fn a_postgres_database_that_was_restored_is_refused_unless_an_older_snapshot_fits() {
    let Some(database) = database("a_postgres_database_that_was_restored") else { return };
    let home = tempfile::tempdir().unwrap();
    let (name, admin) = (&*database.name, &*database.admin);
    // A copy is made of a database without sessions, and those of the job have just ended.
    let back_up = || {
        sums::execute(admin, &format!("ALTER DATABASE {name} ALLOW_CONNECTIONS false"));
        sums::execute(
            admin,
            &format!("SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity WHERE datname = '{name}'"),
        );
        sums::execute(admin, &format!("CREATE DATABASE {name}_backup TEMPLATE {name}"));
        sums::execute(admin, &format!("ALTER DATABASE {name} ALLOW_CONNECTIONS true"));
    };
    let restore = || {
        sums::execute(admin, &format!("DROP DATABASE {name} WITH (FORCE)"));
        sums::execute(admin, &format!("CREATE DATABASE {name} TEMPLATE {name}_backup"));
    };
    forgets(&Place::Postgres(database.url.clone()), home.path(), back_up, restore);
}
