//! The values of a live source with a journal.

use super::{JournalPlace, OnFull, locked};
use crate::journal::{Journal, JournalError, Records};
use crate::resumable::behind::{Behind, Followed, Next};
use crate::resumable::{Groups, Places, Recorded};
use crate::room::{Room, Waits};
use std::collections::VecDeque;
use std::io;
use std::sync::{Arc, Mutex};
use std::thread::sleep;
use std::time::Duration;

/// How long a full journal waits before it looks again whether it was trimmed.
const FULL: Duration = Duration::from_millis(10);
/// How long it waits before it says so.
const SAYS: Duration = Duration::from_secs(1);

/// The values of a [`Journaled`](super::Journaled).
pub struct JournaledValues<G: Groups> {
    pub(super) recorded: Option<Records>,
    /// Those of another process's journal, while it has that.
    pub(super) followed: Option<Followed>,
    pub(super) later: Option<Later<G>>,
    pub(super) live: Option<G>,
    /// Values that are committed but not yet passed on.
    pub(super) group: VecDeque<G::Item>,
    /// The place of the next value that is passed on.
    pub(super) place: JournalPlace,
    pub(super) bytes: Vec<u8>,
    pub(super) journal: Arc<Mutex<Option<Journal>>>,
    pub(super) failure: Arc<Mutex<Option<io::Error>>>,
    pub(super) on_full: Option<OnFull>,
    pub(super) room: Arc<Room>,
}

/// The live values of a source that follows another process, until that has ended.
pub(super) struct Later<G> {
    pub(super) behind: Arc<Behind>,
    pub(super) live: Box<dyn FnOnce() -> G + Send>,
}

impl<G: Groups> std::fmt::Debug for JournaledValues<G> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("JournaledValues").field("place", &self.place).finish_non_exhaustive()
    }
}

impl<G: Groups> JournaledValues<G> {
    /// Commits the group.
    fn record(&mut self) -> Result<(), JournalError> {
        for (number, value) in (self.place.next..).zip(&self.group) {
            self.bytes.clear();
            value.write(&mut self.bytes);
            let mut waits = None;
            while let Some(full) = self.with_room(|journal| must_wait(journal, number, &self.bytes))? {
                self.wait(&mut waits, full)?;
            }
        }
        self.with_room(|journal| journal.commit().map(drop))
    }

    /// Waits for the job to make room. Says so once.
    fn wait(&self, waits: &mut Option<(Waits, bool)>, full: JournalError) -> Result<(), JournalError> {
        let (waits, told) = waits.get_or_insert_with(|| (Waits::begin(&self.room), false));
        let has_none = waits.ask(&self.room);
        match &self.on_full {
            _ if self.room.is_over() => return Err(full),
            None if has_none => return Err(full.without_room()),
            Some(tell) if waits.lasts(SAYS) && !std::mem::replace(told, true) => {
                tell(&if has_none { full.without_room() } else { full });
            }
            _ => {}
        }
        sleep(FULL);
        Ok(())
    }

    /// Does this with the journal, again and again while the disk is full, if it should wait for that.
    fn with_room<R: Default>(
        &self,
        mut act: impl FnMut(&mut Journal) -> Result<R, JournalError>,
    ) -> Result<R, JournalError> {
        let mut told = false;
        loop {
            let mut held = locked(&self.journal);
            let Some(journal) = &mut *held else { return Ok(R::default()) };
            match (act(journal), &self.on_full) {
                (Err(error), Some(tell)) if error.is_full() => {
                    if !std::mem::replace(&mut told, true) {
                        tell(&error);
                    }
                }
                (done, _) => return done,
            }
            // Snapshots are stored meanwhile, and make room.
            drop(held);
            sleep(FULL);
        }
    }

