//! The rows of a query, as lines of JSON.

use super::{PATIENCE, said, shortened};
use crate::progress;
use millstream_jq::Scalar;
use rusqlite::fallible_iterator::FallibleIterator;
use rusqlite::types::ValueRef;
use rusqlite::{Batch, Connection, Error, OpenFlags, Row, Statement};
use std::collections::HashSet;
use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, ErrorKind, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;

/// The bytes of a chunk, and the number of chunks that can wait for their reader.
const CHUNK: usize = 1 << 16;
const CHUNKS: usize = 4;

/// The most characters of a query that a message shows.
const SHOWN: usize = 80;

/// The answer to a query: a JSON object on each line. The query has its own thread, since SQLite's rows borrow from the
/// connection.
pub(in super::super) struct Answers {
    /// Chunks; the last one is empty.
    chunks: Receiver<io::Result<Vec<u8>>>,
    chunk: Vec<u8>,
    at: usize,
    ended: bool,
}

impl Answers {
    /// Starts a query. An error of the database or of the query is an error of the first read.
    ///
    /// # Errors
    ///
    /// If there is no such file, or no thread.
    pub(in super::super) fn to(query: &str, path: &OsStr) -> io::Result<Self> {
        let path = PathBuf::from(path);
        // SQLite has one message for all reasons.
        if File::open(&path)?.metadata()?.is_dir() {
            return Err(ErrorKind::IsADirectory.into());
        }
        let (sender, chunks) = sync_channel(CHUNKS);
        let query = query.to_owned();
        let asks = move || {
            if let Err(why) = answered(&path, &query, &sender) {
                // The reader may be gone.
                let _ = sender.send(Err(io::Error::other(why)));
            }
        };
        thread::Builder::new().name("sqlite".to_owned()).spawn(asks)?;
        Ok(Answers { chunks, chunk: Vec::new(), at: 0, ended: false })
    }
}

impl Read for Answers {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.at == self.chunk.len() && !self.ended {
            let gone = |_| io::Error::other("the thread that queries the database has ended without an answer");
            self.chunk = self.chunks.recv().map_err(gone)??;
            (self.at, self.ended) = (0, self.chunk.is_empty());
        }
        let read = (&self.chunk[self.at..]).read(buffer)?;
        self.at += read;
        progress::read(read);
        Ok(read)
    }
}

/// An error of a repeated query, with advice if its rows have changed.
pub(in super::super) fn same_again(error: io::Error) -> io::Error {
    if error.kind() != ErrorKind::InvalidData {
        return error;
    }
    let why = "with --state a query must return the same rows in the same order each time: use ORDER BY";
    io::Error::new(ErrorKind::InvalidData, format!("{error}: {why}"))
}

fn answered(path: &Path, query: &str, chunks: &SyncSender<io::Result<Vec<u8>>>) -> Result<(), String> {
    let named = |why: String| format!("query `{}`: {why}", shortened(query, SHOWN));
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags).map_err(|error| said(&error))?;
    connection.busy_timeout(PATIENCE).map_err(|error| said(&error))?;
    // The query is not at fault if the file is not a database.
    tables(&connection).map_err(|error| said(&error))?;
    let mut statement = asked(&connection, query).map_err(named)?;
    let names = columns(&statement).map_err(named)?;
    let mut rows = statement.query(()).map_err(|error| named(said(&error)))?;
    let mut chunk = Vec::with_capacity(CHUNK);
    while let Some(row) = rows.next().map_err(|error| named(said(&error)))? {
        write_row(&names, row, &mut chunk).map_err(|error| named(said(&error)))?;
        if chunk.len() >= CHUNK && chunks.send(Ok(std::mem::take(&mut chunk))).is_err() {
            return Ok(());
        }
    }
    if !chunk.is_empty() {
        let _ = chunks.send(Ok(chunk));
    }
    let _ = chunks.send(Ok(Vec::new()));
    Ok(())
}

