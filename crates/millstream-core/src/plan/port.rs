//! Edges and stages while a plan is built.

use super::{Describe, StateType};

/// At which numbers an edge can hold values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Filled {
    /// Below END.
    pub numbers: bool,
    /// At END.
    pub end: bool,
}

impl Filled {
    /// The slots that a source fills.
    pub const NUMBERS: Filled = Filled { numbers: true, end: false };
    /// The slots that a fold fills.
    pub const END: Filled = Filled { numbers: false, end: true };

    pub(super) fn and(self, other: Filled) -> Filled {
        Filled { numbers: self.numbers && other.numbers, end: self.end && other.end }
    }

    pub(super) fn or(self, other: Filled) -> Filled {
        Filled { numbers: self.numbers || other.numbers, end: self.end || other.end }
    }
}

/// The reading end of an edge while a plan is built: the rings that the edge reads.
#[derive(Clone, Debug)]
pub struct Port {
    pub(super) rings: Vec<usize>,
    pub(super) filled: Filled,
    pub(super) clock: usize,
}

impl Port {
    /// At which numbers this edge can hold values.
    #[must_use]
    pub fn filled(&self) -> Filled {
        self.filled
    }
}

/// The properties of a stage that a combinator adds.
#[derive(Clone, Copy, Debug)]
pub struct StageKind {
    /// The combinator's name.
    pub name: &'static str,
    /// The type of the state that the stage keeps from one number to the next. `()` for a stage that keeps nothing and
    /// has to see its numbers in order.
    pub state: Option<StateType>,
    /// Bytes of one slot of its output ring.
    pub slot_bytes: usize,
    /// Whether its output is dense.
    pub dense: bool,
    /// At which numbers its output can hold values.
    pub fills: Filled,
}

/// A body that describes itself.
pub type Body<'a> = Box<dyn FnOnce(&mut Describe) -> Port + 'a>;
