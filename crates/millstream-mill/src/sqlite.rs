//! Rows for tables of SQLite databases.

use crate::rows::{FailedRow, RowAt, Rows};
use crate::sink::{Header, entries};
use crate::written::Written;
use millstream_jq::{Scalar, scalar_of};
use millstream_registry::{Literal, Parameter};
use std::sync::Arc;

const SCHEME: &str = "sqlite:";

/// The file of a database, by name.
#[derive(Clone, Debug)]
pub(crate) struct DatabaseFile(pub(crate) String);

impl Parameter for DatabaseFile {
    const WANTED: &'static str = "the file name of a database, such as `\"shop.db\"`";
    fn read(literal: &Literal) -> Option<Self> {
        String::read(literal).filter(|name| !name.is_empty() && name != "-").map(DatabaseFile)
    }
}

/// The name of a table that can be written.
#[derive(Clone, Debug)]
pub(crate) struct TableName(String);

impl Parameter for TableName {
    const WANTED: &'static str = "the name of a table, such as `\"orders\"` (without `#`, and not beginning with \
                                  `sqlite_` or `millstream_`)";
    fn read(literal: &Literal) -> Option<Self> {
        let is_own = |name: &str| {
            let name = name.to_ascii_lowercase();
            name.starts_with("sqlite_") || name.starts_with("millstream_")
        };
        let can_be = |name: &String| !name.is_empty() && !name.contains(['#', '\0']) && !is_own(name);
        String::read(literal).filter(can_be).map(TableName)
    }
}

/// The name of a table's sink.
pub(crate) fn name_of(file: &DatabaseFile, table: &TableName) -> String {
    format!("{SCHEME}{}#{}", file.0, table.0)
}

/// The database and the table that a sink with this [`file`](crate::SinkOf::file) writes; `None` if that is no table.
///
/// ```
/// use millstream::mill::{Program, table_of};
///
/// let program = Program::load("jsonl | sqlite(\"shop.db\", table: \"orders\")", 1, false)?;
/// let name = program.sinks[0].file.as_ref().expect("a name");
/// assert_eq!(table_of(name), Some(("shop.db", "orders")));
/// # Ok::<(), millstream::registry::Wrong>(())
/// ```
#[must_use]
pub fn table_of(name: &str) -> Option<(&str, &str)> {
    name.strip_prefix(SCHEME)?.rsplit_once('#')
}

/// Rows as flat objects, each on a line, with the columns of the first row: what has parts is a text of JSON.
pub(crate) fn inserted(header: &mut Header, rows: &Rows, sink: usize, stage: &Arc<str>) -> Written {
    let (mut out, mut dead) = (Vec::with_capacity(rows.text.len()), rows.dead.clone());
    for row in &rows.at {
        let begun = out.len();
        if let Err((path, why)) = insert(header, rows, row, &mut out) {
            out.truncate(begun);
            dead.push(FailedRow { path, ..rows.dead(stage, row, why) });
        }
    }
    Written::new(vec![(sink, out)], dead)
}

/// What does not fit: its path, and why.
type Misfit = (String, String);

fn insert(header: &mut Header, rows: &Rows, row: &RowAt, out: &mut Vec<u8>) -> Result<(), Misfit> {
    let of_row = |why: String| (String::new(), why);
    rows.check_utf8(row, rows.bytes(row)).map_err(of_row)?;
    let outputs = entries(rows, row).map_err(of_row)?;
    let parts: Vec<&[u8]> = outputs.iter().collect();
    let fields = parts.chunks_exact(2).map(|pair| match scalar_of(pair[0]) {
        Some(Scalar::Text(name)) => Ok((String::from_utf8_lossy(&name).into_owned(), pair[1])),
        _ => Err(of_row("a field has no name".to_owned())),
    });
    let fields = fields.collect::<Result<Vec<_>, _>>()?;
    for (name, value) in &fields {
        fits(value).map_err(|why| (format!(".{name}"), why))?;
    }
    let columns = match &header.0 {
        Some(columns) => columns.clone(),
        None => header.0.insert(columns_of(&fields).map_err(of_row)?).clone(),
    };
    if let Some((more, _)) = fields.iter().find(|(name, _)| !columns.contains(name)) {
        let why = format!("there is no column {more:?}; the columns are {}", columns.join(", "));
        return Err((format!(".{more}"), why));
    }
    for (n, column) in columns.iter().enumerate() {
        out.push(if n == 0 { b'{' } else { b',' });
        Scalar::Text(column.as_bytes().into()).write(out);
        out.push(b':');
        match fields.iter().find(|(name, _)| name == column) {
            None => out.extend_from_slice(b"null"),
            Some((_, value @ [b'{' | b'[', ..])) => Scalar::Text((*value).into()).write(out),
            Some((_, value)) => out.extend_from_slice(value),
        }
    }
    out.extend_from_slice(b"}\n");
    Ok(())
}

/// The columns of the first row, as SQLite knows them apart.
fn columns_of(fields: &[(String, &[u8])]) -> Result<Arc<[String]>, String> {
    if fields.is_empty() {
        return Err("the first row has no fields, so the table would have no columns".to_owned());
    }
    for (n, (name, _)) in fields.iter().enumerate() {
        if name.is_empty() || name.contains('\0') {
            return Err(format!("{name:?} cannot be the name of a column"));
        }
        if let Some((other, _)) = fields[..n].iter().find(|(other, _)| other.eq_ignore_ascii_case(name)) {
            return Err(format!("{other:?} and {name:?} are the same column for SQLite, which ignores case"));
        }
    }
    Ok(fields.iter().map(|(name, _)| name.clone()).collect())
}

/// Whether SQLite has such a value.
fn fits(value: &[u8]) -> Result<(), String> {
    let Some(b'-' | b'0'..=b'9') = value.first() else { return Ok(()) };
    let digits = String::from_utf8_lossy(value);
    let is_whole = !digits.contains(['.', 'e', 'E']);
    if is_whole && digits.parse::<i64>().is_err() {
        return Err(format!("{digits} is not a whole number of 64 bits"));
    }
    match digits.parse::<f64>() {
        Ok(number) if number.is_finite() => Ok(()),
        _ => Err(format!("the number {digits} is too large")),
    }
}
