//! Adds rows to the tables of a database.

use super::parts::{Parts, can_be_taken_out};
use super::{PATIENCE, quoted, said, shortened};
use millstream_jq::{Scalar, scalar_of};
use rusqlite::types::{ToSqlOutput, ValueRef};
use rusqlite::{Connection, Error, ErrorCode, OpenFlags, Statement};
use serde_json::Value;
use std::collections::HashMap;
use std::io;
use std::path::Path;

/// The most characters of a row that a message shows.
const SHOWN: usize = 200;
/// The number of blocks of rows in a transaction, unless each block has its own.
const BLOCKS: u32 = 100;

/// A database to write. If the process is killed, only uncommitted rows are lost.
pub(in super::super) struct Database {
    connection: Connection,
    tables: HashMap<String, Table>,
    /// The number of blocks in the transaction.
    blocks: u32,
    /// The parts, which a run whose state is kept needs to go back.
    parts: Option<Parts>,
}

/// How rows are added to a table.
struct Table {
    columns: Vec<Vec<u8>>,
    insert: String,
}

impl Database {
    /// Opens the database in this file, or makes it.
    ///
    /// # Errors
    ///
    /// If it cannot be opened and written.
    pub(in super::super) fn open(path: &str) -> io::Result<Self> {
        let directory = Path::new(path).parent().filter(|parent| !parent.as_os_str().is_empty());
        // SQLite's own words are the same for all reasons.
        std::fs::metadata(directory.unwrap_or(Path::new(".")))?;
        if std::fs::metadata(path).is_ok_and(|there| there.is_dir()) {
            return Err(io::ErrorKind::IsADirectory.into());
        }
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(path, flags).map_err(failed)?;
        connection.busy_timeout(PATIENCE).map_err(failed)?;
        // Finds a read-only database before the first row is read.
        connection.execute_batch("BEGIN IMMEDIATE; ROLLBACK").map_err(failed)?;
        Ok(Database { connection, tables: HashMap::new(), blocks: 0, parts: None })
    }

    /// Begins to note which rows are added, for a run whose state is kept.
    ///
    /// # Errors
    ///
    /// If the database cannot be written.
    pub(in super::super) fn begin_parts(mut self) -> io::Result<Self> {
        self.parts = Some(Parts::begin(&self.connection).map_err(failed)?);
        Ok(self)
    }

    /// Opens a database at the claim of a run. Changes nothing before [`go_back`](Database::go_back).
    ///
    /// # Errors
    ///
    /// Why it does not hold the claim; or an error of the database.
    pub(in super::super) fn with_parts(mut self, claim: &Value) -> io::Result<Result<Self, String>> {
        let parts = Parts::of_claim(&self.connection, claim).map_err(failed)?;
        Ok(parts.map(|parts| {
            self.parts = Some(parts);
            self
        }))
    }

    /// Removes the rows that were added since the claim.
    ///
    /// # Errors
    ///
    /// If that fails. Nothing has changed then.
    pub(in super::super) fn go_back(&mut self) -> io::Result<()> {
        let Some(parts) = &self.parts else { return Ok(()) };
        let undone = self.connection.execute_batch("BEGIN IMMEDIATE").and_then(|()| parts.go_back(&self.connection));
        undone.and_then(|()| self.connection.execute_batch("COMMIT")).map_err(failed)
    }

    /// Adds rows to a table. Each row is a flat JSON object on its own line. The rows are in the database once they are
    /// committed.
    ///
    /// # Errors
    ///
    /// If the table refuses a row ([`InvalidData`](io::ErrorKind::InvalidData)), or the database cannot be written. The
    /// rows before the failure are added.
    pub(in super::super) fn insert(&mut self, table: &str, rows: &[u8]) -> io::Result<()> {
        if rows.is_empty() {
            return Ok(());
        }
        if self.connection.is_autocommit() {
            self.connection.execute_batch("BEGIN IMMEDIATE").map_err(failed)?;
        }
        let added = self.insert_rows(table, rows.split(|byte| *byte == b'\n').filter(|row| !row.is_empty()));
        added.map_err(|error| io::Error::new(error.kind(), format!("table {table}: {error}")))
    }

