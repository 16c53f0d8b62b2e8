//! Stages in a row, with no box between them: on one thread they are one loop.

use super::edge::{Boxed, Chain};
use super::kind::Kind;
use super::shape::{RandomShape, of_slot, of_value};
use super::steps::{finished, folded, kept, mapped, scanned, tried};
use super::value::Value;
use millstream_core::{Arrow, StreamsExt, TryMapExt, id};
use std::fmt;

/// `try_map(modulus + 1, 2 * plus).filter(modulus).map_owned(plus)`, and the last stage.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Row {
    /// The modulus, at least 1.
    pub modulus: i64,
    /// The summand.
    pub plus: i64,
    /// The last stage.
    pub last: LastOfRow,
}

/// The last stage of a [`Row`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LastOfRow {
    /// [`Pipe::Map`](super::Pipe::Map).
    Map,
    /// [`Pipe::FilterMap`](super::Pipe::FilterMap).
    FilterMap,
    /// [`Pipe::Scan`](super::Pipe::Scan).
    Scan,
    /// [`Pipe::ScanFinish`](super::Pipe::ScanFinish).
    ScanFinish,
    /// [`Pipe::Fold`](super::Pipe::Fold).
    Fold,
}

impl LastOfRow {
    /// All kinds: first those that a shard may have, then those that a lane may have.
    pub const EVERY: [LastOfRow; 5] =
        [LastOfRow::Map, LastOfRow::FilterMap, LastOfRow::Scan, LastOfRow::ScanFinish, LastOfRow::Fold];
}

impl Row {
    /// Whether it keeps no state.
    pub(crate) fn is_pure(self) -> bool {
        matches!(self.last, LastOfRow::Map | LastOfRow::FilterMap)
    }

    /// Whether it fills a slot only if its input is filled.
    pub(crate) fn is_quiet(self) -> bool {
        self.is_pure() || self.last == LastOfRow::Scan
    }
}

impl fmt::Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "row({}, {}, {:?})", self.modulus, self.plus, self.last)
    }
}

pub(crate) fn row<A: RandomShape>(row: Row, input: Kind) -> Chain {
    let Row { modulus, plus, last } = row;
    let front = id::<A>()
        .try_map_or_empty(move |slot| of_slot::<A, _>(slot, |value| tried(value, modulus + 1, 2 * plus)))
        .filter(move |value| kept(value, modulus))
        .map_owned(move |value| of_value(value, |value| mapped(value, plus)));
    let chain = Chain::empty(input);
    match last {
        LastOfRow::Map => chain.then(Boxed::new(front.map(move |value| mapped(value, plus)))),
        LastOfRow::FilterMap => {
            chain.then(Boxed::new(front.filter_map(move |value| kept(value, modulus).then(|| mapped(value, plus)))))
        }
        LastOfRow::Scan => chain.then(Boxed::new(front.scan(Value::I(plus), scanned))),
        LastOfRow::ScanFinish => chain.then(Boxed::new(front.scan_finish(Value::I(plus), scanned, finished))),
        LastOfRow::Fold => chain.then(Boxed::new(front.fold(Value::I(plus), folded, |state| state))),
    }
}
