//! The input of text into an application.

use crate::{App, Batch, BatchError, Log, LogError, Text};
use bytes::Bytes;
use std::hash::{BuildHasher, RandomState};

/// After this many looks in a row at an edge that ends before what this feeder has appended, that is lost: half a
/// minute with pauses of 20 ms. A server that the network has cut off from the others may answer for up to twenty
/// seconds.
const LOOKS: u32 = 1_500;
/// What a feeder waits for that knows more of the edge than the log says.
const OLDER: &str = "an older copy of the edge answers";

/// Appends text to the ingress edge, where it is numbered by bytes. Each call returns once its text is in the edge,
/// exactly once. Several feeders can append by turns; the text of each keeps its order.
#[derive(Debug)]
pub struct Feeder<L> {
    log: L,
    /// The last entry.
    last: u64,
    /// The number of the next byte.
    next: u64,
    /// Distinguishes the text of this feeder from that of another one; 0 if it may be the same.
    who: u64,
    /// Whether the input has ended, as far as this feeder knows.
    ended: bool,
    /// How many looks in a row have found an end before the last entry that this feeder knows.
    short: u32,
}

/// Why text is not appended.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FeedError {
    /// The input has ended already.
    #[error("the input of the application has ended, at byte {0}: nothing can be appended")]
    Ended(u64),
    /// The edge is not one of text.
    #[error("edge {:?}, batch {number}: {cause}", App::INPUT)]
    Batch {
        /// The batch.
        number: u64,
        /// What is wrong with it.
        cause: BatchError,
    },
    /// An answer was lost, and the batch that would show whether the text is in the edge is dropped already.
    #[error(
        "the answer to batch {0} of the input was lost, and the edge has dropped the batch by now: it had this text, \
         or another feeder's"
    )]
    Unsure(u64),
    /// Another feeder appends as well, or one that was thought dead did so late, with another text at this place or cut
    /// elsewhere.
    #[error(
        "batch {0} of the input is another feeder's, or is dropped by now: once that feeder is over, feed this input \
         again, with `--resume`"
    )]
    Another(u64),
    /// The edge has lost batches: its servers had acknowledged them, and had not stored them for good. Or it is that of
    /// another application, which has this name now.
    #[error(
        "the input edge ends with batch {last}, and had batch {known}: its servers have lost the batches between, or \
         the application was removed and made again: feed this input again, from its beginning, with `--resume`"
    )]
    Lost {
        /// The number of its last batch.
        last: u64,
        /// The number of the last batch that was in it.
        known: u64,
    },
    /// The log refuses for good.
    #[error(transparent)]
    Log(LogError),
    /// The caller asked to stop.
    #[error("stopped before the text was appended")]
    Stopped,
}

/// What a feeder waits for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FeedWait {
    /// The edge is full.
    Full,
    /// The log does not answer, or knows less of the edge than the feeder, for this reason.
    Unavailable(String),
}

impl<L: Log> Feeder<L> {
    /// A feeder that appends after the text that the edge has. With `same`, text that another feeder appended at the
    /// same place counts as this one's: for an input that begins again where the edge ends. If another feeder of that
    /// input still appends, each text is in the edge once, and a feeder that cuts it elsewhere fails. `waits` gets what
    /// the feeder waits for, pauses, and returns whether to go on.
    ///
    /// # Errors
    ///
    /// If the input has ended, or the log refuses.
    pub fn new(log: L, same: bool, waits: &mut dyn FnMut(&FeedWait) -> bool) -> Result<Self, FeedError> {
        let who = if same { 0 } else { RandomState::new().hash_one(std::process::id()) | 1 };
        let mut feeder = Feeder { log, last: 0, next: 0, who, ended: false, short: 0 };
        match feeder.look(waits)? {
            Some(last) if last.end => Err(FeedError::Ended(last.next)),
            _ => Ok(feeder),
        }
    }

    /// The number of bytes that were ever appended to the edge.
    #[must_use]
    pub fn position(&self) -> u64 {
        self.next
    }

    /// Appends these bytes as a batch.
    ///
    /// # Errors
    ///
    /// If the input has ended, another feeder of the same input cuts it elsewhere, the edge has lost what this feeder
    /// has appended, the log refuses, or `waits` returns false.
    pub fn append(&mut self, text: Bytes, waits: &mut dyn FnMut(&FeedWait) -> bool) -> Result<(), FeedError> {
        if self.ended {
            return Err(FeedError::Ended(self.next));
        }
        self.put(Some(text), waits)
    }