    fn insert_rows<'a>(&mut self, name: &str, rows: impl Iterator<Item = &'a [u8]>) -> io::Result<()> {
        let Database { connection, tables, parts, .. } = self;
        let mut open: Option<Statement<'_>> = None;
        for row in rows {
            let shown = || shortened(&String::from_utf8_lossy(row), SHOWN);
            let no_row = || refused(format!("a row must be a flat object, but is {}", shown()));
            let fields = fields(row).ok_or_else(no_row)?;
            let names = || fields.iter().map(|field| field.0);
            if !tables.get(name).is_some_and(|table| table.columns.iter().map(Vec::as_slice).eq(names())) {
                open = None;
                let table = begun(connection, name, &fields)?;
                parts.as_ref().map_or(Ok(()), |_| can_be_taken_out(connection, name)).map_err(refused)?;
                tables.insert(name.to_owned(), table);
            }
            let statement = match &mut open {
                Some(statement) => statement,
                None => open.insert(connection.prepare(&tables[name].insert).map_err(|error| of_row(&error, said))?),
            };
            let values = (1..).zip(&fields);
            let bound = values.map(|(n, (_, value))| statement.raw_bind_parameter(n, in_sql(&scalar(value))));
            let added = bound.collect::<Result<(), _>>().and_then(|()| statement.raw_execute());
            match added {
                // The table may ignore a row. Then the last id is that of another one, perhaps of another table.
                Ok(0) => {}
                Ok(_) => parts.iter_mut().for_each(|parts| parts.added(name, connection.last_insert_rowid())),
                Err(error) if error.sqlite_error_code() == Some(ErrorCode::ConstraintViolation) => {
                    return Err(refused(format!("it refuses the row {}: {}", shown(), said(&error))));
                }
                Err(error) => return Err(of_row(&error, said)),
            }
        }
        Ok(())
    }

    /// Commits the added rows if `now`, or if there are many.
    ///
    /// # Errors
    ///
    /// If it cannot be committed.
    pub(in super::super) fn end_block(&mut self, now: bool) -> io::Result<()> {
        self.blocks += 1;
        if now || self.blocks >= BLOCKS { self.commit() } else { Ok(()) }
    }

    /// Commits the added rows.
    ///
    /// # Errors
    ///
    /// If it cannot be committed.
    pub(in super::super) fn commit(&mut self) -> io::Result<()> {
        self.blocks = 0;
        if self.connection.is_autocommit() {
            return Ok(());
        }
        if let Some(parts) = &mut self.parts {
            parts.store(&self.connection).map_err(failed)?;
        }
        self.connection.execute_batch("COMMIT").map_err(failed)
    }

    /// Commits the added rows, and returns a claim.
    ///
    /// # Errors
    ///
    /// If it cannot be committed.
    pub(in super::super) fn claim(&mut self) -> io::Result<Value> {
        let Some(parts) = &mut self.parts else { return Ok(Value::Null) };
        if parts.has_more() {
            if self.connection.is_autocommit() {
                self.connection.execute_batch("BEGIN IMMEDIATE").map_err(failed)?;
            }
            parts.store(&self.connection).map_err(failed)?;
            if !parts.hold(&self.connection).map_err(failed)? {
                let _ = self.connection.execute_batch("ROLLBACK");
                return Err(io::Error::other("another process has taken over this run's tables"));
            }
            self.connection.execute_batch("COMMIT").map_err(failed)?;
            parts.held();
        }
        self.blocks = 0;
        Ok(parts.claim())
    }

    /// Forgets which rows were added before this claim: no start goes back further.
    pub(in super::super) fn forget(&mut self, oldest: &Value) {
        self.parts.iter_mut().for_each(|parts| parts.forget(oldest));
    }
}

impl Drop for Database {
    /// Keeps the rows of a run without a state, however the run ends. A run with a state would remove uncommitted rows
    /// again.
    fn drop(&mut self) {
        if self.parts.is_none() {
            // An error has been reported when a sink finished.
            let _ = self.commit();
        }
    }
}

fn failed(error: Error) -> io::Error {
    io::Error::other(said(&error))
}

fn refused(why: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, why)
}

