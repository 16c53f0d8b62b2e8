//! A pipeline that answers requests.

use super::connection::Held;
use super::timers::Timers;
use super::{Refusal, body};
use axum::body::Body;
use axum::extract::Request;
use axum::http::HeaderMap;
use axum::http::header::TRANSFER_ENCODING;
use axum::http::request::Parts;
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use millstream_core::Item;
use millstream_exec::{Answer, CallError, Client, TrySendError};
use std::borrow::Cow;
use std::convert::Infallible;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::time::timeout;
use tower_service::Service;

/// An HTTP endpoint that answers with a pipeline's output at the request's number. It is a `tower::Service`, for your
/// own router (axum's `post_service`).
///
/// One function reads the request, and another writes the answer; both run on the server's threads. Everything between
/// them is in the pipeline, whose stages may run there, too, as [`Client`] says. A failure affects only its request:
///
/// - The body is too long, or too slow: 413, 408. The request was not sent to the pipeline.
/// - The first ring is full: 503 with `Retry-After`, at once, or after a time to wait for
///   [room](Endpoint::room_within).
/// - The stages leave the request's slot empty, by a filter or a `try_map_or_empty` that fails: 500. If the values are
///   `Result`s, the function that writes decides what an error means.
/// - The answer does not come in [time](Endpoint::within): 202. A client sets a shorter time by `Prefer: wait=SECONDS`.
/// - The client goes away before the body is read: the request was not sent. Later: the answer is dropped.
/// - The service is [handed over](super::hand_over) while the body comes: the new process gets the whole request.
///
/// ```
/// use millstream::net::http::{Endpoint, Server, axum::{Router, http::StatusCode, routing::post_service}};
/// use millstream::prelude::*;
/// use std::io::{Read, Write};
///
/// let sums = service(requests::<u64>().scan(0, |sum, x| { *sum += x; *sum }));
/// let (client, run) = sums.start()?;
/// let add = Endpoint::new(
///     client,
///     |_, body| {
///         let text = String::from_utf8_lossy(&body).into_owned();
///         text.trim().parse::<u64>().map_err(|_| (StatusCode::BAD_REQUEST, "no number\n"))
///     },
///     |sum| format!("{sum}\n"),
/// );
/// let server = Server::open("127.0.0.1:0", Router::new().route("/add", post_service(add)))?;
///
/// let mut connection = std::net::TcpStream::connect(server.address())?;
/// write!(connection, "POST /add HTTP/1.1\r\nhost: localhost\r\ncontent-length: 2\r\nconnection: close\r\n\r\n42")?;
/// let mut answer = String::new();
/// connection.read_to_string(&mut answer)?;
/// assert!(answer.starts_with("HTTP/1.1 200 OK") && answer.ends_with("42\n"));
///
/// drop(server); // no new connections; then the last client is gone, and the run ends
/// run.wait()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Endpoint<Q: Item, A: Item>(Arc<Inner<Q, A>>);

type Read<Q> = dyn Fn(Parts, Bytes) -> Result<Q, Box<Response>> + Send + Sync;
type Write<A> = dyn Fn(A) -> Response + Send + Sync;
type Refuse = dyn Fn(Refusal) -> Response + Send + Sync;

struct Inner<Q: Item, A: Item> {
    client: Client<Q, A>,
    options: Options<Q, A>,
}

struct Options<Q, A> {
    read: Arc<Read<Q>>,
    write: Arc<Write<A>>,
    refuse: Arc<Refuse>,
    most: usize,
    body_within: Duration,
    within: Duration,
    room_within: Duration,
}

impl<Q, A> Clone for Options<Q, A> {
    fn clone(&self) -> Self {
        let Options { read, write, refuse, most, body_within, within, room_within } = self;
        let (read, write, refuse) = (read.clone(), write.clone(), refuse.clone());
        let (body_within, within, room_within) = (*body_within, *within, *room_within);
        Options { read, write, refuse, most: *most, body_within, within, room_within }
    }
}

impl<Q: Item, A: Item> Endpoint<Q, A> {
    /// An endpoint that makes requests by `read`, from the head and the whole body, and writes answers by `write`. An
    /// error of `read` is the response.
    pub fn new<E: IntoResponse, R: IntoResponse>(
        client: Client<Q, A>,
        read: impl Fn(Parts, Bytes) -> Result<Q, E> + Send + Sync + 'static,
        write: impl Fn(A) -> R + Send + Sync + 'static,
    ) -> Self {
        let options = Options {
            read: Arc::new(move |parts, body| read(parts, body).map_err(|error| Box::new(error.into_response()))),
            write: Arc::new(move |answer| write(answer).into_response()),
            refuse: Arc::new(IntoResponse::into_response),
            most: 64 << 10,
            body_within: Duration::from_secs(10),
            within: Duration::from_secs(30),
            room_within: Duration::ZERO,
        };
        Endpoint(Arc::new(Inner { client, options }))
    }

    /// Sets the longest body in bytes; 64 KiB by default.
    #[must_use]
    pub fn body(self, most: usize) -> Self {
        self.with(|options| options.most = most)
    }

    /// Sets the time limit for a body; 10 seconds by default.
    #[must_use]
    pub fn body_within(self, time: Duration) -> Self {
        self.with(|options| options.body_within = time)
    }

    /// Sets the time limit for an answer, from the time when the request is sent to the pipeline; 30 seconds by
    /// default. A request can set a shorter time by `Prefer: wait=SECONDS`.
    #[must_use]
    pub fn within(self, time: Duration) -> Self {
        self.with(|options| options.within = time)
    }

