//! The log of NATS JetStream.
//!
//! An edge is a stream, and an entry's number is its sequence in the stream, so the condition of an append is the
//! server's. Streams refuse what is beyond their bounds. Positions are in snapshots and not in consumers of the server:
//! entries are read one by one, by number.

use crate::{Entry, Log, LogError, Record};
use async_nats::jetstream::context::{PublishError, PublishErrorKind};
use async_nats::jetstream::message::PublishMessage;
use async_nats::jetstream::stream::{DirectGetErrorKind, DiscardPolicy, StorageType, Stream};
use async_nats::jetstream::{Context, context, kv, object_store, stream};
use async_nats::{Client, ConnectOptions};
use futures_util::future::join_all;
use std::error::Error;
use std::fmt;
use std::future::Future;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::AsyncReadExt;
use tokio::runtime::{Builder, Runtime};

/// How long a call waits for its answer.
const ANSWER: Duration = Duration::from_secs(1);
/// How long connecting and making streams may take: as long as an election of the servers.
const BEGINNING: Duration = Duration::from_secs(30);
/// What the servers say of a condition on one subject that is not met.
const WRONG_LAST_OF_SUBJECT: &str = "10164";
/// And of a stream that is full.
const FULL: [&str; 2] = ["maximum messages exceeded", "maximum bytes exceeded"];

/// The log of NATS servers, of version 2.12 or later. Clones share a connection.
///
/// Calls block; they are not for async code. What really is durable is decided by the servers' configuration: three
/// servers, three replicas, and `sync_interval: always`.
#[derive(Clone)]
pub struct JetStream {
    // The connection's tasks run here.
    runtime: Arc<Runtime>,
    context: Context,
    app: String,
    records: kv::Store,
    blobs: object_store::ObjectStore,
}

/// What a [`JetStream`] makes where it is not there.
#[derive(Clone, Debug)]
pub struct JetStreamOptions {
    /// The name of the application: letters, digits, `-` and `_`. Its streams and buckets begin with it.
    pub app: String,
    /// The edges.
    pub edges: Vec<String>,
    /// How many servers have each entry: 1, 3 or 5.
    pub replicas: usize,
    /// How many entries an edge holds.
    pub capacity: u32,
    /// Who connects.
    pub login: Login,
}

/// Who connects to the servers.
#[derive(Clone, Default)]
pub enum Login {
    /// What the URL has, or a client without a name.
    #[default]
    Open,
    /// A user with a password.
    Password {
        /// The user.
        user: String,
        /// The password.
        password: String,
    },
    /// A file of credentials: a token (JWT) and a key.
    Credentials(PathBuf),
    /// The seed of a key (nkey).
    Key(String),
}

/// Without secrets.
impl fmt::Debug for Login {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Login::Open => "Open",
            Login::Password { .. } => "Password",
            Login::Credentials(_) => "Credentials",
            Login::Key(_) => "Key",
        })
    }
}

impl fmt::Debug for JetStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JetStream").field("app", &self.app).finish_non_exhaustive()
    }
}

fn refused(error: impl fmt::Display) -> LogError {
    LogError::Refused(error.to_string())
}

/// An error with its causes.
fn unavailable(error: &dyn Error) -> LogError {
    let mut why = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        why = format!("{why}: {error}");
        cause = error.source();
    }
    LogError::Unavailable(why)
}

/// What a publication was refused for, by the code or the text of the server.
fn not_published(error: &dyn Error) -> LogError {
    match unavailable(error) {
        LogError::Unavailable(why) if why.contains(WRONG_LAST_OF_SUBJECT) => LogError::Conflict,
        LogError::Unavailable(why) if FULL.iter().any(|full| why.contains(full)) => LogError::Full,
        other => other,
    }
}

fn not_appended(error: &PublishError) -> LogError {
    match error.kind() {
        PublishErrorKind::WrongLastSequence => LogError::Conflict,
        PublishErrorKind::MaxPayloadExceeded => refused("a batch is larger than the servers' `max_payload`"),
        _ => not_published(error),
    }
}

impl JetStream {
    /// Connects to the servers of this URL (several are separated by commas; `tls://` asks for TLS), and makes the
    /// application's streams and buckets where they are not there.
    ///
    /// # Errors
    ///
    /// If that fails for half a minute. The last reason is in the error.
    pub fn connect(url: &str, options: &JetStreamOptions) -> Result<Self, LogError> {
        let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build().map_err(refused)?;
        let made = runtime.block_on(async {
            let mut last = String::new();
            let trying = async {
                loop {
                    match make(url, options).await {
                        Ok(made) => return made,
                        Err(error) => last = error.to_string(),
                    }
                    tokio::time::sleep(Duration::from_millis(200)).await;
                }
            };
            let made = tokio::time::timeout(BEGINNING, trying).await;
            made.map_err(|_| LogError::Unavailable(format!("{url}: {last}")))
        });
        let (context, records, blobs) = made?;
        Ok(JetStream { runtime: Arc::new(runtime), context, app: options.app.clone(), records, blobs })
    }

    fn subject(&self, edge: &str) -> String {
        format!("{}.{edge}", self.app)
    }

    /// The stream of an edge, without asking the servers.
    async fn stream(&self, edge: &str) -> Result<Stream<()>, LogError> {
        let name = stream_name(&self.app, edge);
        self.context.get_stream_no_info(name).await.map_err(|error| unavailable(&error))
    }

    /// Waits for an answer, and no longer than that takes.
    fn ask<T>(&self, asking: impl Future<Output = Result<T, LogError>>) -> Result<T, LogError> {
        let answered = self.runtime.block_on(async { tokio::time::timeout(ANSWER, asking).await });
        answered.unwrap_or_else(|_| Err(LogError::Unavailable("no answer within a second".to_owned())))
    }
}

