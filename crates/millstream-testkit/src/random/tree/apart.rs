//! Rows as trees.

use super::Pipe;
use crate::random::row::{LastOfRow, Row};

impl Row {
    /// The same stages, each in its own box.
    #[must_use]
    pub fn apart(self) -> Pipe {
        let Row { modulus, plus, last } = self;
        let last = match last {
            LastOfRow::Map => Pipe::Map { plus },
            LastOfRow::FilterMap => Pipe::FilterMap { modulus, plus },
            LastOfRow::Scan => Pipe::Scan { start: plus },
            LastOfRow::ScanFinish => Pipe::ScanFinish { start: plus },
            LastOfRow::Fold => Pipe::Fold { start: plus },
        };
        let tried = Pipe::TryMap { modulus: modulus + 1, plus: 2 * plus };
        let stages = [Pipe::Filter { modulus }, Pipe::MapOwned { plus }, last];
        stages.into_iter().fold(tried, |before, stage| Pipe::Then(before.into(), stage.into()))
    }
}
