//! Values on their way into a pipeline.

use millstream_core::Item;
use millstream_exec::{AnswerFuture, CallError, Client, TrySendError};
use std::collections::VecDeque;
use std::future::IntoFuture;

/// The values of one connection that are not acknowledged yet.
const UNDER_WAY: usize = 16;

/// The values of one connection on their way.
pub(crate) struct Taking<'c, T: Item> {
    client: &'c Client<T, ()>,
    /// With how many lines or records each counts.
    under_way: VecDeque<(AnswerFuture<()>, u64)>,
    /// What was acknowledged.
    pub(crate) taken: u64,
}

/// Why a value is not taken.
pub(crate) enum NotTaken {
    /// The first ring is full, and nothing was sent before: the other end can be told to come again.
    Full,
    Ending,
    Failed(#[cfg_attr(not(feature = "http"), expect(dead_code, reason = "HTTP alone says why"))] CallError),
}

impl<'c, T: Item> Taking<'c, T> {
    /// Into this client, behind this many that were acknowledged elsewhere.
    pub(crate) fn into(client: &'c Client<T, ()>, taken: u64) -> Self {
        Taking { client, under_way: VecDeque::new(), taken }
    }

    /// Sends a value that counts as this many. If the ring is full it waits, unless it `begins` and has sent nothing.
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

    /// Whether something is not acknowledged yet.
    pub(crate) fn waits(&self) -> bool {
        !self.under_way.is_empty()
    }

    /// Waits until the first value under way is acknowledged. A future that is dropped loses nothing.
    pub(crate) async fn next(&mut self) -> Result<(), NotTaken> {
        let Some((answer, counts)) = self.under_way.front_mut() else { return Ok(()) };
        let (answered, counts) = (answer.await, *counts);
        self.under_way.pop_front();
        answered.map_err(NotTaken::Failed)?;
        self.taken += counts;
        Ok(())
    }

    /// Waits until everything is acknowledged.
    pub(crate) async fn all(&mut self) -> Result<(), NotTaken> {
        while !self.under_way.is_empty() {
            self.next().await?;
        }
        Ok(())
    }
}
