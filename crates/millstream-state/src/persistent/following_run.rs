//! A run that follows that of another process, to take its place.

use super::follower::{Ends, Follower, LOOK};
use super::later::{NotYet, Place};
use super::offers::Stores;
use super::{JobError, Persistent, Running};
use crate::claims::{ClaimingSink, OutputOf};
use crate::resumable::{At, Behind};
use crate::{Resumable, StateDir};
use millstream_core::{Arrow, Item, SequenceNumber, Shape, Val};
use millstream_exec::Lasting;
use std::fmt;
use std::ops::{Deref, DerefMut};
use std::sync::Arc;
use std::thread::sleep;
use std::time::{Duration, Instant};

/// The source has given out its values this long before all stages have them, unless it has lost some.
const PASSED_WITHIN: Duration = Duration::from_secs(2);

impl Persistent {
    /// Starts a run beside the process that has it, with a directory that was [opened to be read](StateDir::read): it
    /// begins at the newest snapshot, with the journal's values after it, and [follows](FollowingRun) the other
    /// process. `None` if the directory has no snapshot yet. `source` makes the source from the directory, by
    /// [`journaled`](crate::journaled) or [`journaled_in_groups`](crate::journaled_in_groups); its live values begin
    /// only when this process takes over.
    ///
    /// Until then the sink is not opened, and the directory does not change. What the stages put out is dropped, since
    /// the other process writes it; a stage that acts on the outside by itself, as one of `tee_to` does, acts in both
    /// processes. It reads only values that are known to be durable.
    ///
    /// ```
    /// use millstream::{io::FileSink, prelude::*};
    /// use millstream::state::{Cadence, Persistent, StateDir, journal::JournalOptions, journaled};
    /// use std::{sync::mpsc, time::Duration};
    ///
    /// # let directory = tempfile::tempdir()?;
    /// # std::env::set_current_dir(&directory)?;
    /// const SOON: Duration = Duration::from_secs(30);
    /// let count = pipeline::<String>().scan(0, |n, line| { *n += 1; format!("{n} {line}\n") }).named("count");
    /// let job = |dir| Persistent::new(Rings::new(), dir).snapshot_every(Cadence::OnCall);
    /// let live = |state: &StateDir, lines: mpsc::Receiver<String>| {
    ///     journaled(state, JournalOptions::default(), || lines)
    /// };
    /// let (sender, lines) = mpsc::channel();
    /// let state = StateDir::open("state", "count")?;
    /// let source = live(&state, lines);
    /// let old = job(state).start(&count, source, FileSink::append("out"))?;
    /// sender.send("a".to_owned())?;
    ///
    /// // Another process, while this one goes on.
    /// let (next_sender, lines) = mpsc::channel();
    /// let beside = job(StateDir::read("state")?);
    /// let following = beside.follow_run(&count, |state| live(state, lines), FileSink::append("out"))?;
    /// let mut following = following.expect("there is a snapshot");
    /// assert!(following.catches_up(SOON));
    ///
    /// sender.send("b".to_owned())?;
    /// while old.storer().retire(SOON) != Some(2) {}
    /// old.stopper().stop_now();
    /// old.wait()?;
    /// drop(sender); // ends the old source, which has the journal
    /// let running = following.own(StateDir::open("state", "count")?)?;
    /// assert_eq!(running.began(), 2);
    /// next_sender.send("c".to_owned())?;
    /// drop(next_sender);
    /// running.wait()?;
    /// assert_eq!(std::fs::read_to_string("out")?, "1 a\n2 b\n3 c\n");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`start`](Persistent::start); if the other process removes files before they are read
    /// ([`is_left_behind`](JobError::is_left_behind)); and if the job has dead letters, side sinks, or effects that do
    /// not [follow](crate::effects::Effects::follow), or its source has no journal.
    pub fn follow_run<T, P, X, K>(
        mut self,
        pipeline: &P,
        source: impl FnOnce(&StateDir) -> X,
        sink: K,
    ) -> Result<Option<FollowingRun<P::Out, K>>, JobError>
    where
        T: Item,
        P: Lasting + Arrow<In = Val<T>>,
        X: Resumable<T>,
        K: ClaimingSink<P::Out>,
    {
        if !self.can_begin()? {
            return Ok(None);
        }
        let behind = Arc::new(Behind::held());
        self.dir.set_behind(behind.clone());
        let source = source(&self.dir);
        if behind.options().is_none() {
            return Err(JobError::CannotFollow);
        }
        let ends = Ends(behind, self.effects.clone());
        let place = Place::default();
        let not_yet = NotYet::<P::Out, K>::of(&sink, place.clone());
        let running = self.start_as(pipeline, source, not_yet, Arc::new(Stores::of_follower()))?;
        Ok(Some(FollowingRun { follower: Follower::new(ends, running), sink, place }))
    }
}

