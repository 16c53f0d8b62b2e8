//! Stages that pass on some of the rows, by what came before.

use crate::bytes::Bytes;
use crate::key::key_of;
use crate::parameters::too_many;
use crate::rows::Rows;
use millstream_jq::{Expression, Values};
use serde::{Deserialize, Serialize};
use std::collections::HashSet;
use std::sync::Arc;

fn with(rows: &Rows, from: usize, to: usize) -> Rows {
    let mut some = Rows { at: Vec::new(), ..rows.clone() };
    some.at.extend_from_slice(&rows.at[from..to]);
    some
}

/// The first rows, while some are left.
pub(crate) fn first(rows: &Rows, left: &mut u64) -> Rows {
    let some = rows.at.len().min(usize::try_from(*left).unwrap_or(usize::MAX));
    *left -= some as u64;
    with(rows, 0, some)
}

/// The rows after the first ones.
pub(crate) fn after(rows: &Rows, left: &mut u64) -> Rows {
    let some = rows.at.len().min(usize::try_from(*left).unwrap_or(usize::MAX));
    *left -= some as u64;
    with(rows, some, rows.at.len())
}

/// The key of a row: that of its one value, or those of all its values, each on a line.
fn key_of_all(values: Values<'_>) -> Vec<u8> {
    match values {
        Values::One(scalar) => {
            let mut json = Vec::new();
            scalar.write(&mut json);
            key_of(json)
        }
        Values::Many(outputs) if outputs.ends.len() == 1 => key_of(outputs.text),
        Values::Many(outputs) => {
            outputs.iter().flat_map(|output| [key_of(output.to_vec()), vec![b'\n']].concat()).collect()
        }
    }
}

/// The keys so far.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Seen(#[serde(with = "crate::bytes::set")] HashSet<Bytes>);

impl Seen {
    /// The rows whose key is new.
    ///
    /// # Panics
    ///
    /// If there are more than `most` keys.
    pub(crate) fn new_ones(&mut self, rows: &Rows, by: &Expression, most: usize) -> Rows {
        let (places, stage): (_, Arc<str>) = (rows.places(by), "distinct".into());
        let mut some = with(rows, 0, 0);
        for row in &rows.at {
            let read = rows.row(row, by, &places);
            let key = read.and_then(|read| Ok(key_of_all(by.values(&read)?)));
            match key {
                Ok(key) if self.0.contains(&key[..]) => {}
                Ok(key) => {
                    if self.0.len() >= most {
                        too_many("keys", most, (&rows.file, row.number), "");
                    }
                    self.0.insert(key.into());
                    some.at.push(*row);
                }
                Err(why) => some.dead.push(rows.dead(&stage, row, why)),
            }
        }
        some
    }
}
