//! States as bytes.

use super::{Held, Kept, State, other};
use crate::in_place::{CopiedState, HeldState};
use millstream_core::{Item, SequenceNumber};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::any::{Any, type_name};

/// What is kept of a tasklet, as it is written.
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

impl Kept {
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
        let Some(Held::Written { type_name: name, bytes }) = &self.state else { return self.get() };
        if name != type_name::<S>() {
            return Err(other::<S>(&format!("a {name}")));
        }
        match postcard::take_from_bytes(bytes) {
            Ok((state, [])) => Ok(state),
            Ok((_, rest)) => Err(format!("has a state of which {} bytes are left: its type has changed", rest.len())),
            Err(error) => Err(format!("has a state that cannot be read: {error}")),
        }
    }

    /// As it is written.
    ///
    /// # Errors
    ///
    /// Why it cannot be written.
    pub(crate) fn write(&self) -> Result<WrittenLane, String> {
        let state = match &self.state {
            None => None,
            Some(Held::Written { type_name, bytes }) => Some((type_name.clone(), bytes.clone())),
            Some(Held::Live(state)) => {
                let bytes = (**state).write().ok_or("was kept by `Rings`, as a clone: run on `Durable` rings")?;
                let bytes = bytes.map_err(|error| format!("has a state that cannot be written: {error}"))?;
                Some(((**state).type_name().to_owned(), bytes))
            }
        };
        Ok(WrittenLane { next: self.next, version: self.version, state })
    }

    /// As JSON; null if it has no state.
    ///
    /// # Errors
    ///
    /// Why there is none.
    pub(crate) fn json(&self) -> Result<serde_json::Value, String> {
        match &self.state {
            None => Ok(serde_json::Value::Null),
            Some(Held::Written { .. }) => Err("is there as bytes: a run that begins with it knows its type".to_owned()),
            Some(Held::Live(state)) => {
                let json = (**state).json().ok_or("was kept by `Rings`, as a clone: run on `Durable` rings")?;
                json.map_err(|error| format!("has a state that is no JSON: {error}"))
            }
        }
    }
}

impl From<WrittenLane> for Kept {
    fn from(WrittenLane { next, version, state }: WrittenLane) -> Self {
        Kept { next, version, state: state.map(|(type_name, bytes)| Held::Written { type_name, bytes }) }
    }
}
