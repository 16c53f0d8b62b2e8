//! States in their stages: those of a version that retires, and those of the version that takes its place, before it
//! begins.
//!
//! A state goes from one to the other by an exchange. So it is moved, whatever its size, and the exchange cannot fail.
//! Everything that can fail is checked before.

use crate::kept::Kept;
use millstream_core::Item;
use millstream_core::keys::KeyMove;
use millstream_core::pipe::{Key, KeyRouter, States};
use std::any::{Any, type_name};

/// A state of a type that is not named: in its stage, or a copy of it.
pub(crate) trait HeldState {
    fn state(&self) -> &dyn Any;
    fn state_mut(&mut self) -> &mut dyn Any;
    fn type_name(&self) -> &'static str;
    /// The version that the author set.
    fn version(&self) -> u32;
}

/// A state in its stage.
pub(crate) trait InPlace: HeldState {
    /// Whether this stage can take over the state of `old`.
    ///
    /// # Errors
    ///
    /// Why it cannot.
    fn fits(&self, old: &dyn HeldState) -> Result<(), String>;

    /// Takes over the state of `old`, which it fits, and leaves its own there. If it tells keys apart, `around` says
    /// where the keys around it were and are, if they have moved; and if its own have moved, returns where the state of
    /// each was and is.
    fn take_over(&mut self, old: &mut dyn HeldState, around: Option<&[KeyMove]>) -> Option<Vec<KeyMove>>;

    /// Distributes the states of a stage whose keys have moved; its tasklets all have this type.
    fn spread(&self) -> Spread;

    /// Reads a kept state of this type. May run the user's code.
    ///
    /// # Errors
    ///
    /// What it is instead, or why it cannot be read.
    fn load(&self, kept: Kept) -> Result<Box<dyn HeldState>, String>;
}

/// Moves the states of keys: from the tasklets of the old stage, to those of the new one.
pub(crate) type Spread = fn(&mut [&mut dyn Any], &mut [&mut dyn Any], &[KeyMove]);

/// As [`InPlace::take_over`].
type TakeOver<S> = fn(&mut S, &mut S, Option<&[KeyMove]>) -> Option<Vec<KeyMove>>;

/// How a state goes from a running stage to the one that goes on.
#[derive(Debug)]
pub(crate) struct HandOver<S> {
    /// Whether the new one can take over the old one.
    pub(crate) fits: fn(&S, &S) -> Result<(), String>,
    /// The new one takes over the old one, and leaves its own there.
    pub(crate) take_over: TakeOver<S>,
    pub(crate) spread: Spread,
}

impl<S> HandOver<S> {
    /// The hand-over of a state as it is.
    pub(crate) fn whole() -> Self {
        let take_over: TakeOver<S> = |new, old, _| {
            std::mem::swap(new, old);
            None
        };
        HandOver { fits: |_, _| Ok(()), take_over, spread: |_, _, _| {} }
    }
}

impl<S: Clone + 'static> HandOver<States<S>> {
    /// The hand-over of the states of the keys of a lane.
    pub(crate) fn of_lane() -> Self {
        let take_over: TakeOver<States<S>> = |new, old, _| {
            new.take_over(old);
            None
        };
        fn lanes<'a, S: 'static>(states: &'a mut [&mut dyn Any]) -> Vec<&'a mut States<S>> {
            states.iter_mut().filter_map(|lane| lane.downcast_mut()).collect()
        }
        let spread: Spread = |old, new, moves| States::<S>::spread(&mut lanes(old), &mut lanes(new), moves);
        HandOver { fits: |_, _| Ok(()), take_over, spread }
    }
}

impl<S: Clone + 'static> HandOver<Vec<States<S>>> {
    /// The hand-over of the states of the keys of all lanes.
    pub(crate) fn of_lanes() -> Self {
        type Lanes<S> = Vec<States<S>>;
        let take_over: TakeOver<Lanes<S>> = |new, old, _| {
            new.iter_mut().zip(old).for_each(|(new, old)| new.take_over(old));
            None
        };
        fn lanes<'a, S: 'static>(states: &'a mut [&mut dyn Any]) -> Vec<&'a mut States<S>> {
            states.iter_mut().filter_map(|lanes| lanes.downcast_mut::<Lanes<S>>()).flatten().collect()
        }
        let spread: Spread = |old, new, moves| States::<S>::spread(&mut lanes(old), &mut lanes(new), moves);
        HandOver { fits: |_, _| Ok(()), take_over, spread }
    }
}

impl<K: Key> HandOver<KeyRouter<K>> {
    /// The hand-over of the keys themselves.
    pub(crate) fn of_keys() -> Self {
        HandOver { fits: KeyRouter::fits, take_over: KeyRouter::take_over, spread: |_, _, _| {} }
    }
}

impl<S> Clone for HandOver<S> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<S> Copy for HandOver<S> {}

/// A state of type `S`, in its stage.
pub(crate) struct Placed<'s, S> {
    pub(crate) state: &'s mut S,
    pub(crate) version: u32,
    pub(crate) hand_over: HandOver<S>,
    pub(crate) load: fn(Kept) -> Result<S, String>,
}

impl<S: Item> HeldState for Placed<'_, S> {
    fn state(&self) -> &dyn Any {
        self.state
    }

    fn state_mut(&mut self) -> &mut dyn Any {
        self.state
    }

    fn type_name(&self) -> &'static str {
        type_name::<S>()
    }

    fn version(&self) -> u32 {
        self.version
    }
}

impl<S: Item> InPlace for Placed<'_, S> {
    fn fits(&self, old: &dyn HeldState) -> Result<(), String> {
        let Some(state) = old.state().downcast_ref::<S>() else {
            return Err(format!(
                "has a state of type {}, and one of type {} in the running pipeline",
                type_name::<S>(),
                old.type_name()
            ));
        };
        if self.version != old.version() {
            let (new, old) = (self.version, old.version());
            return Err(format!("has a state of version {new}, and one of version {old} in the running pipeline"));
        }
        (self.hand_over.fits)(self.state, state)
    }

    fn take_over(&mut self, old: &mut dyn HeldState, around: Option<&[KeyMove]>) -> Option<Vec<KeyMove>> {
        let old = old.state_mut().downcast_mut::<S>().expect("it fits");
        (self.hand_over.take_over)(self.state, old, around)
    }

    fn spread(&self) -> Spread {
        self.hand_over.spread
    }

    fn load(&self, kept: Kept) -> Result<Box<dyn HeldState>, String> {
        let version = kept.version();
        Ok(Box::new(CopiedState { state: (self.load)(kept)?, version }))
    }
}

/// A copy of a state.
pub(crate) struct CopiedState<S> {
    pub(crate) state: S,
    pub(crate) version: u32,
}

impl<S: Item> HeldState for CopiedState<S> {
    fn state(&self) -> &dyn Any {
        &self.state
    }

    fn state_mut(&mut self) -> &mut dyn Any {
        &mut self.state
    }

    fn type_name(&self) -> &'static str {
        type_name::<S>()
    }

    fn version(&self) -> u32 {
        self.version
    }
}
