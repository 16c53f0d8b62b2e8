//! The messages between master and worker. A message is its kind, the number of items, and the items.
//!
//! A list of values is divided into messages of about 4 MiB; only the children of one state are never divided. States
//! that the master asks back and that exceed one message stay with the worker. Its answer says how far it has looked:
//! later states have not begun. Each side gives a reason when it closes a connection. The last reason is part of the
//! error if no worker is left.

use crate::Token;
use crate::wire::{Frame, LENGTH};
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// The longest state, input or output in bytes. In tests it is small enough to be exceeded cheaply.
pub(crate) const LONGEST_VALUE: usize = if cfg!(test) { 2 << 20 } else { 256 << 20 };

/// A list of values is divided into messages that are not much longer than this. An answer with states given back is
/// not much longer either. In tests it holds some fifteen states, so that lists are divided there too.
pub(crate) const USUAL_MESSAGE: usize = if cfg!(test) { 400 } else { 4 << 20 };

/// The most tokens in one message.
pub(crate) const MOST_TOKENS: usize = USUAL_MESSAGE / size_of::<Token>();

/// The longest request: one value after less than a usual message of others.
pub(crate) const LONGEST_REQUEST: usize = LONGEST_VALUE + 2 * USUAL_MESSAGE;

/// The longest answer: all children of one state are in one message.
pub(crate) const LONGEST_ANSWER: usize = u32::MAX as usize;

/// The most bytes that the children of a state take in an answer.
pub(crate) const LONGEST_FAMILY: usize = LONGEST_ANSWER - 2 * USUAL_MESSAGE - LENGTH;

/// A message of the master.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Request {
    /// Items are tokens and inputs as bytes. They are one batch, answered by one or more `StatesEvolved`.
    EvolveStates {
        items: u32,
        /// Whether the answer is to contain the children's states.
        backup: bool,
    },
    /// Items are tokens and states as bytes. The answer is `StatesAdded`.
    AddStates { items: u32 },
    /// Items are tokens. With `give_back` the answer is `StatesRemoved`, with the states whose evolution has not begun:
    /// at least one of them, and no more than fit into a usual message. Without it there is no answer.
    RemoveStates { items: u32, give_back: bool },
    /// The population has ended.
    End,
    /// The master is alive. There is no answer.
    KeepAlive,
    /// The master gives the worker up. A text with the reason follows, and then the end of the connection.
    GivenUp,
}

/// A message of a worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Answer {
    /// Items are a token, the nanoseconds of the evolution, whether states follow, the number of children, and for each
    /// child the output as bytes, and the state as bytes if states follow.
    StatesEvolved { items: u32, spent: Spent },
    /// This number of states was added.
    StatesAdded { items: u32 },
    /// Items are tokens and states as bytes, in the order of the request. The first `looked_at` tokens of the request
    /// are settled: those without an item have begun. The other tokens are as before.
    StatesRemoved { items: u32, looked_at: u32 },
    /// A state cannot be read, evolved or written. Its token and a text follow.
    Failed,
    /// The worker ends without `End`. A text with the reason follows, and then the end of the connection.
    Ends,
}

/// The time that a worker has spent until now, in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Spent {
    pub(crate) working: u64,
    pub(crate) waiting: u64,
}

/// Begins a frame with a message's kind.
pub(crate) fn frame<'a>(out: &'a mut Vec<u8>, kind: &impl Serialize) -> Frame<'a> {
    let mut frame = Frame::begin(out);
    frame.put(kind);
    frame
}

pub(crate) fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}
