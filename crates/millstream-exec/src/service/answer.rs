//! Requests and their answers.

use super::error::CallError;
use crate::shared::Shared;
use std::fmt;
use std::future::{Future, IntoFuture};
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

/// A request of a [`Client`](crate::Client) that has arrived, and the return channel of its answer: see
/// [`Reception`](crate::Reception).
pub struct Request<Q, A> {
    pub(super) value: Q,
    /// `None` after the answer was sent. If it is dropped unsent, as by a run that ends, the caller learns that no
    /// answer comes.
    reply: Mutex<Option<oneshot::Sender<Option<A>>>>,
}

impl<Q, A> Request<Q, A> {
    /// A request, and where its answer comes: an error there means that the service dropped the request.
    pub(super) fn new(value: Q) -> (Self, oneshot::Receiver<Option<A>>) {
        let (reply, answer) = oneshot::channel();
        (Request { value, reply: Mutex::new(Some(reply)) }, answer)
    }

    /// The request itself, and its reply.
    pub fn into_parts(self) -> (Q, Reply<A>) {
        (self.value, Reply(self.reply.into_inner().unwrap_or_else(PoisonError::into_inner)))
    }

    /// Sends the answer to the caller, or that there is none. The answer is dropped if the caller no longer waits.
    pub(super) fn answer(&self, answer: Option<A>) {
        let reply = self.reply.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(reply) = reply {
            // A caller that gave up is no failure.
            drop(reply.send(answer));
        }
    }
}

impl<Q, A> fmt::Debug for Request<Q, A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Request").finish_non_exhaustive()
    }
}

/// The return channel of one answer. If it is dropped without an answer, the caller learns that the service has ended.
#[must_use = "its caller waits"]
pub struct Reply<A>(Option<oneshot::Sender<Option<A>>>);

impl<A> Reply<A> {
    /// Sends the answer to the caller; `None` means that its slot is empty. The answer is dropped if the caller no
    /// longer waits.
    pub fn send(self, answer: Option<A>) {
        if let Some(reply) = self.0 {
            // A caller that gave up is no failure.
            drop(reply.send(answer));
        }
    }

    /// Whether the caller still waits.
    #[must_use]
    pub fn is_awaited(&self) -> bool {
        self.0.as_ref().is_some_and(|reply| !reply.is_closed())
    }
}

impl<A> fmt::Debug for Reply<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reply").finish_non_exhaustive()
    }
}

/// The answer to a request that was [sent](crate::Client::send): it can be awaited, and waited for.
///
/// Dropping it stops waiting; the service still works on the request.
#[must_use = "the answer is lost if it is not waited for"]
pub struct Answer<A> {
    answer: oneshot::Receiver<Option<A>>,
    run: Arc<Shared>,
}

impl<A> Answer<A> {
    pub(super) fn new(answer: oneshot::Receiver<Option<A>>, run: Arc<Shared>) -> Self {
        Answer { answer, run }
    }

    /// Blocks the thread until the answer is there.
    ///
    /// # Errors
    ///
    /// [`CallError::NoAnswer`] if the service leaves the request's slot empty, [`CallError::Failed`] if its run has
    /// failed, [`CallError::Ended`] if it has ended otherwise.
    pub fn wait(self) -> Result<A, CallError> {
        self.answer.recv().map_err(|_| CallError::of(&self.run))?.ok_or(CallError::NoAnswer)
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
        match self.answer.recv_timeout(most) {
            Ok(answer) => answer.ok_or(CallError::NoAnswer),
            Err(oneshot::RecvTimeoutError::Timeout) => Err(CallError::TimedOut),
            Err(oneshot::RecvTimeoutError::Disconnected) => Err(CallError::of(&self.run)),
        }
    }
}

impl<A> IntoFuture for Answer<A> {
    type Output = Result<A, CallError>;
    type IntoFuture = AnswerFuture<A>;

    fn into_future(self) -> AnswerFuture<A> {
        AnswerFuture { answer: self.answer.into_future(), run: self.run }
    }
}

impl<A> fmt::Debug for Answer<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Answer").finish_non_exhaustive()
    }
}

/// The future of an [`Answer`]. It panics if it is polled after it has the answer.
#[must_use = "a future does nothing before it is awaited"]
pub struct AnswerFuture<A> {
    answer: oneshot::AsyncReceiver<Option<A>>,
    run: Arc<Shared>,
}

impl<A> Future for AnswerFuture<A> {
    type Output = Result<A, CallError>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let answer = Pin::new(&mut self.answer).poll(cx);
        answer.map(|answer| answer.map_err(|_| CallError::of(&self.run))?.ok_or(CallError::NoAnswer))
    }
}

impl<A> fmt::Debug for AnswerFuture<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AnswerFuture").finish_non_exhaustive()
    }
}
