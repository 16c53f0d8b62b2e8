//! States as values: the state of a stage can be copied out of the running stage, and moved into another one.

#[cfg(feature = "durable")]
mod written;

#[cfg(feature = "durable")]
pub(crate) use written::{ChangedLane, LaneStamps, WrittenLane};

use crate::in_place::{CopiedState, HeldState};
#[cfg(feature = "durable")]
use millstream_core::keys::CopyStamp;
use millstream_core::keys::SharedState;
use millstream_core::{Item, SequenceNumber};
use std::any::{Any, type_name};
use std::fmt;

/// The kept state of a tasklet at a mark.
#[derive(Clone)]
pub(crate) struct Kept {
    /// The next number of its output, if it starts a clock.
    next: Option<SequenceNumber>,
    /// The version of the state.
    version: u32,
    state: Option<Held>,
}

#[derive(Clone)]
enum Held {
    Live(Box<dyn State>),
    /// The bytes of [`State::write`], perhaps from another process, and the name of its type there.
    #[cfg(feature = "durable")]
    Written {
        type_name: String,
        bytes: Vec<u8>,
        /// The changes since then, in order: the bytes of [`State::write_changes`].
        changes: Vec<Vec<u8>>,
    },
}

/// A state of a type that is not named.
pub(crate) trait State: Any + Send + Sync {
    fn copy(&self) -> Box<dyn State>;
    fn type_name(&self) -> &'static str;
    fn into_any(self: Box<Self>) -> Box<dyn Any>;
    /// The state, of this version.
    fn into_held(self: Box<Self>, version: u32) -> Box<dyn HeldState>;
    /// The state as bytes; none if it is kept in memory only.
    #[cfg(feature = "durable")]
    fn write(&self) -> Option<postcard::Result<Vec<u8>>> {
        None
    }
    /// Which copies its tables are, if it can find the changes since an earlier copy.
    #[cfg(feature = "durable")]
    fn stamps(&self) -> Option<Vec<CopyStamp>> {
        None
    }
    /// How many of its places may differ from that earlier copy, and how many there are; `None` if that is not known.
    #[cfg(feature = "durable")]
    fn changed(&self, _earlier: &[CopyStamp]) -> Option<(usize, usize)> {
        None
    }
    /// The changes since then as bytes; `None` if they are not known.
    #[cfg(feature = "durable")]
    fn write_changes(&self, _earlier: &[CopyStamp]) -> Option<postcard::Result<Vec<u8>>> {
        None
    }
    /// The state as JSON; none if it is kept in memory only.
    #[cfg(feature = "durable")]
    fn json(&self) -> Option<serde_json::Result<serde_json::Value>> {
        None
    }
}

/// A state that is kept in memory.
struct Copied<S>(S);

impl<S: Item + Clone> State for Copied<S> {
    fn copy(&self) -> Box<dyn State> {
        Box::new(Copied(self.0.clone()))
    }

    fn type_name(&self) -> &'static str {
        type_name::<S>()
    }

    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        Box::new(self.0)
    }

    fn into_held(self: Box<Self>, version: u32) -> Box<dyn HeldState> {
        Box::new(CopiedState { state: self.0, version })
    }
}

impl Held {
    fn type_name(&self) -> &str {
        match self {
            Held::Live(state) => (**state).type_name(),
            #[cfg(feature = "durable")]
            Held::Written { type_name, .. } => type_name,
        }
    }
}

impl Clone for Box<dyn State> {
    fn clone(&self) -> Self {
        (**self).copy()
    }
}

impl Kept {
    /// A clone of this state.
    pub(crate) fn of<S: Item + Clone>(state: &S) -> Self {
        Kept { next: None, version: 1, state: Some(Held::Live(Box::new(Copied(state.clone())))) }
    }

    /// A copy of this state, which shares unchanged parts.
    pub(crate) fn shared<S: Item + Clone + SharedState>(state: &mut S) -> Self {
        Kept { next: None, version: 1, state: Some(Held::Live(Box::new(Copied(state.share())))) }
    }

    /// The next number of an output with a clock of its own, and the state beside it, if there is one.
    pub(crate) fn at(next: SequenceNumber, state: Option<Kept>) -> Self {
        Kept { next: Some(next), ..state.unwrap_or(Kept { next: None, version: 1, state: None }) }
    }

    pub(crate) fn in_version(self, version: u32) -> Self {
        Kept { version, ..self }
    }

    pub(crate) fn version(&self) -> u32 {
        self.version
    }

    /// The name of the state's type, if there is a state.
    pub(crate) fn type_name(&self) -> Option<&str> {
        self.state.as_ref().map(Held::type_name)
    }

    /// The next number of the output; none if it has the input's clock.
    pub(crate) fn next(&self) -> Option<SequenceNumber> {
        self.next
    }

    /// The state, if there is one that is not written.
    pub(crate) fn into_held(self) -> Option<Box<dyn HeldState>> {
        match self.state {
            Some(Held::Live(state)) => Some(state.into_held(self.version)),
            _ => None,
        }
    }

    /// The state, if this is its type.
    ///
    /// # Errors
    ///
    /// What it is instead.
    pub(crate) fn get<S: Item>(self) -> Result<S, String> {
        match self.state {
            Some(Held::Live(state)) => {
                let name = (*state).type_name();
                state.into_any().downcast().map(|state| *state).map_err(|_| other::<S>(&format!("a {name}")))
            }
            #[cfg(feature = "durable")]
            Some(Held::Written { .. }) => {
                Err("has its state in the snapshot as bytes, which `Durable` rings read and `Rings` do not".to_owned())
            }
            None => Err(other::<S>("no state")),
        }
    }
}

fn other<S>(found: &str) -> String {
    format!("has a state of type {}, and the snapshot has {found} for it", type_name::<S>())
}

impl fmt::Debug for Kept {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self.type_name();
        f.debug_struct("Kept").field("next", &self.next).field("state", &name).finish()
    }
}
