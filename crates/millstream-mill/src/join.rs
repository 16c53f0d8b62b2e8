//! Rows joined with those of another wire by a key.

use crate::bytes::Bytes;
use crate::counted::Partners;
use crate::key::key_of;
use crate::parameters::too_many;
use crate::rows::{FailedRow, RowAt, Rows, more_of};
use crate::time::time_of;
use millstream_jq::{Expression, Values};
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::sync::Arc;

/// How rows are joined.
#[derive(Clone, Debug)]
pub(crate) struct Join {
    pub(crate) stage: Arc<str>,
    /// The key of a row.
    pub(crate) on: Expression,
    /// The key of a row of the other wire.
    pub(crate) with: Expression,
    /// How far apart in milliseconds the times of two rows may be, and the time of a row.
    pub(crate) within: Option<(u64, Expression)>,
    /// Whether rows without a match stay as they are.
    pub(crate) keeps: bool,
    /// The most rows of the other wire.
    pub(crate) most: usize,
    /// Counts the partners that it finds.
    pub(crate) partners: Partners,
}

/// A row and its time.
type Timed = (u64, Bytes);

/// The rows of the other wire so far, by key, each with its time.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Joined {
    rows: HashMap<Bytes, Vec<Timed>>,
    count: usize,
}

/// The rows in a slot: of this wire, of the other wire, or of both.
#[derive(Clone, Debug)]
pub(crate) enum Sides {
    These(Rows),
    Others(Rows),
    Both(Rows, Rows),
}

impl Sides {
    /// The rows of this wire, and of the other wire.
    pub(crate) fn rows(&self) -> [Option<&Rows>; 2] {
        match self {
            Sides::These(rows) => [Some(rows), None],
            Sides::Others(others) => [None, Some(others)],
            Sides::Both(rows, others) => [Some(rows), Some(others)],
        }
    }
}

/// The answer of a step.
#[derive(Default)]
struct Matched {
    text: Vec<u8>,
    at: Vec<RowAt>,
    dead: Vec<FailedRow>,
}

/// The number of rows that are answers at the end.
const AT_END: u64 = 0;

/// The key and the time of a row, if it has a key.
type Keyed = Option<(Bytes, u64)>;

impl Join {
    fn keyed(&self, rows: &Rows, row: &RowAt, key: &Expression) -> Result<Keyed, String> {
        let one = |of: &Expression, what: &str| -> Result<Option<Vec<u8>>, String> {
            let places = rows.places(of);
            let read = rows.row(row, of, &places)?;
            let mut json = Vec::new();
            match of.values(&read)? {
                Values::One(scalar) => scalar.write(&mut json),
                Values::Many(outputs) => match outputs.ends.len() {
                    0 => return Ok(None),
                    1 => json = outputs.text,
                    many => return Err(format!("the row has {many} {what}s instead of one: {}", of.text())),
                },
            }
            Ok(Some(json).filter(|json| json != b"null"))
        };
        let Some(key) = one(key, "key")?.map(key_of) else { return Ok(None) };
        let time = match &self.within {
            None => 0,
            Some((_, at)) => {
                let json = one(at, "time")?.unwrap_or_default();
                let scalar = millstream_jq::scalar_of(&json).ok_or("the row has no time")?;
                time_of(&scalar, at.text())?.0
            }
        };
        Ok(Some((key.into(), time)))
    }

