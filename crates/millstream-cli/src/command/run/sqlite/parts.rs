//! The rows that a run with a state has added to a database, in parts. A part is what was added between two snapshots.
//!
//! A run may number its blocks differently when it reads them again (a block of a followed file ends where the file
//! ended when it was read), so it cannot skip rows by number. It removes the rows again instead, as it cuts other
//! outputs back: the transaction that adds rows also notes which rows it adds. The notes stay as long as a snapshot is
//! kept that needs them.

use super::rows::columns_of;
use super::{quoted, said};
use rusqlite::{Connection, OptionalExtension, params};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::HashMap;
use std::time::{SystemTime, UNIX_EPOCH};

const TABLES: &str = "
    CREATE TABLE IF NOT EXISTS millstream_parts (
        run TEXT PRIMARY KEY, held INTEGER NOT NULL, oldest INTEGER NOT NULL);
    CREATE TABLE IF NOT EXISTS millstream_part_rows (
        run TEXT NOT NULL, part INTEGER NOT NULL, name TEXT NOT NULL, first INTEGER NOT NULL, last INTEGER NOT NULL,
        PRIMARY KEY (run, part, name, first)) WITHOUT ROWID";

/// The parts of a run.
pub(super) struct Parts {
    run: String,
    /// The last complete part, which was claimed.
    held: i64,
    /// The part of the oldest claim at which a run may still begin, as far as it is known.
    oldest: i64,
    /// Whether the next part has rows.
    has_more: bool,
    /// For each table, the last run of consecutive rows that were added.
    last: HashMap<String, (i64, i64)>,
    /// Rows that are not noted yet.
    to_note: Vec<(String, (i64, i64))>,
}

/// The claim in a snapshot.
#[derive(Serialize, Deserialize)]
struct Claim {
    run: String,
    part: i64,
}

impl Parts {
    /// The parts of a new run.
    pub(super) fn begin(connection: &Connection) -> rusqlite::Result<Self> {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let run = format!("run-{}-{}", std::process::id(), since.as_nanos());
        connection.execute_batch(TABLES)?;
        connection.execute("INSERT INTO millstream_parts VALUES (?, 0, 0)", [&run])?;
        Ok(Parts::at(run, 0))
    }

    fn at(run: String, held: i64) -> Self {
        Parts { run, held, oldest: 0, has_more: false, last: HashMap::new(), to_note: Vec::new() }
    }

    /// The parts of a run that made this claim; or why the database does not hold it.
    pub(super) fn of_claim(connection: &Connection, claim: &Value) -> rusqlite::Result<Result<Self, String>> {
        let Ok(Claim { run, part }) = Claim::deserialize(claim) else {
            return Ok(Err("the snapshot does not say what the database held".to_owned()));
        };
        connection.execute_batch(TABLES)?;
        let find = "SELECT held, oldest FROM millstream_parts WHERE run = ?";
        let found = connection.query_row(find, [&run], |row| Ok((row.get::<_, i64>(0)?, row.get::<_, i64>(1)?)));
        Ok(match found.optional()? {
            None => Err("it has no rows of this run: the run wrote another database".to_owned()),
            Some((held, _)) if held < part => Err(format!(
                "it has {held} parts of this run, but had {part}: it has lost some, \
                 like a database that is restored from an older backup"
            )),
            Some((_, oldest)) if oldest > part => Err("it no longer knows which rows were added since this snapshot, \
                 which is older than those that the run kept: has the state been restored from a backup?"
                .to_owned()),
            Some(_) => Ok(Parts::at(run, part)),
        })
    }

    /// Removes the rows that were added since.
    pub(super) fn go_back(&self, connection: &Connection) -> rusqlite::Result<()> {
        let added = "SELECT name, first, last FROM millstream_part_rows WHERE run = ? AND part > ?";
        let mut added = connection.prepare(added)?;
        let mut rows = added.query(params![self.run, self.held])?;
        while let Some(row) = rows.next()? {
            let (name, first, last) = (row.get::<_, String>(0)?, row.get::<_, i64>(1)?, row.get::<_, i64>(2)?);
            // A dropped table has no rows to remove.
            if let Ok(id) = row_id(connection, &name)? {
                let delete = format!("DELETE FROM {} WHERE {id} BETWEEN ? AND ?", quoted(&name));
                connection.execute(&delete, (first, last))?;
            }
        }
        let forget = "DELETE FROM millstream_part_rows WHERE run = ? AND part > ?";
        connection.execute(forget, params![self.run, self.held])?;
        let held = "UPDATE millstream_parts SET held = ? WHERE run = ?";
        connection.execute(held, params![self.held, self.run]).map(drop)
    }

