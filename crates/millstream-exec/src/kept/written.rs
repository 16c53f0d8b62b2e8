//! States as bytes.

use super::{Held, Kept, State, other};
use crate::in_place::{CopiedState, HeldState};
use millstream_core::keys::{CopyStamp, SharedState, StateChanges, apply_changes};
use millstream_core::{Item, SequenceNumber};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::any::{Any, type_name};

/// The kept state of a tasklet, as it is written.
#[derive(Serialize, Deserialize)]
pub(crate) struct WrittenLane {
    next: Option<SequenceNumber>,
    version: u32,
    /// The name of its type, and its bytes.
    state: Option<(String, Vec<u8>)>,
}

/// A state that can be written down.
struct Writable<S>(S);

impl<S: Item + Clone + Serialize> State for Writable<S> {
    fn copy(&self) -> Box<dyn State> {
        Box::new(Writable(self.0.clone()))
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

    fn write(&self) -> Option<postcard::Result<Vec<u8>>> {
        Some(postcard::to_allocvec(&self.0))
    }

    fn json(&self) -> Option<serde_json::Result<serde_json::Value>> {
        Some(serde_json::to_value(&self.0))
    }
}

/// A shared state that can be written, whole or as changes.
struct WritableShared<S>(S);

impl<S> State for WritableShared<S>
where
    S: Item + Clone + Serialize,
    S: SharedState<Value: Serialize, Plain: Serialize>,
{
    fn copy(&self) -> Box<dyn State> {
        Box::new(WritableShared(self.0.clone()))
    }

    fn type_name(&self) -> &'static str {
        type_name::<S>()
    }

    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        Box::new(self.0)
    }

    /// From here on its tables and those of the stage that it was copied from change separately. So the result is a
    /// clone, whose tables do not count as copies of theirs; their contents are still shared.
    fn into_held(self: Box<Self>, version: u32) -> Box<dyn HeldState> {
        Box::new(CopiedState { state: self.0.clone(), version })
    }

    fn write(&self) -> Option<postcard::Result<Vec<u8>>> {
        Some(postcard::to_allocvec(&self.0))
    }

    fn stamps(&self) -> Option<Vec<CopyStamp>> {
        Some(self.0.stamps())
    }

    fn changed(&self, earlier: &[CopyStamp]) -> Option<(usize, usize)> {
        self.0.changed(earlier)
    }

    fn write_changes(&self, earlier: &[CopyStamp]) -> Option<postcard::Result<Vec<u8>>> {
        self.0.changed(earlier)?;
        Some(postcard::to_allocvec(&StateChanges { state: &self.0, earlier }))
    }

    fn json(&self) -> Option<serde_json::Result<serde_json::Value>> {
        Some(serde_json::to_value(&self.0))
    }
}

/// The stamps of a lane's state, by which a later copy can be written as changes.
pub(crate) type LaneStamps = Option<Vec<CopyStamp>>;

/// The kept state of a tasklet, as changes since an earlier mark. Each lane has its own tag.
#[derive(Serialize, Deserialize)]
pub(crate) enum ChangedLane {
    Whole(WrittenLane),
    Changes { next: Option<SequenceNumber>, version: u32, changes: Vec<u8> },
}

impl ChangedLane {
    /// Applies the changes to the earlier lane.
    ///
    /// # Errors
    ///
    /// If the earlier lane has no written state.
    pub(crate) fn apply(self, lane: &mut Kept) -> Result<(), String> {
        match self {
            ChangedLane::Whole(whole) => *lane = whole.into(),
            ChangedLane::Changes { next, version, changes: more } => {
                let Some(Held::Written { changes, .. }) = &mut lane.state else {
                    return Err("has changes of a state that the snapshot lacks".to_owned());
                };
                changes.push(more);
                (lane.next, lane.version) = (next, version);
            }
        }
        Ok(())
    }
}

impl Kept {
    /// A copy of this state, which shares unchanged parts, and can be written.
    pub(crate) fn writable_shared<S>(state: &mut S) -> Self
    where
        S: Item + Clone + Serialize,
        S: SharedState<Value: Serialize, Plain: Serialize>,
    {
        Kept { next: None, version: 1, state: Some(Held::Live(Box::new(WritableShared(state.share())))) }
    }

    /// As [`read`](Kept::read), for a state that may be stored as an earlier one and the changes since then.
    ///
    /// # Errors
    ///
    /// As `read`.
    pub(crate) fn read_with_changes<S>(mut self) -> Result<S, String>
    where
        S: Item + DeserializeOwned,
        S: SharedState<Value: DeserializeOwned, Plain: DeserializeOwned>,
    {
        let changes = match &mut self.state {
            Some(Held::Written { changes, .. }) => std::mem::take(changes),
            _ => Vec::new(),
        };
        let mut state: S = self.read()?;
        for bytes in changes {
            let unread = |error| format!("has changes of its state that cannot be read: {error}");
            let mut from = postcard::Deserializer::from_bytes(&bytes);
            apply_changes(&mut state, &mut from).map_err(unread)?;
            match from.finalize().map_err(unread)? {
                [] => {}
                rest => return Err(format!("has changes of which {} bytes are left", rest.len())),
            }
        }
        Ok(state)
    }