fn stream_name(app: &str, edge: &str) -> String {
    format!("{app}-{edge}")
}

type Made = (Context, kv::Store, object_store::ObjectStore);

async fn make(url: &str, options: &JetStreamOptions) -> Result<Made, Box<dyn Error + Send + Sync>> {
    let JetStreamOptions { app, edges, replicas, capacity, login } = options;
    let with = match login {
        Login::Open => ConnectOptions::new(),
        Login::Password { user, password } => ConnectOptions::with_user_and_password(user.clone(), password.clone()),
        Login::Credentials(file) => ConnectOptions::with_credentials_file(file).await?,
        Login::Key(seed) => ConnectOptions::with_nkey(seed.clone()),
    };
    let servers: Vec<&str> = url.split(',').collect();
    let client: Client = with.name(app).connect(servers).await?;
    let context = context::ContextBuilder::new().timeout(ANSWER).ack_timeout(ANSWER).build(client);
    for edge in edges {
        let config = stream::Config {
            name: stream_name(app, edge),
            subjects: vec![format!("{app}.{edge}")],
            max_messages: i64::from(*capacity),
            discard: DiscardPolicy::New,
            storage: StorageType::File,
            num_replicas: *replicas,
            deny_delete: true,
            allow_direct: true,
            ..stream::Config::default()
        };
        context.get_or_create_stream(config).await?;
    }
    let bucket = format!("{app}-records");
    let config = kv::Config { bucket, history: 1, num_replicas: *replicas, ..kv::Config::default() };
    let records = context.create_key_value(config).await?;
    let bucket = format!("{app}-blobs");
    let config = object_store::Config { bucket, num_replicas: *replicas, ..object_store::Config::default() };
    let blobs = context.create_object_store(config).await?;
    Ok((context, records, blobs))
}

/// The entry of this number; none if it is not there, or not yet where the server looked.
async fn entry(stream: &Stream<()>, number: u64) -> Result<Option<Entry>, LogError> {
    match stream.direct_get(number).await {
        Ok(message) => Ok(Some(Entry { number, bytes: message.payload.to_vec() })),
        Err(error) if error.kind() == DirectGetErrorKind::NotFound => Ok(None),
        Err(error) => Err(unavailable(&error)),
    }
}

impl Log for JetStream {
    fn append_if(&self, edge: &str, last: u64, bytes: &[u8]) -> Result<(), LogError> {
        let message = PublishMessage::build().payload(bytes.to_vec().into()).expected_last_sequence(last);
        self.ask(async {
            let sent = self.context.send_publish(self.subject(edge), message).await;
            let answer = sent.map_err(|error| not_appended(&error))?.await;
            let acknowledged = answer.map_err(|error| not_appended(&error))?;
            if acknowledged.sequence == last + 1 {
                return Ok(());
            }
            Err(refused(format!("edge {edge:?}: an entry behind {last} got number {}", acknowledged.sequence)))
        })
    }

    fn read_from(&self, edge: &str, first: u64, most: usize) -> Result<Vec<Entry>, LogError> {
        let first = first.max(1);
        self.ask(async {
            let stream = self.stream(edge).await?;
            let mut begins = first;
            let mut head = entry(&stream, first).await?;
            if head.is_none() {
                begins = stream.get_info().await.map_err(|error| unavailable(&error))?.state.first_sequence;
                if begins <= first {
                    return Ok(Vec::new());
                }
                head = entry(&stream, begins).await?;
            }
            let Some(head) = head else { return Ok(Vec::new()) };
            let mut entries = vec![head];
            // An idle edge is asked for one entry, one that has entries for as many as are wanted.
            let rest = (begins + 1..).take(most.saturating_sub(1)).map(|number| entry(&stream, number));
            for entry in join_all(rest).await {
                match entry {
                    Ok(Some(entry)) => entries.push(entry),
                    _ => break,
                }
            }
            Ok(entries)
        })
    }

    fn last(&self, edge: &str) -> Result<u64, LogError> {
        self.ask(async {
            let stream = self.stream(edge).await?;
            let info = stream.get_info().await.map_err(|error| unavailable(&error))?;
            Ok(info.state.last_sequence)
        })
    }

    fn trim(&self, edge: &str, below: u64) -> Result<(), LogError> {
        self.ask(async {
            let stream = self.stream(edge).await?;
            let purged = stream.purge().sequence(below).await;
            purged.map(drop).map_err(|error| unavailable(&error))
        })
    }

    fn get(&self, key: &str) -> Result<Option<Record>, LogError> {
        self.ask(async {
            let entry = self.records.entry(key).await.map_err(|error| unavailable(&error))?;
            Ok(entry.map(|entry| Record { revision: entry.revision, value: entry.value.to_vec() }))
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
        self.ask(async {
            if self.blobs.info(name).await.is_ok() {
                return Ok(());
            }
            let put = self.blobs.put(name, &mut &*bytes).await;
            put.map(drop).map_err(|error| unavailable(&error))
        })
    }

    fn blob(&self, name: &str) -> Result<Option<Vec<u8>>, LogError> {
        self.ask(async {
            let mut object = match self.blobs.get(name).await {
                Ok(object) => object,
                Err(error) if error.kind() == object_store::GetErrorKind::NotFound => return Ok(None),
                Err(error) => return Err(unavailable(&error)),
            };
            let mut bytes = Vec::new();
            object.read_to_end(&mut bytes).await.map_err(|error| unavailable(&error))?;
            Ok(Some(bytes))
        })
    }
}
