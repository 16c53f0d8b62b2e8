//! Rows as text.

use crate::columns::{Columns, Type};
use crate::rows::{FailedRow, Form, RowAt, Rows};
use crate::table::write_row;
use crate::written::Written;
use millstream_jq::{Expression, Outputs, Scalar, scalar_of};
use serde::{Deserialize, Serialize};
use std::sync::{Arc, OnceLock};

/// The destination of a text's sink.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SinkOf {
    /// The file; `None` for standard output. A table of a database is a name that `table_of` takes apart, and its rows
    /// are lines of JSON.
    pub file: Option<String>,
}

/// JSON rows, each on a line.
pub(crate) fn json(rows: &Rows, sink: usize, stage: &Arc<str>) -> Written {
    let (mut out, mut dead) = (Vec::with_capacity(rows.text.len()), rows.dead.clone());
    for row in &rows.at {
        let json = rows.json(row);
        if let Err(why) = rows.check_utf8(row, &json) {
            dead.push(rows.dead(stage, row, why));
            continue;
        }
        out.extend_from_slice(json.trim_ascii());
        out.push(b'\n');
    }
    Written::new(vec![(sink, out)], dead)
}

/// Rows as they are: texts without their quotes, other values as JSON, rows of a table as they were read.
pub(crate) fn lines(rows: &Rows, sink: usize, _: &Arc<str>) -> Written {
    let mut out = Vec::with_capacity(rows.text.len());
    for row in &rows.at {
        let bytes = rows.bytes(row);
        if let Form::Json = rows.form {
            match scalar_of(bytes.trim_ascii()) {
                Some(Scalar::Text(text)) => out.extend_from_slice(&text),
                _ => out.extend_from_slice(bytes.trim_ascii()),
            }
        } else {
            out.extend_from_slice(bytes);
        }
        out.push(b'\n');
    }
    Written::new(vec![(sink, out)], rows.dead.clone())
}

/// The header of a table that has been begun.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Header(pub(crate) Option<Arc<[String]>>);

/// Rows as those of a table. The fields of the first row are its columns.
pub(crate) fn table(header: &mut Header, rows: &Rows, sink: usize, separator: u8, stage: &Arc<str>) -> Written {
    let mut out = Vec::with_capacity(rows.text.len());
    let (is_begun, mut first) = (header.0.is_some(), None);
    let mut write = |row: &[&[u8]], out: &mut Vec<u8>| {
        write_row(row, separator, out);
        first.get_or_insert(out.len());
    };
    let is_header = match &rows.form {
        Form::Table { columns, separator: same, .. } if *same == separator => {
            begin(header, &names_of(columns), &mut |row: &[&[u8]]| write(row, &mut out))
        }
        _ => false,
    };
    let dead = if is_header {
        // Such rows are written as they were read.
        for row in &rows.at {
            out.extend_from_slice(rows.bytes(row));
            out.push(b'\n');
        }
        rows.dead.clone()
    } else {
        each_row(header, rows, stage, |row| write(row, &mut out))
    };
    Written::table(sink, out, first.filter(|_| !is_begun), dead)
}

fn names_of(columns: &Columns) -> Vec<&str> {
    columns.all.iter().map(|column| column.name.as_str()).collect()
}

/// The header as a row, once, and then each row as its cells. Returns the rows that failed.
pub(crate) fn each_row(
    header: &mut Header,
    rows: &Rows,
    stage: &Arc<str>,
    mut write: impl FnMut(&[&[u8]]),
) -> Vec<FailedRow> {
    let mut dead = rows.dead.clone();
    if let Form::Table { columns, .. } = &rows.form {
        let names = names_of(columns);
        begin(header, &names, &mut write);
        let header = header.0.clone().unwrap_or_default();
        let unknown = names.iter().find(|name| !header.iter().any(|there| there == *name));
        // Another file may have its columns in another order, or fewer of them.
        let places: Vec<_> = header.iter().map(|name| names.iter().position(|there| there == name)).collect();
        for row in &rows.at {
            if let Some(unknown) = unknown {
                dead.push(rows.dead(stage, row, no_column(unknown, &header)));
                continue;
            }
            let cells: Vec<&[u8]> = rows.cells(row).collect();
            write(&places.iter().map(|place| place.map_or(&b""[..], |place| cells[place])).collect::<Vec<_>>());
        }
        return dead;
    }
    for row in &rows.at {
        if let Err(why) = object(header, rows, row, &mut write) {
            dead.push(rows.dead(stage, row, why));
        }
    }
    dead
}

fn no_column(name: &str, header: &[String]) -> String {
    format!("there is no column {name:?}; the columns are {}", header.join(", "))
}

/// Writes the header if there is none yet, and returns whether it is this one.
fn begin(header: &mut Header, names: &[&str], write: &mut impl FnMut(&[&[u8]])) -> bool {
    let known = header.0.get_or_insert_with(|| {
        write(&names.iter().map(|name| name.as_bytes()).collect::<Vec<_>>());
        names.iter().map(|name| (*name).to_owned()).collect()
    });
    known.iter().map(String::as_str).eq(names.iter().copied())
}

/// The names and values of an object's fields, in turn, as JSON.
pub(crate) fn entries(rows: &Rows, row: &RowAt) -> Result<Outputs, String> {
    static ENTRIES: OnceLock<Expression> = OnceLock::new();
    let entries = ENTRIES.get_or_init(|| {
        let text = "if type == \"object\" then to_entries[] | .key, .value \
                    else error(\"a row of a table is an object\") end";
        Expression::new(text).expect("it is a filter")
    });
    let mut outputs = Outputs::default();
    if !millstream_jq::entries(&rows.json(row), &mut outputs) {
        entries.write(&rows.row(row, entries, &[])?, &mut outputs)?;
    }
    Ok(outputs)
}

/// Writes an object as a row.
fn object(header: &mut Header, rows: &Rows, row: &RowAt, write: &mut impl FnMut(&[&[u8]])) -> Result<(), String> {
    let outputs = entries(rows, row)?;
    let parts: Vec<&[u8]> = outputs.iter().collect();
    let mut names = Vec::with_capacity(parts.len() / 2);
    let mut cells: Vec<std::borrow::Cow<'_, [u8]>> = Vec::with_capacity(parts.len() / 2);
    for pair in parts.chunks_exact(2) {
        let Some(Scalar::Text(name)) = scalar_of(pair[0]) else { return Err("a field has no name".to_owned()) };
        names.push(String::from_utf8_lossy(&name).into_owned());
        cells.push(match scalar_of(pair[1]) {
            Some(Scalar::Null) => b""[..].into(),
            Some(Scalar::Text(text)) => text,
            _ => pair[1].into(),
        });
    }
    if names.is_empty() && header.0.is_none() {
        return Err("the first row has no fields, which are the columns of a table".to_owned());
    }
    let by_name: Vec<&str> = names.iter().map(String::as_str).collect();
    if begin(header, &by_name, write) {
        write(&cells.iter().map(|cell| &**cell).collect::<Vec<_>>());
        return Ok(());
    }
    let header = header.0.clone().unwrap_or_default();
    if let Some(more) = names.iter().find(|name| !header.contains(name)) {
        return Err(no_column(more, &header));
    }
    let cell = |name: &String| {
        let place = names.iter().position(|there| there == name);
        place.map_or(&b""[..], |place| &cells[place])
    };
    write(&header.iter().map(cell).collect::<Vec<_>>());
    Ok(())
}

/// Whether a column's cells stand at the right.
pub(crate) fn is_number(cell: &[u8]) -> bool {
    Type::Float.has_cell(cell)
}
