//! From a state of one type to one of another.

use crate::in_place::{HeldState, InPlace};
use millstream_core::Item;
use millstream_core::failure::{caught, discard, message};
use millstream_core::pipe::States;
use std::any::{Any, type_name};
use std::sync::Arc;

/// Makes the new state of a stage of the old one. The types are those that the author of the upgrade names.
#[derive(Clone)]
pub(crate) struct Migration {
    pub(crate) stage: String,
    types: [&'static str; 2],
    migrate: Arc<Migrate>,
}

/// Of the old state and the new one as it begins; none if one of them has another type.
type Migrate = dyn Fn(&dyn Any, &dyn Any) -> Option<Box<dyn Any>> + Send + Sync;

impl Migration {
    pub(crate) fn new<Old: Item + Clone, New: Item + Clone>(
        stage: String,
        migrate: impl Fn(Old) -> New + Send + Sync + 'static,
    ) -> Self {
        let migrate = move |old: &dyn Any, new: &dyn Any| -> Option<Box<dyn Any>> {
            if let (Some(old), true) = (old.downcast_ref::<Old>(), new.is::<New>()) {
                return Some(Box::new(migrate(old.clone())));
            }
            if let (Some(old), Some(new)) = (old.downcast_ref::<States<Old>>(), new.downcast_ref::<States<New>>()) {
                return Some(Box::new(new.migrated(old, &migrate)));
            }
            let (old, new) = (old.downcast_ref::<Vec<States<Old>>>()?, new.downcast_ref::<Vec<States<New>>>()?);
            let lanes = new.iter().zip(old).map(|(new, old)| new.migrated(old, &migrate));
            Some(Box::new(lanes.collect::<Vec<States<New>>>()))
        };
        Migration { stage, types: [type_name::<Old>(), type_name::<New>()], migrate: Arc::new(migrate) }
    }

    /// The new state of a stage that would begin as `new`. Runs the user's code.
    ///
    /// # Errors
    ///
    /// If one of the types is another one, or if the user's code panics.
    pub(crate) fn migrated(&self, old: &dyn HeldState, new: &dyn InPlace) -> Result<Box<dyn Any>, String> {
        match caught(|| (self.migrate)(old.state(), new.state())) {
            Ok(Some(state)) => Ok(state),
            Ok(None) => {
                let ([from, to], before, after) = (self.types, old.type_name(), new.type_name());
                Err(format!("holds a {before} and would hold a {after}: the migration makes a {to} of a {from}"))
            }
            Err(payload) => {
                let why = message(payload.as_ref());
                discard(payload);
                Err(format!("has a migration that {why}"))
            }
        }
    }
}
