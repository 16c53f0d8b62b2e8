//! The same work without a library: a consumer, a loop over the numbers of each message, and conditional publishes, a
//! window of them at a time.

use super::{INPUT, OUTPUT, Server, failed};
use crate::failure::Failure;
use async_nats::jetstream::consumer::{AckPolicy, pull};
use async_nats::jetstream::message::PublishMessage;
use async_nats::jetstream::{self};
use bytes::Bytes;
use futures_util::StreamExt;
use std::collections::VecDeque;
use std::future::IntoFuture;
use std::time::{Duration, Instant};

/// Reads this many messages of the application's input edge and writes each number plus one to its output edge. Returns
/// the sum of the written numbers.
pub(super) fn run(server: &Server, messages: usize, window: usize) -> Result<(u64, Duration), Failure> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
    runtime.map_err(Failure::io("a runtime"))?.block_on(async {
        let client = async_nats::connect(&server.url).await.map_err(failed)?;
        let context = jetstream::new(client);
        let name = server.name();
        let stream = context.get_stream_no_info(format!("{name}-{INPUT}")).await.map_err(failed)?;
        let config = pull::Config { ack_policy: AckPolicy::None, memory_storage: true, ..pull::Config::default() };
        let begun = Instant::now();
        let consumer = stream.create_consumer(config).await.map_err(failed)?;
        let mut entries = consumer.stream().max_messages_per_batch(128).messages().await.map_err(failed)?;
        let (subject, mut sum, mut under_way) = (format!("{name}.{OUTPUT}"), 0_u64, VecDeque::new());
        for last in 0..messages as u64 {
            let Some(message) = entries.next().await else { return Err(failed("the messages ended")) };
            let message = message.map_err(failed)?;
            let mut out = Vec::with_capacity(message.payload.len());
            for number in message.payload.as_chunks::<8>().0 {
                let number = u64::from_le_bytes(*number).wrapping_add(1);
                sum = sum.wrapping_add(number);
                out.extend_from_slice(&number.to_le_bytes());
            }
            let publish = PublishMessage::build().payload(Bytes::from(out)).expected_last_sequence(last);
            let sent = context.send_publish(subject.clone(), publish).await.map_err(failed)?;
            under_way.push_back(sent.into_future());
            if under_way.len() >= window
                && let Some(oldest) = under_way.pop_front()
            {
                oldest.await.map_err(failed)?;
            }
        }
        for sent in under_way {
            sent.await.map_err(failed)?;
        }
        Ok((sum, begun.elapsed()))
    })
}
