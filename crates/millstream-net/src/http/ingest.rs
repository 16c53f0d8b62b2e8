//! Posted lines as a source.

use super::connection::Held;
use super::endpoint::{ending, unanswered};
use super::refusal::Arrived;
use super::repeated::{self, KEY, Keys, LONGEST_KEY, Passed};
use super::switch::Visitor;
use super::{Refusal, body};
use crate::taking::{NotTaken, Taking};
use crate::{LineTooLong, WholeLines};
use axum::body::Body;
use axum::extract::Request;
use axum::http::StatusCode;
use axum::http::header::{CONTENT_LENGTH, HeaderName, TRANSFER_ENCODING};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use futures_util::stream::unfold;
use millstream_core::text::{Block, BlockPool};
use millstream_exec::Client;
use std::convert::Infallible;
use std::future::Future;
use std::mem;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::time::timeout;
use tower_service::Service;

/// The header with the number of lines of a body that were taken; in a request, by the process that forwards the rest
/// of the body.
pub(super) const TAKEN: HeaderName = HeaderName::from_static("millstream-taken");

/// The memory of larger blocks is not reused.
const REUSED: usize = 1 << 20;

/// An HTTP endpoint that takes lines, such as newline-delimited JSON, into a pipeline over blocks of text. It is a
/// `tower::Service`, for your own router.
///
/// A body may have any length, and is never in memory as a whole: the endpoint passes its whole lines on as they come.
/// The response has the number of taken lines: `{"taken":3}`. The status is 202 if they are in the pipeline, and 200 if
/// the source has a [journal](crate::arrivals::journaled) ([`durable`](Ingest::durable)) and they survive a crash.
///
/// - If the first ring is full when a body begins, the response is 503 with `Retry-After`. In the middle of a body the
///   connection waits for room.
/// - If the service ends in the middle of a body, the response is 503 without `Retry-After`. The header
///   `Millstream-Taken` has the number of lines that were taken, as in every other response to a part of a body.
/// - If a line is too long, the response is 413, with the number of lines before it that were taken.
/// - If a body breaks off, its whole lines are taken, and the rest is left out. A last line without an end gets one.
/// - If the service is [handed over](super::hand_over) while a body comes, the new process gets the rest of it. The
///   response has the number of lines that both have taken.
///
/// By default the endpoint does not recognize a line that is sent twice. A client without a response can send the lines
/// again that were not reported as taken, and a stage that recognizes lines can drop the repeated ones. With
/// [`keys`](Ingest::keys) it takes a body once that comes again with the same `Idempotency-Key`.
///
/// ```
/// use millstream::net::http::{Ingest, Server, axum::{Router, routing::post_service}};
/// use millstream::{exec::Reception, io::Block, net::arrivals, prelude::*};
/// use std::io::{Read, Write};
///
/// let (reception, arriving) = Reception::<Block, ()>::open(&Rings::new(), None)?;
/// let longest = pipeline::<Block>().lines().map(|line| line.len()).fold(0, |most, n| *most = *n.max(most), |n| n);
/// let run = Rings::new().start(longest.from(arrivals::taken(arriving)).to(sink::last()))?;
/// let ingest = Ingest::new(reception.client(&run));
/// let server = Server::open("127.0.0.1:0", Router::new().route("/ingest", post_service(ingest)))?;
///
/// let mut connection = std::net::TcpStream::connect(server.address())?;
/// let body = "to be\nor not to be\n";
/// write!(connection, "POST /ingest HTTP/1.1\r\nhost: localhost\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}", body.len())?;
/// let mut response = String::new();
/// connection.read_to_string(&mut response)?;
/// assert!(response.starts_with("HTTP/1.1 202") && response.ends_with("{\"taken\":2}\n"));
/// drop(server);
/// assert_eq!(run.wait()?.0, Some(12));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Ingest {
    client: Client<Block, ()>,
    longest: usize,
    idle: Duration,
    taken: StatusCode,
    keys: Option<Arc<Keys>>,
}

impl Ingest {
    /// An endpoint for lines of at most 1 MiB.
    #[must_use]
    pub fn new(client: Client<Block, ()>) -> Self {
        let (longest, idle, taken) = (1 << 20, Duration::from_secs(30), StatusCode::ACCEPTED);
        Ingest { client, longest, idle, taken, keys: None }
    }

