//! `run` with texts that read and write SQLite databases.

use crate::scene::{Input, PATIENCE, Scene, Seen, resident_peak};
use crate::upgrade_run::Shown;
use rusqlite::Connection;
use rusqlite::types::Value;
use std::io::Read;
use std::process::Stdio;
use std::thread::sleep;
use std::time::{Duration, Instant};

pub(crate) fn run(scene: &Scene, text: &str, files: &str) -> Seen {
    let mut command = scene.command("millstream", "run --quiet -e");
    command.arg(text).args(files.split(' ').filter(|file| !file.is_empty()));
    scene.run(command, Input::Nothing)
}

#[track_caller]
fn done(scene: &Scene, text: &str, files: &str) -> String {
    let seen = run(scene, text, files);
    assert_eq!((seen.stderr.as_str(), seen.code), ("", Some(0)), "{text}");
    seen.text()
}

#[track_caller]
fn fails(scene: &Scene, text: &str, files: &str, why: &str, code: i32) {
    let seen = run(scene, text, files);
    assert!(seen.stderr.contains(why), "{text}: {}", seen.stderr);
    assert_eq!(seen.code, Some(code), "{text}: {}", seen.stderr);
}

/// Makes a database by these statements.
pub(crate) fn database(scene: &Scene, name: &str, statements: &str) -> Connection {
    let connection = Connection::open(scene.path(name)).expect("a database");
    connection.execute_batch(statements).expect("they are executed");
    connection
}

/// All values of a query, row after row.
pub(crate) fn values(scene: &Scene, name: &str, query: &str) -> Vec<Value> {
    let connection = database(scene, name, "");
    let mut statement = connection.prepare(query).expect("a query");
    let (columns, mut all) = (statement.column_count(), Vec::new());
    let mut rows = statement.query(()).expect("it is asked");
    while let Some(row) = rows.next().expect("a row") {
        all.extend((0..columns).map(|n| row.get::<_, Value>(n).expect("a value")));
    }
    all
}

fn text(text: &str) -> Value {
    Value::Text(text.to_owned())
}

#[test]
fn a_table_goes_into_a_database_and_comes_out_as_it_was() {
    let row = |n: usize| match n % 5 {
        0 => format!("{n},\"a, \"\"b\"\"\n{n}\",,true\n"),
        1 => format!("{n},Ünï {n},-{n}.50,false\n"),
        _ => format!("{n},user {n},{n},true\n"),
    };
    let rows: String = (0..5000).map(row).collect();
    let orders = format!("id,user,price,paid\n{rows}");
    let scene = Scene::new().file("orders.csv", &orders);
    let schema = "schema: {id: int, user: text, price: float?, paid: bool}";
    let expected = done(&scene, &format!("csv({schema}) | jsonl"), "orders.csv");
    assert_eq!(done(&scene, &format!("csv({schema}) | sqlite(\"shop.db\", table: \"orders\")"), "orders.csv"), "");
    let back = done(&scene, "sqlite(\"shop.db\", query: \"select * from orders order by id\")", "");
    // SQLite has numbers instead of truth values.
    let expected = expected.replace("true}", "1}").replace("false}", "0}");
    // SQLite stores a number with a fraction in 64 bits, without its trailing zero.
    assert_eq!(back, expected.replace(".50,", ".5,"));
    // A second run adds its rows.
    done(&scene, &format!("csv({schema}) | sqlite(\"shop.db\", table: \"orders\")"), "orders.csv");
    assert_eq!(values(&scene, "shop.db", "SELECT count(*) FROM orders"), [Value::Integer(10_000)]);
    assert!(values(&scene, "shop.db", "SELECT name FROM sqlite_master WHERE name LIKE 'millstream%'").is_empty());
}