    /// Ends the input. An input that has ended stays as it is.
    ///
    /// # Errors
    ///
    /// If the edge has lost what this feeder has appended, the log refuses, or `waits` returns false.
    pub fn end(&mut self, waits: &mut dyn FnMut(&FeedWait) -> bool) -> Result<(), FeedError> {
        if !self.ended {
            match self.put(None, waits) {
                Ok(()) | Err(FeedError::Ended(_)) => self.ended = true,
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    fn put(&mut self, text: Option<Bytes>, waits: &mut dyn FnMut(&FeedWait) -> bool) -> Result<(), FeedError> {
        // Whether an append at this place had no answer, so that the edge may have it.
        let mut doubt = false;
        loop {
            let batch = self.batch(text.as_ref());
            let bytes = batch.to_bytes().map_err(|cause| FeedError::Batch { number: self.last + 1, cause })?;
            match self.log.append_if(App::INPUT, self.last, &bytes) {
                Ok(()) => {
                    (self.last, self.next) = (self.last + 1, batch.next);
                    return Ok(());
                }
                Err(LogError::Full) => self.pause(&FeedWait::Full, waits)?,
                Err(refused @ (LogError::Refused(_) | LogError::TooLarge { .. })) => {
                    return Err(FeedError::Log(refused));
                }
                Err(error) => {
                    let conflict = error == LogError::Conflict;
                    if let LogError::Unavailable(why) = error {
                        doubt = true;
                        self.pause(&FeedWait::Unavailable(why), waits)?;
                    }
                    let before = self.last;
                    if self.arrived(&bytes, batch.next, doubt, waits)? {
                        return Ok(());
                    }
                    // Where another batch is, this one never arrives.
                    doubt &= self.last == before;
                    if conflict && self.last == before {
                        self.pause(&FeedWait::Unavailable(OLDER.to_owned()), waits)?;
                    }
                }
            }
        }
    }

    fn batch(&self, text: Option<&Bytes>) -> Batch<Text> {
        let next = self.next + text.map_or(0, |text| text.len() as u64);
        let values = text.map(|text| (self.next, Text(text.clone()))).into_iter().collect();
        Batch { first: self.next, next, end: text.is_none(), generation: self.who, values }
    }

    /// Looks whether the edge has this batch, which ends before byte `next`, at its place. This feeder goes on behind
    /// it, or else where the edge ends now.
    fn arrived(
        &mut self,
        bytes: &[u8],
        next: u64,
        doubt: bool,
        waits: &mut dyn FnMut(&FeedWait) -> bool,
    ) -> Result<bool, FeedError> {
        let (before, place) = ((self.last, self.next), self.last + 1);
        let end = self.look(waits)?.is_some_and(|last| last.end);
        let now = (self.last, self.next);
        (self.last, self.next) = before;
        self.short = if now.0 < before.0 { self.short + 1 } else { 0 };
        if self.short > LOOKS {
            return Err(FeedError::Lost { last: now.0, known: before.0 });
        }
        if now.0 < place {
            // The batch is not there, or not yet where the log looked: in both cases the same append again is right.
            return Ok(false);
        }
        if (doubt || self.same()) && self.has(place, bytes, doubt, waits)? {
            // What another feeder has appended behind it is met by the next append.
            (self.last, self.next) = (place, next);
            return Ok(true);
        }
        if !end && self.same() {
            return Err(FeedError::Another(place));
        }
        (self.last, self.next, self.ended) = (now.0, now.1, end);
        if end { Err(FeedError::Ended(self.next)) } else { Ok(false) }
    }

    /// Whether these bytes are batch `place` of the edge, which has that batch or had it.
    fn has(
        &self,
        place: u64,
        bytes: &[u8],
        doubt: bool,
        waits: &mut dyn FnMut(&FeedWait) -> bool,
    ) -> Result<bool, FeedError> {
        loop {
            match self.read(place, waits)? {
                Some((number, there)) if number == place => return Ok(there == bytes),
                Some(_) if doubt => return Err(FeedError::Unsure(place)),
                Some(_) => return Ok(false),
                // The read returned an older copy than the end.
                None => self.pause(&FeedWait::Unavailable(OLDER.to_owned()), waits)?,
            }
        }
    }

    /// Whether the text of another feeder may be this one's.
    fn same(&self) -> bool {
        self.who == 0
    }

    /// Learns where the edge ends. The last entry is always there.
    fn look(&mut self, waits: &mut dyn FnMut(&FeedWait) -> bool) -> Result<Option<Batch<Text>>, FeedError> {
        loop {
            let last = match self.log.last(App::INPUT) {
                Ok(0) => {
                    (self.last, self.next) = (0, 0);
                    return Ok(None);
                }
                Ok(last) => last,
                Err(error) => {
                    self.failed(error, waits)?;
                    continue;
                }
            };
            // The last entry may be another one by now.
            let Some((number, bytes)) = self.read(last, waits)? else {
                self.pause(&FeedWait::Unavailable(OLDER.to_owned()), waits)?;
                continue;
            };
            let batch = Batch::from_bytes(&bytes).map_err(|cause| FeedError::Batch { number, cause })?;
            (self.last, self.next) = (number, batch.next);
            return Ok(Some(batch));
        }
    }

    fn read(&self, number: u64, waits: &mut dyn FnMut(&FeedWait) -> bool) -> Result<Option<(u64, Bytes)>, FeedError> {
        loop {
            match self.log.read_from(App::INPUT, number, 1) {
                Ok(entries) => return Ok(entries.into_iter().next().map(|entry| (entry.number, entry.bytes))),
                Err(error) => self.failed(error, waits)?,
            }
        }
    }

    fn failed(&self, error: LogError, waits: &mut dyn FnMut(&FeedWait) -> bool) -> Result<(), FeedError> {
        match error {
            LogError::Unavailable(why) => self.pause(&FeedWait::Unavailable(why), waits),
            other => Err(FeedError::Log(other)),
        }
    }

    fn pause(&self, wait: &FeedWait, waits: &mut dyn FnMut(&FeedWait) -> bool) -> Result<(), FeedError> {
        if waits(wait) { Ok(()) } else { Err(FeedError::Stopped) }
    }
}
