//! How states are kept and taken back, as a runner has decided for their types.

use crate::in_place::{HandOver, InPlace, Placed};
use crate::kept::Kept;
use millstream_core::Item;
use millstream_core::pipe::States;
use std::any::TypeId;

/// How the state of a stage is kept: alone, or with those of the other keys of a lane.
#[doc(hidden)]
#[derive(Debug)]
pub struct StateKeepers<S> {
    pub(crate) alone: Keeper<S>,
    pub(crate) by_key: Keeper<States<S>>,
}

/// A key that is new begins as the present pipeline says.
pub(crate) fn adopt_start<S: Clone>(states: &mut States<S>, start: &States<S>) -> Result<(), String> {
    states.adopt(start);
    Ok(())
}

/// The same for all lanes.
#[expect(clippy::ptr_arg, reason = "the state of the stage is the `Vec`, and a keeper calls it with states")]
pub(crate) fn adopt_starts<S: Clone>(lanes: &mut Vec<States<S>>, starts: &Vec<States<S>>) -> Result<(), String> {
    if lanes.len() != starts.len() {
        return Err(format!("has {} lanes, and the snapshot has its state in {}", starts.len(), lanes.len()));
    }
    lanes.iter_mut().zip(starts).for_each(|(states, start)| states.adopt(start));
    Ok(())
}

impl<S> StateKeepers<S> {
    /// Of a stage without a state.
    pub(crate) fn none() -> Self {
        StateKeepers { alone: Keeper::none(), by_key: Keeper::none() }
    }

    /// These, unless `S` is `()`, which is no state.
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
    keep: Option<fn(&S) -> Kept>,
    load: fn(Kept) -> Result<S, String>,
    /// What the present pipeline says of a loaded state: it has the start state of this pipeline.
    adopt: fn(&mut S, &S) -> Result<(), String>,
    hand_over: HandOver<S>,
    version: u32,
}

impl<S> Clone for Keeper<S> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<S> Copy for Keeper<S> {}

impl<S: Item + Clone> Keeper<S> {
    /// As clones.
    pub(crate) fn clones() -> Self {
        Keeper { keep: Some(Kept::of), load: Kept::get, ..Keeper::none() }
    }
}

#[cfg(feature = "durable")]
impl<S: Item + Clone + serde::Serialize + serde::de::DeserializeOwned> Keeper<S> {
    /// As clones that can be written down.
    pub(crate) fn writes() -> Self {
        Keeper { keep: Some(Kept::writable), load: Kept::read, ..Keeper::none() }
    }
}

impl<S> Keeper<S> {
    /// Of a stage without a state.
    pub(crate) fn none() -> Self {
        Keeper {
            keep: None,
            load: |_| Err("has no state".to_owned()),
            adopt: |_, _| Ok(()),
            hand_over: HandOver::whole(),
            version: 1,
        }
    }

    /// With this way to bring a loaded state into the present pipeline.
    pub(crate) fn adopting(self, adopt: fn(&mut S, &S) -> Result<(), String>) -> Self {
        Keeper { adopt, ..self }
    }

    /// With this way to bring the state of a running stage into the present pipeline.
    pub(crate) fn handing_over(self, hand_over: HandOver<S>) -> Self {
        Keeper { hand_over, ..self }
    }

    /// The state where it is; none if there is no state.
    pub(crate) fn in_place<'s>(self, state: &'s mut S) -> Option<Box<dyn InPlace + 's>>
    where
        S: Item,
    {
        let Keeper { version, hand_over, .. } = self;
        self.keeps().then(|| Box::new(Placed { state, version, hand_over }) as Box<dyn InPlace>)
    }

    /// Of a state in this version.
    pub(crate) fn in_version(self, version: u32) -> Self {
        Keeper { version, ..self }
    }

    /// Whether there is a state.
    pub(crate) fn keeps(self) -> bool {
        self.keep.is_some()
    }

    /// A copy of the state; none if there is no state. May run the user's `Clone`.
    pub(crate) fn keep(self, state: &S) -> Option<Kept> {
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
            return Err(format!("has a state of version {pipeline}, and the snapshot has version {snapshot} of it"));
        }
        let mut state = (self.load)(kept)?;
        (self.adopt)(&mut state, start)?;
        Ok(state)
    }
}