/// An error at a row: the row does not fit the table, or the database cannot be written.
fn of_row(error: &Error, said: impl Fn(&Error) -> String) -> io::Error {
    match error.sqlite_error_code() {
        // The last one is that of SQL that is wrong, which was made from the row.
        None | Some(ErrorCode::TypeMismatch | ErrorCode::TooBig | ErrorCode::Unknown) => refused(said(error)),
        Some(_) => io::Error::other(said(error)),
    }
}

/// Makes the table if it does not exist.
fn begun(connection: &Connection, name: &str, fields: &[(&[u8], &[u8])]) -> io::Result<Table> {
    let column = |(name, _): &(&[u8], &[u8])| match scalar_of(name) {
        Some(Scalar::Text(name)) => quoted(&String::from_utf8_lossy(&name)),
        _ => quoted(""),
    };
    let columns = fields.iter().map(column).collect::<Vec<_>>().join(", ");
    let (table, places) = (quoted(name), vec!["?"; fields.len()].join(", "));
    // Columns without a type leave values as they are.
    let make = format!("CREATE TABLE IF NOT EXISTS {table} ({columns})");
    connection.execute_batch(&make).map_err(|error| of_row(&error, said))?;
    let insert = format!("INSERT INTO {table} ({columns}) VALUES ({places})");
    if let Err(error) = connection.prepare(&insert) {
        let there = columns_of(connection, name).unwrap_or_default().join(", ");
        return Err(of_row(&error, |error| format!("{}; its columns are {there}", said(error))));
    }
    Ok(Table { columns: fields.iter().map(|field| field.0.to_vec()).collect(), insert })
}

/// The names of a table's columns.
pub(super) fn columns_of(connection: &Connection, table: &str) -> rusqlite::Result<Vec<String>> {
    let mut statement = connection.prepare("SELECT name FROM pragma_table_info(?)")?;
    statement.query_map([table], |row| row.get(0))?.collect()
}

/// The fields of a flat object, as JSON.
fn fields(row: &[u8]) -> Option<Vec<(&[u8], &[u8])>> {
    let mut rest = row.strip_prefix(b"{")?.strip_suffix(b"}")?;
    let mut all = Vec::new();
    while !rest.is_empty() {
        let (name, after) = value(rest)?;
        let (value, after) = value(after.strip_prefix(b":")?)?;
        all.push((name, value));
        rest = after.strip_prefix(b",").unwrap_or(after);
    }
    Some(all)
}

/// A scalar, and the text after it.
fn value(json: &[u8]) -> Option<(&[u8], &[u8])> {
    let mut end = 1;
    if json.first() == Some(&b'"') {
        while *json.get(end)? != b'"' {
            end += if json[end] == b'\\' { 2 } else { 1 };
        }
        return json.split_at_checked(end + 1);
    }
    let ends = |byte: &u8| matches!(byte, b',' | b':' | b'{' | b'[');
    json.split_at_checked(json.iter().position(ends).unwrap_or(json.len())).filter(|(value, _)| !value.is_empty())
}

fn scalar(value: &[u8]) -> Scalar<'_> {
    scalar_of(value).unwrap_or_else(|| {
        let digits = String::from_utf8_lossy(value);
        // A longer number than filters compute with.
        digits.parse().map_or(Scalar::Text(value.into()), Scalar::Int)
    })
}

