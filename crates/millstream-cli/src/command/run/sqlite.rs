//! SQLite databases as sources and sinks of a text.
//!
//! `query` reads the rows of a source, `rows` adds the rows of sinks to tables, and `parts` lets a run whose state is
//! kept go back to a snapshot: it remembers which rows were added since.

mod parts;
mod query;
mod rows;

pub(super) use query::{Answers, same_again};
pub(super) use rows::Database;

use rusqlite::{Error, ErrorCode};
use std::time::Duration;

/// How long to wait while another process has a database locked.
const PATIENCE: Duration = Duration::from_secs(10);

/// An error of SQLite, in plain words.
fn said(error: &Error) -> String {
    let why = match error.sqlite_error_code() {
        Some(ErrorCode::NotADatabase) => "it is not a SQLite database",
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
            "another process has kept it locked for more than 10 seconds: end that process, or try again"
        }
        Some(ErrorCode::DiskFull) => "the disk is full",
        Some(ErrorCode::ReadOnly) => "it cannot be written: it, or its directory, is read-only",
        Some(ErrorCode::DatabaseCorrupt) => "it is damaged: `sqlite3 FILE .recover` may save rows",
        Some(ErrorCode::CannotOpen) => "SQLite cannot open it, or a file beside it: check their permissions",
        _ => {
            return match error {
                Error::SqlInputError { msg, .. } | Error::SqliteFailure(_, Some(msg)) => msg.clone(),
                error => error.to_string(),
            };
        }
    };
    why.to_owned()
}

/// A name, quoted for SQL.
fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// The beginning of a text that may be long.
fn shortened(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{} ..", &text[..end]),
        None => text.to_owned(),
    }
}
