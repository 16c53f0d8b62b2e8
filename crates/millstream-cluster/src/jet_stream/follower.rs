//! A reader that has read all entries: the server sends it new ones.

use super::absent::is_gone;
use super::bell::Bell;
use crate::Entry;
use async_nats::jetstream::consumer::{AckPolicy, DeliverPolicy, pull};
use async_nats::jetstream::{Context, kv};
use futures_util::StreamExt;
use std::error::Error;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::runtime::Runtime;
use tokio::sync::mpsc::{Receiver, Sender, channel};
use tokio::task::JoinHandle;
use tokio::time::sleep;

/// How many entries wait for the reader, and how many the server sends ahead.
const AHEAD: usize = 128;
/// After twice this long without a message from the server, the consumer is made again.
const HEARTBEAT: Duration = Duration::from_millis(500);
/// The time before the next try after one that failed, and after one that found another application.
const AGAIN: [Duration; 2] = [Duration::from_millis(20), Duration::from_millis(500)];

/// Gets the entries of an edge as they come. When it is dropped, the server forgets its consumer: positions are in
/// snapshots.
pub(super) struct Follower {
    /// The number of the entry that is read next.
    pub(super) next: u64,
    entries: Receiver<Entry>,
    /// Whether the edge is that of another application now.
    gone: Arc<AtomicBool>,
    task: JoinHandle<()>,
}

impl Drop for Follower {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Follower {
    /// Follows a stream of the application with these records.
    pub(super) fn start(
        runtime: &Runtime,
        (context, records): (Context, kv::Store),
        stream: String,
        next: u64,
        bell: Arc<Bell>,
    ) -> Self {
        let (sender, entries) = channel(AHEAD);
        let gone = Arc::new(AtomicBool::new(false));
        let is_another = gone.clone();
        let task = runtime.spawn(async move {
            let mut next = next;
            loop {
                // The failure is the server's, and temporary.
                _ = follow((&context, &records), &stream, &mut next, (&sender, &is_another), &bell).await;
                if sender.is_closed() {
                    return;
                }
                sleep(AGAIN[usize::from(is_another.load(Ordering::Relaxed))]).await;
            }
        });
        Follower { next, entries, gone, task }
    }

    /// Whether the edge is that of another application, of which no entry is taken.
    pub(super) fn is_gone(&self) -> bool {
        self.gone.load(Ordering::Relaxed)
    }

    /// The entries that have come, at most this many.
    pub(super) fn take(&mut self, most: usize) -> Vec<Entry> {
        let mut taken = Vec::new();
        while taken.len() < most
            && let Ok(entry) = self.entries.try_recv()
        {
            self.next = entry.number + 1;
            taken.push(entry);
        }
        taken
    }
}

async fn follow(
    (context, records): (&Context, &kv::Store),
    stream: &str,
    next: &mut u64,
    (sender, is_another): (&Sender<Entry>, &AtomicBool),
    bell: &Bell,
) -> Result<(), Box<dyn Error + Send + Sync>> {
    let config = pull::Config {
        deliver_policy: DeliverPolicy::ByStartSequence { start_sequence: *next },
        ack_policy: AckPolicy::None,
        inactive_threshold: Duration::from_secs(30),
        num_replicas: 1,
        memory_storage: true,
        ..pull::Config::default()
    };
    let consumer = context.create_consumer_on_stream(config, stream).await?;
    // A stream of the same name may be another one's; a consumer stays with its stream.
    let gone = is_gone(records).await?;
    is_another.store(gone, Ordering::Relaxed);
    if gone {
        return Ok(());
    }
    let asks = consumer.stream().max_messages_per_batch(AHEAD).heartbeat(HEARTBEAT).expires(HEARTBEAT * 20);
    let mut messages = asks.messages().await?;
    while let Some(message) = messages.next().await {
        let message = message?;
        let number = message.info()?.stream_sequence;
        if number < *next {
            continue;
        }
        if number > *next {
            // The entries between are trimmed, or one was lost on the way.
            let info = context.get_stream_no_info(stream).await?.get_info().await?;
            if info.state.first_sequence < number {
                return Ok(());
            }
        }
        sender.send(Entry { number, bytes: message.message.payload }).await?;
        *next = number + 1;
        bell.ring();
    }
    Ok(())
}
