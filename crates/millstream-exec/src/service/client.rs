//! The callers of a service.

#[cfg(feature = "tower")]
mod tower;

use crate::{Sender, TrySendError};
use millstream_core::Item;
use std::fmt;
use std::future::{Future, IntoFuture};
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

/// A request, and the way back of its answer.
pub(super) struct Request<Q, A> {
    pub(super) value: Q,
    /// `None` after the answer was sent. What drops it unsent, such as a run that ends, tells the caller that no answer
    /// comes.
    reply: Mutex<Option<oneshot::Sender<Option<A>>>>,
}

impl<Q, A> Request<Q, A> {
    fn new(value: Q) -> (Self, Answer<A>) {
        let (reply, answer) = oneshot::channel();
        (Request { value, reply: Mutex::new(Some(reply)) }, Answer(answer))
    }

    /// Sends the answer to the caller, or tells it that there is none. A caller that waits no more does not get it.
    pub(super) fn answer(&self, answer: Option<A>) {
        let reply = self.reply.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(reply) = reply {
            // A caller that gave up is no failure.
            drop(reply.send(answer));
        }
    }
}

/// Sends requests to a [`Service`](crate::Service), and gets the answers to them. Clones are clients of the same
/// service.
///
/// The service ends when its last client is dropped. Requests that wait for a full ring are sent in no particular
/// order, except that those of one thread, or of one task, are in its order.
pub struct Client<Q: Item, A: Item> {
    requests: Arc<Sender<Request<Q, A>>>,
}

impl<Q: Item, A: Item> Client<Q, A> {
    /// Sends a request, and waits for its answer, in async code on any executor.
    ///
    /// A future that is dropped stops waiting. If its request was sent by then, the service still works on it: all
    /// later answers are as if the caller had waited.
    ///
    /// # Errors
    ///
    /// [`CallError::NoAnswer`] if the service leaves the request's slot empty, [`CallError::Ended`] if it has ended.
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
        self.requests.send_async(request).await.map_err(|_| CallError::Ended)?;
        answer.await
    }

    /// Sends a request, and blocks the thread until its answer is there.
    ///
    /// # Errors
    ///
    /// As [`call`](Client::call).
    pub fn call_blocking(&self, request: Q) -> Result<A, CallError> {
        self.send(request)?.wait()
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
    /// [`CallError::Ended`] if the service takes no more requests.
    pub fn send(&self, request: Q) -> Result<Answer<A>, CallError> {
        let (request, answer) = Request::new(request);
        self.requests.send(request).map_err(|_| CallError::Ended)?;
        Ok(answer)
    }

    /// Sends a request if there is room for it now. Never waits: it is for a caller that refuses work instead of
    /// delaying it, such as a server that answers 503.
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
    /// Returns the request if the ring is full, or if the service takes no more requests.
    pub fn try_send(&self, request: Q) -> Result<Answer<A>, TrySendError<Q>> {
        let (request, answer) = Request::new(request);
        match self.requests.try_send(request) {
            Ok(()) => Ok(answer),
            Err(TrySendError::Full { value, missing }) => Err(TrySendError::Full { value: value.value, missing }),
            Err(TrySendError::Ended(value)) => Err(TrySendError::Ended(value.value)),
        }
    }
}

impl<Q: Item, A: Item> Client<Q, A> {
    /// A client that owns the one sender of the service.
    pub(super) fn new(senders: Vec<Sender<Request<Q, A>>>) -> Self {
        let [sender] = <[_; 1]>::try_from(senders).expect("a fan-in of one producer has one sender");
        Client { requests: Arc::new(sender) }
    }
}

impl<Q: Item, A: Item> Clone for Client<Q, A> {
    fn clone(&self) -> Self {
        Client { requests: self.requests.clone() }
    }
}

impl<Q: Item, A: Item> fmt::Debug for Client<Q, A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client").field("sent", &self.requests.sent()).finish_non_exhaustive()
    }
}

/// The answer to a request that was [sent](Client::send): it can be awaited, and waited for.
///
/// Dropping it stops waiting; the service still works on the request.
#[must_use = "the answer is lost if it is not waited for"]
pub struct Answer<A>(oneshot::Receiver<Option<A>>);

impl<A> Answer<A> {
    /// Blocks the thread until the answer is there.
    ///
    /// # Errors
    ///
    /// [`CallError::NoAnswer`] if the service leaves the request's slot empty, [`CallError::Ended`] if it has ended.
    pub fn wait(self) -> Result<A, CallError> {
        self.0.recv().map_err(|_| CallError::Ended)?.ok_or(CallError::NoAnswer)
    }

    /// Blocks the thread until the answer is there, for this time at most.
    ///
    /// ```
    /// use millstream::prelude::*;
    /// use std::{thread::sleep, time::Duration};
    ///
    /// let slow = service(requests::<u64>().map_blocking(|ms| sleep(Duration::from_millis(*ms))));
    /// let (client, _run) = slow.start()?;
    /// assert_eq!(client.send(1000)?.wait_for(Duration::from_millis(1)), Err(CallError::TimedOut));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`wait`](Answer::wait), and [`CallError::TimedOut`]. The service still works on a request that has timed out.
    pub fn wait_for(self, most: Duration) -> Result<A, CallError> {
        match self.0.recv_timeout(most) {
            Ok(answer) => answer.ok_or(CallError::NoAnswer),
            Err(oneshot::RecvTimeoutError::Timeout) => Err(CallError::TimedOut),
            Err(oneshot::RecvTimeoutError::Disconnected) => Err(CallError::Ended),
        }
    }
}

impl<A> IntoFuture for Answer<A> {
    type Output = Result<A, CallError>;
    type IntoFuture = AnswerFuture<A>;

    fn into_future(self) -> AnswerFuture<A> {
        AnswerFuture(self.0.into_future())
    }
}

impl<A> fmt::Debug for Answer<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Answer").finish_non_exhaustive()
    }
}

/// The future of an [`Answer`]. It panics if it is polled after it has the answer.
#[must_use = "a future does nothing before it is awaited"]
pub struct AnswerFuture<A>(oneshot::AsyncReceiver<Option<A>>);

impl<A> Future for AnswerFuture<A> {
    type Output = Result<A, CallError>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let answer = Pin::new(&mut self.0).poll(cx);
        answer.map(|answer| answer.map_err(|_| CallError::Ended)?.ok_or(CallError::NoAnswer))
    }
}

impl<A> fmt::Debug for AnswerFuture<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AnswerFuture").finish_non_exhaustive()
    }
}

/// Why a call has no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CallError {
    /// The service left the request's slot empty.
    #[error("the service has no answer to this request: a stage left it out, or failed on it")]
    NoAnswer,
    /// The service has ended. Its run says why.
    #[error("the service has ended before it answered")]
    Ended,
    /// The time is over.
    #[error("there was no answer within the time")]
    TimedOut,
}