    /// The next value of the journal that another process writes; none when this one does.
    fn followed(&mut self) -> Option<io::Result<G::Item>> {
        let next = self.followed.as_mut()?.next(self.place.next - self.place.lost);
        match next.map_err(io::Error::other) {
            Ok(Next::Value(number, bytes)) => {
                self.place.pass_to(number);
                return Some(G::Item::read(bytes).map_err(io::Error::other));
            }
            Ok(Next::Writer(journal)) => {
                let (next, there) = (self.place.next, journal.next_number());
                if there < next {
                    let why = format!(
                        "the journal ends at number {there}, and numbers below {next} were read from it: \
                         it has lost some"
                    );
                    return Some(Err(io::Error::other(why)));
                }
                let rest = (next < there).then(|| journal.read_from(next)).transpose();
                *locked(&self.journal) = Some(*journal);
                match rest {
                    Ok(rest) => self.recorded = rest,
                    Err(error) => return Some(Err(io::Error::other(error))),
                }
            }
            Ok(Next::Over) => self.later = None,
            Err(error) => return Some(Err(error)),
        }
        self.followed = None;
        None
    }

    /// Begins the live values, if the source has followed another process and has read its journal to the end.
    fn go_live(&mut self) {
        if let Some(Later { behind, live }) = self.later.take()
            && behind.goes_live()
        {
            self.live = Some(live());
        }
    }

    /// The next value of the journal.
    fn recorded(&mut self) -> Option<io::Result<G::Item>> {
        let read = self.recorded.as_mut()?.next();
        if read.is_none() {
            self.recorded = None;
            // Its last values may be lost.
            if let Some(journal) = &*locked(&self.journal) {
                self.place.pass_to(journal.next_number());
            }
        }
        read.map(|read| {
            let (number, bytes) = read.map_err(io::Error::other)?;
            self.place.pass_to(number);
            G::Item::read(bytes).map_err(io::Error::other)
        })
    }

    /// Marks the whole journal as durable, for later readers.
    fn end(&mut self) -> Option<G::Item> {
        let marked = locked(&self.journal).as_mut().map_or(Ok(()), Journal::mark);
        marked.err().and_then(|error| self.fail(io::Error::other(error)))
    }

    fn fail(&mut self, error: io::Error) -> Option<G::Item> {
        locked(&self.failure).get_or_insert(error);
        self.stop()
    }

    fn stop(&mut self) -> Option<G::Item> {
        (self.recorded, self.followed, self.later, self.live) = (None, None, None, None);
        self.group.clear();
        None
    }
}

/// Adds a value to the journal's open group. Returns why not if the journal may have no more bytes.
fn must_wait(journal: &mut Journal, number: u64, bytes: &[u8]) -> Result<Option<JournalError>, JournalError> {
    loop {
        match journal.append(number, bytes) {
            Err(JournalError::GroupFull { .. }) => _ = journal.commit()?,
            // The values in the group need not wait for that.
            Err(full @ JournalError::Full { .. }) => return journal.commit().map(|_| Some(full)),
            appended => return appended.map(|()| None),
        }
    }
}

impl<G: Groups> Iterator for JournaledValues<G> {
    type Item = G::Item;

    fn next(&mut self) -> Option<G::Item> {
        match self.followed().or_else(|| self.recorded()) {
            Some(Err(error)) => return self.fail(error),
            Some(Ok(value)) => {
                self.place.next += 1;
                return Some(value);
            }
            None => {}
        }
        self.go_live();
        if self.group.is_empty() {
            if !self.live.as_mut()?.next_group(&mut self.group) {
                return self.end();
            }
            match self.record() {
                Ok(()) => {}
                // The run has ended, and takes nothing more.
                Err(JournalError::Full { .. }) if self.room.is_over() => return self.stop(),
                Err(error) => return self.fail(io::Error::other(error)),
            }
            if locked(&self.journal).is_none() {
                // The run has ended, and has let its journal go, so the group may be nowhere.
                self.live = None;
                self.group.clear();
            }
            self.live.as_mut()?.committed(self.place.next - self.place.lost);
        }
        let value = self.group.pop_front()?;
        self.place.next += 1;
        Some(value)
    }
}

impl<G: Groups> Places for JournaledValues<G> {
    type Mark = JournalPlace;

    fn place(&self) -> JournalPlace {
        self.place
    }
}
