//! A service that follows the one of another process, to take its place.

use super::serving::{Served, Waiting};
use super::{JobError, Persistent, Running};
use crate::StateDir;
use crate::effects::Effects;
use crate::journal::{Journal, JournalOptions, once_released};
use crate::resumable::{At, Behind, Recorded};
use millstream_core::pipe::{Then, ToMaybe};
use millstream_core::{Arrow, Item, KeepsClock, Maybe, Val};
use millstream_exec::{Client, Edge, Lasting, Reception};
use std::sync::Arc;
use std::thread::sleep;
use std::time::{Duration, Instant};

/// The time between two looks at how far the stages are.
pub(super) const LOOK: Duration = Duration::from_millis(1);

impl Persistent {
    /// Whether all that it writes beside the journal can be left to the other process.
    fn can_follow(&self) -> bool {
        self.effects.iter().all(Effects::follows) && self.letters.is_none() && !self.redo
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
    /// ([`is_left_behind`](JobError::is_left_behind)); and if the job has dead letters, or effects that do not
    /// [follow](Effects::follow).
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
        let Served { reception, running, waiting } = self.served(stages, journal, Some(behind))?;
        Ok(Some(Following { ends, running, reception, waiting, journal, to: None }))
    }
}

/// A service that follows the one of another process: see [`Persistent::follow`]. Dropping it ends it, and changes
/// nothing.
pub struct Following<Q: Item, A: Item> {
    // The source ends before the run that waits for it.
    ends: Ends,
    running: Running<()>,
    reception: Reception<Q, A>,
    waiting: Arc<Waiting<A>>,
    journal: JournalOptions,
    /// The goal of the wait, while one is under way.
    to: Option<To>,
}

/// The number that the stages must reach.
#[derive(Clone, Copy)]
enum To {
    /// The number that this look finds.
    Look(u64),
    Number(u64),
}

/// Ends the source, unless that has the journal's writer.
/// And lets stages go that wait for the answers of effects.
pub(super) struct Ends(pub(super) Arc<Behind>, pub(super) Vec<Effects>);

impl Ends {
    pub(super) fn over(&self) {
        self.0.over();
        self.1.iter().for_each(Effects::over);
    }

    /// Why the effects have ended a follower, if they have.
    pub(super) fn lost(&self) -> Option<JobError> {
        self.1.iter().find_map(Effects::take_lost).map(JobError::Effects)
    }

    /// Gives the effects and the source the writers of their journals, which the other process releases. Returns the
    /// next number of the source's.
    pub(super) fn take_journal(&self, dir: &StateDir, journal: JournalOptions) -> Result<u64, JobError> {
        self.1.iter().try_for_each(|effects| effects.own(dir)).map_err(JobError::Effects)?;
        let At { next, place, .. } = self.0.place();
        let options = JournalOptions { at_least: next, ..journal };
        // If damage is skipped, the whole journal is read again.
        let place = place.filter(|_| !journal.skip_corrupt);
        let opened = once_released(|| {
            let (disk, path) = (dir.disk().clone(), dir.journal_dir());
            Journal::open_behind(disk, path, options, dir.epoch(), place.clone())
        });
        let (writer, _) = opened.map_err(|error| JobError::Source(std::io::Error::other(error)))?;
        let there = writer.next_number();
        self.0.give(writer);
        Ok(there)
    }
}

impl Drop for Ends {
    fn drop(&mut self) {
        self.over();
    }
}

impl<Q: Recorded, A: Item + Clone> Following<Q, A> {
    /// Waits, at most for this time, until the stages have reached the number up to which the journal was known to be
    /// durable at the first call, or at the first call after a `true`. Returns `false` if they have not, or if the
    /// follower is [over](Following::check).
    pub fn catches_up(&mut self, within: Duration) -> bool {
        let since = Instant::now();
        loop {
            let left = within.saturating_sub(since.elapsed());
            let behind = &self.ends.0;
            match *self.to.get_or_insert_with(|| To::Look(behind.next_look())) {
                To::Look(look) => match behind.passed(look, left.min(10 * LOOK)) {
                    Some(number) => self.to = Some(To::Number(number)),
                    None if left.is_zero() || self.is_over() => return false,
                    None => {}
                },
                To::Number(number) => {
                    if self.reached() >= number {
                        self.to = None;
                        return true;
                    }
                    if left.is_zero() || self.is_over() {
                        return false;
                    }
                    sleep(LOOK);
                }
            }
        }
    }

    /// The number that the stages have reached.
    #[must_use]
    pub fn reached(&self) -> u64 {
        self.waiting.reached().max(self.running.began())
    }

    fn is_over(&self) -> bool {
        if self.waiting.is_over() {
            // A source that waits does not see that a stage has failed.
            self.ends.over();
        }
        self.running.handle().is_finished()
    }

    /// Returns the follower, if it still follows.
    ///
    /// # Errors
    ///
    /// If it is over: a stage has failed, or the next files are damaged, or gone
    /// ([`is_left_behind`](JobError::is_left_behind)).
    pub fn check(self) -> Result<Self, JobError> {
        if !self.is_over() {
            return Ok(self);
        }
        let Following { ends, running, .. } = self;
        ends.over();
        match (running.wait(), ends.lost()) {
            (_, Some(error)) | (Err(error), None) => Err(error),
            (Ok(_), None) => Err(JobError::Source(std::io::Error::other("it has ended"))),
        }
    }

    /// Takes over the directory, which the other process has released: processes the requests that the journal has
    /// received since, and then those of its clients. This takes the time of those requests, and not that of the whole
    /// state. The run [began](Running::began) at the number of the first request that is its own.
    ///
    /// No snapshot is stored before that request is in the journal. So if this process dies before any request of its
    /// own, the other process can go on, even if the states of this version have types that it does not know.
    ///
    /// # Errors
    ///
    /// As [`check`](Following::check), and if the journal cannot be opened: it ends before a number that was read, for
    /// example. A start at the newest snapshot may still go on.
    pub fn own(self, dir: StateDir) -> Result<(Client<Q, A>, Running<()>), JobError> {
        let Following { ends, running, reception, journal, .. } = self.check()?;
        let At { next, passed, .. } = ends.0.place();
        let there = ends.take_journal(&dir, journal).inspect_err(|_| ends.over())?;
        let client = reception.client(running.handle());
        let replayed = there.saturating_sub(next);
        Ok((client, running.own(dir, passed + replayed, replayed)?))
    }
}

impl<Q: Item, A: Item> std::fmt::Debug for Following<Q, A> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Following").field("reached", &self.waiting.reached()).finish_non_exhaustive()
    }
}