#[test]
fn each_type_has_its_class_in_the_table_and_comes_back() {
    let row = "{\"i\":-9223372036854775808,\"r\":1.0,\"e\":1e-7,\"t\":\"\\u0000 \\\"ü\\\"\",\"n\":null,\"a\":[1,{\"z\":true}]}\n";
    let scene = Scene::new().file("rows", row).file("Ünï.jsonl", "{\"a b\\\"c\":1}\n");
    done(&scene, "jsonl | sqlite(\"t.db\", table: \"t\")", "rows");
    let expected = [
        Value::Integer(i64::MIN),
        Value::Real(1.0),
        Value::Real(1e-7),
        text("\0 \"ü\""),
        Value::Null,
        text("[1,{\"z\":true}]"),
    ];
    assert_eq!(values(&scene, "t.db", "SELECT * FROM t"), expected);
    let back = done(&scene, "sqlite(query: \"SELECT * FROM t\")", "t.db");
    let array = row.replace("[1,{\"z\":true}]", "\"[1,{\\\"z\\\":true}]\"");
    assert_eq!(back, array);
    done(&scene, "jsonl | sqlite(\"t.db\", table: \"it's \\\"1\\\"\")", "Ünï.jsonl");
    assert_eq!(values(&scene, "t.db", "SELECT \"a b\"\"c\" FROM \"it's \"\"1\"\"\""), [Value::Integer(1)]);
    let query = "select x'0102ff' as b, x'' as none, 9e999 as r, -9e999 as s";
    let back = done(&scene, &format!("sqlite(\"t.db\", query: \"{query}\")"), "");
    let large = "1.7976931348623157e308";
    assert_eq!(back, format!("{{\"b\":\"AQL/\",\"none\":\"\",\"r\":{large},\"s\":-{large}}}\n"));
    // A text that is not UTF-8 is not JSON.
    let seen = run(&scene, "sqlite(\"t.db\", query: \"select cast(x'ff61' as text) as t\") | lines(\"-\")", "");
    assert!(seen.stderr.contains("row 1, sqlite: not UTF-8, which JSON needs: byte 0xff"), "{}", seen.stderr);
    assert_eq!((seen.stdout.as_slice(), seen.code), (&b""[..], Some(1)));
}

#[test]
fn rows_that_do_not_fit_are_dead_letters() {
    let rows = "{\"a\":1,\"b\":2}\n{\"b\":3}\n{\"a\":1,\"e\":1}\n{\"a\":99999999999999999999}\n[1]\n{\"a\":1e999}\n{\"b\":4}\n";
    let scene = Scene::new().file("rows", rows).file("twice", "{\"a\":1,\"A\":2}\n{}\n{\"a\":5}\n");
    let seen = run(&scene, "jsonl | sqlite(\"t.db\", table: \"t\")", "rows");
    let said = "millstream run: rows: row 3, sqlite: .e: there is no column \"e\"; the columns are a, b
millstream run: rows: row 4, sqlite: .a: 99999999999999999999 is not a whole number of 64 bits
millstream run: rows: row 5, sqlite: a row of a table is an object\n";
    assert!(seen.stderr.starts_with(said) && seen.code == Some(1), "{}", seen.stderr);
    let [one, two, three, four] = [1, 2, 3, 4].map(Value::Integer);
    let there = values(&scene, "t.db", "SELECT a, b FROM t WHERE a IS NOT 1e999 ORDER BY b");
    assert!(there.starts_with(&[one.clone(), two]) && there.ends_with(&[Value::Null, four]), "{there:?}");
    assert!(there.contains(&three));
    let seen = run(&scene, "jsonl | sqlite(\"t.db\", table: \"u\")", "twice");
    let said =
        "millstream run: twice: row 1, sqlite: \"a\" and \"A\" are the same column for SQLite, which ignores case
millstream run: twice: row 2, sqlite: the first row has no fields, so the table would have no columns\n";
    assert_eq!((seen.stderr.as_str(), seen.code), (said, Some(1)));
    assert_eq!(values(&scene, "t.db", "SELECT * FROM u"), [Value::Integer(5)]);
}

