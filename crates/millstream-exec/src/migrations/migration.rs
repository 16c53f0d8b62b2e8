//! From a state of one type to one of another.

use crate::in_place::{HeldState, InPlace};
use crate::kept::Kept;
use millstream_core::Item;
use millstream_core::failure::{caught, discard, message};
use millstream_core::pipe::States;
use std::any::{Any, type_name};
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

/// Makes the new state of a stage of the old one. The types are those that the author of the upgrade names.
#[derive(Clone)]
pub(crate) struct Migration {
    pub(crate) stage: String,
    types: [&'static str; 2],
    migrate: Arc<Migrate>,
    /// Clones of the old state and of the new one.
    copies: [Copies; 2],
    /// Reads the old state from its kept form.
    read: fn(Kept) -> Result<Box<dyn HeldState>, String>,
}

/// Makes the migrated state of the old one and of the new one as it begins; none if one of them has another type.
type Migrate = dyn Fn(&dyn Any, &dyn Any) -> Option<Box<dyn Any + Send>> + Send + Sync;

/// A clone of a state, if it has the type.
type Copies = fn(&dyn Any) -> Option<Box<dyn Any + Send>>;

/// The time limit of migrations.
#[derive(Clone, Copy)]
pub(crate) struct Limit {
    within: Duration,
    until: Instant,
}

impl Limit {
    /// A limit from now on; none if its end cannot be represented.
    pub(crate) fn of(within: Duration) -> Option<Self> {
        Some(Limit { within, until: Instant::now().checked_add(within)? })
    }
}

impl Migration {
    pub(crate) fn new<Old: Item + Clone, New: Item + Clone>(
        stage: String,
        migrate: impl Fn(Old) -> New + Send + Sync + 'static,
    ) -> Self {
        let migrate = move |old: &dyn Any, new: &dyn Any| -> Option<Box<dyn Any + Send>> {
            if let (Some(old), true) = (old.downcast_ref::<Old>(), new.is::<New>()) {
                return Some(Box::new(migrate(old.clone())));
            }
            if let (Some(old), Some(new)) = (old.downcast_ref::<States<Old>>(), new.downcast_ref::<States<New>>()) {
                return Some(Box::new(new.migrated(old, &migrate)));
            }
            let (old, new) = (old.downcast_ref::<Vec<States<Old>>>()?, new.downcast_ref::<Vec<States<New>>>()?);
            // The keys of all lanes begin alike, and there may be another number of lanes now.
            let new = new.first()?;
            let lanes = old.iter().map(|old| new.migrated(old, &migrate));
            Some(Box::new(lanes.collect::<Vec<States<New>>>()))
        };
        let types = [type_name::<Old>(), type_name::<New>()];
        let read = |kept: Kept| kept.into_held().ok_or_else(|| NOT_READ.to_owned());
        Migration { stage, types, migrate: Arc::new(migrate), copies: [copy::<Old>, copy::<New>], read }
    }