    /// Sets the longest line in bytes, counting its end.
    #[must_use]
    pub fn longest(self, longest: usize) -> Self {
        Ingest { longest, ..self }
    }

    /// Sets how long a body may send nothing; 30 seconds by default.
    #[must_use]
    pub fn idle(self, idle: Duration) -> Self {
        Ingest { idle, ..self }
    }

    /// For a source with a journal: taken lines survive a crash, and the response is 200.
    #[must_use]
    pub fn durable(self) -> Self {
        Ingest { taken: StatusCode::OK, ..self }
    }

    /// Remembers the last keys, this many of them. A body that comes again with its `Idempotency-Key`, as a
    /// [`PostSink`](super::PostSink) repeats one, is taken once: the repeat waits until the first one is through, its
    /// lines that were taken are left out, and it has the same response. If other lines have come with the key, the
    /// response is 422. The keys are in the memory of this process alone.
    #[must_use]
    pub fn keys(self, last: usize) -> Self {
        Ingest { keys: Some(Arc::new(Keys::last(last))), ..self }
    }

    async fn respond(self, request: Request) -> Response {
        let (mut parts, body) = request.into_parts();
        let before = parts.headers.get(&TAKEN).and_then(|taken| taken.to_str().ok()?.parse().ok()).unwrap_or(0);
        let held = parts.extensions.get::<Held>().cloned();
        let key = self.keys.as_ref().zip(parts.headers.get(&KEY));
        if key.is_some_and(|(_, key)| key.len() > LONGEST_KEY) {
            return (StatusCode::BAD_REQUEST, "Idempotency-Key: send one of at most 256 bytes\n").into_response();
        }
        let known = key.map_or_else(repeated::Body::default, |(keys, key)| keys.body(key.as_bytes()));
        let visitor = held.as_ref().map(Held::visitor);
        let mut passed = match known.clone().try_lock_owned() {
            Ok(passed) => passed,
            Err(_) => {
                // A hand-over waits for the request that is under way, not for this one.
                visitor.into_iter().for_each(|visitor| visitor.leave());
                known.lock_owned().await
            }
        };
        let mut taking = Taking::into(&self.client, passed.at(before));
        let outcome = self.take(body, before, visitor, &mut taking, &mut passed).await;
        // These lines are taken, even if the rest failed.
        let acknowledged = taking.all().await.map_err(|not_taken| self.refusal(not_taken));
        let taken = taking.taken;
        let said = format!("{{\"taken\":{taken}}}\n");
        match outcome.and_then(|rest| acknowledged.clone().map(|()| rest.zip(held))) {
            Ok(None) => (self.taken, [("content-type", "application/json")], said).into_response(),
            Ok(Some((rest, held))) => {
                held.visitor().leave();
                // The rest may come back to these routes, with its key.
                drop(passed);
                [CONTENT_LENGTH, TRANSFER_ENCODING].iter().for_each(|length| _ = parts.headers.remove(length));
                parts.headers.insert(TAKEN, taken.into());
                let response = Box::pin(held.again(parts, rest)).await;
                let nowhere = response.status() == StatusCode::SERVICE_UNAVAILABLE
                    // If the other process has ended, it may have taken lines of the rest.
                    && response.extensions().get::<Arrived>().is_none()
                    && !response.headers().contains_key(TAKEN);
                if nowhere { refused(Refusal::Ending, taken) } else { response }
            }
            // The lines that were taken are those of another body.
            Err(Refusal::OtherLines) => Refusal::OtherLines.into_response(),
            Err(Refusal::LineTooLong { most, .. }) => refused(Refusal::LineTooLong { most, taken }, taken),
            // It is not known whether the lines that are not acknowledged were taken.
            Err(Refusal::Ending) if taken == 0 => refused(acknowledged.err().unwrap_or(Refusal::Ending), taken),
            Err(refusal) => refused(refusal, taken),
        }
    }

    fn refusal(&self, not_taken: NotTaken) -> Refusal {
        match not_taken {
            NotTaken::Full => Refusal::Full,
            NotTaken::Ending => ending(&self.client),
            NotTaken::Failed(error) => unanswered(error),
        }
    }