    /// Records that a transaction has added a row.
    pub(super) fn added(&mut self, table: &str, row: i64) {
        self.has_more = true;
        if let Some((_, last)) = self.last.get_mut(table)
            && last.checked_add(1) == Some(row)
        {
            *last = row;
            return;
        }
        let before = self.last.insert(table.to_owned(), (row, row));
        self.to_note.extend(before.map(|rows| (table.to_owned(), rows)));
    }

    /// Writes the added rows' ids, in the same transaction.
    pub(super) fn store(&mut self, connection: &Connection) -> rusqlite::Result<()> {
        let note = "INSERT INTO millstream_part_rows VALUES (?, ?, ?, ?, ?) \
                    ON CONFLICT DO UPDATE SET last = max(last, excluded.last)";
        let mut note = connection.prepare(note)?;
        let last = self.last.iter().map(|(name, rows)| (name.clone(), *rows));
        for (name, (first, last)) in self.to_note.drain(..).chain(last) {
            note.execute(params![self.run, self.held + 1, name, first, last])?;
        }
        Ok(())
    }

    pub(super) fn has_more(&self) -> bool {
        self.has_more
    }

    /// Ends the part, in the transaction. Returns whether this process still has the run.
    pub(super) fn hold(&self, connection: &Connection) -> rusqlite::Result<bool> {
        let hold = "UPDATE millstream_parts SET held = ?, oldest = max(oldest, ?) WHERE run = ? AND held = ?";
        let changed = connection.execute(hold, params![self.held + 1, self.oldest, self.run, self.held])?;
        let forget = "DELETE FROM millstream_part_rows WHERE run = ? AND part <= ?";
        connection.execute(forget, params![self.run, self.oldest])?;
        Ok(changed == 1)
    }

    /// The part is committed: begins the next one.
    pub(super) fn held(&mut self) {
        (self.held, self.has_more) = (self.held + 1, false);
        self.last.clear();
    }

    /// No start goes back before this claim any more. The end of the next part removes the notes that only that needed.
    pub(super) fn forget(&mut self, oldest: &Value) {
        // The database may have been made again since, by another run.
        if let Ok(Claim { run, part }) = Claim::deserialize(oldest)
            && run == self.run
        {
            self.oldest = self.oldest.max(part);
        }
    }

    pub(super) fn claim(&self) -> Value {
        serde_json::json!(Claim { run: self.run.clone(), part: self.held })
    }
}

/// Checks that rows can be removed from a table again.
pub(super) fn can_be_taken_out(connection: &Connection, table: &str) -> Result<(), String> {
    row_id(connection, table).map_err(|error| said(&error))?.map(drop)
}

/// A name of the rowid that no column of the table has; or why there is none.
fn row_id(connection: &Connection, table: &str) -> rusqlite::Result<Result<&'static str, String>> {
    let kind = "SELECT type, wr FROM pragma_table_list WHERE schema = 'main' AND name = ? COLLATE NOCASE";
    let kind = connection.query_row(kind, [table], |row| Ok((row.get::<_, String>(0)?, row.get::<_, bool>(1)?)));
    match kind.optional()? {
        Some((kind, false)) if kind == "table" => {}
        _ => {
            return Ok(Err(
                "with --state it must be a table with a rowid, from which rows can be removed again".to_owned()
            ));
        }
    }
    let columns = columns_of(connection, table)?;
    let mut names = ["rowid", "_rowid_", "oid"].into_iter();
    let free = names.find(|name| !columns.iter().any(|column| column.eq_ignore_ascii_case(name)));
    Ok(free.ok_or_else(|| {
        "its columns take all names of the rowid: with --state no column may be called `oid`".to_owned()
    }))
}
