//! Stages that look at one row at a time.

use crate::rows::{RowAt, Rows};
use millstream_jq::{Expression, Outputs};
use std::sync::Arc;

/// The rows for which an expression holds. They are the same bytes.
pub(crate) fn matching(rows: &Rows, condition: &Expression, stage: &Arc<str>) -> Rows {
    let places = rows.places(condition);
    let (mut at, mut dead) = (Vec::with_capacity(rows.at.len()), rows.dead.clone());
    for row in &rows.at {
        match rows.row(row, condition, &places).and_then(|read| condition.holds(&read)) {
            Ok(true) => at.push(*row),
            Ok(false) => {}
            Err(why) => dead.push(rows.dead(stage, row, why)),
        }
    }
    Rows { file: rows.file.clone(), form: rows.form.clone(), text: rows.text.clone(), at, dead, source: rows.source }
}

/// What an expression makes of each row, as JSON rows. A row for which it fails has no output.
pub(crate) fn mapped(rows: &Rows, expression: &Expression, stage: &Arc<str>) -> Rows {
    let places = rows.places(expression);
    let (mut at, mut dead, mut outputs) = (Vec::with_capacity(rows.at.len()), rows.dead.clone(), Outputs::default());
    for row in &rows.at {
        let before = (outputs.text.len(), outputs.ends.len());
        let done = rows.row(row, expression, &places).and_then(|read| expression.write(&read, &mut outputs));
        let done = done.and_then(|()| rows.check_utf8(row, &outputs.text[before.0..]));
        if let Err(why) = done {
            outputs.text.truncate(before.0);
            outputs.ends.truncate(before.1);
            dead.push(rows.dead(stage, row, why));
        }
        let mut from = before.0 as u32;
        at.extend(outputs.ends[before.1..].iter().map(|end| {
            let begin = std::mem::replace(&mut from, *end as u32);
            RowAt { from: begin, to: *end as u32, cells: 0, number: row.number }
        }));
    }
    rows.with_json(outputs.text, at, dead)
}