#[test]
fn a_mistake_in_a_query_is_reported_with_its_place() {
    let scene = Scene::new().file("no.db", "this is no database, but long enough to be looked at as one".repeat(30));
    let made = database(&scene, "t.db", "CREATE TABLE t (n); INSERT INTO t VALUES (1); CREATE VIEW v AS SELECT 1");
    drop(made);
    let wrong = [
        ("select * form t", "query `select * form t`: near \"form\": syntax error, at character 10, `form t`"),
        ("select ü from t", "no such column: ü, at character 8, `ü from t`"),
        ("select * from other", "no such table: other"),
        ("select * from other", "; the tables are t, v"),
        ("delete from t", "query `delete from t`: it writes, but a source only reads"),
        ("insert into t values (2) returning n", "it writes, but a source only reads"),
        ("begin", "a statement returned no rows: use SELECT"),
        ("select 1; drop table t", "it has several statements: use one"),
        ("-- nothing", "it is empty"),
        ("select n from t where n > ?", "it has parameters, which nothing binds"),
        ("select n, 2 as n from t", "two of its columns are named \"n\": rename one of them with `AS`"),
    ];
    for (query, why) in wrong {
        fails(&scene, &format!("sqlite(\"t.db\", query: \"{query}\")"), "", why, 1);
    }
    assert_eq!(values(&scene, "t.db", "SELECT * FROM t"), [Value::Integer(1)]);
    let why = "no.db: it is not a SQLite database";
    fails(&scene, "sqlite(\"no.db\", query: \"select 1\")", "", why, 1);
    fails(&scene, "sqlite(\"gone.db\", query: \"select 1\")", "", "gone.db: No such file or directory", 1);
    assert!(!scene.path("gone.db").exists());
    fails(&scene, "sqlite(\".\", query: \"select 1\")", "", "is a directory", 1);
    fails(
        &scene,
        "sqlite(query: \"select 1\")",
        "",
        "a query cannot read standard input: name the file of the database",
        2,
    );
    fails(&scene, "sqlite(\"t.db\")", "", "`sqlite` needs `query`", 2);
    // A mistake in one database does not keep the next one from being queried.
    let seen = run(&scene, "sqlite(query: \"select n from t\")", "no.db t.db");
    assert_eq!((seen.text().as_str(), seen.code), ("{\"n\":1}\n", Some(1)), "{}", seen.stderr);
    assert_eq!(done(&scene, "sqlite(\"t.*\", query: \"select n from t; -- all\")", ""), "{\"n\":1}\n");
}

#[test]
fn files_tables_and_rows_that_cannot_be_written_are_reported() {
    let scene = Scene::new()
        .file("rows", "{\"n\":1}\n{\"n\":2}\n{\"n\":1}\n{\"n\":3}\n")
        .file("no.db", "no database".repeat(99));
    let made = "CREATE TABLE u (n UNIQUE); CREATE TABLE other (x, y); CREATE VIEW v AS SELECT 1 AS n";
    drop(database(&scene, "t.db", made));
    let into = |file: &str, table: &str| format!("jsonl | sqlite(\"{file}\", table: \"{table}\")");
    fails(&scene, &into("no/such.db", "t"), "rows", "no/such.db: No such file or directory", 1);
    fails(&scene, &into(".", "t"), "rows", "is a directory", 1);
    fails(&scene, &into("no.db", "t"), "rows", "no.db: it is not a SQLite database", 1);
    let why = "t.db: table u: it refuses the row {\"n\":1}: UNIQUE constraint failed: u.n";
    fails(&scene, &into("t.db", "u"), "rows", why, 1);
    // Earlier rows stay, and later ones are not written, as for a file.
    assert_eq!(values(&scene, "t.db", "SELECT n FROM u"), [Value::Integer(1), Value::Integer(2)]);
    let why = "t.db: table other: table other has no column named n; its columns are x, y";
    fails(&scene, &into("t.db", "other"), "rows", why, 1);
    fails(&scene, &into("t.db", "v"), "rows", "t.db: table v: cannot modify v because it is a view", 1);
    for table in ["sqlite_x", "millstream_parts", "a#b", ""] {
        fails(&scene, &into("t.db", table), "rows", "`table` is the name of a table, such as `\"orders\"`", 2);
    }
    fails(&scene, "jsonl | sqlite(\"t.db\")", "rows", "`sqlite` needs `table`", 2);
    fails(&scene, "jsonl | sqlite(\"-\", table: \"t\")", "rows", "`file` is the file name of a database", 2);
    let both = "sqlite(\"t.db\", query: \"select 1 as n\") | sqlite(\"./t.db\", table: \"t\")";
    fails(&scene, both, "", "./t.db is both read and written", 2);
    let twice = "let n = jsonl; n | sqlite(\"t.db\", table: \"t\"); n | sqlite(\"t.db\", table: \"t\")";
    fails(&scene, twice, "rows", "two outputs go to \"sqlite:t.db#t\"", 2);
    fails(&scene, "let n = jsonl; n | sqlite(\"t.db\", table: \"t\"); n | csv(\"t.db\")", "rows", "t.db", 2);
    let seen = scene.run(
        {
            let mut command = scene.command("millstream", "check -e");
            command.arg("sqlite(\"gone.db\", query: \"nonsense\") | sqlite(\"no/such.db\", table: \"t\")");
            command
        },
        Input::Nothing,
    );
    assert_eq!((seen.text().as_str(), seen.code), ("-e: 2 stages, 1 source, 1 sink\n", Some(0)), "{}", seen.stderr);
}

