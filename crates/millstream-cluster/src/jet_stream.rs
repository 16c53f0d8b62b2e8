//! The log of NATS JetStream.
//!
//! An edge is a stream, and an entry's number is its sequence in the stream, so the condition of an append is the
//! server's. Streams refuse entries beyond their bounds. Positions are in snapshots and not in consumers of the server:
//! entries are read by number, and a reader that has read all of them gets new ones as they come.

mod absent;
mod access;
mod answers;
mod bell;
mod blobs;
mod encryption;
mod follower;
mod reader;
mod said;
mod streams;

pub use access::{Access, Login, OpenError, Streams, Tls};

use crate::log::Answered;
use crate::{Entry, Log, LogError, Record, Sent};
use absent::is_gone;
use answers::{Waiting, not_appended, not_published, refused, unavailable};
use async_nats::jetstream::context::{PublishError, PublishErrorKind};
use async_nats::jetstream::message::PublishMessage;
use async_nats::jetstream::stream::Stream;
use async_nats::jetstream::{Context, kv, object_store};
use bell::Bell;
use blobs::{Download, Upload};
use bytes::Bytes;
use reader::Reader;
use said::Said;
use std::collections::BTreeMap;
use std::fmt;
use std::future::Future;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use tokio::runtime::Runtime;

/// An append looks whose the edge is, if that was not known within this time: its input may have paused for hours.
const KNOWN: Duration = Duration::from_millis(500);
/// How long a call waits for its answer.
const ANSWER: Duration = Duration::from_secs(1);
/// Why nothing is read, appended or trimmed.
const GONE: &str = "the application was removed, and another one may have its name";

/// The log of NATS servers, version 2.12 or later. Clones share a connection, but each has its own reader, and
/// [waits](Log::wait) for what it has asked for itself.
///
/// Calls block; they are not for async code. The servers' configuration decides what is durable: use three servers,
/// three replicas, and `sync_interval: always`.
pub struct JetStream {
    // The connection's tasks run here.
    runtime: Arc<Runtime>,
    context: Context,
    app: String,
    /// Where the servers are, without a password.
    url: String,
    records: kv::Store,
    blobs: object_store::ObjectStore,
    said: Said,
    bell: Arc<Bell>,
    readers: Mutex<BTreeMap<String, Reader>>,
    /// When the application was last found to be there.
    found: Mutex<Option<Instant>>,
    /// The blob that is being stored.
    upload: Mutex<Option<Upload>>,
    /// The blob that is being read.
    download: Mutex<Option<Download>>,
}

impl Clone for JetStream {
    fn clone(&self) -> Self {
        JetStream {
            runtime: self.runtime.clone(),
            context: self.context.clone(),
            app: self.app.clone(),
            url: self.url.clone(),
            records: self.records.clone(),
            blobs: self.blobs.clone(),
            said: self.said.clone(),
            bell: Arc::default(),
            readers: Mutex::default(),
            found: Mutex::default(),
            upload: Mutex::default(),
            download: Mutex::default(),
        }
    }
}

impl fmt::Debug for JetStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JetStream").field("app", &self.app).finish_non_exhaustive()
    }
}

/// The state of an edge's stream on the servers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EdgeState {
    /// The number of its first entry.
    pub first: u64,
    /// The number of its last entry, 0 if there was never one.
    pub last: u64,
    /// How many entries it has.
    pub entries: u64,
    /// How many bytes those take.
    pub bytes: u64,
    /// The most entries it takes.
    pub capacity: u64,
    /// The server that leads it, if there are several.
    pub leader: Option<String>,
}

impl JetStream {
    fn new(
        runtime: Runtime,
        context: Context,
        access: &Access,
        records: kv::Store,
        blobs: object_store::ObjectStore,
        said: Said,
    ) -> Self {
        let (app, url) = (access.app.clone(), access.shown_url());
        let (runtime, bell, readers) = (Arc::new(runtime), Arc::default(), Mutex::default());
        let (found, upload, download) = (Mutex::default(), Mutex::default(), Mutex::default());
        JetStream { runtime, context, app, url, records, blobs, said, bell, readers, found, upload, download }
    }

    /// The state of an edge.
    ///
    /// # Errors
    ///
    /// If the servers do not answer.
    pub fn edge(&self, edge: &str) -> Result<EdgeState, LogError> {
        self.ask(async {
            let stream = self.stream(edge).await?;
            let info = stream.get_info().await.map_err(|error| unavailable(&error))?;
            Ok(EdgeState {
                first: info.state.first_sequence,
                last: info.state.last_sequence,
                entries: info.state.messages,
                bytes: info.state.bytes,
                capacity: info.config.max_messages.try_into().unwrap_or(u64::MAX),
                leader: info.cluster.and_then(|cluster| cluster.leader),
            })
        })
    }

    /// Whether the application is there no more: it was removed, and another one may have its name. A server that lags
    /// behind may say so for a moment.
    ///
    /// # Errors
    ///
    /// If the servers do not answer.
    pub fn is_gone(&self) -> Result<bool, LogError> {
        self.ask(is_gone(&self.records))
    }

    /// An error if the application [is gone](JetStream::is_gone): what has its name is not its own.
    fn is_own(&self) -> Result<(), LogError> {
        let asked = Instant::now();
        if self.is_gone()? {
            return Err(LogError::Unavailable(GONE.to_owned()));
        }
        *self.found.lock().unwrap_or_else(PoisonError::into_inner) = Some(asked);
        Ok(())
    }

    /// Whether the application was its own just now.
    fn is_known(&self) -> bool {
        let found = *self.found.lock().unwrap_or_else(PoisonError::into_inner);
        found.is_some_and(|found| found.elapsed() < KNOWN)
    }

