//! What a cluster requires of a replicated log.

use bytes::Bytes;
use std::ops::Range;
use std::thread::sleep;
use std::time::Duration;

/// A log of numbered entries by edge, with records and blobs beside them.
///
/// The entries of an edge have the numbers 1, 2, 3, ... without a gap. A call that returns [`LogError::Unavailable`]
/// may have been carried out, may not, or may be carried out later: the caller looks again and tries again. A read may
/// return old data, but never wrong data.
pub trait Log {
    /// Appends an entry as number `last + 1` if `last` is the number of the last entry, 0 if there is none.
    ///
    /// # Errors
    ///
    /// [`LogError::Conflict`] if the last entry has another number, [`LogError::Full`] if the edge has no room,
    /// [`LogError::TooLarge`] if the log takes no entry of that size.
    fn append_if(&self, edge: &str, last: u64, bytes: &[u8]) -> Result<(), LogError>;

    /// Sends an append of the same kind and does not wait for its answer. Several can be under way, one after the
    /// other: if one is refused, so are those after it, unless another writer appends at the same time, whose entry may
    /// be the one that the next append expects. So a writer whose entries may differ from those of another one sends
    /// one, and waits for its answer, if the other one may have appended.
    fn send_if(&self, edge: &str, last: u64, bytes: Bytes) -> Box<dyn Sent> {
        Box::new(Answered(Some(self.append_if(edge, last, &bytes))))
    }

    /// At most `most` entries from number `first` on, in order and without a gap. The first entry has a higher number
    /// if earlier ones were trimmed.
    ///
    /// # Errors
    ///
    /// If the log cannot be reached.
    fn read_from(&self, edge: &str, first: u64, most: usize) -> Result<Vec<Entry>, LogError>;

    /// The number of the last entry, 0 if there was never one.
    ///
    /// # Errors
    ///
    /// If the log cannot be reached.
    fn last(&self, edge: &str) -> Result<u64, LogError>;

    /// The numbers of the entries that it has, without those that were trimmed. If it has none, the range is empty, at
    /// the number of the next entry.
    ///
    /// # Errors
    ///
    /// If the log cannot be reached.
    fn kept(&self, edge: &str) -> Result<Range<u64>, LogError>;

    /// Drops the entries below a number. The number of the last entry stays what it is, and an edge that ends before
    /// the entry below that number keeps all: its caller knows of entries that its servers have lost.
    ///
    /// # Errors
    ///
    /// If the log cannot be reached.
    fn trim(&self, edge: &str, below: u64) -> Result<(), LogError>;

    /// The record of this key.
    ///
    /// # Errors
    ///
    /// If the log cannot be reached.
    fn get(&self, key: &str) -> Result<Option<Record>, LogError>;

    /// Sets the record of this key if its revision is this one, 0 if there must be none.
    ///
    /// # Errors
    ///
    /// [`LogError::Conflict`] if the revision is another.
    fn compare_and_set(&self, key: &str, revision: u64, value: &[u8]) -> Result<(), LogError>;

    /// Stores these bytes under this name. Callers always store the same bytes under a name.
    ///
    /// # Errors
    ///
    /// If the log cannot be reached, or not all of them are stored yet: the same call again goes on.
    fn put_blob(&self, name: &str, bytes: &[u8]) -> Result<(), LogError>;

    /// The bytes of this name.
    ///
    /// # Errors
    ///
    /// If the log cannot be reached, or not all of them are read yet: the same call again goes on.
    fn blob(&self, name: &str) -> Result<Option<Vec<u8>>, LogError>;

    /// Drops the bytes of this name, if there are any, and what is left of a [`put_blob`](Log::put_blob) that was not
    /// completed.
    ///
    /// # Errors
    ///
    /// If the log cannot be reached.
    fn remove_blob(&self, name: &str) -> Result<(), LogError>;

    /// The names under which there are any bytes, in any order. A log that cannot list them returns none, and keeps
    /// what processes that died have left.
    ///
    /// # Errors
    ///
    /// If the log cannot be reached.
    fn blob_names(&self) -> Result<Vec<String>, LogError> {
        Ok(Vec::new())
    }

    /// Waits until there may be something new for this value: an entry, if it has read all, or an answer to what it has
    /// sent; and no longer than this. A clone may know nothing of either.
    fn wait(&self, most: Duration) {
        sleep(most.min(Duration::from_millis(5)));
    }
}

/// An append that was sent.
pub trait Sent: Send {
    /// The result of the append, once it is known. After that it is not asked again.
    fn answer(&mut self) -> Option<Result<(), LogError>>;
}

/// An append whose answer is known.
pub(crate) struct Answered(pub(crate) Option<Result<(), LogError>>);

impl Sent for Answered {
    fn answer(&mut self) -> Option<Result<(), LogError>> {
        self.0.take()
    }
}

/// An entry of an edge.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Its number, from 1 on.
    pub number: u64,
    /// The appended bytes.
    pub bytes: Bytes,
}

/// The record of a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// The number by which the log distinguishes this value from earlier ones.
    pub revision: u64,
    /// The value.
    pub value: Vec<u8>,
}

/// Why a call of a [`Log`] did nothing, or may have done nothing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LogError {
    /// The last number or the revision differs: another writer was first.
    #[error("another writer was first")]
    Conflict,
    /// The edge is full until its readers allow it to be trimmed.
    #[error("the edge is full: its readers have not caught up")]
    Full,
    /// The call may have been carried out or not. Look again, and try again.
    #[error("the log did not answer: {0}")]
    Unavailable(String),
    /// The entry is larger than the log takes.
    #[error(
        "edge {edge:?}, batch {number}: it has {size} bytes, and the servers take {most} at most: raise `max_payload` \
         in their configuration; `cluster feed` with a smaller `--batch` makes smaller batches from there on"
    )]
    TooLarge {
        /// The edge.
        edge: String,
        /// The number that the entry was to have.
        number: u64,
        /// The number of its bytes.
        size: usize,
        /// How many bytes of an entry and its headers the log takes.
        most: usize,
    },
    /// The call will never succeed as it is.
    #[error("the log refuses: {0}")]
    Refused(String),
}