#[test]
fn a_database_that_another_process_has_locked_is_waited_for_and_then_an_error() {
    let scene = Scene::new().file("rows", "{\"n\":1}\n");
    let locked = database(&scene, "t.db", "CREATE TABLE t (n); BEGIN EXCLUSIVE");
    let why = "t.db: another process has kept it locked for more than 10 seconds";
    std::thread::scope(|scope| {
        scope.spawn(|| fails(&scene, "sqlite(\"t.db\", query: \"select 1\")", "", why, 1));
        scope.spawn(|| fails(&scene, "jsonl | sqlite(\"t.db\", table: \"t\")", "rows", why, 1));
    });
    drop(locked);
    done(&scene, "jsonl | sqlite(\"t.db\", table: \"t\")", "rows");
    assert_eq!(values(&scene, "t.db", "SELECT * FROM t"), [Value::Integer(1)]);
}

#[test]
fn several_tables_of_one_database_are_written_together() {
    let rows: String = (0..20_000).map(|n| format!("{{\"n\":{n}}}\n")).collect();
    let scene = Scene::new().file("rows", rows);
    let text = "let n = jsonl; n | where(.n % 2 == 0) | sqlite(\"t.db\", table: \"even\"); \
                n | sum(.n) | sqlite(\"./t.db\", table: \"sums\"); n | sqlite(\"t.db\", table: \"all rows\")";
    fails(&scene, text, "rows", "./t.db and t.db are the same file: each output needs its own", 2);
    done(&scene, &text.replace("./t.db", "t.db"), "rows");
    let query = "SELECT (SELECT count(*) FROM even), (SELECT sum FROM sums), (SELECT sum(n) FROM \"all rows\")";
    assert_eq!(values(&scene, "t.db", query), [10_000, 199_990_000, 199_990_000].map(Value::Integer));
}

#[test]
fn a_large_answer_needs_little_memory() {
    let scene = Scene::new();
    drop(database(&scene, "t.db", ""));
    let query = "with recursive n(i) as (select 1 union all select i + 1 from n where i < 400000) \
                 select i, printf('%.*c', 200, 'x') as pad from n";
    let mut command = scene.command("millstream", "run --quiet --workers 1 -e");
    command.arg(format!("sqlite(\"t.db\", query: \"{query}\")")).stdin(Stdio::null()).stdout(Stdio::piped());
    let mut child = command.spawn().expect("it starts");
    let mut out = child.stdout.take().expect("a pipe");
    let (mut buffer, mut bytes, mut peak) = (vec![0; 1 << 16], 0, 0);
    loop {
        let read = out.read(&mut buffer).expect("it is read");
        if read == 0 {
            break;
        }
        bytes += read;
        peak = peak.max(resident_peak(child.id()).unwrap_or(0));
    }
    assert!(child.wait().expect("it ends").success());
    assert!(bytes > 80_000_000, "{bytes}");
    assert!(peak < 60_000_000, "{peak} bytes");
}

fn until(what: impl Fn() -> bool) {
    let since = Instant::now();
    while !what() {
        assert!(since.elapsed() < PATIENCE, "it does not come about");
        sleep(Duration::from_millis(5));
    }
}

/// Rows that come slowly are committed as they come. A table that a text adds is written through the connection of the
/// existing tables.
#[test]
fn another_text_adds_a_table_of_the_same_database() {
    let text = "let n = jsonl(\"rows\", follow: true); n | sqlite(\"t.db\", table: \"t\")";
    let scene = Scene::new().file("rows", "{\"n\":1}\n").file("p.mill", text);
    let shown = Shown::run(scene, "--accept-upgrades p.mill");
    let scene = &shown.scene;
    let count = |table: &str| -> usize {
        let there = format!("SELECT 1 FROM sqlite_master WHERE name = '{table}'");
        if !scene.path("t.db").exists() || values(scene, "t.db", &there).is_empty() {
            return 0;
        }
        values(scene, "t.db", &format!("SELECT * FROM {table}")).len()
    };
    until(|| count("t") == 1);
    let seen = shown.upgrade(&format!("{text}; n | sqlite(\"t.db\", table: \"u\")"), "");
    assert_eq!(seen.code, Some(0), "{}", seen.stderr);
    shown.append("rows", "{\"n\":2}\n");
    until(|| count("t") == 2 && count("u") == 1);
    // The remaining table is still written.
    let seen = shown.upgrade(&text.replace("\"t\"", "\"u\""), "");
    assert_eq!(seen.code, Some(0), "{}", seen.stderr);
    shown.append("rows", "{\"n\":3}\n");
    until(|| count("u") == 2);
    assert_eq!(count("t"), 2);
    let (_, code, said) = shown.end();
    assert_eq!(code, Some(128 + 15), "{said}");
}
