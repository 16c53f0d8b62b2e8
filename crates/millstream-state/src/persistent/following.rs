//! A service that follows the one of another process, to take its place.

use super::follower::{Ends, Follower};
use super::serving::Callers;
use super::{JobError, Persistent, Running};
use crate::StateDir;
use crate::effects::Effects;
use crate::journal::JournalOptions;
use crate::resumable::{At, Behind, Recorded};
use millstream_core::pipe::{Then, ToMaybe};
use millstream_core::{Arrow, Item, KeepsClock, Maybe, Val};
use millstream_exec::{Client, Edge, Lasting};
use std::ops::{Deref, DerefMut};
use std::sync::Arc;

impl Persistent {
    /// Whether all that it writes beside the journal can be left to the other process.
    fn can_follow(&self) -> bool {
        let alone = self.letters.is_none() && self.side_sinks.is_empty();
        alone && self.effects.iter().all(Effects::follows) && !self.redo
    }

    /// Reads the effects of the other process up to now. `false` if there is no snapshot to begin with.
    pub(super) fn can_begin(&self) -> Result<bool, JobError> {
        if !self.can_follow() {
            return Err(JobError::CannotFollow);
        }
        self.effects.iter().try_for_each(Effects::begin_behind).map_err(JobError::Effects)?;
        // Damaged snapshots are then reported while the other process still serves.
        Ok(!self.dir.snapshots()?.is_empty())
    }

    /// Starts a service beside the process that has it, with a directory that was [opened to be read](StateDir::read):
    /// it begins at the newest snapshot, with the journal's requests after it, and [follows](Following) the other
    /// process. `None` if the directory has no snapshot yet.
    ///
    /// It answers nothing, and changes nothing in the directory. It reads only requests that are known to be durable:
    /// after a crash of the machine, the other process could have another request at the number of any other. For a job
    /// with another sink there is [`follow_run`](Persistent::follow_run).
    ///
    /// ```
    /// use millstream::{prelude::*, state::{Persistent, StateDir}};
    /// use std::time::Duration;
    ///
    /// # let directory = tempfile::tempdir()?;
    /// # std::env::set_current_dir(&directory)?;
    /// let sum = || pipeline::<String>().scan(0, |sum, line| { *sum += line.len(); *sum }).named("sum");
    /// let (client, running) =
    ///     Persistent::new(Rings::new(), StateDir::open("state", "sum")?).serve(sum(), Default::default())?;
    /// assert_eq!(client.call_blocking("four".to_owned()), Ok(4));
    ///
    /// // Another process, while this one serves.
    /// let beside = Persistent::new(Rings::new(), StateDir::read("state")?);
    /// let mut following = beside.follow(sum(), Default::default())?.expect("there is a snapshot");
    /// assert!(following.catches_up(Duration::from_secs(30)));
    ///
    /// assert_eq!(client.call_blocking("five!".to_owned()), Ok(9));
    /// drop(client);
    /// running.wait()?;
    /// let (client, running) = following.own(StateDir::open("state", "sum")?)?;
    /// assert_eq!(client.call_blocking("6".to_owned()), Ok(10));
    /// # drop(client);
    /// # running.wait()?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`start`](Persistent::start); if the other process removes files before they are read
    /// ([`is_left_behind`](JobError::is_left_behind)); and if the job has dead letters, side sinks, or effects that do
    /// not [follow](Effects::follow).
    pub fn follow<Q, A, P>(self, stages: P, journal: JournalOptions) -> Result<Option<Following<Q, A>>, JobError>
    where
        Q: Recorded,
        A: Item + Clone,
        P: KeepsClock + Arrow<In = Val<Q>, Out: Edge<A>>,
        Then<P, ToMaybe<P::Out>>: Lasting + Arrow<In = Val<Q>, Out = Maybe<P::Out>>,
    {
        if !self.can_begin()? {
            return Ok(None);
        }
        let behind = Arc::new(Behind::default());
        let ends = Ends(behind.clone(), self.effects.clone());
        let (callers, running) = self.served(stages, journal, Some(behind))?;
        Ok(Some(Following { follower: Follower::new(ends, running), callers, journal }))
    }
}

/// A service that follows the one of another process: see [`Persistent::follow`]. Its [`Follower`] says how far it is.
/// Dropping it ends it, and changes nothing.
pub struct Following<Q: Item, A: Item> {
    follower: Follower<()>,
    callers: Callers<Q, A>,
    journal: JournalOptions,
}

impl<Q: Recorded, A: Item + Clone> Following<Q, A> {
    /// Takes over the directory, which the other process has released: processes the requests that the journal has
    /// received since, and then those of its clients. This takes the time of those requests, and not that of the whole
    /// state. The run [began](Running::began) at the number of the first request that is its own.
    ///
    /// No snapshot is stored before that request is in the journal. So if this process dies before any request of its
    /// own, the other process can go on, even if the states of this version have types that it does not know. The one
    /// exception is a journal without room for that request: if removing older snapshots makes none, a snapshot of this
    /// process does.
    ///
    /// # Errors
    ///
    /// As [`check`](Follower::check), and if the journal cannot be opened: it ends before a number that was read, for
    /// example. A start at the newest snapshot may still go on.
    pub fn own(self, dir: StateDir) -> Result<(Client<Q, A>, Running<()>), JobError> {
        self.check()?;
        let Following { follower: Follower { ends, running, .. }, callers, journal } = self;
        let At { next, passed, .. } = ends.0.place();
        let there = ends.take_journal(&dir, journal).inspect_err(|_| ends.over())?;
        let client = callers.client(&running);
        let replayed = there.saturating_sub(next);
        Ok((client, running.own(dir, passed + replayed, replayed)?))
    }
}

impl<Q: Item, A: Item> Deref for Following<Q, A> {
    type Target = Follower<()>;

    fn deref(&self) -> &Follower<()> {
        &self.follower
    }
}

impl<Q: Item, A: Item> DerefMut for Following<Q, A> {
    fn deref_mut(&mut self) -> &mut Follower<()> {
        &mut self.follower
    }
}

impl<Q: Item, A: Item> std::fmt::Debug for Following<Q, A> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.follower.fmt(f)
    }
}