/// Prepares the one statement of a query, which must only read.
fn asked<'a>(connection: &'a Connection, query: &str) -> Result<Statement<'a>, String> {
    let mut all = Batch::new(connection, query);
    let found = all.next().map_err(|error| wrong(connection, query, &error))?;
    let Some(statement) = found else { return Err("it is empty".to_owned()) };
    if !statement.readonly() {
        return Err("it writes, but a source only reads".to_owned());
    }
    if statement.column_count() == 0 {
        return Err("a statement returned no rows: use SELECT".to_owned());
    }
    if statement.parameter_count() > 0 {
        return Err("it has parameters, which nothing binds: write their values".to_owned());
    }
    // A second statement may depend on the first, so its own mistakes do not matter.
    match all.next() {
        Ok(None) => Ok(statement),
        _ => Err("it has several statements: use one".to_owned()),
    }
}

/// The mistake in the text of a query, with its place.
fn wrong(connection: &Connection, query: &str, error: &Error) -> String {
    let mut why = said(error);
    let lacks = why.starts_with("no such table");
    if let Error::SqlInputError { offset, .. } = error
        && let Some((before, at)) = usize::try_from(*offset).ok().and_then(|offset| query.split_at_checked(offset))
    {
        why += &format!(", at character {}, `{}`", before.chars().count() + 1, shortened(at, 20));
    }
    match tables(connection) {
        Ok(there) if lacks && there.is_empty() => why + "; the database has no tables",
        Ok(there) if lacks => format!("{why}; the tables are {}", there.join(", ")),
        _ => why,
    }
}

fn tables(connection: &Connection) -> rusqlite::Result<Vec<String>> {
    let query = "SELECT name FROM sqlite_master WHERE type IN ('table', 'view') ORDER BY name LIMIT 20";
    let mut statement = connection.prepare(query)?;
    statement.query_map((), |row| row.get(0))?.collect()
}

/// The names of the columns, as keys of a JSON object.
fn columns(statement: &Statement<'_>) -> Result<Vec<Vec<u8>>, String> {
    let mut known = HashSet::new();
    if let Some(twice) = statement.column_names().find(|name| !known.insert(*name)) {
        return Err(format!("two of its columns are named {twice:?}: rename one of them with `AS`"));
    }
    let name = |(n, name): (usize, &str)| {
        let mut out = vec![if n == 0 { b'{' } else { b',' }];
        Scalar::Text(name.as_bytes().into()).write(&mut out);
        out.push(b':');
        out
    };
    Ok(statement.column_names().enumerate().map(name).collect())
}

fn write_row(names: &[Vec<u8>], row: &Row<'_>, out: &mut Vec<u8>) -> rusqlite::Result<()> {
    for (n, name) in names.iter().enumerate() {
        out.extend_from_slice(name);
        match row.get_ref(n)? {
            ValueRef::Null => out.extend_from_slice(b"null"),
            ValueRef::Integer(number) => write!(out, "{number}").expect("a vector takes it"),
            // As jq writes what JSON does not have.
            ValueRef::Real(number) => {
                let number = number.clamp(f64::MIN, f64::MAX);
                write!(out, "{number:?}").expect("a vector takes it");
            }
            ValueRef::Text(text) => Scalar::Text(text.into()).write(out),
            ValueRef::Blob(bytes) => base64(bytes, out),
        }
    }
    out.extend_from_slice(b"}\n");
    Ok(())
}

/// Bytes as a text of base64.
fn base64(bytes: &[u8], out: &mut Vec<u8>) {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    out.push(b'"');
    for three in bytes.chunks(3) {
        let all = three.iter().fold(0_u32, |all, byte| all << 8 | u32::from(*byte)) << (8 * (3 - three.len()));
        let digits = (0..4).map(|n| DIGITS[(all >> (18 - 6 * n) & 63) as usize]);
        out.extend(digits.take(three.len() + 1));
        out.extend(std::iter::repeat_n(b'=', 3 - three.len()));
    }
    out.push(b'"');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_is_that_of_the_rfc() {
        for (bytes, expected) in [
            ("", ""),
            ("f", "Zg=="),
            ("fo", "Zm8="),
            ("foo", "Zm9v"),
            ("foob", "Zm9vYg=="),
            ("\u{3ff}\u{ff}", "z7/Dvw=="),
        ] {
            let mut out = Vec::new();
            base64(bytes.as_bytes(), &mut out);
            assert_eq!(String::from_utf8(out).unwrap(), format!("\"{expected}\""));
        }
    }
}