    /// Takes in the rows of a slot, and returns the joined ones. A row finds those that came before it: which rows are
    /// in a slot together is to change nothing. Answers at the end have no order, and find all.
    ///
    /// # Panics
    ///
    /// If the other wire has more rows than allowed.
    pub(crate) fn step(&self, joined: &mut Joined, sides: &Sides) -> Rows {
        let mut out = Matched::default();
        match sides {
            Sides::Others(others) => {
                out.dead.clone_from(&others.dead);
                self.remember(joined, others, &others.at, &mut out);
                others.with_json(out.text, out.at, out.dead)
            }
            Sides::These(rows) => {
                out.dead.clone_from(&rows.dead);
                self.find(joined, rows, &rows.at, &mut out);
                rows.with_json(out.text, out.at, out.dead)
            }
            Sides::Both(rows, others) => {
                // A row that failed before the two wires parted has come by both.
                out.dead = rows.dead.iter().chain(more_of(&rows.dead, &others.dead)).cloned().collect();
                let mut left = &others.at[..];
                for row in &rows.at {
                    let comes_before = |other: &RowAt| other.number < row.number || row.number == AT_END;
                    let before = left.iter().position(|other| !comes_before(other)).unwrap_or(left.len());
                    self.remember(joined, others, &left[..before], &mut out);
                    left = &left[before..];
                    self.find(joined, rows, std::slice::from_ref(row), &mut out);
                }
                self.remember(joined, others, left, &mut out);
                rows.with_json(out.text, out.at, out.dead)
            }
        }
    }

    fn remember(&self, joined: &mut Joined, others: &Rows, some: &[RowAt], out: &mut Matched) {
        for row in some {
            match self.keyed(others, row, &self.with) {
                Ok(None) => {}
                Ok(Some((key, time))) => {
                    self.partners.key(true, &key);
                    if joined.count >= self.most {
                        too_many("rows to join with", self.most, (&others.file, row.number), "");
                    }
                    let json = others.json(row);
                    if let Err(why) = others.check_utf8(row, &json) {
                        out.dead.push(others.dead(&self.stage, row, why));
                        continue;
                    }
                    joined.count += 1;
                    joined.rows.entry(key).or_default().push((time, json.trim_ascii().into()));
                }
                Err(why) => out.dead.push(others.dead(&self.stage, row, why)),
            }
        }
    }

    fn find(&self, joined: &Joined, rows: &Rows, some: &[RowAt], out: &mut Matched) {
        let Matched { text, at, dead } = out;
        let mut alone = 0;
        for row in some {
            let json = rows.json(row);
            let keyed = rows.check_utf8(row, &json).and_then(|()| self.keyed(rows, row, &self.on));
            let keyed = match keyed {
                Ok(keyed) => keyed,
                Err(why) => {
                    dead.push(rows.dead(&self.stage, row, why));
                    continue;
                }
            };
            let json = json.trim_ascii();
            let mut end = |text: &mut Vec<u8>, from: usize| {
                at.push(RowAt { from: from as u32, to: text.len() as u32, cells: 0, number: row.number });
            };
            let (mut any, mut failed) = (false, false);
            if let Some((key, time)) = keyed {
                self.partners.key(false, &key);
                for (other_time, other) in joined.rows.get(&key).into_iter().flatten() {
                    if self.within.as_ref().is_some_and(|(within, _)| time.abs_diff(*other_time) > *within) {
                        continue;
                    }
                    let from = text.len();
                    if let Err(why) = united(other, json, text) {
                        text.truncate(from);
                        dead.push(rows.dead(&self.stage, row, why));
                        failed = true;
                        break;
                    }
                    end(text, from);
                    any = true;
                }
            }
            // A row that failed has a partner, and is a dead letter alone.
            let is_alone = !any && !failed;
            alone += u64::from(is_alone);
            if is_alone && self.keeps {
                let from = text.len();
                text.extend_from_slice(json);
                end(text, from);
            }
        }
        self.partners.add(some.len() as u64, alone);
    }
}

/// The fields of both objects; those of `row` where both have one.
fn united(other: &[u8], row: &[u8], out: &mut Vec<u8>) -> Result<(), String> {
    if millstream_jq::unite(other, row, out) { Ok(()) } else { united_by_jq(other, row, out) }
}

