//! How states are kept and taken back, as a runner has decided for their types.

use crate::in_place::{HandOver, InPlace, Placed};
use crate::kept::Kept;
use millstream_core::Item;
use millstream_core::keys::SharedState;
use millstream_core::pipe::States;
use std::any::TypeId;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// How the state of a stage is kept: alone, or with those of the other keys of a lane.
#[doc(hidden)]
#[derive(Debug)]
pub struct StateKeepers<S> {
    pub(crate) alone: Keeper<S>,
    pub(crate) by_key: Keeper<States<S>>,
}

/// New keys begin with the start state of the present pipeline.
pub(crate) fn adopt_start<S: Clone>(states: &mut States<S>, start: &States<S>) -> Result<(), String> {
    states.adopt(start);
    Ok(())
}

/// As [`adopt_start`], for all lanes.
#[expect(clippy::ptr_arg, reason = "the state of the stage is the `Vec`, and a keeper calls it with states")]
pub(crate) fn adopt_starts<S: Clone>(lanes: &mut Vec<States<S>>, starts: &Vec<States<S>>) -> Result<(), String> {
    if lanes.len() != starts.len() {
        return Err(format!("has {} lanes, and the snapshot has its state in {}", starts.len(), lanes.len()));
    }
    lanes.iter_mut().zip(starts).for_each(|(states, start)| states.adopt(start));
    Ok(())
}

impl<S> StateKeepers<S> {
    /// The keepers of a stage without a state.
    pub(crate) fn none() -> Self {
        StateKeepers { alone: Keeper::none(), by_key: Keeper::none() }
    }

    /// These keepers, or none if `S` is `()`, which is not a state.
    pub(crate) fn unless_nothing(self) -> Self
    where
        S: 'static,
    {
        if TypeId::of::<S>() == TypeId::of::<()>() { StateKeepers::none() } else { self }
    }
}

/// How a state is kept, and taken back.
#[doc(hidden)]
#[derive(Debug)]
pub struct Keeper<S> {
    keep: Option<fn(&mut S) -> Kept>,
    load: fn(Kept) -> Result<S, String>,
    /// Adapts a loaded state to the present pipeline, by that pipeline's start state.
    adopt: fn(&mut S, &S) -> Result<(), String>,
    hand_over: HandOver<S>,
    version: u32,
    /// Counts the bytes of the states of keys, without memory that they own elsewhere.
    bytes: Option<BytesOf<S>>,
}

/// The bytes of the states of keys.
type BytesOf<S> = fn(&S) -> usize;

impl<S> Clone for Keeper<S> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<S> Copy for Keeper<S> {}

impl<S: Item + Clone> Keeper<S> {
    /// Keeps clones.
    pub(crate) fn clones() -> Self {
        Keeper { keep: Some(|state| Kept::of(state)), load: Kept::get, ..Keeper::none() }
    }
}

impl<S: Item + Clone + SharedState> Keeper<S> {
    /// Keeps copies that share unchanged parts.
    pub(crate) fn clones_shared() -> Self {
        Keeper { keep: Some(Kept::shared), load: Kept::get, bytes: Some(S::bytes), ..Keeper::none() }
    }
}

#[cfg(feature = "durable")]
impl<S> Keeper<S>
where
    S: Item + Clone + serde::Serialize + serde::de::DeserializeOwned,
    S: SharedState<Value: serde::Serialize + serde::de::DeserializeOwned>,
    S::Plain: serde::Serialize + serde::de::DeserializeOwned,
{
    /// Keeps copies that share unchanged parts, and can be written as changes.
    pub(crate) fn writes_shared() -> Self {
        let keeper = Keeper { keep: Some(Kept::writable_shared), bytes: Some(S::bytes), ..Keeper::none() };
        Keeper { load: Kept::read_with_changes, ..keeper }
    }
}

#[cfg(feature = "durable")]
impl<S: Item + Clone + serde::Serialize + serde::de::DeserializeOwned> Keeper<S> {
    /// Keeps clones that can be written down.
    pub(crate) fn writes() -> Self {
        Keeper { keep: Some(|state| Kept::writable(state)), load: Kept::read, ..Keeper::none() }
    }
}

impl<S> Keeper<S> {
    /// The keeper of a stage without a state.
    pub(crate) fn none() -> Self {
        Keeper {
            keep: None,
            load: |_| Err("has no state".to_owned()),
            adopt: |_, _| Ok(()),
            hand_over: HandOver::whole(),
            version: 1,
            bytes: None,
        }
    }

    /// Sets how a loaded state is brought into the present pipeline.
    pub(crate) fn adopting(self, adopt: fn(&mut S, &S) -> Result<(), String>) -> Self {
        Keeper { adopt, ..self }
    }

    /// Sets how the state of a running stage is brought into the present pipeline.
    pub(crate) fn handing_over(self, hand_over: HandOver<S>) -> Self {
        Keeper { hand_over, ..self }
    }

    /// The state in its stage; `None` if there is no state.
    pub(crate) fn in_place<'s>(self, state: &'s mut S) -> Option<Box<dyn InPlace + 's>>
    where
        S: Item,
    {
        let Keeper { version, hand_over, load, .. } = self;
        self.keeps().then(|| Box::new(Placed { state, version, hand_over, load }) as Box<dyn InPlace>)
    }

    /// Sets the version of the state.
    pub(crate) fn in_version(self, version: u32) -> Self {
        Keeper { version, ..self }
    }

    /// Sets how the bytes of a state with keys are counted.
    pub(crate) fn counting(self, bytes: Option<BytesOf<S>>) -> Self {
        Keeper { bytes: bytes.or(self.bytes), ..self }
    }

    /// The counter of the bytes of a stage with keys.
    pub(crate) fn counter(self) -> StateBytes<S> {
        StateBytes { of: self.bytes.map(|of| (of, Arc::default())) }
    }

    /// Whether there is a state.
    pub(crate) fn keeps(self) -> bool {
        self.keep.is_some()
    }

    /// A copy of the state; none if there is no state. May run the user's `Clone`.
    pub(crate) fn keep(self, state: &mut S) -> Option<Kept> {
        self.keep.map(|keep| keep(state).in_version(self.version))
    }

    /// The state, in a pipeline in which it would begin with `start`.
    ///
    /// # Errors
    ///
    /// Why it does not fit there.
    pub(crate) fn load(self, kept: Kept, start: &S) -> Result<S, String> {
        if kept.version() != self.version {
            let (snapshot, pipeline) = (kept.version(), self.version);
            return Err(format!("has a state of version {pipeline}, and the snapshot has its version {snapshot}"));
        }
        let mut state = (self.load)(kept)?;
        (self.adopt)(&mut state, start)?;
        Ok(state)
    }
}

/// The counter in which a stage with keys stores the bytes of its states; empty if it has no keys.
#[derive(Clone, Debug)]
pub(crate) struct StateBytes<S> {
    of: Option<(BytesOf<S>, Arc<AtomicU64>)>,
}

impl<S> StateBytes<S> {
    /// Stores the bytes, after a step.
    #[inline]
    pub(crate) fn say(&self, state: &S) {
        if let Some((of, bytes)) = &self.of {
            bytes.store(of(state) as u64, Ordering::Relaxed);
        }
    }

    /// The counter that other threads read.
    pub(crate) fn bytes(&self) -> Option<Arc<AtomicU64>> {
        self.of.as_ref().map(|(_, bytes)| bytes.clone())
    }
}
