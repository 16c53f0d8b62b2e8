//! The callers of a service.

#[cfg(feature = "tower")]
mod tower;

use super::answer::{Answer, Request};
use super::error::CallError;
use crate::shared::Shared;
use crate::{RunError, Sender, TrySendError};
use millstream_core::Item;
use std::fmt;
use std::sync::Arc;

/// Sends requests to a [`Service`](crate::Service), and gets the answers to them. Clones are clients of the same
/// service.
///
/// The service ends when its last client is dropped. Requests that wait for a full ring are sent in no particular
/// order, except that those of one thread, or of one task, are in its order.
pub struct Client<Q: Item, A: Item> {
    requests: Arc<Sender<Request<Q, A>>>,
    run: Arc<Shared>,
}

impl<Q: Item, A: Item> Client<Q, A> {
    /// Sends a request, and waits for its answer, in async code on any executor.
    ///
    /// Dropping the future stops the waiting. If its request was sent by then, the service still works on it: all later
    /// answers are as if the caller had waited.
    ///
    /// # Errors
    ///
    /// [`CallError::NoAnswer`] if the service leaves the request's slot empty, [`CallError::Failed`] if its run has
    /// failed, [`CallError::Ended`] if it has ended otherwise.
    ///
    /// ```
    /// use millstream::prelude::*;
    ///
    /// let halves = service(requests::<u32>().filter(|x| x % 2 == 0).map(|x| x / 2));
    /// let (client, _run) = halves.start()?;
    /// # tokio::runtime::Builder::new_current_thread().enable_time().build()?.block_on(async {
    /// assert_eq!(client.call(10).await, Ok(5));
    /// assert_eq!(client.call(7).await, Err(CallError::NoAnswer));
    /// let within = tokio::time::timeout(std::time::Duration::from_secs(9), client.call(8));
    /// assert_eq!(within.await, Ok(Ok(4)));
    /// # });
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub async fn call(&self, request: Q) -> Result<A, CallError> {
        let (request, answer) = Request::new(request);
        self.requests.send_async(request).await.map_err(|_| CallError::of(&self.run))?;
        answer.await.map_err(|_| CallError::of(&self.run))?.ok_or(CallError::NoAnswer)
    }

    /// Sends a request, and blocks the thread until its answer is there.
    ///
    /// # Errors
    ///
    /// As [`call`](Client::call).
    pub fn call_blocking(&self, request: Q) -> Result<A, CallError> {
        let (request, answer) = Request::new(request);
        self.requests.send(request).map_err(|_| CallError::of(&self.run))?;
        answer.recv().map_err(|_| CallError::of(&self.run))?.ok_or(CallError::NoAnswer)
    }

    /// Sends a request, and returns without waiting for its answer, so that a caller can have many requests under way.
    /// Blocks the thread while the ring is full.
    ///
    /// ```
    /// use millstream::prelude::*;
    ///
    /// let squares = service(requests::<u64>().map(|x| x * x));
    /// let (client, _run) = squares.start()?;
    /// let under_way: Vec<_> = (0..64).map(|x| client.send(x)).collect::<Result<_, _>>()?;
    /// let sum: u64 = under_way.into_iter().map(|answer| answer.wait().unwrap()).sum();
    /// assert_eq!(sum, 85_344);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`CallError::Failed`] or [`CallError::Ended`] if the service takes no more requests.
    pub fn send(&self, request: Q) -> Result<Answer<A>, CallError> {
        let (request, answer) = Request::new(request);
        self.requests.send(request).map_err(|_| CallError::of(&self.run))?;
        Ok(Answer::new(answer, self.run.clone()))
    }

    /// As [`send`](Client::send), for async code: waits for room, and returns without waiting for the answer.
    ///
    /// ```
    /// use millstream::prelude::*;
    ///
    /// let squares = service(requests::<u64>().map(|x| x * x));
    /// let (client, _run) = squares.start()?;
    /// # tokio::runtime::Builder::new_current_thread().build()?.block_on(async {
    /// let (three, four) = (client.send_async(3).await?, client.send_async(4).await?);
    /// assert_eq!(three.await? + four.await?, 25);
    /// # Ok::<(), CallError>(())
    /// # })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`send`](Client::send).
    pub async fn send_async(&self, request: Q) -> Result<Answer<A>, CallError> {
        let (request, answer) = Request::new(request);
        self.requests.send_async(request).await.map_err(|_| CallError::of(&self.run))?;
        Ok(Answer::new(answer, self.run.clone()))
    }

    /// Sends a request if there is room for it now. Never waits: it is for callers that refuse work instead of delaying
    /// it, such as a server that answers 503.
    ///
    /// ```
    /// use millstream::prelude::*;
    ///
    /// let echo = service(requests::<u64>().map(|x| *x)).ring(1);
    /// let (client, run) = echo.start()?;
    /// assert_eq!(client.try_send(7).expect("the ring is empty").wait(), Ok(7));
    /// run.drain(std::time::Duration::from_secs(9))?;
    /// assert!(matches!(client.try_send(8), Err(TrySendError::Ended(8))));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Returns the request if the ring is full, or if the service takes no more requests; [`failure`](Client::failure)
    /// says whether its run has failed.
    pub fn try_send(&self, request: Q) -> Result<Answer<A>, TrySendError<Q>> {
        let (request, answer) = Request::new(request);
        match self.requests.try_send(request) {
            Ok(()) => Ok(Answer::new(answer, self.run.clone())),
            Err(TrySendError::Full { value, missing }) => Err(TrySendError::Full { value: value.value, missing }),
            Err(TrySendError::Ended(value)) => Err(TrySendError::Ended(value.value)),
        }
    }
}

impl<Q: Item, A: Item> Client<Q, A> {
    /// The failure of the service's run, if there is one: the stage, the number and the cause. `Handle::wait` returns
    /// it as well, to the one owner of the run's handle.
    ///
    /// While the run's threads are leaving, it may still become one at a lesser number, as [`RunError`] says.
    #[must_use]
    pub fn failure(&self) -> Option<RunError> {
        self.run.failure()
    }

    /// A client that owns the one sender of the service.
    pub(super) fn new(sender: Sender<Request<Q, A>>, run: Arc<Shared>) -> Self {
        Client { requests: Arc::new(sender), run }
    }
}

impl<Q: Item, A: Item> Clone for Client<Q, A> {
    fn clone(&self) -> Self {
        Client { requests: self.requests.clone(), run: self.run.clone() }
    }
}

impl<Q: Item, A: Item> fmt::Debug for Client<Q, A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client").field("sent", &self.requests.sent()).finish_non_exhaustive()
    }
}