    fn subject(&self, edge: &str) -> String {
        format!("{}.{edge}", self.app)
    }

    /// Why an entry of this size did not go to the servers.
    fn not_sent(&self, edge: &str, last: u64, size: usize, error: &PublishError) -> LogError {
        match error.kind() {
            PublishErrorKind::MaxPayloadExceeded => {
                let most = self.context.client().max_payload();
                LogError::TooLarge { edge: edge.to_owned(), number: last + 1, size, most }
            }
            _ => not_appended(error),
        }
    }

    /// The stream of an edge, without asking the servers.
    async fn stream(&self, edge: &str) -> Result<Stream<()>, LogError> {
        let name = stream_name(&self.app, edge);
        self.context.get_stream_no_info(name).await.map_err(|error| unavailable(&error))
    }

    /// Waits for an answer, but no longer than [`ANSWER`].
    fn ask<T>(&self, asking: impl Future<Output = Result<T, LogError>>) -> Result<T, LogError> {
        let answered = self.runtime.block_on(async { tokio::time::timeout(ANSWER, asking).await });
        let late = || LogError::Unavailable(format!("no answer from {} within {} s", self.url, ANSWER.as_secs()));
        let answered = answered.unwrap_or_else(|_| Err(late()));
        answered.map_err(|error| self.said.explains(error))
    }
}

fn stream_name(app: &str, edge: &str) -> String {
    format!("{app}-{edge}")
}

impl Log for JetStream {
    fn append_if(&self, edge: &str, last: u64, bytes: &[u8]) -> Result<(), LogError> {
        // The edge of another application begins so, too, and may by now have as many entries.
        if last == 0 || !self.is_known() {
            self.is_own()?;
        }
        let message = PublishMessage::build().payload(bytes.to_vec().into()).expected_last_sequence(last);
        self.ask(async {
            let sent = self.context.send_publish(self.subject(edge), message).await;
            let answer = sent.map_err(|error| self.not_sent(edge, last, bytes.len(), &error))?.await;
            let acknowledged = answer.map_err(|error| not_appended(&error))?;
            if acknowledged.sequence == last + 1 {
                return Ok(());
            }
            Err(refused(format!("edge {edge:?}: an entry after {last} got number {}", acknowledged.sequence)))
        })
    }

    fn send_if(&self, edge: &str, last: u64, bytes: Bytes) -> Box<dyn Sent> {
        // A process that appends does not read what it has appended.
        self.readers.lock().unwrap_or_else(PoisonError::into_inner).remove(edge);
        let size = bytes.len();
        let message = PublishMessage::build().payload(bytes).expected_last_sequence(last);
        // Several sends keep their order: the connection takes each before this returns.
        let sent = self.ask(async {
            let sent = self.context.send_publish(self.subject(edge), message).await;
            sent.map_err(|error| self.not_sent(edge, last, size, &error))
        });
        match sent {
            Ok(acknowledged) => Box::new(Waiting::new(acknowledged, last, self.runtime.clone(), self.bell.clone())),
            Err(error) => Box::new(Answered(Some(Err(error)))),
        }
    }

    fn read_from(&self, edge: &str, first: u64, most: usize) -> Result<Vec<Entry>, LogError> {
        self.read(edge, first.max(1), most)
    }

    fn last(&self, edge: &str) -> Result<u64, LogError> {
        let last = self.ask(async {
            let stream = self.stream(edge).await?;
            let info = stream.get_info().await.map_err(|error| unavailable(&error))?;
            Ok(info.state.last_sequence)
        })?;
        // Asked for afterwards: the records are removed before the edges.
        self.is_own()?;
        Ok(last)
    }

    fn kept(&self, edge: &str) -> Result<Range<u64>, LogError> {
        self.edge(edge).map(|edge| edge.first.max(1)..edge.last + 1)
    }

    fn trim(&self, edge: &str, below: u64) -> Result<(), LogError> {
        // The servers would lay the end of a shorter edge there. Nothing of another application is dropped.
        if below > self.last(edge)? + 1 {
            return Ok(());
        }
        self.ask(async {
            let stream = self.stream(edge).await?;
            let purged = stream.purge().sequence(below).await;
            purged.map(drop).map_err(|error| unavailable(&error))
        })
    }

    fn get(&self, key: &str) -> Result<Option<Record>, LogError> {
        self.ask(async {
            match self.records.entry(key).await {
                Ok(entry) => Ok(entry.map(|entry| Record { revision: entry.revision, value: entry.value.to_vec() })),
                // Without an application there are no records.
                Err(_) if self.is_removed().await => Ok(None),
                Err(error) => Err(unavailable(&error)),
            }
        })
    }

    fn compare_and_set(&self, key: &str, revision: u64, value: &[u8]) -> Result<(), LogError> {
        self.ask(async {
            let set = self.records.update(key, value.to_vec().into(), revision).await;
            set.map(drop).map_err(|error| match error.kind() {
                kv::UpdateErrorKind::WrongLastRevision => LogError::Conflict,
                _ => not_published(&error),
            })
        })
    }

    fn put_blob(&self, name: &str, bytes: &[u8]) -> Result<(), LogError> {
        self.store_blob(name, bytes)
    }

    fn blob(&self, name: &str) -> Result<Option<Vec<u8>>, LogError> {
        self.read_blob(name)
    }

    fn remove_blob(&self, name: &str) -> Result<(), LogError> {
        self.drop_blob(name)
    }

    fn blob_names(&self) -> Result<Vec<String>, LogError> {
        self.names_of_blobs()
    }

    fn wait(&self, most: Duration) {
        self.bell.wait(most);
    }
}