    /// The stamps for a later mark; `None` if this has no state that can be written as changes.
    pub(crate) fn stamps(&self) -> LaneStamps {
        match &self.state {
            Some(Held::Live(state)) => (**state).stamps(),
            _ => None,
        }
    }

    /// How many places of its state may differ from an earlier mark, and how many there are; none if it is to be
    /// written whole.
    pub(crate) fn changed(&self, earlier: &LaneStamps) -> Option<(usize, usize)> {
        match (&self.state, earlier) {
            (Some(Held::Live(state)), Some(earlier)) => (**state).changed(earlier),
            _ => None,
        }
    }

    /// The state as changes since an earlier mark, or whole if the changes are unknown.
    ///
    /// # Errors
    ///
    /// Why it cannot be written.
    pub(crate) fn write_changes(&self, earlier: &LaneStamps) -> Result<ChangedLane, String> {
        let changes = match (&self.state, earlier) {
            (Some(Held::Live(state)), Some(earlier)) => (**state).write_changes(earlier),
            _ => None,
        };
        let Some(changes) = changes else { return self.write().map(ChangedLane::Whole) };
        let changes = changes.map_err(unwritable)?;
        Ok(ChangedLane::Changes { next: self.next, version: self.version, changes })
    }

    /// A clone of this state, which can be written down.
    pub(crate) fn writable<S: Item + Clone + Serialize>(state: &S) -> Self {
        Kept { next: None, version: 1, state: Some(Held::Live(Box::new(Writable(state.clone())))) }
    }

    /// The state, if this is its type, live or as bytes.
    ///
    /// # Errors
    ///
    /// What it is instead, or why the bytes cannot be read.
    pub(crate) fn read<S: Item + DeserializeOwned>(self) -> Result<S, String> {
        let Some(Held::Written { type_name: name, bytes, changes }) = &self.state else { return self.get() };
        if !changes.is_empty() {
            return Err(other::<S>("changes of another state"));
        }
        if name != type_name::<S>() {
            return Err(other::<S>(&format!("a {name}")));
        }
        match postcard::take_from_bytes(bytes) {
            Ok((state, [])) => Ok(state),
            Ok((_, rest)) => Err(format!("has a state of which {} bytes are left: its type has changed", rest.len())),
            Err(error) => Err(format!("has a state that cannot be read: {error}")),
        }
    }

    /// As a state of type `S`, whatever name its type had when it was written.
    pub(crate) fn renamed<S>(mut self) -> Self {
        if let Some(Held::Written { type_name: name, .. }) = &mut self.state {
            *name = type_name::<S>().to_owned();
        }
        self
    }

    /// The lane as it is written.
    ///
    /// # Errors
    ///
    /// Why it cannot be written.
    pub(crate) fn write(&self) -> Result<WrittenLane, String> {
        let state = match &self.state {
            None => None,
            Some(Held::Written { type_name, bytes, changes }) if changes.is_empty() => {
                Some((type_name.clone(), bytes.clone()))
            }
            Some(Held::Written { .. }) => return Err("is kept as bytes and changes to them".to_owned()),
            Some(Held::Live(state)) => {
                let bytes = (**state).write().ok_or("was kept by `Rings`, as a clone: run on `Durable` rings")?;
                let bytes = bytes.map_err(unwritable)?;
                Some(((**state).type_name().to_owned(), bytes))
            }
        };
        Ok(WrittenLane { next: self.next, version: self.version, state })
    }

    /// The state as JSON; null if there is none.
    ///
    /// # Errors
    ///
    /// Why there is none.
    pub(crate) fn json(&self) -> Result<serde_json::Value, String> {
        match &self.state {
            None => Ok(serde_json::Value::Null),
            Some(Held::Written { .. }) => {
                Err("is kept as bytes, whose type only a run that begins with the snapshot knows".to_owned())
            }
            Some(Held::Live(state)) => {
                let json = (**state).json().ok_or("was kept by `Rings`, as a clone: run on `Durable` rings")?;
                json.map_err(|error| format!("has a state that JSON cannot express: {error}"))
            }
        }
    }
}

impl From<WrittenLane> for Kept {
    fn from(WrittenLane { next, version, state }: WrittenLane) -> Self {
        Kept { next, version, state: state.map(written) }
    }
}

fn written((type_name, bytes): (String, Vec<u8>)) -> Held {
    Held::Written { type_name, bytes, changes: Vec::new() }
}

fn unwritable(error: postcard::Error) -> String {
    format!("has a state that cannot be written: {error}")
}
