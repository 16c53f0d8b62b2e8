//! A reader that has read all entries: the server sends it new ones.

use super::absent::is_gone;
use super::answers::with_causes;
use super::bell::Bell;
use crate::Entry;
use async_nats::jetstream::consumer::{AckPolicy, DeliverPolicy, pull};
use async_nats::jetstream::{Context, kv};
use futures_util::StreamExt;
use std::error::Error;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tokio::runtime::Runtime;
use tokio::sync::mpsc::{Receiver, Sender, channel};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};

/// How many entries wait for the reader, and how many the server sends ahead.
const AHEAD: usize = 128;
/// How many bytes of them, if no entry has more. A server takes a client for too slow, and closes its connection, if 64
/// MB are on the way to it.
pub(super) const AHEAD_BYTES: usize = 8 << 20;
/// What the subjects of a message may add to an entry.
const SUBJECTS: usize = 64 << 10;
/// After twice this long without a message from the server, the consumer is made again.
const HEARTBEAT: Duration = Duration::from_millis(500);
/// A consumer that has had no error for this long works, also if no entry comes.
const WORKS: Duration = Duration::from_millis(1500);
/// An edge cannot be followed if nothing but errors has come for this long.
const FAILS: Duration = Duration::from_secs(2);
/// The time before the next try after one that failed: at first, and at most. The server keeps each consumer for half a
/// minute.
const AGAIN: [Duration; 2] = [Duration::from_millis(20), Duration::from_secs(1)];
/// The time before the next try after one that found another application.
const AGAIN_GONE: Duration = Duration::from_millis(500);

/// Gets the entries of an edge as they come. When it is dropped, the server forgets its consumer: positions are in
/// snapshots.
pub(super) struct Follower {
    /// The number of the entry that is read next.
    pub(super) next: u64,
    entries: Receiver<(Entry, OwnedSemaphorePermit)>,
    shared: Arc<Shared>,
    task: JoinHandle<()>,
}

/// What the task of a follower knows.
#[derive(Default)]
struct Shared {
    /// Whether the edge is that of another application now.
    gone: AtomicBool,
    /// Since when nothing but errors has come, if so, and the last one.
    fails: Mutex<Option<(Instant, String)>>,
}

impl Shared {
    fn fails(&self) -> MutexGuard<'_, Option<(Instant, String)>> {
        self.fails.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn works(&self) {
        *self.fails() = None;
    }

    fn failed(&self, why: String) {
        let mut fails = self.fails();
        let since = fails.take().map_or_else(Instant::now, |(since, _)| since);
        *fails = Some((since, why));
    }
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
        let shared = Arc::<Shared>::default();
        let its = shared.clone();
        let task = runtime.spawn(async move {
            let to = To { sender, bytes: Arc::new(Semaphore::new(AHEAD_BYTES)), shared: its, bell };
            let (mut next, mut again) = (next, AGAIN[0]);
            loop {
                let before = next;
                let followed = follow((&context, &records), &stream, &mut next, &to).await;
                if to.sender.is_closed() {
                    return;
                }
                if let Err(error) = followed {
                    to.shared.failed(with_causes(&*error));
                }
                again = if next > before { AGAIN[0] } else { (again * 2).min(AGAIN[1]) };
                sleep(if to.shared.gone.load(Ordering::Relaxed) { AGAIN_GONE } else { again }).await;
            }
        });
        Follower { next, entries, shared, task }
    }

    /// Whether the edge is that of another application, of which no entry is taken.
    pub(super) fn is_gone(&self) -> bool {
        self.shared.gone.load(Ordering::Relaxed)
    }

    /// Why the edge cannot be followed, if it cannot be.
    pub(super) fn fails(&self) -> Option<String> {
        let fails = self.shared.fails();
        fails.as_ref().filter(|(since, _)| since.elapsed() >= FAILS).map(|(_, why)| why.clone())
    }

    /// The entries that have come, at most this many.
    pub(super) fn take(&mut self, most: usize) -> Vec<Entry> {
        let mut taken = Vec::new();
        while taken.len() < most
            && let Ok((entry, _)) = self.entries.try_recv()
        {
            self.next = entry.number + 1;
            taken.push(entry);
        }
        taken
    }
}

/// Where the entries of a follower go.
struct To {
    sender: Sender<(Entry, OwnedSemaphorePermit)>,
    /// The bytes for which there is room.
    bytes: Arc<Semaphore>,
    shared: Arc<Shared>,
    bell: Arc<Bell>,
}

async fn follow(
    (context, records): (&Context, &kv::Store),
    stream: &str,
    next: &mut u64,
    to: &To,
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
    to.shared.gone.store(gone, Ordering::Relaxed);
    if gone {
        return Ok(());
    }
    let bytes = AHEAD_BYTES.max(context.client().max_payload() + SUBJECTS);
    let asks = consumer.stream().max_messages_per_batch(AHEAD).max_bytes_per_batch(bytes);
    let mut messages = asks.heartbeat(HEARTBEAT).expires(HEARTBEAT * 20).messages().await?;
    loop {
        let Ok(message) = timeout(WORKS, messages.next()).await else {
            to.shared.works();
            continue;
        };
        let Some(message) = message else { return Err("the server sends no more entries".into()) };
        let message = message?;
        let number = message.info()?.stream_sequence;
        if number < *next {
            continue;
        }
        if number > *next {
            // The entries between are trimmed, or one was lost on the way.
            let info = context.get_stream_no_info(stream).await?.get_info().await?;
            if info.state.first_sequence < number {
                return Err(format!("the server sends entry {number} in place of entry {next}").into());
            }
        }
        let bytes = message.message.payload;
        let takes = u32::try_from(bytes.len().min(AHEAD_BYTES))?;
        let room = to.bytes.clone().acquire_many_owned(takes).await?;
        to.sender.send((Entry { number, bytes }, room)).await?;
        *next = number + 1;
        to.shared.works();
        to.bell.ring();
    }
}