    /// Takes the lines of a body. Returns the rest of the body if another run must take that.
    async fn take(
        &self,
        mut body: Body,
        first: u64,
        visitor: Option<&Visitor>,
        taking: &mut Taking<'_, Block>,
        passed: &mut Passed,
    ) -> Result<Option<Body>, Refusal> {
        let Some(mut after) = self.after(&mut body, first, visitor, taking, *passed).await? else { return Ok(None) };
        // Reuses the memory of blocks that the pipeline has finished with, as long as the body lasts.
        let (mut lines, mut pool) = (WholeLines::new(self.longest), BlockPool::new(REUSED));
        let too_long = |LineTooLong { longest }| Refusal::LineTooLong { most: longest, taken: 0 };
        let stays = || visitor.is_none_or(Visitor::stays);
        loop {
            let piece = match mem::take(&mut after) {
                none if none.is_empty() => self.piece(&mut body, visitor, taking).await?,
                after => Some(after),
            };
            let Some(piece) = piece else { break };
            if !stays() {
                let begun = [&lines.end().unwrap_or_default(), &*piece].concat();
                return Ok(Some(rest(begun, body)));
            }
            let mut block = pool.draft();
            block.bytes.clear();
            let whole = lines.push_onto(&piece, &mut block.bytes).map_err(too_long)?;
            if whole > 0 {
                let filled = block.bytes.len();
                self.send(pool.finish(block, filled), whole, taking, passed).await?;
            }
        }
        let Some(mut last) = lines.end() else { return Ok(None) };
        if !stays() {
            return Ok(Some(rest(last, body)));
        }
        last.push(b'\n');
        self.send(last.into(), 1, taking, passed).await?;
        Ok(None)
    }

    /// Leaves out the lines that were passed on when the body came before. Returns the bytes after them that have come;
    /// `None` if the body ends there.
    async fn after(
        &self,
        body: &mut Body,
        first: u64,
        visitor: Option<&Visitor>,
        taking: &mut Taking<'_, Block>,
        passed: Passed,
    ) -> Result<Option<Bytes>, Refusal> {
        let (mut again, mut after) = (passed.again(first), Some(Bytes::new()));
        while !again.is_over() {
            after = self.piece(body, visitor, taking).await?;
            match &mut after {
                Some(piece) => {
                    let left_out = again.leave_out(piece);
                    drop(piece.split_to(left_out));
                }
                None => {
                    again.end();
                    break;
                }
            }
        }
        if again.are_same() { Ok(after) } else { Err(Refusal::OtherLines) }
    }

    /// The next piece of a body. A hand-over waits for open requests, but not for a body that comes slowly.
    async fn piece(
        &self,
        body: &mut Body,
        visitor: Option<&Visitor>,
        taking: &mut Taking<'_, Block>,
    ) -> Result<Option<Bytes>, Refusal> {
        let mut piece = pin!(timeout(self.idle, body::next(body)));
        while taking.waits() {
            tokio::select! {
                piece = &mut piece => return piece.map_err(|_| Refusal::BodyTooSlow)?,
                taken = taking.next() => taken.map_err(|not_taken| self.refusal(not_taken))?,
            }
        }
        visitor.into_iter().for_each(Visitor::leave);
        piece.await.map_err(|_| Refusal::BodyTooSlow)?
    }

    /// Only the first block of a body is refused for a full ring.
    async fn send(
        &self,
        block: Block,
        lines: u64,
        taking: &mut Taking<'_, Block>,
        passed: &mut Passed,
    ) -> Result<(), Refusal> {
        let with = passed.with(lines, &block);
        taking.send(block, lines, true).await.map_err(|not_taken| self.refusal(not_taken))?;
        *passed = with;
        Ok(())
    }
}

/// The response to a body of which these lines were taken, and not all.
fn refused(refusal: Refusal, taken: u64) -> Response {
    let refusal = match refusal {
        Refusal::Ending | Refusal::Ended if taken > 0 => Refusal::Interrupted { taken },
        refusal => refusal,
    };
    let mut response = refusal.into_response();
    response.headers_mut().insert(TAKEN, taken.into());
    response
}

/// The rest of a body, after this part.
fn rest(begun: Vec<u8>, body: Body) -> Body {
    Body::from_stream(unfold((Some(begun), body), |(begun, mut body)| async move {
        let piece = match begun {
            Some(begun) => Ok(begun.into()),
            None => body::next(&mut body).await.transpose()?,
        };
        Some((piece, (None, body)))
    }))
}

impl Service<Request> for Ingest {
    type Response = Response;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Response, Infallible>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request) -> Self::Future {
        let ingest = self.clone();
        Box::pin(async move { Ok(ingest.respond(request).await) })
    }
}
