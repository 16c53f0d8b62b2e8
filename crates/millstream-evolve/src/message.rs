//! What master and worker say to each other. A message is its kind, how many items follow, and the items.
//!
//! What consists of several values is divided into messages of some 4 MiB; only the children of one state are never
//! divided. What is asked back beyond that stays with the worker. It says how far it has looked: states that it has not
//! looked at have not begun. Each side says why it closes a connection, and the last reason is in the error where no
//! worker is left.

use crate::wire::{Frame, LENGTH};
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// A state, an input or an output takes no more than this as bytes.
pub(crate) const LONGEST_VALUE: usize = 256 << 20;

/// What consists of several values is divided into messages that are not much longer than this; so much is given back at once
/// of what is asked back. In simulated time it is some twenty states, so that everything is divided there as well.
pub(crate) const USUAL_MESSAGE: usize = if cfg!(test) { 400 } else { 4 << 20 };

/// What a master says: one value behind less than a usual message of others.
pub(crate) const LONGEST_REQUEST: usize = LONGEST_VALUE + 2 * USUAL_MESSAGE;

/// What a worker says: all children of one state are in one message.
pub(crate) const LONGEST_ANSWER: usize = u32::MAX as usize;

/// A state's children, with what is in front of them, take no more than this.
pub(crate) const LONGEST_FAMILY: usize = LONGEST_ANSWER - 2 * USUAL_MESSAGE - LENGTH;

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
    /// Items are tokens. Answered by `StatesRemoved` with those whose evolution has not begun, as many as fit into a usual
    /// message and one at least, if they are to be given back; and else by nothing.
    RemoveStates { items: u32, give_back: bool },
    /// There is nothing more to do.
    End,
    /// The master lives. Answered by nothing.
    Lives,
    /// The worker is given up; a text says why. The connection ends behind this.
    GivenUp,
}

/// What a worker answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Answer {
    /// Items are tokens, the nanoseconds that each took, whether states follow, how many children there are, and of each
    /// child the output as bytes, and the state as bytes if they follow.
    StatesEvolved { items: u32, spent: Spent },
    /// So many states are there now.
    StatesAdded { items: u32 },
    /// Items are tokens and states as bytes, in the order in which they were asked for. Of those asked for, the first
    /// `looked_at` have begun where they are not given; the others are here as before.
    StatesRemoved { items: u32, looked_at: u32 },
    /// A state cannot be read, evolved or written: a token and a text follow.
    Failed,
    /// The worker ends before it is told to; a text says why. The connection ends behind this.
    Ends,
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
