//! Rows in PostgreSQL, by a real server: its connections break, its answers are lost, and it dies.

use crate::databases::{child, is_child};
use crate::postgres_server::{Server, programs};
use crate::proxy::{Fate, Proxy};
use crate::sums::{self, InPostgres, Numbers, Place, execute, expected, in_postgres, rows};
use millstream::prelude::*;
use millstream::state::claims::PostgresRows;
use millstream::state::{ClaimingSink, Claims, OpenError, postgres};
use millstream::testkit::programs::skipped;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};
use std::{io, thread};

fn installed(test: &str) -> Option<PathBuf> {
    let tools = Path::new(env!("CARGO_TARGET_TMPDIR")).with_file_name("tools");
    let programs = programs(&tools);
    if programs.is_none() {
        skipped(test, "there is no server of PostgreSQL; `cargo xtask postgres` installs one");
    }
    programs
}

/// A database on a server that the tests of this process share.
pub(crate) struct Database {
    pub(crate) name: String,
    pub(crate) url: String,
    /// Another database of the server.
    pub(crate) admin: String,
    port: u16,
}

pub(crate) fn database(test: &str) -> Option<Database> {
    static SERVER: OnceLock<Server> = OnceLock::new();
    static DATABASES: AtomicU64 = AtomicU64::new(0);
    let programs = installed(test)?;
    let server = SERVER.get_or_init(|| Server::start(&programs).unwrap());
    let (name, admin) = (format!("db{}", DATABASES.fetch_add(1, Ordering::Relaxed)), server.url("postgres"));
    execute(&admin, &format!("CREATE DATABASE {name}"));
    Some(Database { url: server.url(&name), name, admin, port: server.port })
}

impl Database {
    fn through(&self, proxy: &Proxy) -> String {
        self.url.replace(&self.port.to_string(), &proxy.port.to_string())
    }
}

fn open(url: &str) -> PostgresRows<InPostgres> {
    ClaimingSink::<Val<(u64, u64)>>::open(&in_postgres(url), None).unwrap()
}

fn put(sink: &mut PostgresRows<InPostgres>, numbers: std::ops::Range<u64>) -> io::Result<()> {
    numbers.into_iter().try_for_each(|x| Sink::<Val<(u64, u64)>>::put(sink, SequenceNumber(x), &(x, x)))
}

fn numbers(database: &Database) -> Vec<i64> {
    rows(&Place::Postgres(database.url.clone())).into_iter().map(|(x, _)| x).collect()
}

#[test]
fn a_commit_whose_answer_is_lost_is_done_once() {
    for fate in [Fate::LosesAnswer, Fate::LosesCommit, Fate::ComesLate] {
        // The first is that of the opening.
        for commits in [0, 1, 2] {
            let Some(database) = database("a_commit_whose_answer_is_lost_is_done_once") else { return };
            let proxy = Proxy::before(database.port);
            let (place, home) = (Place::Postgres(database.through(&proxy)), tempfile::tempdir().unwrap());
            proxy.after(commits, fate);
            let run = || sums::run(&place, home.path(), Numbers { below: 1000, pace: Duration::from_millis(4) }, 3);
            let first = run();
            assert!(proxy.has_happened());
            match (fate, first) {
                (Fate::LosesAnswer, first) if commits > 0 => drop(first.unwrap()),
                (_, first) if commits == 0 => {
                    let why = first.unwrap_err().to_string();
                    assert!(why.starts_with("the sink: the database db"), "{fate:?}: {why}");
                    run().unwrap();
                }
                (_, first) => {
                    let why = first.unwrap_err().to_string();
                    assert!(why.contains(" are not stored: "), "{fate:?}: {why}");
                    run().unwrap();
                }
            }
            assert_eq!(rows(&place), expected(1000), "{fate:?} {commits}");
        }
    }
}

#[test]
fn a_newer_owner_whose_user_may_not_end_the_older_session_fences_it() {
    let Some(database) = database("a_newer_owner_whose_user_may_not_end_the_older_session_fences_it") else { return };
    let mut old = open(&database.url);
    put(&mut old, 0..10).unwrap();
    old.claim().unwrap();
    put(&mut old, 10..20).unwrap();
    // Roles are of the whole server.
    let role = format!("role_of_{}", database.name);
    let grant = format!("CREATE ROLE {role} LOGIN; GRANT ALL ON sums, millstream_progress TO {role}");
    execute(&database.url, &grant);
    // It has the right to use the tables alone.
    let newer = database.url.replace("millstream@", &format!("{role}@"));
    let write: InPostgres =
        |rows, _, (x, sum)| rows.execute("INSERT INTO sums VALUES ($1, $2)", &[&(*x as i64), &(*sum as i64)]).map(drop);
    let mut new = ClaimingSink::<Val<(u64, u64)>>::open(&postgres(&newer, "sums", write), None).unwrap();
    let fenced = old.claim().unwrap_err().to_string();
    assert!(fenced.ends_with("another process has taken over the job \"sums\""), "{fenced}");
    assert!(fenced.starts_with(&format!("the database {} at 127.0.0.1:{}: ", database.name, database.port)));
    assert_eq!(numbers(&database), (0..10).collect::<Vec<_>>());
    put(&mut new, 0..30).unwrap();
    new.claim().unwrap();
    assert!(put(&mut old, 20..40).and_then(|()| old.claim()).is_err());
    assert_eq!(numbers(&database), (0..30).collect::<Vec<_>>());
}

