//! A sink that posts values.

use super::limits::NO_LIMIT;
use millstream_core::{Lends, Retry, RunOutcome, SequenceNumber, Sink};
use std::time::Duration;
use std::{error, fmt, mem};

/// A sink that posts values, text or bytes, to a URL, in batches, with retries. A batch is the bytes of its values, one
/// after the other.
///
/// Each request has `Idempotency-Key: JOB:FIRST-LAST` (`JOB:NUMBER` for a single value), where `JOB` is the name of the
/// sink. A repeated request has the same bytes and the same key, so a server that knows keys carries it out once. A
/// batch ends when it is full, at a [pause](Sink::pause), and at the end. So a run that goes on after a crash may cut
/// batches in other places. With [batches of one](PostSink::batch) the key is the number, and even then each value is
/// carried out once.
///
/// A response of 2xx takes a batch. The sink tries again after 408, 425, 429, 5xx and network errors: after the pauses
/// of the [`Retry`], or after `Retry-After` if that is longer, but after at most a minute. Any other response, a
/// redirection included, and the last failure fail the run, at the number of the value that was put last.
///
/// It waits for each response. On a worker it delays the other stages of that worker; a named sink (`tee_to`) has its
/// own thread.
///
/// ```no_run
/// use millstream::{net::http::PostSink, prelude::*};
/// use std::time::Duration;
///
/// let retry = Retry::times(5).backoff(Duration::from_millis(100));
/// let sink = PostSink::to("http://127.0.0.1:9000/squares", "squares").batch(500).retry(retry);
/// let squares = pipeline::<u64>().map(|x| format!("{}\n", x * x));
/// let (posted, _) = squares.from(0..10_000).to(sink).run()?;
/// assert_eq!(posted.values, 10_000);
/// # Ok::<(), RunError>(())
/// ```
pub struct PostSink {
    agent: ureq::Agent,
    url: String,
    job: String,
    content_type: String,
    token: Option<String>,
    batch: usize,
    bytes: usize,
    retry: Retry,
    body: Vec<u8>,
    /// The numbers of the first and the last value in the body, and the number of values.
    numbers: Option<(u64, u64)>,
    values: usize,
    posted: Posted,
}

/// The counters of a [`PostSink`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Posted {
    /// The number of the last taken value.
    pub last: Option<SequenceNumber>,
    /// How many values were taken.
    pub values: u64,
    /// How many requests succeeded.
    pub requests: u64,
    /// How many requests were repeated.
    pub retries: u64,
}

/// Why a batch was not taken.
#[derive(Debug)]
#[non_exhaustive]
pub enum PostError {
    /// The response has this status, and repeating the request would not help, or has not helped.
    Refused {
        /// The URL.
        url: String,
        /// The status.
        status: u16,
    },
    /// No response came.
    Unanswered {
        /// The URL.
        url: String,
        /// The error of the last try.
        source: Box<dyn error::Error + Send + Sync>,
    },
}

impl fmt::Display for PostError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PostError::Refused { url, status } => write!(f, "POST {url}: the server answered with status {status}"),
            PostError::Unanswered { url, source } => write!(f, "POST {url}: {source}"),
        }
    }
}

impl error::Error for PostError {
    fn source(&self) -> Option<&(dyn error::Error + 'static)> {
        match self {
            PostError::Refused { .. } => None,
            PostError::Unanswered { source, .. } => Some(&**source),
        }
    }
}

/// The longest pause that a server can set.
const LONGEST_PAUSE: Duration = Duration::from_secs(60);

impl PostSink {
    /// A sink that posts to this URL, by HTTP without encryption, for a job of this name. By default batches have 1,000
    /// values or 1 MiB, there are 5 retries after pauses of 100 ms, 200 ms and so on, and a response may take 30
    /// seconds.
    #[must_use]
    pub fn to(url: impl Into<String>, job: impl Into<String>) -> Self {
        PostSink {
            agent: agent(Duration::from_secs(30)),
            url: url.into(),
            job: job.into(),
            content_type: "application/x-ndjson".to_owned(),
            token: None,
            batch: 1000,
            bytes: 1 << 20,
            retry: Retry::times(5).backoff(Duration::from_millis(100)),
            body: Vec::new(),
            numbers: None,
            values: 0,
            posted: Posted::default(),
        }
    }

    /// Sets the most values in a batch.
    #[must_use]
    pub fn batch(self, values: usize) -> Self {
        PostSink { batch: values.max(1), ..self }
    }

    /// Sets the bytes at which a batch ends. A larger value is its own batch.
    #[must_use]
    pub fn bytes(self, bytes: usize) -> Self {
        PostSink { bytes, ..self }
    }

    /// Sets the retries.
    #[must_use]
    pub fn retry(self, retry: Retry) -> Self {
        PostSink { retry, ..self }
    }

    /// Sets the time limit for a request and its response.
    #[must_use]
    pub fn within(self, time: Duration) -> Self {
        PostSink { agent: agent(time), ..self }
    }

