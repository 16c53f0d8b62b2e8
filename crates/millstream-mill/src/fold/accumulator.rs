use super::prepare::Value;
use super::spec::Kind;
use crate::bytes::{self, Bytes};
use crate::sketch::Sketch;
use millstream_jq::compare_json;
use serde::{Deserialize, Serialize};
use std::io::Write;

/// A value, and its row.
type Ranked = (Bytes, Bytes);

/// The state of a fold for the rows of a key.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) enum Accumulator {
    Count(u64),
    /// The sum of whole numbers, and that of all numbers since one was not whole.
    Sum {
        #[serde(with = "bytes::long")]
        whole: i128,
        all: Option<f64>,
    },
    Mean {
        sum: f64,
        count: u64,
    },
    /// The least value so far, or the greatest.
    Extreme(Option<Bytes>),
    Quantile(Sketch),
    Latest(Option<Bytes>),
    /// Values and rows, the greatest first.
    Top(Vec<Ranked>),
}

impl Accumulator {
    pub(crate) fn new(kind: Kind) -> Self {
        match kind {
            Kind::Count => Accumulator::Count(0),
            Kind::Sum => Accumulator::Sum { whole: 0, all: None },
            Kind::Mean => Accumulator::Mean { sum: 0.0, count: 0 },
            Kind::Min | Kind::Max => Accumulator::Extreme(None),
            Kind::Quantile(_) => Accumulator::Quantile(Sketch::default()),
            Kind::Latest => Accumulator::Latest(None),
            Kind::Top(_) => Accumulator::Top(Vec::new()),
        }
    }

    #[inline]
    pub(crate) fn add(&mut self, kind: Kind, value: Value, text: &[u8]) {
        let part = |from: u32, to: u32| &text[from as usize..to as usize];
        match (self, value) {
            (Accumulator::Count(count), _) => *count += 1,
            (Accumulator::Sum { whole, all: None }, Value::Int(n)) => *whole += i128::from(n),
            (Accumulator::Sum { all: Some(all), .. }, Value::Int(n)) => *all += n as f64,
            (Accumulator::Sum { whole, all }, Value::Float(x)) => *all = Some(all.unwrap_or(*whole as f64) + x),
            (Accumulator::Mean { sum, count }, Value::Int(_) | Value::Float(_)) => {
                *sum += float(value);
                *count += 1;
            }
            (Accumulator::Quantile(sketch), Value::Int(_) | Value::Float(_)) => sketch.add(float(value)),
            (Accumulator::Extreme(kept), Value::Json(from, to)) => extreme(kept, kind, part(from, to)),
            (Accumulator::Latest(row), Value::Row(_, from, to)) => *row = Some(part(from, to).into()),
            (Accumulator::Top(rows), Value::Row(from, middle, to)) => {
                top(rows, kind, part(from, middle), part(middle, to));
            }
            _ => {}
        }
    }

    /// Adds what a later part of the rows has left.
    pub(crate) fn join(&mut self, kind: Kind, other: Accumulator) {
        match (self, other) {
            (Accumulator::Count(count), Accumulator::Count(more)) => *count += more,
            (Accumulator::Sum { whole, all }, Accumulator::Sum { whole: more, all: more_all }) => {
                *all = match (*all, more_all) {
                    (None, None) => None,
                    (one, other) => Some(one.unwrap_or(*whole as f64) + other.unwrap_or(more as f64)),
                };
                *whole += more;
            }
            (Accumulator::Mean { sum, count }, Accumulator::Mean { sum: more, count: many }) => {
                *sum += more;
                *count += many;
            }
            (Accumulator::Extreme(kept), Accumulator::Extreme(Some(value))) => extreme(kept, kind, &value),
            (Accumulator::Quantile(sketch), Accumulator::Quantile(other)) => sketch.join(other),
            (Accumulator::Latest(row), Accumulator::Latest(Some(later))) => *row = Some(later),
            (Accumulator::Top(rows), Accumulator::Top(others)) => {
                others.iter().for_each(|(value, row)| top(rows, kind, value, row));
            }
            _ => {}
        }
    }

    /// Writes the answer as JSON.
    pub(crate) fn write(&self, kind: Kind, out: &mut Vec<u8>) {
        let null = |out: &mut Vec<u8>| out.extend_from_slice(b"null");
        match self {
            Accumulator::Count(count) => write!(out, "{count}").expect("writing to a vector cannot fail"),
            Accumulator::Sum { whole, all: None } => write!(out, "{whole}").expect("writing to a vector cannot fail"),
            Accumulator::Sum { all: Some(all), .. } => float_out(*all, out),
            Accumulator::Mean { count: 0, .. } => null(out),
            Accumulator::Mean { sum, count } => float_out(sum / *count as f64, out),
            Accumulator::Extreme(Some(value)) => out.extend_from_slice(value),
            Accumulator::Quantile(sketch) => {
                let part = if let Kind::Quantile(part) = kind { part } else { 0.5 };
                match sketch.quantile(part) {
                    Some(value) => float_out(value, out),
                    None => null(out),
                }
            }
            Accumulator::Extreme(None) | Accumulator::Latest(_) | Accumulator::Top(_) => null(out),
        }
    }

    /// The rows that are the answer. A state that was kept may have more than `top` now asks for.
    pub(crate) fn rows(&self, kind: Kind) -> Vec<&[u8]> {
        let most = if let Kind::Top(most) = kind { most } else { 1 };
        match self {
            Accumulator::Latest(row) => row.iter().map(|row| &**row).collect(),
            Accumulator::Top(rows) => rows.iter().take(most).map(|(_, row)| &**row).collect(),
            _ => Vec::new(),
        }
    }
}

fn float(value: Value) -> f64 {
    match value {
        Value::Int(n) => n as f64,
        Value::Float(x) => x,
        _ => 0.0,
    }
}

fn float_out(value: f64, out: &mut Vec<u8>) {
    millstream_jq::Scalar::Float(value).write(out);
}

fn extreme(kept: &mut Option<Bytes>, kind: Kind, value: &[u8]) {
    let replaces = kept.as_ref().is_none_or(|kept| {
        let order = compare_json(value, kept);
        if kind == Kind::Min { order.is_lt() } else { order.is_gt() }
    });
    if replaces {
        *kept = Some(value.into());
    }
}

/// Of equal values the first come first.
fn top(rows: &mut Vec<Ranked>, kind: Kind, value: &[u8], row: &[u8]) {
    let Kind::Top(most) = kind else { return };
    if rows.len() == most && rows.last().is_none_or(|(least, _)| compare_json(value, least).is_le()) {
        return;
    }
    let place = rows.partition_point(|(there, _)| compare_json(there, value).is_ge());
    rows.insert(place, (value.into(), row.into()));
    rows.truncate(most);
}