fn united_by_jq(other: &[u8], row: &[u8], out: &mut Vec<u8>) -> Result<(), String> {
    let both = [b"[", other, b",", row, b"]"].concat();
    let filter = add();
    let mut fields = millstream_jq::Fields::default();
    let mut outputs = millstream_jq::Outputs::default();
    fields.read(&filter, &both)?;
    filter.write(&fields, &mut outputs)?;
    out.extend_from_slice(&outputs.text);
    Ok(())
}

fn add() -> Expression {
    static ADD: std::sync::OnceLock<Expression> = std::sync::OnceLock::new();
    ADD.get_or_init(|| {
        Expression::new("if all(.[]; type == \"object\") then add else error(\"only objects can be joined\") end")
            .expect("it is a filter")
    })
    .clone()
}

#[cfg(test)]
mod tests {
    use super::{united, united_by_jq};
    use millstream_jq::{Expression, Fields, Outputs};
    use proptest::prelude::*;

    /// Objects as they are written by people and by programs, some of them none.
    fn json() -> impl Strategy<Value = String> {
        let key = prop::sample::select(vec!["a", "b", "c", "\u{e9}", "x\\n", "\\u0061", ""]);
        let value = prop::sample::select(vec![
            "1",
            "-0",
            "1.0",
            "1.50",
            "1e3",
            "00",
            "NaN",
            "123456789012345678901234567890",
            "null",
            "true",
            "\"t\"",
            "\"\\u00e9\"",
            "\"\\/\"",
            "{}",
            "[ ]",
            "{ \"b\" : [1 , 2] }",
            "{\"a\":1,\"a\":2}",
            "\"\u{7f}\"",
            "[1,",
        ]);
        let space = prop::sample::select(vec!["", " ", "\t\n", " # why\n"]);
        let field = (key, space.clone(), value, space);
        prop_oneof![
            9 => prop::collection::vec(field, 0..6).prop_map(|fields| {
                let field = |(key, before, value, after)| format!("{before}\"{key}\"{after}:{before}{value}{after}");
                format!("{{{}}}", fields.into_iter().map(field).collect::<Vec<_>>().join(","))
            }),
            1 => prop::sample::select(vec!["[]", "1", "{", "{} {}", "{\"a\":1,}", "{\"a\" 1}", ""]).prop_map(str::to_owned),
        ]
    }

    proptest! {
        #[test]
        fn two_objects_are_united_as_jq_adds_them(other in json(), row in json()) {
            let (mut ours, mut jqs) = (b"before".to_vec(), b"before".to_vec());
            let said = united(other.as_bytes(), row.as_bytes(), &mut ours);
            prop_assert_eq!(&said, &united_by_jq(other.as_bytes(), row.as_bytes(), &mut jqs));
            if said.is_ok() {
                prop_assert_eq!(String::from_utf8_lossy(&ours), String::from_utf8_lossy(&jqs));
            }
        }

        #[test]
        fn the_fields_of_an_object_are_its_entries_in_jq(object in json()) {
            let filter = Expression::new("to_entries[] | .key, .value").unwrap();
            let (mut ours, mut jqs, mut read) = (Outputs::default(), Outputs::default(), Fields::default());
            if millstream_jq::entries(object.as_bytes(), &mut ours) {
                read.read(&filter, object.as_bytes()).unwrap();
                filter.write(&read, &mut jqs).unwrap();
            }
            prop_assert_eq!(ours, jqs);
        }

        /// Most rows do not need jq.
        #[test]
        fn plain_objects_are_united_without_jq(keys in prop::collection::btree_set("[a-z]{1,3}", 0..9)) {
            let row = keys.iter().map(|key| format!("\"{key}\": [{{\"x\": -1.5}}, null, \"t\"]")).collect::<Vec<_>>();
            let row = format!("{{{}}}", row.join(", "));
            let united = millstream_jq::unite(b"{\"a\":1}", row.as_bytes(), &mut Vec::new());
            prop_assert!(united, "{}", row);
        }
    }
}
