//! Values that are sent into a pipeline, and their acknowledgements.

use millstream_core::Item;
use millstream_exec::{AnswerFuture, CallError, Client, TrySendError};
use std::collections::VecDeque;
use std::future::IntoFuture;

/// The values of one connection that are not acknowledged yet.
const UNDER_WAY: usize = 16;

/// The values of one connection in flight.
pub(crate) struct Taking<'c, T: Item> {
    client: &'c Client<T, ()>,
    /// The number of lines or records of each value.
    under_way: VecDeque<(AnswerFuture<()>, u64)>,
    /// The number of acknowledged lines or records.
    pub(crate) taken: u64,
}

/// Why a value is not taken.
pub(crate) enum NotTaken {
    /// The first ring is full, and nothing was sent before, so the other end can try again.
    Full,
    Ending,
    Failed(#[cfg_attr(not(feature = "http"), expect(dead_code, reason = "HTTP alone says why"))] CallError),
}

impl<'c, T: Item> Taking<'c, T> {
    /// Sends to this client, after this many lines or records that another process has acknowledged.
    pub(crate) fn into(client: &'c Client<T, ()>, taken: u64) -> Self {
        Taking { client, under_way: VecDeque::new(), taken }
    }

    /// Sends a value of this many lines or records. If the ring is full it waits, unless it `begins` and has sent
    /// nothing.
    pub(crate) async fn send(&mut self, value: T, counts: u64, begins: bool) -> Result<(), NotTaken> {
        let first = begins && self.taken == 0 && self.under_way.is_empty();
        let answer = match self.client.try_send(value) {
            Ok(answer) => answer,
            Err(TrySendError::Full { .. }) if first => return Err(NotTaken::Full),
            Err(TrySendError::Full { value, .. }) => self.client.send_async(value).await.map_err(NotTaken::Failed)?,
            Err(TrySendError::Ended(_)) => return Err(NotTaken::Ending),
        };
        self.under_way.push_back((answer.into_future(), counts));
        if self.under_way.len() > UNDER_WAY { self.next().await } else { Ok(()) }
    }

    /// Whether a value is not acknowledged yet.
    pub(crate) fn waits(&self) -> bool {
        !self.under_way.is_empty()
    }

    /// Waits until the first value in flight is acknowledged. Dropping the future loses nothing.
    pub(crate) async fn next(&mut self) -> Result<(), NotTaken> {
        let Some((answer, counts)) = self.under_way.front_mut() else { return Ok(()) };
        let (answered, counts) = (answer.await, *counts);
        self.under_way.pop_front();
        answered.map_err(NotTaken::Failed)?;
        self.taken += counts;
        Ok(())
    }

    /// Waits until all values are acknowledged.
    pub(crate) async fn all(&mut self) -> Result<(), NotTaken> {
        while !self.under_way.is_empty() {
            self.next().await?;
        }
        Ok(())
    }
}