fn in_sql<'a>(value: &'a Scalar<'_>) -> ToSqlOutput<'a> {
    ToSqlOutput::Borrowed(match value {
        Scalar::Null => ValueRef::Null,
        Scalar::Bool(truth) => ValueRef::Integer((*truth).into()),
        Scalar::Int(number) => ValueRef::Integer(*number),
        Scalar::Float(number) | Scalar::Decimal(_, number) => ValueRef::Real(*number),
        Scalar::Text(text) => ValueRef::Text(text),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_disk_is_an_error_and_the_rows_before_it_are_whole() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("t.db");
        let mut database = Database::open(path.to_str().expect("a name")).expect("it opens");
        database.insert("t", b"{\"n\":1}\n").and_then(|()| database.commit()).expect("there is room");
        database.connection.pragma_update(None, "max_page_count", 4).expect("a limit");
        let row = format!("{{\"n\":\"{}\"}}\n", "x".repeat(1000));
        let why = database.insert("t", row.repeat(100).as_bytes()).unwrap_err();
        assert_eq!((why.to_string().as_str(), why.kind()), ("table t: the disk is full", io::ErrorKind::Other));
        drop(database);
        let there: i64 = Connection::open(path)
            .and_then(|db| db.query_row("SELECT count(*) FROM t", (), |row| row.get(0)))
            .expect("a count");
        // SQLite may take back the whole transaction.
        assert!((1..100).contains(&there), "{there}");
    }

    /// A run whose snapshots are not stored makes claims all the same.
    #[test]
    fn a_run_goes_back_to_every_claim_at_which_it_may_begin() {
        const CLAIMS: usize = 1_500;
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("t.db");
        let open = || Database::open(path.to_str().expect("a name")).expect("it opens");
        let mut database = open().begin_parts().expect("a run");
        database.connection.pragma_update(None, "synchronous", "OFF").expect("it need not survive a crash");
        let mut adds = |n: usize| {
            database.insert("t", format!("{{\"n\":{n}}}\n").as_bytes()).expect("a row");
            database.claim().expect("a claim")
        };
        let claims: Vec<Value> = (1..=CLAIMS).map(&mut adds).collect();
        let held = |nth: usize| open().with_parts(&claims[nth - 1]).expect("it can be read");
        assert!(held(1).is_ok() && held(CLAIMS).is_ok());
        database.forget(&claims[CLAIMS - 11]);
        // What another run has claimed.
        database.forget(&serde_json::json!({ "run": "another", "part": CLAIMS }));
        database.insert("t", b"{\"n\":0}\n").and_then(|()| database.claim()).expect("a claim");
        let noted = "SELECT count(*) FROM millstream_part_rows";
        let noted = database.connection.query_row(noted, (), |row| row.get::<_, i64>(0));
        assert_eq!(noted.expect("a count"), 11);
        drop(database);
        let why = held(CLAIMS - 11).err().expect("it is forgotten");
        assert!(why.starts_with("it no longer knows which rows were added since this snapshot"), "{why}");
        let mut oldest = held(CLAIMS - 10).expect("it is held");
        oldest.go_back().expect("it goes back");
        let there = oldest.connection.query_row("SELECT max(n) FROM t", (), |row| row.get::<_, i64>(0));
        assert_eq!(there.expect("a number"), CLAIMS as i64 - 10);
    }

    #[test]
    fn a_row_that_the_table_ignores_is_not_removed_as_an_added_one() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("t.db");
        let open = || Database::open(path.to_str().expect("a name")).expect("it opens");
        let mut database = open().begin_parts().expect("a run");
        let make = "CREATE TABLE t (n UNIQUE ON CONFLICT IGNORE)";
        database.connection.execute_batch(make).expect("a table");
        database.insert("t", b"{\"n\":1}\n").expect("a row");
        let claim = database.claim().expect("a claim");
        database.insert("t", b"{\"n\":1}\n{\"n\":2}\n").and_then(|()| database.commit()).expect("a row");
        drop(database);
        let mut again = open().with_parts(&claim).expect("it can be read").expect("it is held");
        again.go_back().expect("it goes back");
        let there = again
            .connection
            .query_row("SELECT count(*), max(n) FROM t", (), |row| Ok((row.get::<_, i64>(0)?, row.get::<_, i64>(1)?)));
        assert_eq!(there.expect("a count"), (1, 1));
    }

    #[test]
    fn a_flat_object_is_taken_apart_and_nothing_else() {
        let row = br#"{"a":1,"b\"":"x,:{\\","c":null}"#;
        let expected: [(&[u8], &[u8]); 3] = [(b"\"a\"", b"1"), (br#""b\"""#, br#""x,:{\\""#), (b"\"c\"", b"null")];
        assert_eq!(fields(row).expect("fields"), expected);
        for other in ["[1]", "{\"a\":[1]}", "{\"a\":{}}", "{\"a\"}", "{\"a", "1", "{\"a\":}"] {
            assert_eq!(fields(other.as_bytes()), None, "{other}");
        }
    }
}