    /// Sets how long a request waits for room in the first ring before it is refused with 503; by default it does not
    /// wait.
    ///
    /// A client that is refused at once may try again at once, and refusals keep the server from answering. With some
    /// milliseconds here it refuses each connection much less often, and its rate of answers stays the same under any
    /// load.
    #[must_use]
    pub fn room_within(self, time: Duration) -> Self {
        self.with(|options| options.room_within = time)
    }

    /// Sets your own response to a request without an answer.
    #[must_use]
    pub fn on_refusal<R: IntoResponse>(self, refuse: impl Fn(Refusal) -> R + Send + Sync + 'static) -> Self {
        self.with(|options| options.refuse = Arc::new(move |refusal| refuse(refusal).into_response()))
    }

    fn with(self, set: impl FnOnce(&mut Options<Q, A>)) -> Self {
        let Inner { client, options } = &*self.0;
        let mut options = options.clone();
        set(&mut options);
        Endpoint(Arc::new(Inner { client: client.clone(), options }))
    }
}

impl<Q: Item, A: Item> Inner<Q, A> {
    async fn respond(&self, request: Request) -> Response {
        self.answer(request).await.unwrap_or_else(|refusal| (self.options.refuse)(refusal))
    }

    async fn answer(&self, request: Request) -> Result<Response, Refusal> {
        let options = &self.options;
        let (mut parts, body) = request.into_parts();
        // A hand-over does not wait for a body that comes slowly.
        let held = parts.extensions.get::<Held>().cloned();
        if let Some(held) = &held {
            held.visitor().leave();
        }
        let timers = held.as_ref().map_or_else(|| Cow::Owned(Timers::default()), |held| Cow::Borrowed(held.timers()));
        let body = body::whole(body, options.most, &timers.body, options.body_within).await?;
        if let Some(held) = &held
            && !held.visitor().come_back()
        {
            parts.headers.remove(TRANSFER_ENCODING);
            return Ok(Box::pin(held.clone().again(parts, Body::from(body))).await);
        }
        let within = preferred(&parts.headers).map_or(options.within, |preferred| preferred.min(options.within));
        let asked = match (options.read)(parts, body) {
            Ok(asked) => asked,
            Err(response) => return Ok(*response),
        };
        let answered = match timers.answer.within(within, self.client.try_call(asked)).await {
            Some(Ok(answered)) => answered,
            Some(Err(TrySendError::Full { value, .. })) => {
                let sent = self.sent_within(value, options.room_within).await?;
                timeout(within, sent.into_future()).await.map_err(|_| Refusal::Late)?
            }
            Some(Err(TrySendError::Ended(_))) => return Err(ending(&self.client)),
            None => return Err(Refusal::Late),
        };
        answered.map(|answer| (options.write)(answer)).map_err(unanswered)
    }
}

impl<Q: Item, A: Item> Inner<Q, A> {
    /// Waits for room. If the time runs out, the request was not sent.
    async fn sent_within(&self, asked: Q, time: Duration) -> Result<Answer<A>, Refusal> {
        if time.is_zero() {
            return Err(Refusal::Full);
        }
        let sent = timeout(time, self.client.send_async(asked)).await.map_err(|_| Refusal::Full)?;
        sent.map_err(|_| ending(&self.client))
    }
}

/// Why this client takes no further request.
pub(super) fn ending<Q: Item, A: Item>(client: &Client<Q, A>) -> Refusal {
    client.failure().map_or(Refusal::Ending, |error| Refusal::Failed(Arc::new(error)))
}

/// Why an accepted request has no answer.
pub(super) fn unanswered(error: CallError) -> Refusal {
    match error {
        CallError::NoAnswer => Refusal::NoAnswer,
        CallError::Failed(error) => Refusal::Failed(error),
        CallError::TimedOut => Refusal::Late,
        _ => Refusal::Ended,
    }
}

/// The seconds in `Prefer: wait=SECONDS` (RFC 7240).
fn preferred(headers: &HeaderMap) -> Option<Duration> {
    let mut preferences =
        headers.get_all("prefer").iter().filter_map(|value| value.to_str().ok()).flat_map(|value| value.split(','));
    let seconds = preferences.find_map(|preference| {
        let (name, value) = preference.split_once('=')?;
        name.trim().eq_ignore_ascii_case("wait").then(|| value.trim().parse::<u64>().ok())?
    });
    seconds.map(Duration::from_secs)
}

impl<Q: Item, A: Item> Service<Request> for Endpoint<Q, A> {
    type Response = Response;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Response, Infallible>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request) -> Self::Future {
        let inner = self.0.clone();
        Box::pin(async move { Ok(inner.respond(request).await) })
    }
}

impl<Q: Item, A: Item> Clone for Endpoint<Q, A> {
    fn clone(&self) -> Self {
        Endpoint(self.0.clone())
    }
}

impl<Q: Item, A: Item> fmt::Debug for Endpoint<Q, A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Endpoint").field("client", &self.0.client).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_that_a_client_waits_is_in_prefer() {
        let headers = |values: &[&str]| {
            let mut headers = HeaderMap::new();
            values.iter().for_each(|value| _ = headers.append("prefer", value.parse().unwrap()));
            preferred(&headers)
        };
        let seconds = |seconds| Some(Duration::from_secs(seconds));
        assert_eq!(headers(&["wait=3"]), seconds(3));
        assert_eq!(headers(&["respond-async, Wait = 10"]), seconds(10));
        assert_eq!(headers(&["respond-async", "wait=0"]), seconds(0));
        assert_eq!(headers(&["wait=soon"]), None);
        assert_eq!(headers(&["waiting=3"]), None);
        assert_eq!(headers(&[]), None);
    }
}
