use super::spec::{Fold, Kind};
use crate::columns::Type;
use crate::key::{make_key, ordered};
use crate::rows::{AnyRow, FailedRow, Rows};
use crate::time::time_of;
use millstream_core::text::Block;
use millstream_jq::{Expression, Scalar, Values};
use std::sync::Arc;

/// The keys, times and values of some rows.
#[derive(Clone, Debug)]
pub(crate) struct Prepared {
    /// The rows without their text: what failed, and whose they are.
    pub(crate) rest: Rows,
    /// The text of the rows, if some may come late.
    pub(crate) all: Block,
    pub(crate) text: Arc<[u8]>,
    pub(crate) entries: Arc<[Entry]>,
    /// The values of one entry after another, one value for each aggregate.
    pub(crate) values: Arc<[Value]>,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Entry {
    /// The key as JSON, in the form that all equal ones have, and as it is shown.
    pub(crate) key: (u32, u32),
    pub(crate) shown: (u32, u32),
    pub(crate) time: u64,
    pub(crate) time_is_text: bool,
    pub(crate) number: u64,
    /// Where the row is in the text of all.
    pub(crate) row: (u32, u32),
}

/// The value that an aggregate adds for a row.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Value {
    Nothing,
    Int(i64),
    Float(f64),
    /// JSON in the text.
    Json(u32, u32),
    /// JSON in the text: a value to compare by, and after it the row.
    Row(u32, u32, u32),
}

/// Where the paths of a fold's expressions lead in some rows.
struct Places {
    key: Vec<crate::rows::Place>,
    at: Vec<crate::rows::Place>,
    of: Vec<Vec<crate::rows::Place>>,
}

pub(crate) fn prepare(rows: &Rows, fold: &Fold) -> Prepared {
    let places_of = |expression: Option<&Expression>| expression.map(|one| rows.places(one)).unwrap_or_default();
    let places = Places {
        key: places_of(fold.key.as_ref()),
        at: places_of(fold.at.as_ref()),
        of: fold.aggregates.iter().map(|aggregate| places_of(aggregate.of.as_ref())).collect(),
    };
    let mut text = Vec::new();
    let (mut entries, mut values) = (Vec::with_capacity(rows.at.len()), Vec::with_capacity(rows.at.len()));
    let mut dead: Vec<FailedRow> = rows.dead.clone();
    for row in &rows.at {
        let before = (text.len(), values.len());
        let entry = entry(rows, row, fold, &places, &mut text, &mut values);
        match entry.and_then(|entry| rows.check_utf8(row, &text[before.0..]).map(|()| entry)) {
            Ok(Some(entry)) => entries.push(entry),
            other => {
                text.truncate(before.0);
                values.truncate(before.1);
                dead.extend(other.err().map(|why| rows.dead(&fold.stage, row, why)));
            }
        }
    }
    let rest = Rows { dead, ..rows.emptied() };
    let all = if fold.windows.is_some() { rows.text.clone() } else { rest.text.clone() };
    Prepared { rest, all, text: text.into(), entries: entries.into(), values: values.into() }
}

