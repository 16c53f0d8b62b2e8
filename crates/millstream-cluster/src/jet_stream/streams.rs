//! The streams of an application on the servers: made, changed and removed.

use super::absent::is_absent;
use super::access::{Access, Attempt, OpenError, Streams};
use super::answers::{refused, unavailable, with_causes};
use super::{ANSWER, JetStream, stream_name};
use crate::LogError;
use async_nats::Client;
use async_nats::jetstream::stream::{DiscardPolicy, StorageType};
use async_nats::jetstream::{Context, ErrorCode, context, kv, object_store, stream};
use std::cell::Cell;
use std::error::Error;

/// The servers' refusals of a change that they may take later, as after one of them was started again.
const PASSES: [ErrorCode; 3] =
    [ErrorCode::CLUSTER_NO_PEERS, ErrorCode::CLUSTER_NOT_AVAILABLE, ErrorCode::INSUFFICIENT_RESOURCES];

pub(super) struct Made {
    pub(super) context: Context,
    pub(super) records: kv::Store,
    pub(super) blobs: object_store::ObjectStore,
}

impl JetStream {
    /// Sets the capacity of the application's edges, and how many servers keep each entry, to these. Entries beyond a
    /// smaller capacity stay.
    ///
    /// # Errors
    ///
    /// If the servers refuse, as they do if there are fewer of them, or do not answer; some of it may be set.
    pub fn resize(&self, streams: &Streams) -> Result<(), LogError> {
        let capacity = Some(i64::from(streams.capacity));
        let edges = streams.edges.iter().map(|edge| (stream_name(&self.app, edge), capacity));
        let buckets = buckets(&self.app).into_iter().map(|bucket| (bucket, None));
        let set = |(name, capacity): (String, Option<i64>)| {
            self.ask(async {
                let stream = self.context.get_stream(&name).await.map_err(|error| unavailable(&error))?;
                let before = &stream.cached_info().config;
                let max_messages = capacity.unwrap_or(before.max_messages);
                let now = stream::Config { max_messages, num_replicas: streams.replicas, ..before.clone() };
                if now == *before {
                    return Ok(());
                }
                let Err(error) = self.context.update_stream(now).await else { return Ok(()) };
                match error.kind() {
                    context::CreateStreamErrorKind::JetStream(why) if !PASSES.contains(&why.error_code()) => {
                        Err(refused(format!("stream {name}: {}", with_causes(&error))))
                    }
                    _ => Err(LogError::Unavailable(format!("stream {name}: {}", with_causes(&error)))),
                }
            })
        };
        edges.chain(buckets).try_for_each(set)
    }

    /// Whether the servers have no records of the application, since it was removed.
    pub(super) async fn is_removed(&self) -> bool {
        let [records, _] = buckets(&self.app);
        self.context.get_stream(records).await.is_err_and(|error| is_absent(&error))
    }
}

/// The streams of the records and of the snapshots.
fn buckets(app: &str) -> [String; 2] {
    [format!("KV_{app}-records"), format!("OBJ_{app}-blobs")]
}

/// All streams of an application. The records are made first and removed first: without them, no program takes what is
/// left of the others for the application.
fn streams_of(app: &str, edges: &[String]) -> Vec<String> {
    let [records, blobs] = buckets(app);
    [records].into_iter().chain(edges.iter().map(|edge| stream_name(app, edge))).chain([blobs]).collect()
}

async fn is_there(context: &Context, name: &str) -> Result<bool, Attempt> {
    match context.get_stream(name).await {
        Ok(_) => Ok(true),
        Err(error) if is_absent(&error) => Ok(false),
        Err(error) => Err(Attempt::Again(with_causes(&error))),
    }
}

fn context_of(client: Client) -> Context {
    context::ContextBuilder::new().timeout(ANSWER).ack_timeout(ANSWER).build(client)
}

/// Removes the streams and buckets of an application that are there, and notes whether any was.
pub(super) async fn unmake(
    client: Client,
    access: &Access,
    edges: &[String],
    there: &Cell<bool>,
) -> Result<(), Attempt> {
    let context = context_of(client);
    for name in streams_of(&access.app, edges) {
        if !is_there(&context, &name).await? {
            continue;
        }
        there.set(true);
        if let Err(error) = context.delete_stream(&name).await
            && !is_absent(&error)
        {
            return Err(Attempt::Again(with_causes(&error)));
        }
    }
    Ok(())
}

/// Whether streams are left of an application that was being removed.
async fn is_removed_in_part(context: &Context, app: &str, edges: &[String]) -> Result<bool, Attempt> {
    let streams = streams_of(app, edges);
    let [records, others @ ..] = &*streams else { return Ok(false) };
    if is_there(context, records).await? {
        return Ok(false);
    }
    for name in others {
        if is_there(context, name).await? {
            // Another program may have made all of them meanwhile.
            return Ok(!is_there(context, records).await?);
        }
    }
    Ok(false)
}

/// The streams and buckets of an application; they are made if they are given.
pub(super) async fn make(client: Client, access: &Access, streams: Option<&Streams>) -> Result<Made, Attempt> {
    let app = &access.app;
    let context = context_of(client);
    if let Some(streams) = streams {
        if is_removed_in_part(&context, app, &streams.edges).await? {
            return Err(Attempt::Failed(OpenError::InPart { url: access.shown_url(), app: app.clone() }));
        }
        create(&context, app, streams).await.map_err(|why| match why {
            // One server will never be several.
            why if why.contains("in non-clustered mode") => {
                Attempt::Failed(OpenError::Refused { url: access.shown_url(), why })
            }
            why => Attempt::Again(why),
        })?;
    }
    let failed = |error: &dyn Error| match error {
        error if is_absent(error) => Attempt::Failed(OpenError::NoApp { url: access.shown_url(), app: app.clone() }),
        error => Attempt::Again(with_causes(error)),
    };
    let records = context.get_key_value(format!("{app}-records")).await.map_err(|error| failed(&error))?;
    let blobs = context.get_object_store(format!("{app}-blobs")).await.map_err(|error| failed(&error))?;
    Ok(Made { context, records, blobs })
}

/// Makes what is not there. What is there may have other numbers. An error says why it has to be tried again.
async fn create(context: &Context, app: &str, streams: &Streams) -> Result<(), String> {
    let Streams { edges, replicas, capacity } = streams;
    let (records, blobs) = (format!("{app}-records"), format!("{app}-blobs"));
    if context.get_key_value(&records).await.is_err_and(|error| is_absent(&error)) {
        let config = kv::Config { bucket: records, history: 1, num_replicas: *replicas, ..kv::Config::default() };
        context.create_key_value(config).await.map_err(|error| with_causes(&error))?;
    }
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
        context.get_or_create_stream(config).await.map_err(|error| with_causes(&error))?;
    }
    if context.get_object_store(&blobs).await.is_err_and(|error| is_absent(&error)) {
        let config = object_store::Config { bucket: blobs, num_replicas: *replicas, ..object_store::Config::default() };
        context.create_object_store(config).await.map_err(|error| with_causes(&error))?;
    }
    Ok(())
}
