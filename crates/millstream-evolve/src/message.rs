//! What master and worker say to each other. A message is its kind, how many items follow, and the items.

use crate::wire::Frame;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// What the master asks of a worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Request {
    /// Items are tokens and inputs as bytes. One batch: it is answered as a whole, or sooner.
    EvolveStates {
        items: u32,
        /// Whether the children's states are wanted with the answer.
        backup: bool,
    },
    /// Items are tokens and states as bytes. Answered by `StatesAdded`.
    AddStates { items: u32 },
    /// Items are tokens. Answered by `StatesRemoved` with those whose evolution has not begun, if they are to be given
    /// back, and else by nothing.
    RemoveStates { items: u32, give_back: bool },
    /// There is nothing more to do.
    End,
    /// The master lives. Answered by nothing.
    Lives,
}

/// What a worker answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Answer {
    /// Items are tokens, the nanoseconds that each took, whether states follow, how many children there are, and of each
    /// child the output as bytes, and the state as bytes if they follow.
    StatesEvolved { items: u32, spent: Spent },
    /// So many states are there now.
    StatesAdded { items: u32 },
    /// Items are tokens and states as bytes, in the order in which they were asked for.
    StatesRemoved { items: u32 },
    /// The evolution of a state panicked: a token and a text follow.
    Failed,
}

/// How a worker has spent its time until now, in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Spent {
    pub(crate) working: u64,
    pub(crate) waiting: u64,
}

/// Begins a frame by its kind.
pub(crate) fn frame<'a>(out: &'a mut Vec<u8>, kind: &impl Serialize) -> Frame<'a> {
    let mut frame = Frame::begin(out);
    frame.put(kind);
    frame
}

pub(crate) fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}