    /// As [`new`](Migration::new), also for a state that was written. The old type may have another name now.
    #[cfg(feature = "durable")]
    pub(crate) fn of_written<Old, New>(stage: String, migrate: impl Fn(Old) -> New + Send + Sync + 'static) -> Self
    where
        Old: Item + Clone + serde::de::DeserializeOwned,
        New: Item + Clone,
    {
        Migration { read: read::<Old>, ..Migration::new(stage, migrate) }
    }

    /// The old state, from its kept form. May run the user's code.
    ///
    /// # Errors
    ///
    /// Why it cannot be read.
    pub(crate) fn read(&self, kept: Kept) -> Result<Box<dyn HeldState>, String> {
        (self.read)(kept)
    }

    /// The new state of a stage that would begin as `new`; with keys, in the lanes of the old one. Runs the user's
    /// code.
    ///
    /// # Errors
    ///
    /// If one of the types is another one, if the user's code panics, or if it does not end within the limit.
    pub(crate) fn migrated(
        &self,
        old: &dyn HeldState,
        new: &dyn InPlace,
        limit: Option<Limit>,
    ) -> Result<Box<dyn HeldState>, String> {
        let migrated = match limit {
            Some(limit) => self.apart(old.state(), new.state(), limit)?,
            None => caught(|| (self.migrate)(old.state(), new.state())),
        };
        match migrated {
            Ok(Some(state)) => {
                Ok(Box::new(MigratedState { state, type_name: new.type_name(), version: new.version() }))
            }
            Ok(None) => {
                let ([from, to], before, after) = (self.types, old.type_name(), new.type_name());
                Err(format!("holds a {before} and would hold a {after}, but its migration makes a {to} of a {from}"))
            }
            Err(payload) => {
                let why = message(payload.as_ref());
                discard(payload);
                Err(format!("has a migration that {why}"))
            }
        }
    }

    /// The migration of clones, on a thread of its own. If that is late, it goes on, and its result is dropped.
    fn apart(&self, old: &dyn Any, new: &dyn Any, Limit { within, until }: Limit) -> Result<Made, String> {
        let copied = caught(|| {
            let [old_state, new_state] = self.copies;
            old_state(old).zip(new_state(new))
        });
        let (old, new) = match copied {
            Ok(Some(copies)) => copies,
            Ok(None) => return Ok(Ok(None)),
            Err(payload) => return Ok(Err(payload)),
        };
        let (migrate, (makes, made)) = (self.migrate.clone(), mpsc::sync_channel(1));
        let thread = std::thread::Builder::new().name("millstream-migrate".to_owned()).spawn(move || {
            let made = caught(|| migrate(&*old, &*new));
            // The upgrade may no longer wait, and dropping a state runs the user's code.
            caught(|| drop((makes.send(made), old, new, migrate))).unwrap_or_else(discard);
        });
        thread.map_err(|error| format!("has a migration whose thread could not be started: {error}"))?;
        let left = until.saturating_duration_since(Instant::now());
        made.recv_timeout(left).map_err(|_| format!("has a migration that has not ended within {within:?}"))
    }
}

/// The result of a migration, for a stage whose state has this type and version.
struct MigratedState {
    state: Box<dyn Any>,
    type_name: &'static str,
    version: u32,
}

impl HeldState for MigratedState {
    fn state(&self) -> &dyn Any {
        &*self.state
    }

    fn state_mut(&mut self) -> &mut dyn Any {
        &mut *self.state
    }

    fn type_name(&self) -> &'static str {
        self.type_name
    }

    fn version(&self) -> u32 {
        self.version
    }
}

/// The result of a migration, if the types were its own; or its panic.
type Made = Result<Option<Box<dyn Any + Send>>, Box<dyn Any + Send>>;

/// A clone of a state of type `S`, alone or by key.
fn copy<S: Item + Clone>(state: &dyn Any) -> Option<Box<dyn Any + Send>> {
    fn cloned<T: Clone + Send + 'static>(state: &dyn Any) -> Option<Box<dyn Any + Send>> {
        state.downcast_ref::<T>().map(|state| Box::new(state.clone()) as Box<dyn Any + Send>)
    }
    cloned::<S>(state).or_else(|| cloned::<States<S>>(state)).or_else(|| cloned::<Vec<States<S>>>(state))
}

/// The reason if a migration without a reader of bytes meets a state that is bytes.
const NOT_READ: &str = "has its state in the snapshot as bytes: use `migrate_written`, which reads them";

/// A written state of type `Old`, alone or by key.
#[cfg(feature = "durable")]
fn read<Old: Item + Clone + serde::de::DeserializeOwned>(kept: Kept) -> Result<Box<dyn HeldState>, String> {
    use crate::in_place::CopiedState;
    let version = kept.version();
    let name = kept.type_name().unwrap_or_default();
    let is = |other: &str| name.starts_with(other.trim_end_matches("()>").trim_end_matches("()>>"));
    if is(type_name::<States<()>>()) {
        let state = kept.renamed::<States<Old>>().read_with_changes::<States<Old>>()?;
        return Ok(Box::new(CopiedState { state, version }));
    }
    if is(type_name::<Vec<States<()>>>()) {
        let state = kept.renamed::<Vec<States<Old>>>().read_with_changes::<Vec<States<Old>>>()?;
        return Ok(Box::new(CopiedState { state, version }));
    }
    Ok(Box::new(CopiedState { state: kept.renamed::<Old>().read::<Old>()?, version }))
}
