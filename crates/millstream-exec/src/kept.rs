//! States as values: what of a stage outlives a slot can be copied out of a running stage, and given to another one.

use millstream_core::Item;
use std::any::{Any, TypeId};
use std::fmt;

/// A copy of a state, of any type.
pub(crate) struct Kept(Box<dyn State>);

/// A state of a type that is not named.
trait State: Any + Send + Sync {
    fn copy(&self) -> Box<dyn State>;
    fn type_name(&self) -> &'static str;
    fn into_any(self: Box<Self>) -> Box<dyn Any>;
}

impl<S: Item + Clone> State for S {
    fn copy(&self) -> Box<dyn State> {
        Box::new(self.clone())
    }

    fn type_name(&self) -> &'static str {
        std::any::type_name::<S>()
    }

    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }
}

impl Kept {
    /// A clone of this state; none of `()`, which is no state.
    pub(crate) fn of<S: Item + Clone>(state: &S) -> Option<Self> {
        (TypeId::of::<S>() != TypeId::of::<()>()).then(|| Kept(state.copy()))
    }

    /// The state, if this is its type.
    ///
    /// # Errors
    ///
    /// The name of its type, if that is another one.
    pub(crate) fn get<S: Item + Clone>(self) -> Result<S, &'static str> {
        let name = self.type_name();
        self.0.into_any().downcast().map(|state| *state).map_err(|_| name)
    }

    pub(crate) fn type_name(&self) -> &'static str {
        (*self.0).type_name()
    }
}

impl Clone for Kept {
    fn clone(&self) -> Self {
        Kept((*self.0).copy())
    }
}

impl fmt::Debug for Kept {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.type_name())
    }
}