#[test]
fn the_locks_of_a_process_that_was_taken_for_dead_hold_nothing_up() {
    let Some(database) = database("the_locks_of_a_process_that_was_taken_for_dead_hold_nothing_up") else { return };
    let mut old = open(&database.url);
    execute(&database.url, "CREATE UNIQUE INDEX ON sums (n)");
    put(&mut old, 0..10).unwrap();
    let mut new = open(&database.url);
    put(&mut new, 0..10).unwrap();
    new.claim().unwrap();
    let why = old.claim().unwrap_err().to_string();
    assert!(why.contains("terminating connection"), "{why}");
    assert_eq!(numbers(&database), (0..10).collect::<Vec<_>>());
    // Nor does one of another job.
    let write: InPostgres = |_, _, _| Ok(());
    ClaimingSink::<Val<(u64, u64)>>::open(&postgres(&database.url, "sum", write), None).unwrap();
    // An older owner ends no session of the newer one when it looks for its answer.
    put(&mut new, 10..20).unwrap();
    new.claim().unwrap();
    assert_eq!(numbers(&database).len(), 20);
}

#[test]
fn a_server_that_is_silent_or_away_is_an_error_soon() {
    let Some(database) = database("a_server_that_is_silent_or_away_is_an_error_soon") else { return };
    let proxy = Proxy::before(database.port);
    let write: InPostgres = |rows, _, (x, _)| rows.send("INSERT INTO sums VALUES ($1, 0)", &[&(*x as i64)]);
    let sink = postgres(database.through(&proxy), "sums", write).patience(Duration::from_millis(500));
    let sink = sink.setup("CREATE TABLE sums (n BIGINT, sum BIGINT)");
    let mut sink = ClaimingSink::<Val<(u64, u64)>>::open(&sink, None).unwrap();
    put(&mut sink, 0..10).unwrap();
    proxy.after(0, Fate::Stalls);
    let begun = Instant::now();
    let why = sink.claim().unwrap_err().to_string();
    assert!(why.contains("0 to 9 are not stored: ") && why.contains("has not answered for 500ms"), "{why}");
    assert!(begun.elapsed() < Duration::from_secs(20), "{:?}", begun.elapsed());
    assert_eq!(numbers(&database), [0; 0]);

    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let away = postgres(format!("postgresql://me:secret@127.0.0.1:{port}/orders"), "sums", write);
    let refused = ClaimingSink::<Val<(u64, u64)>>::open(&away.patience(Duration::from_millis(200)), None).unwrap_err();
    let why = refused.to_string();
    assert!(why.starts_with(&format!("the database orders at 127.0.0.1:{port}: error connecting")), "{why}");
    assert!(matches!(refused, OpenError::Failed(_)) && !why.contains("secret"), "{why}");
    let nonsense = ClaimingSink::<Val<(u64, u64)>>::open(&postgres("postgresql://a:b:c", "sums", write), None);
    assert!(nonsense.unwrap_err().to_string().starts_with("PostgreSQL: invalid c"));
}

#[test]
fn a_statement_that_fails_says_why_and_stores_nothing() {
    let Some(database) = database("a_statement_that_fails_says_why_and_stores_nothing") else { return };
    let mut sink = open(&database.url);
    execute(&database.url, "CREATE UNIQUE INDEX ON sums (n)");
    put(&mut sink, 0..10).unwrap();
    Sink::<Val<(u64, u64)>>::put(&mut sink, SequenceNumber(10), &(3, 0)).unwrap();
    let why = sink.claim().unwrap_err().to_string();
    assert!(why.contains("ERROR: duplicate key value violates unique constraint"), "{why}");
    assert_eq!(numbers(&database), [0; 0]);
    let user = database.url.replace("millstream@", "no_such_user@");
    let write: InPostgres = |_, _, _| Ok(());
    let begun = Instant::now();
    let refused = ClaimingSink::<Val<(u64, u64)>>::open(&postgres(user, "sums", write), None).unwrap_err();
    assert!(refused.to_string().contains("FATAL: role \"no_such_user\" does not exist"), "{refused}");
    assert!(begun.elapsed() < Duration::from_secs(5), "it is refused for good");
}

/// A job whose processes and whose server die goes on from what both have.
#[test]
fn a_job_goes_on_when_the_server_is_killed_in_the_middle_and_started_again() {
    if is_child() {
        return;
    }
    let test = "postgres::a_job_goes_on_when_the_server_is_killed_in_the_middle_and_started_again";
    let Some(programs) = installed(test) else { return };
    let mut server = Server::start(&programs).unwrap();
    let (home, place) = (tempfile::tempdir().unwrap(), Place::Postgres(server.url("postgres")));
    const BELOW: u64 = 8000;
    for _ in 0..2 {
        let (before, begun) = (rows(&place).len(), Instant::now());
        let job = child(test, &place, &home.path().join("state"), BELOW);
        while rows(&place).len() < before + 500 {
            assert!(begun.elapsed() < Duration::from_secs(60));
            thread::sleep(Duration::from_millis(5));
        }
        server.kill().unwrap();
        let said = job.wait_with_output().unwrap();
        let why = String::from_utf8_lossy(&said.stderr);
        assert!(!said.status.success() && why.contains("the database postgres at 127.0.0.1:"), "{why}");
        server.again().unwrap();
    }
    // The last process is there before the server is.
    server.kill().unwrap();
    let again = thread::spawn(move || {
        thread::sleep(Duration::from_millis(100));
        server.again().map(|()| server)
    });
    sums::run(&place, &home.path().join("state"), Numbers::below(BELOW), 3).unwrap();
    assert_eq!(rows(&place), expected(BELOW));
    drop(again.join().unwrap().unwrap());
}