/// The key, time and values of a row; `None` if it has no key.
fn entry(
    rows: &Rows,
    row: &crate::rows::RowAt,
    fold: &Fold,
    places: &Places,
    text: &mut Vec<u8>,
    values: &mut Vec<Value>,
) -> Result<Option<Entry>, String> {
    let (key, shown) = match &fold.key {
        None => ((0, 0), (0, 0)),
        Some(key) => match one(&rows.row(row, key, &places.key)?, key, "key", text)? {
            Some((from, _)) => {
                make_key(text, from as usize);
                let shown = (from, text.len() as u32);
                match ordered(&text[from as usize..]) {
                    None => (shown, shown),
                    Some(key) => {
                        text.extend_from_slice(&key);
                        ((shown.1, text.len() as u32), shown)
                    }
                }
            }
            None => return Ok(None),
        },
    };
    let (mut time, mut time_is_text) = (0, false);
    if let Some(at) = &fold.at {
        let read = rows.row(row, at, &places.at)?;
        (time, time_is_text) = match at.values(&read)? {
            Values::One(scalar) => time_of(&scalar, at.text())?,
            Values::Many(outputs) => match outputs.iter().next().and_then(millstream_jq::scalar_of) {
                Some(scalar) if outputs.ends.len() == 1 => time_of(&scalar, at.text())?,
                None if outputs.ends.len() == 1 => match long_number(&outputs.text) {
                    Some(seconds) => time_of(&Scalar::Float(seconds), at.text())?,
                    None => time_of(&Scalar::Null, at.text())?,
                },
                _ => return Err("the row must have exactly one time".to_owned()),
            },
        };
    }
    for (aggregate, places) in fold.aggregates.iter().zip(&places.of) {
        let value = match (&aggregate.of, aggregate.kind) {
            (_, Kind::Count) => Value::Nothing,
            (None, _) => {
                let from = text.len() as u32;
                text.extend_from_slice(&rows.json(row));
                Value::Row(from, from, text.len() as u32)
            }
            (Some(of), kind) => {
                let read = rows.row(row, of, places)?;
                if kind.is_numeric() {
                    number(&read, of, &fold.stage)?
                } else {
                    match one(&read, of, "value", text)? {
                        None => Value::Nothing,
                        Some((from, to)) if &text[from as usize..to as usize] == b"null" => Value::Nothing,
                        Some((from, to)) if kind.is_rows() => {
                            text.extend_from_slice(&rows.json(row));
                            Value::Row(from, to, text.len() as u32)
                        }
                        Some((from, to)) => Value::Json(from, to),
                    }
                }
            }
        };
        values.push(value);
    }
    Ok(Some(Entry { key, shown, time, time_is_text, number: row.number, row: (row.from, row.to) }))
}

/// The value of an expression as JSON, at the end of the text; `None` if it has no output.
fn one(row: &AnyRow<'_>, of: &Expression, what: &str, text: &mut Vec<u8>) -> Result<Option<(u32, u32)>, String> {
    let from = text.len();
    match of.values(row)? {
        Values::One(scalar) => scalar.write(text),
        Values::Many(outputs) => match outputs.ends.len() {
            0 => return Ok(None),
            1 => text.extend_from_slice(&outputs.text),
            many => return Err(format!("the row has {many} {what}s instead of one: {}", of.text())),
        },
    }
    Ok(Some((from as u32, text.len() as u32)))
}

/// A number that is no int, as a float.
fn long_number(json: &[u8]) -> Option<f64> {
    Type::Float
        .has_cell(json)
        .then(|| std::str::from_utf8(json).ok()?.parse().ok())
        .flatten()
        .filter(|n: &f64| n.is_finite())
}

/// The number of an expression; null is none.
fn number(row: &AnyRow<'_>, of: &Expression, stage: &str) -> Result<Value, String> {
    let value = |scalar: &Scalar<'_>| match scalar {
        Scalar::Null => Ok(Value::Nothing),
        Scalar::Int(n) => Ok(Value::Int(*n)),
        other => other.as_f64().map(Value::Float).ok_or_else(|| {
            let mut shown = Vec::new();
            other.write(&mut shown);
            format!("`{stage}` adds numbers, and {} is {}", of.text(), String::from_utf8_lossy(&shown))
        }),
    };
    match of.values(row)? {
        Values::One(scalar) => value(&scalar),
        Values::Many(outputs) => match outputs.ends.len() {
            0 => Ok(Value::Nothing),
            1 => match millstream_jq::scalar_of(&outputs.text) {
                Some(scalar) => value(&scalar),
                None => long_number(&outputs.text).map(Value::Float).ok_or_else(|| {
                    let (shown, of) = (String::from_utf8_lossy(&outputs.text), of.text());
                    let is_number = shown.starts_with(|letter: char| letter == '-' || letter.is_ascii_digit());
                    let wanted = if is_number { "numbers below 1.8e308" } else { "numbers" };
                    format!("`{stage}` adds {wanted}, and {of} is {shown}")
                }),
            },
            many => Err(format!("the row has {many} values instead of one: {}", of.text())),
        },
    }
}
