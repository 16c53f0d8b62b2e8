//! The callers of a service.

#[cfg(feature = "tower")]
mod tower;

use super::answer::{Answer, Request};
use super::callers::Callers;
use super::error::CallError;
use crate::shared::Shared;
use crate::{RunError, Sender, TrySendError};
use millstream_core::Item;
use std::fmt;
use std::sync::Arc;
use std::task::Poll;

/// Sends requests to a [`Service`](crate::Service), and gets the answers to them. Clones are clients of the same
/// service.
///
/// A *call* ([`call`](Client::call), [`try_call`](Client::try_call), [`call_blocking`](Client::call_blocking)) may run
/// the stages on the calling thread, for its own request and for those of other callers meanwhile. It does so as long
/// as a request takes at most 20 microseconds, since waking a worker and being woken by it takes as long. An async call
/// first lets the ready tasks of its executor go on, so that their requests are done in the same turn. Its request may
/// wait until its future is polled again or dropped, or until there is another call. A stage that may wait belongs in
/// `map_blocking` or `map_async`: with one of them, the service's own threads run everything.
///
/// A *send* ([`send`](Client::send), [`send_async`](Client::send_async), [`try_send`](Client::try_send)) never runs a
/// stage. The answers are the same either way.
///
/// The service ends when its last client is dropped. Requests that wait for a full ring are sent in no particular
/// order, except that those of one thread, or of one task, are in its order.
pub struct Client<Q: Item, A: Item> {
    requests: Arc<Sender<Request<Q, A>>>,
    run: Arc<Shared>,
    /// `None` if the requests go through a journal first.
    callers: Option<Arc<Callers>>,
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
        let answer = match self.give(request) {
            Ok(unattended) => self.attended(unattended, answer).await,
            Err(TrySendError::Full { value, .. }) => {
                self.requests.send_async(value).await.map_err(|_| CallError::of(&self.run))?;
                answer.await
            }
            Err(TrySendError::Ended(_)) => return Err(CallError::of(&self.run)),
        };
        self.answered(answer)
    }

    /// As [`call`](Client::call), if there is room for the request now: it is for callers that refuse work instead of
    /// delaying it, such as a server that answers 503.
    ///
    /// ```
    /// use millstream::prelude::*;
    ///
    /// let squares = service(requests::<u64>().map(|x| x * x));
    /// let (client, run) = squares.start()?;
    /// # tokio::runtime::Builder::new_current_thread().build()?.block_on(async {
    /// assert_eq!(client.try_call(7).await.expect("the ring is empty"), Ok(49));
    /// run.drain(std::time::Duration::from_secs(9))?;
    /// assert!(matches!(client.try_call(8).await, Err(TrySendError::Ended(8))));
    /// # Ok::<(), RunError>(())
    /// # })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Returns the request if it was not sent, as [`try_send`](Client::try_send) does. The errors of an answer are
    /// those of [`call`](Client::call).
    pub async fn try_call(&self, request: Q) -> Result<Result<A, CallError>, TrySendError<Q>> {
        let (request, answer) = Request::new(request);
        let unattended = self.give(request).map_err(unsent)?;
        let answer = self.attended(unattended, answer).await;
        Ok(self.answered(answer))
    }

    /// Sends a request, and blocks the thread until its answer is there.
    ///
    /// # Errors
    ///
    /// As [`call`](Client::call).
    pub fn call_blocking(&self, request: Q) -> Result<A, CallError> {
        let (request, answer) = Request::new(request);
        match self.give(request) {
            Ok(unattended) => unattended.into_iter().for_each(Unattended::attend),
            Err(TrySendError::Full { value, .. }) => {
                self.requests.send(value).map_err(|_| CallError::of(&self.run))?;
            }
            Err(TrySendError::Ended(_)) => return Err(CallError::of(&self.run)),
        }
        self.answered(answer.recv())
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
            Err(refused) => Err(unsent(refused)),
        }
    }
}

impl<Q: Item, A: Item> Client<Q, A> {
    /// The failure of the service's run, if there is one: the stage, the number and the cause. `Handle::wait` returns
    /// it as well, to the one owner of the run's handle.
    ///
    /// While the run's threads are leaving, a failure at a lesser number may still replace it: see [`RunError`].
    #[must_use]
    pub fn failure(&self) -> Option<RunError> {
        self.run.failure()
    }

    /// A client that owns the one sender of the service.
    pub(super) fn new(sender: Sender<Request<Q, A>>, run: Arc<Shared>) -> Self {
        Client { requests: Arc::new(sender), run, callers: None }
    }

    /// Callers may run the stages of this run. The run's source takes the requests.
    pub(super) fn running(self, callers: Callers) -> Self {
        Client { callers: Some(Arc::new(callers)), ..self }
    }

    /// Sends a request if there is room for it now. If its caller must run the stages, no worker was woken.
    fn give(&self, request: Request<Q, A>) -> Result<Option<Unattended<'_>>, TrySendError<Request<Q, A>>> {
        let mut unattended = None;
        self.requests.try_send_then(request, || match &self.callers {
            Some(callers) if callers.attend() => {
                unattended = Some(Unattended { callers, run: self.requests.shared() });
            }
            _ => self.requests.shared().wake(),
        })?;
        Ok(unattended)
    }

    /// The answer to a request. Lets other tasks of the executor go first: their requests are then done in the same
    /// turn, or this one in theirs.
    async fn attended(&self, unattended: Option<Unattended<'_>>, answer: Receiver<A>) -> Received<A> {
        if let Some(unattended) = unattended {
            others_first().await;
            if answer.has_message() {
                unattended.done();
            } else {
                unattended.attend();
            }
        }
        answer.await
    }

    fn answered(&self, answer: Received<A>) -> Result<A, CallError> {
        answer.map_err(|_| CallError::of(&self.run))?.ok_or(CallError::NoAnswer)
    }
}

type Receiver<A> = oneshot::Receiver<Option<A>>;
type Received<A> = Result<Option<A>, oneshot::RecvError>;

/// A request that was published without waking a worker. If it is dropped, it wakes one.
struct Unattended<'c> {
    callers: &'c Callers,
    run: &'c Shared,
}

impl Unattended<'_> {
    /// Runs the stages.
    fn attend(self) {
        if self.callers.run() {
            std::mem::forget(self);
        }
    }

    /// Another caller has run them.
    fn done(self) {
        std::mem::forget(self);
    }
}

impl Drop for Unattended<'_> {
    fn drop(&mut self) {
        self.run.wake();
    }
}

/// Is ready at the second poll: the executor polls first what is ready now.
async fn others_first() {
    let mut polled = false;
    std::future::poll_fn(|cx| {
        if std::mem::replace(&mut polled, true) {
            return Poll::Ready(());
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}

/// The request itself that was refused.
fn unsent<Q, A>(refused: TrySendError<Request<Q, A>>) -> TrySendError<Q> {
    match refused {
        TrySendError::Full { value, missing } => TrySendError::Full { value: value.value, missing },
        TrySendError::Ended(request) => TrySendError::Ended(request.value),
    }
}

impl<Q: Item, A: Item> Clone for Client<Q, A> {
    fn clone(&self) -> Self {
        Client { requests: self.requests.clone(), run: self.run.clone(), callers: self.callers.clone() }
    }
}

impl<Q: Item, A: Item> fmt::Debug for Client<Q, A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client").field("sent", &self.requests.sent()).finish_non_exhaustive()
    }
}
