//! States where the stages have them: those of a version that retires, and those of the version that goes on, before it
//! begins.
//!
//! A state goes from the one to the other by an exchange, so it is moved whatever its size is, and an exchange cannot
//! fail. Everything that can fail is asked before.

use millstream_core::Item;
use std::any::{Any, type_name};

/// A state of a type that is not named, in its stage.
pub(crate) trait InPlace {
    fn state(&self) -> &dyn Any;
    fn state_mut(&mut self) -> &mut dyn Any;
    fn type_name(&self) -> &'static str;
    /// The version that the author set.
    fn version(&self) -> u32;

    /// Whether this stage can take over the state of `old`.
    ///
    /// # Errors
    ///
    /// Why it cannot.
    fn fits(&self, old: &dyn InPlace) -> Result<(), String>;

    /// Takes over the state of `old`, which it fits, and leaves its own there.
    fn take_over(&mut self, old: &mut dyn InPlace);

    /// Replaces the state. Returns whether this is its type.
    #[must_use]
    fn put(&mut self, state: Box<dyn Any>) -> bool;
}

/// How a state goes from a running stage to the one that goes on.
#[derive(Debug)]
pub(crate) struct HandOver<S> {
    /// Whether the new one can take over the old one.
    pub(crate) fits: fn(&S, &S) -> Result<(), String>,
    /// The new one takes over the old one, and leaves its own there.
    pub(crate) take_over: fn(&mut S, &mut S),
}

impl<S> HandOver<S> {
    /// The state as it is.
    pub(crate) fn whole() -> Self {
        HandOver { fits: |_, _| Ok(()), take_over: std::mem::swap }
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
    pub(crate) fits: fn(&S, &S) -> Result<(), String>,
    pub(crate) take_over: fn(&mut S, &mut S),
}

impl<S: Item> InPlace for Placed<'_, S> {
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

    fn fits(&self, old: &dyn InPlace) -> Result<(), String> {
        let Some(state) = old.state().downcast_ref::<S>() else {
            return Err(format!("has a state of type {}, and a {} in the running pipeline", type_name::<S>(), old.type_name()));
        };
        if self.version != old.version() {
            let (new, old) = (self.version, old.version());
            return Err(format!("has a state of version {new}, and of version {old} in the running pipeline"));
        }
        (self.fits)(self.state, state)
    }

    fn take_over(&mut self, old: &mut dyn InPlace) {
        let old = old.state_mut().downcast_mut::<S>().expect("it fits");
        (self.take_over)(self.state, old);
    }

    fn put(&mut self, state: Box<dyn Any>) -> bool {
        state.downcast::<S>().map(|state| *self.state = *state).is_ok()
    }
}
