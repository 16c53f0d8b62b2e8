//! What the first rows of a file say about all of them: their columns, and the types of these.

use crate::columns::{Column, Columns, Type, type_of};
use crate::table::{cells_of, row_ends, without_end};
use millstream_core::text::Block;
use millstream_jq::{Expression, Fields, Outputs};
use std::collections::VecDeque;

/// The length of the byte order mark at the beginning, which is no part of the first row.
pub(super) fn mark_length(bytes: &[u8]) -> usize {
    if bytes.starts_with(b"\xef\xbb\xbf") { 3 } else { 0 }
}

/// The rows in some bytes, without their ends.
pub(super) fn rows_of(bytes: &[u8], separator: u8) -> impl Iterator<Item = &[u8]> {
    let mut from = 0;
    let ends: Vec<usize> = row_ends(bytes, separator).chain([bytes.len()]).collect();
    ends.into_iter().map(move |to| without_end(&bytes[std::mem::replace(&mut from, to)..to]))
}

/// The names in a header.
pub(super) fn names_of(header: &[u8], separator: u8) -> Result<Vec<String>, String> {
    if std::str::from_utf8(header).is_err() {
        let from = if header.starts_with(b"\xff\xfe") || header.starts_with(b"\xfe\xff") { "utf-16" } else { "latin1" };
        return Err(format!(
            "the header is not UTF-8: `iconv -f {from} -t utf-8 FILE` converts the file, if it is {from}"
        ));
    }
    Ok(cells_of(header, separator).iter().map(|cell| String::from_utf8_lossy(cell).into_owned()).collect())
}

/// Whether the first row of a further file is its header: at least half of its cells, or of the known columns if these
/// are fewer, are names of known columns.
pub(super) fn are_names(row: &[u8], separator: u8, known: &Columns) -> bool {
    let cells = cells_of(row, separator);
    let named = known.all.iter().filter(|column| cells.iter().any(|cell| *cell == column.name.as_bytes())).count();
    named > 0 && 2 * named >= cells.len().min(known.all.len())
}

/// The columns of a table with these names as far as they are declared, or known from the file before; the others are
/// to be sampled.
pub(super) fn declared_first(
    names: &[String],
    declared: Option<&Columns>,
    known: Option<&Columns>,
) -> Result<Vec<Option<Column>>, String> {
    let mut declared_columns = declared.iter().flat_map(|columns| &columns.all);
    if let Some(missing) = declared_columns.find(|column| !names.contains(&column.name)) {
        return Err(format!("there is no column {:?}; the columns are {}", missing.name, names.join(", ")));
    }
    let column = |name: &String| {
        let all = [declared, known].into_iter().flatten().flat_map(|columns| &columns.all);
        all.into_iter().find(|column| column.name == *name).cloned()
    };
    Ok(names.iter().map(column).collect())
}

/// The types of the fields in the first objects of some blocks.
pub(super) fn sampled_fields(blocks: &VecDeque<Block>, most: usize) -> Columns {
    let entries = Expression::new("to_entries[] | .key, .value").expect("it is a filter");
    let (mut all, mut objects): (Vec<(String, Option<Type>, usize)>, usize) = (Vec::new(), 0);
    let mark = blocks.front().map_or(0, |first| mark_length(first));
    let bytes = blocks.iter().enumerate().map(|(n, block)| &block[if n == 0 { mark } else { 0 }..]);
    let lines = bytes.flat_map(|bytes| bytes.split(|byte| *byte == b'\n'));
    for line in lines.filter(|line| !line.trim_ascii().is_empty()).take(most) {
        let (mut row, mut outputs) = (Fields::default(), Outputs::default());
        if row.read(&entries, line).is_err() || entries.write(&row, &mut outputs).is_err() {
            continue;
        }
        objects += 1;
        let parts: Vec<&[u8]> = outputs.iter().collect();
        for pair in parts.chunks_exact(2) {
            let name = match millstream_jq::scalar_of(pair[0]) {
                Some(millstream_jq::Scalar::Text(name)) => String::from_utf8_lossy(&name).into_owned(),
                _ => continue,
            };
            let of = type_of(pair[1]);
            let place = all.iter().position(|(there, ..)| *there == name).unwrap_or_else(|| {
                all.push((name, None, 0));
                all.len() - 1
            });
            let (_, known, filled) = &mut all[place];
            *filled += usize::from(of.is_some());
            *known = match (*known, of) {
                (known, None) | (None, known) => known,
                (Some(one), Some(other)) if one == other => Some(one),
                (Some(Type::Int | Type::Float), Some(Type::Int | Type::Float)) => Some(Type::Float),
                _ => Some(Type::Any),
            };
        }
    }
    let column = |(name, of, filled): (String, Option<Type>, usize)| {
        let of = of.unwrap_or(Type::Any);
        Column { name, of, optional: filled < objects }
    };
    Columns { all: all.into_iter().map(column).collect() }
}
