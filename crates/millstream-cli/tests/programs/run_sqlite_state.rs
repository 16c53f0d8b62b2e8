//! `run --state` with texts that read and write SQLite databases: the runs are killed, and go on.

use crate::run_sqlite::{database, values};
use crate::scene::{Input, PATIENCE, Scene, Seen, ended};
use rusqlite::types::Value;
use std::fs::{self, File};
use std::io::Write;
use std::process::{Child, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

fn start(scene: &Scene, args: &str) -> Child {
    let out = File::options().append(true).create(true).open(scene.path("out")).expect("a file");
    let mut command = scene.command("millstream", &format!("run --quiet p.mill --state state {args}"));
    command.stdin(Stdio::null()).stdout(out).stderr(Stdio::piped()).spawn().expect("it starts")
}

fn whole(scene: &Scene, args: &str) -> Seen {
    Seen::of(start(scene, args).wait_with_output().expect("it ends"))
}

#[track_caller]
fn done(scene: &Scene, args: &str) {
    let seen = whole(scene, args);
    // An earlier process may have left an unfinished snapshot, and a message says that it is removed.
    assert_eq!(seen.code, Some(0), "{}", seen.stderr);
}

#[track_caller]
fn fails(scene: &Scene, why: &str, code: i32) {
    let seen = whole(scene, "");
    assert!(seen.stderr.contains(why) && seen.code == Some(code), "{}, {:?}", seen.stderr, seen.code);
}

fn kill(mut child: Child) {
    child.kill().expect("it can be killed");
    child.wait().expect("it ends");
}

#[track_caller]
fn until(what: impl Fn() -> bool) {
    let since = Instant::now();
    while !what() {
        assert!(since.elapsed() < PATIENCE, "it does not come about");
        sleep(Duration::from_millis(2));
    }
}

fn append(scene: &Scene, name: &str, text: &str) {
    let file = File::options().append(true).create(true).open(scene.path(name));
    file.expect("a file").write_all(text.as_bytes()).expect("it is written");
}

fn numbers(scene: &Scene, query: &str) -> Vec<i64> {
    let number = |value| match value {
        Value::Integer(number) => number,
        other => panic!("{other:?}"),
    };
    values(scene, "t.db", query).into_iter().map(number).collect()
}

/// How many rows are in a table; 0 if there is none.
fn count(scene: &Scene, table: &str) -> i64 {
    let there = format!("SELECT count(*) FROM sqlite_master WHERE name = '{table}'");
    if !scene.path("t.db").exists() || numbers(scene, &there) == [0] {
        return 0;
    }
    numbers(scene, &format!("SELECT count(*) FROM {table}"))[0]
}

fn rows(numbers: std::ops::Range<u64>) -> String {
    numbers.map(|n| format!("{{\"n\":{n},\"pad\":\"{}\"}}\n", "x".repeat(60))).collect()
}

#[test]
fn a_run_that_is_killed_again_and_again_has_each_row_once() {
    const ROWS: u64 = 20_000;
    let text = "let n = jsonl(\"rows\"); n | sqlite(\"t.db\", table: \"all_rows\"); \
                n | where(.n % 3 == 0) | sqlite(\"t.db\", table: \"thirds\"); \
                n | where(.n % 3 == 0) | sqlite(\"other.db\", table: \"thirds\"); n | where(.n % 1000 == 0) | map(.n)";
    let scene = Scene::new().file("p.mill", text).file("rows", rows(0..ROWS));
    // Rows of another program stay.
    drop(database(&scene, "t.db", "CREATE TABLE thirds (n, pad); INSERT INTO thirds VALUES (-1, 'before')"));
    for life in 0..12_u64 {
        let child = start(&scene, "--snapshot-every 1");
        sleep(Duration::from_millis(60 * life));
        kill(child);
    }
    done(&scene, "");
    let all: Vec<i64> = (0..ROWS as i64).collect();
    let thirds: Vec<i64> = all.iter().copied().filter(|n| n % 3 == 0).collect();
    assert!(numbers(&scene, "SELECT n FROM all_rows ORDER BY rowid") == all, "other rows");
    assert!(numbers(&scene, "SELECT n FROM thirds ORDER BY rowid") == [&[-1], &thirds[..]].concat(), "other rows");
    let other = values(&scene, "other.db", "SELECT n FROM thirds ORDER BY rowid");
    assert!(other == thirds.iter().copied().map(Value::Integer).collect::<Vec<_>>(), "other rows");
    let out = fs::read_to_string(scene.path("out")).expect("an output");
    assert_eq!(out, (0..20).map(|n| format!("{}\n", n * 1000)).collect::<String>());
    // A run that is at its end has no rows to add.
    done(&scene, "");
    assert_eq!(count(&scene, "all_rows"), ROWS as i64);
}

/// A block of a followed file ends where the file ended when it was read, so its rows have other numbers in each
/// process.
#[test]
fn rows_that_are_committed_without_a_snapshot_are_not_there_twice_nor_lost() {
    let scene = Scene::new().file("p.mill", "jsonl(\"rows\", follow: true) | sqlite(\"t.db\", table: \"t\")");
    append(&scene, "rows", "");
    for life in 0..6 {
        // The first snapshot is the one of the beginning; some processes take further ones.
        let every = if life % 3 == 2 { "--snapshot-every 1" } else { "--snapshot-every 1000000" };
        let child = start(&scene, every);
        for part in 0..4 {
            let n = life * 40 + part * 10;
            append(&scene, "rows", &rows(n..n + 10));
            until(|| count(&scene, "t") == n as i64 + 10);
        }
        kill(child);
        assert_eq!(count(&scene, "t"), life as i64 * 40 + 40);
    }
    let mut child = start(&scene, "");
    append(&scene, "rows", &rows(240..250));
    until(|| count(&scene, "t") == 250);
    let kill = scene.command("kill", &format!("-TERM {}", child.id()));
    assert_eq!(scene.run(kill, Input::Nothing).code, Some(0));
    assert_eq!(ended(&mut child).code(), Some(128 + 15));
    assert_eq!(numbers(&scene, "SELECT n FROM t ORDER BY rowid"), (0..250).collect::<Vec<_>>());
}

/// The notes of added rows stay as long as a snapshot is kept that needs them.
#[test]
fn a_run_forgets_what_only_removed_snapshots_needed() {
    let scene = Scene::new().file("p.mill", "jsonl(\"rows\", follow: true) | sqlite(\"t.db\", table: \"t\")");
    append(&scene, "rows", "");
    let (child, since) = (start(&scene, "--snapshot-every 1 --snapshots 2"), Instant::now());
    let add = |n: u64| {
        append(&scene, "rows", &rows(n..n + 1));
        until(|| count(&scene, "t") == n as i64 + 1);
    };
    let mut n = 0;
    while n == 0 || numbers(&scene, "SELECT oldest FROM millstream_parts") == [0] {
        assert!(since.elapsed() < PATIENCE, "it forgets nothing");
        add(n);
        n += 1;
    }
    kill(child);
    let left = "SELECT count(*) FROM millstream_part_rows WHERE part <= (SELECT oldest FROM millstream_parts)";
    assert_eq!(numbers(&scene, left), [0]);
    let child = start(&scene, "--snapshot-every 1 --snapshots 2");
    add(n);
    kill(child);
    assert_eq!(numbers(&scene, "SELECT n FROM t ORDER BY rowid"), (0..=n as i64).collect::<Vec<_>>());
}

#[test]
fn a_query_goes_on_where_it_was() {
    const ROWS: i64 = 40_000;
    let fill = format!(
        "CREATE TABLE t (n INTEGER PRIMARY KEY, pad); WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c \
         LIMIT {ROWS}) INSERT INTO t SELECT i, printf('%.*c', 60, 'x') FROM c"
    );
    let text =
        "let n = sqlite(\"t.db\", query: \"select * from t order by n\"); n | map(.n); n | count | jsonl(\"count\")";
    let scene = Scene::new().file("p.mill", text);
    let connection = database(&scene, "t.db", &fill);
    for life in 0..8_u64 {
        let child = start(&scene, "--snapshot-every 1");
        sleep(Duration::from_millis(40 * life));
        kill(child);
    }
    done(&scene, "--snapshot-every 1");
    let out = |to: i64| (1..=to).map(|n| format!("{n}\n")).collect::<String>();
    assert!(fs::read_to_string(scene.path("out")).expect("an output") == out(ROWS), "other rows");
    assert_eq!(fs::read_to_string(scene.path("count")).expect("an output"), format!("{{\"count\":{ROWS}}}\n"));
    connection.execute("INSERT INTO t VALUES (?, 'more')", [ROWS + 1]).expect("a row more");
    done(&scene, "");
    assert!(fs::read_to_string(scene.path("out")).expect("an output") == out(ROWS + 1), "other rows");
    connection.execute("DELETE FROM t WHERE n = 7", ()).expect("a row less");
    fails(&scene, "with --state a query must return the same rows in the same order each time: use ORDER BY", 1);
}

#[test]
fn a_database_that_does_not_hold_what_it_did_is_refused() {
    let scene =
        Scene::new().file("p.mill", "jsonl(\"rows\") | sqlite(\"t.db\", table: \"t\")").file("rows", rows(0..10));
    done(&scene, "");
    let whole = fs::read(scene.path("t.db")).expect("a file");
    fs::remove_file(scene.path("t.db")).expect("a file");
    fails(&scene, "t.db: No such file or directory", 1);
    drop(database(&scene, "t.db", "CREATE TABLE t (n)"));
    fails(&scene, "t.db: it has no rows of this run: the run wrote another database", 1);
    fs::write(scene.path("t.db"), &whole).expect("a file");
    let older = database(&scene, "t.db", "UPDATE millstream_parts SET held = held - 2");
    fails(&scene, "it has lost some, like a database that is restored from an older backup", 1);
    older.execute("UPDATE millstream_parts SET held = held + 2", ()).expect("it is as before");
    append(&scene, "rows", &rows(10..20));
    done(&scene, "");
    assert_eq!(numbers(&scene, "SELECT n FROM t"), (0..20).collect::<Vec<_>>());
    // With another state, it is another run.
    fs::remove_dir_all(scene.path("state")).expect("a directory");
    done(&scene, "");
    assert_eq!(count(&scene, "t"), 40);
}

#[test]
fn a_table_out_of_which_rows_cannot_be_taken_ends_the_run() {
    let scene =
        Scene::new().file("p.mill", "jsonl(\"rows\") | sqlite(\"t.db\", table: \"t\")").file("rows", rows(0..10));
    let made = database(&scene, "t.db", "CREATE TABLE t (n PRIMARY KEY, pad) WITHOUT ROWID");
    let why = "t.db: table t: with --state it must be a table with a rowid, from which rows can be removed again";
    fails(&scene, why, 3);
    made.execute_batch("DROP TABLE t; CREATE TABLE t (n UNIQUE, pad); INSERT INTO t VALUES (5, 'x')").expect("a table");
    fails(&scene, "t.db: table t: it refuses the row {\"n\":5,", 3);
    made.execute_batch("DELETE FROM t").expect("no rows");
    // The next start goes on with it.
    done(&scene, "");
    assert_eq!(numbers(&scene, "SELECT n FROM t ORDER BY n"), (0..10).collect::<Vec<_>>());
}

#[test]
fn an_edited_text_goes_on_with_the_tables() {
    let old = "let n = jsonl(\"rows\", follow: true); n | sqlite(\"t.db\", table: \"t\")";
    let scene = Scene::new().file("p.mill", old).file("rows", rows(0..5));
    let lives = |text: &str, until_there: &dyn Fn() -> bool| {
        fs::write(scene.path("p.mill"), text).expect("a file");
        let child = start(&scene, "--snapshot-every 1000000");
        until(until_there);
        kill(child);
    };
    lives(old, &|| count(&scene, "t") == 5);
    // The snapshot is the one of the beginning, so all rows go through the new text.
    let both = format!("{old}; n | where(.n > 2) | sqlite(\"t.db\", table: \"u\")");
    lives(&both, &|| count(&scene, "t") == 5 && count(&scene, "u") == 2);
    let other = old.replace("\"t\"", "\"u\"");
    lives(&other, &|| count(&scene, "t") == 0 && count(&scene, "u") == 5);
    let gone = old.replace("sqlite(\"t.db\", table: \"t\")", "jsonl(\"rows-out\")");
    let out = || fs::read_to_string(scene.path("rows-out")).unwrap_or_default();
    lives(&gone, &|| out() == rows(0..5));
    assert_eq!((count(&scene, "t"), count(&scene, "u")), (0, 0));
    // Once the file is back, the run goes on where it was.
    lives(old, &|| count(&scene, "t") == 5);
    assert_eq!(count(&scene, "u"), 0);
}
