//! How an edge is read: by number at first, and then as the server sends what comes.

use super::answers::{refused, unavailable};
use super::follower::{AHEAD_BYTES, Follower};
use super::{GONE, JetStream, stream_name};
use crate::{Entry, LogError};
use async_nats::jetstream::stream::{DirectGetErrorKind, Stream};
use futures_util::StreamExt;
use futures_util::stream::iter;
use std::sync::PoisonError;
use std::time::{Duration, Instant};

/// How long an edge is read by number after it could not be followed, and the longest such time if it never can be.
const BY_NUMBER: [Duration; 2] = [Duration::from_secs(1), Duration::from_secs(16)];
/// The time between two looks at an edge that cannot be followed, if the first of them has brought nothing.
const LOOKS_AGAIN: Duration = Duration::from_millis(100);
/// An entry that is missing between others for this long is lost. A server that lags behind may not have it yet.
const LOST: Duration = Duration::from_secs(10);

/// A reader of an edge.
#[derive(Default)]
pub(super) struct Reader {
    /// The number behind the last entry that was read.
    next: Option<u64>,
    follower: Option<Follower>,
    failed: Option<Failed>,
    /// The entry that is missing between others, and since when.
    missing: Option<(u64, Instant)>,
}

/// Why an edge could not be followed.
struct Failed {
    why: String,
    since: Instant,
    /// For how long it is read by number.
    lasts: Duration,
    /// When a look has brought nothing.
    looked: Option<Instant>,
}

/// What a look has found.
enum Looked {
    /// The entries that have come in time; none if there are none yet.
    Entries(Vec<Entry>),
    /// The entry is not there, though it is between these two.
    Missing { begins: u64, ends: u64 },
}

impl Reader {
    /// Takes what has come; `None` if this is not the place of the follower, or it cannot follow.
    fn take(&mut self, first: u64, most: usize) -> Option<Result<Vec<Entry>, LogError>> {
        let follower = self.follower.as_mut().filter(|follower| follower.next == first)?;
        let entries = follower.take(most);
        if !entries.is_empty() {
            self.failed = None;
            return Some(Ok(entries));
        }
        if follower.is_gone() {
            return Some(Err(LogError::Unavailable(GONE.to_owned())));
        }
        let Some(why) = follower.fails() else { return Some(Ok(entries)) };
        let lasts = self.failed.as_ref().map_or(BY_NUMBER[0], |failed| (failed.lasts * 2).min(BY_NUMBER[1]));
        self.failed = Some(Failed { why, since: Instant::now(), lasts, looked: None });
        (self.next, self.follower) = (Some(first), None);
        None
    }

    /// Why this edge is read by number, if it is.
    fn reads_by_number(&self) -> Option<&Failed> {
        self.failed.as_ref().filter(|failed| failed.since.elapsed() < failed.lasts)
    }

    /// Notes that an entry is missing between these. An error once it is lost.
    fn lacks(&mut self, edge: &str, number: u64, (begins, ends): (u64, u64)) -> Result<(), LogError> {
        let missing = self.missing.filter(|missing| missing.0 == number);
        let (_, since) = *self.missing.insert(missing.unwrap_or_else(|| (number, Instant::now())));
        if since.elapsed() < LOST {
            return Ok(());
        }
        Err(refused(format!(
            "edge {edge:?} has entries {begins} to {ends}, and entry {number} between them is not there: its servers \
             have lost it, or it was deleted"
        )))
    }
}

impl JetStream {
    /// The entries from number `first` on that are there.
    pub(super) fn read(&self, edge: &str, first: u64, most: usize) -> Result<Vec<Entry>, LogError> {
        let mut readers = self.readers.lock().unwrap_or_else(PoisonError::into_inner);
        let reader = match readers.get_mut(edge) {
            Some(reader) => reader,
            None => readers.entry(edge.to_owned()).or_default(),
        };
        if let Some(taken) = reader.take(first, most) {
            return match taken {
                Ok(entries) if entries.is_empty() => self.said.forbidden().map_or(Ok(entries), |why| Err(refused(why))),
                taken => taken,
            };
        }
        let is_next = reader.next == Some(first);
        if is_next
            && let Some(Failed { why, looked: Some(looked), .. }) = reader.reads_by_number()
            && looked.elapsed() < LOOKS_AGAIN
        {
            return Err(LogError::Unavailable(why.clone()));
        }
        let entries = match self.look(edge, first, most)? {
            Looked::Entries(entries) => {
                reader.missing = None;
                entries
            }
            Looked::Missing { begins, ends } => {
                reader.lacks(edge, first, (begins, ends))?;
                Vec::new()
            }
        };
        let next = entries.last().map_or(first, |last| last.number + 1);
        (reader.next, reader.follower) = (Some(next), None);
        if reader.reads_by_number().is_some() {
            let why = reader.failed.as_mut().filter(|_| entries.is_empty()).map(|failed| {
                failed.looked = Some(Instant::now());
                failed.why.clone()
            });
            return why.map_or(Ok(entries), |why| Err(self.said.explains(LogError::Unavailable(why))));
        }
        // A reader that goes on in order gets new entries from the server.
        if is_next {
            let (of, stream) = ((self.context.clone(), self.records.clone()), stream_name(&self.app, edge));
            reader.follower = Some(Follower::start(&self.runtime, of, stream, next, self.bell.clone()));
        }
        Ok(entries)
    }

    /// Entries by number, asked for one by one.
    fn look(&self, edge: &str, first: u64, most: usize) -> Result<Looked, LogError> {
        let (head, begins, ends) = self.ask(async {
            let stream = self.stream(edge).await?;
            if let Some(head) = entry(&stream, first).await? {
                return Ok((Some(head), first, first));
            }
            let state = stream.get_info().await.map_err(|error| unavailable(&error))?.state;
            let (begins, ends) = (state.first_sequence, state.last_sequence);
            let head = if begins > first { entry(&stream, begins).await? } else { None };
            Ok((head, begins, ends))
        })?;
        let Some(head) = head else {
            let is_between = begins <= first && first <= ends;
            return Ok(if is_between { Looked::Missing { begins, ends } } else { Looked::Entries(Vec::new()) });
        };
        // An idle edge is asked for one entry, one that has entries for as many as are wanted.
        let numbers = (head.number + 1..).take(most.saturating_sub(1));
        let at_once = (AHEAD_BYTES / head.bytes.len().max(1)).clamp(1, most.max(1));
        let mut bytes = head.bytes.len();
        let mut entries = vec![head];
        // A slow line may never bring all of them in time: those that have come are enough.
        _ = self.ask(async {
            let stream = self.stream(edge).await?;
            let mut rest = iter(numbers).map(|number| entry(&stream, number)).buffered(at_once);
            while bytes < AHEAD_BYTES
                && let Some(Some(entry)) = rest.next().await.transpose()?
            {
                bytes += entry.bytes.len();
                entries.push(entry);
            }
            Ok(())
        });
        Ok(Looked::Entries(entries))
    }
}

/// The entry of this number; `None` if it is not there, or not yet where the server looked.
async fn entry(stream: &Stream<()>, number: u64) -> Result<Option<Entry>, LogError> {
    match stream.direct_get(number).await {
        Ok(message) => Ok(Some(Entry { number, bytes: message.payload })),
        Err(error) if error.kind() == DirectGetErrorKind::NotFound => Ok(None),
        Err(error) => Err(unavailable(&error)),
    }
}