/// A run that follows that of another process: see [`Persistent::follow_run`]. Its [`Follower`] says how far it is.
/// Dropping it ends it, and changes nothing.
pub struct FollowingRun<A: Shape, K: ClaimingSink<A>> {
    follower: Follower<OutputOf<A, K>>,
    sink: K,
    place: Place<K::Open>,
}

impl<A: Shape, K: ClaimingSink<A>> FollowingRun<A, K> {
    /// Takes over the directory, which the other process has released: reads the values that the journal has received
    /// since, as soon as the old source has ended, opens the sink where that process has
    /// [left](crate::Storer::retire) it, and goes on with live values.
    /// This takes the time of those values, and not that of the whole state or of all values since the snapshot.
    /// [`Running::replayed`] says how many they were. The run [began](Running::began) at the number after them.
    ///
    /// # Errors
    ///
    /// [`JobError::OtherEnd`] if the other process has not said where it stopped, or this run, of another version, has
    /// other numbers there; as [`check`](Follower::check); and if the journal or the sink cannot be opened. The
    /// directory and the journal are free again then: a start at the newest snapshot may still go on.
    pub fn own(self, dir: StateDir) -> Result<Running<OutputOf<A, K>>, JobError> {
        self.check()?;
        let taken = self.taken(&dir);
        let Follower { ends, mut running, .. } = self.follower;
        match taken {
            Ok((at, replayed)) => {
                ends.0.release();
                running.own(dir, at, replayed)
            }
            Err(error) => {
                running.stopper().stop_now();
                drop(ends);
                running.let_go();
                Err(error)
            }
        }
    }

    /// Reads the rest of the journal, and opens the sink. Returns the number there, and how many values the rest had.
    fn taken(&self, dir: &StateDir) -> Result<(u64, u64), JobError> {
        let other = |why: String| JobError::OtherEnd { why };
        let left = dir.left().ok_or_else(|| other("the process has not said where it stopped".to_owned()))?;
        let options = self.ends.0.options().unwrap_or_default();
        let At { next, .. } = self.ends.0.place();
        let replayed = self.ends.take_journal(dir, options)?.saturating_sub(next);
        let snapshotter = self.running.handle().snapshotter();
        let since = Instant::now();
        let (at, output) = loop {
            let ended = || other("this run has ended".to_owned());
            let (SequenceNumber(at), output) = snapshotter.cut().ok_or_else(ended)?;
            if at >= left.at || self.ends.0.is_at_end() && since.elapsed() > PASSED_WITHIN {
                break (at, output);
            }
            sleep(LOOK);
        };
        if (at, output.0) != (left.at, left.output_at) {
            let (was, out) = (left.at, left.output_at);
            return Err(other(format!(
                "it stopped at number {was}, with {out} as the next number of its output, and here these are {at} and \
                 {output}"
            )));
        }
        // What the sink claimed before it was open.
        self.running.claimed().clear();
        self.place.give(self.sink.open(Some((output, &left.sink))).map_err(JobError::sink)?);
        Ok((at, replayed))
    }
}

impl<A: Shape, K: ClaimingSink<A>> Deref for FollowingRun<A, K> {
    type Target = Follower<OutputOf<A, K>>;

    fn deref(&self) -> &Self::Target {
        &self.follower
    }
}

impl<A: Shape, K: ClaimingSink<A>> DerefMut for FollowingRun<A, K> {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut self.follower
    }
}

impl<A: Shape, K: ClaimingSink<A>> fmt::Debug for FollowingRun<A, K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.follower.fmt(f)
    }
}
