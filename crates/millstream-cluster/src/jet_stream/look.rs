//! Entries that are read by number.

use super::{JetStream, unavailable};
use crate::{Entry, LogError};
use async_nats::jetstream::stream::{DirectGetErrorKind, Stream};
use futures_util::StreamExt;
use futures_util::stream::iter;

impl JetStream {
    /// Entries by number, asked for one by one: those that have come in time.
    pub(super) fn look(&self, edge: &str, first: u64, most: usize) -> Result<Vec<Entry>, LogError> {
        let head = self.ask(async {
            let stream = self.stream(edge).await?;
            if let Some(head) = entry(&stream, first).await? {
                return Ok(Some(head));
            }
            let begins = stream.get_info().await.map_err(|error| unavailable(&error))?.state.first_sequence;
            if begins > first { entry(&stream, begins).await } else { Ok(None) }
        })?;
        let Some(head) = head else { return Ok(Vec::new()) };
        // An idle edge is asked for one entry, one that has entries for as many as are wanted.
        let numbers = (head.number + 1..).take(most.saturating_sub(1));
        let mut entries = vec![head];
        // A slow line may never bring all of them in time: those that have come are enough.
        _ = self.ask(async {
            let stream = self.stream(edge).await?;
            let mut rest = iter(numbers).map(|number| entry(&stream, number)).buffered(most.max(1));
            while let Some(Some(entry)) = rest.next().await.transpose()? {
                entries.push(entry);
            }
            Ok(())
        });
        Ok(entries)
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