    /// Sends `Authorization: Bearer TOKEN`.
    #[must_use]
    pub fn token(self, token: impl Into<String>) -> Self {
        PostSink { token: Some(token.into()), ..self }
    }

    /// Sets the `Content-Type`; by default it is `application/x-ndjson`.
    #[must_use]
    pub fn content_type(self, content_type: impl Into<String>) -> Self {
        PostSink { content_type: content_type.into(), ..self }
    }

    /// Posts the present batch.
    fn post(&mut self) -> Result<(), PostError> {
        let Some((first, last)) = self.numbers.take() else { return Ok(()) };
        let (body, values) = (mem::take(&mut self.body), mem::take(&mut self.values));
        let key = if values == 1 { format!("{}:{first}", self.job) } else { format!("{}:{first}-{last}", self.job) };
        self.post_as(&key, &body)?;
        self.posted.values += values as u64;
        self.posted.last = Some(SequenceNumber(last));
        // The next batch reuses its memory.
        self.body = body;
        self.body.clear();
        Ok(())
    }

    /// Posts a body now, with a key of the caller, which must be the same for the same body. The present batch is not
    /// changed.
    ///
    /// # Errors
    ///
    /// If the body is not taken, even after the retries.
    pub fn post_as(&mut self, key: &str, body: &[u8]) -> Result<(), PostError> {
        let mut pauses = self.retry.pauses();
        loop {
            let (wait, error) = match self.send(key, body) {
                Ok(()) => break,
                Err(Failed::ForGood(error)) => return Err(error),
                Err(Failed::Now(error, wait)) => (wait, error),
            };
            let Some(pause) = pauses.next() else { return Err(error) };
            std::thread::sleep(pause.max(wait));
            self.posted.retries += 1;
        }
        self.posted.requests += 1;
        Ok(())
    }

    fn send(&self, key: &str, body: &[u8]) -> Result<(), Failed> {
        let request = self.agent.post(&self.url).header("content-type", &self.content_type);
        let mut request = request.header("idempotency-key", key);
        if let Some(token) = &self.token {
            request = request.header("authorization", format!("Bearer {token}"));
        }
        let url = || self.url.clone();
        let mut response = match request.send(body) {
            Ok(response) => response,
            // The URL is wrong, so a retry would not help.
            Err(error @ (ureq::Error::BadUri(_) | ureq::Error::Http(_))) => {
                return Err(Failed::ForGood(PostError::Unanswered { url: url(), source: error.into() }));
            }
            Err(error) => {
                let error = PostError::Unanswered { url: url(), source: error.into() };
                return Err(Failed::Now(error, Duration::ZERO));
            }
        };
        let status = response.status().as_u16();
        let wait = response.headers().get("retry-after").and_then(|wait| wait.to_str().ok()?.parse().ok());
        // Reads the rest, so that the connection can be reused.
        let _ = response.body_mut().with_config().limit(SHORT).read_to_vec();
        match status {
            200..=299 => Ok(()),
            408 | 425 | 429 | 500..=599 => {
                let wait = Duration::from_secs(wait.unwrap_or(0)).min(LONGEST_PAUSE);
                Err(Failed::Now(PostError::Refused { url: url(), status }, wait))
            }
            _ => Err(Failed::ForGood(PostError::Refused { url: url(), status })),
        }
    }
}

/// The most bytes of a response to read.
const SHORT: u64 = 64 << 10;

enum Failed {
    ForGood(PostError),
    /// The server may take it after this time.
    Now(PostError, Duration),
}

fn agent(within: Duration) -> ureq::Agent {
    let within = Some(within.min(NO_LIMIT));
    let config = ureq::Agent::config_builder().timeout_global(within).http_status_as_error(false);
    config.max_redirects(0).build().into()
}

impl<A: Lends<Lent: AsRef<[u8]>>> Sink<A> for PostSink {
    type Output = Posted;
    type Error = PostError;

    fn put(&mut self, number: SequenceNumber, value: A::Ref<'_>) -> Result<(), PostError> {
        let value = A::lent(value).as_ref();
        if self.values > 0 && self.body.len() + value.len() > self.bytes {
            self.post()?;
        }
        self.body.extend_from_slice(value);
        self.values += 1;
        let first = self.numbers.map_or(number.0, |(first, _)| first);
        self.numbers = Some((first, number.0));
        if self.values >= self.batch || self.body.len() >= self.bytes { self.post() } else { Ok(()) }
    }

    fn pause(&mut self) -> Result<(), PostError> {
        self.post()
    }

    fn finish(mut self, outcome: RunOutcome) -> Result<Posted, PostError> {
        // After a failure or a stop, the batch may be incomplete.
        if outcome.is_complete() {
            self.post()?;
        }
        Ok(self.posted)
    }
}

impl fmt::Debug for PostSink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PostSink").field("url", &self.url).field("posted", &self.posted).finish_non_exhaustive()
    }
}
