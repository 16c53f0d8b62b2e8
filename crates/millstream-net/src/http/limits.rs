//! The limits of a server.

use std::time::Duration;

/// The limits of a [`Server`](super::Server) for its clients.
///
/// ```
/// use millstream::net::http::Limits;
/// let limits = Limits { connections: 100, ..Limits::default() };
/// assert_eq!(limits.headers, 100);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The most connections at a time. Further ones wait until one ends. By default 10,000. Connections of an old
    /// process that forwards requests have as many places of their own.
    pub connections: usize,
    /// The most open requests from one address; 429 for further ones. By default there is no limit. A request is open
    /// until its answer is there; if that is a stream, or a WebSocket, until that ends.
    pub requests_of_one: Option<usize>,
    /// The time limit for the head of a request, from the end of the one before, or from the beginning of the
    /// connection. By default 30 seconds.
    pub head_within: Duration,
    /// The most bytes of the head of a request. By default 16 KiB.
    pub head: usize,
    /// The bytes of a body that a connection reads at once, and keeps. At least 8 KiB, and by default 256 KiB. A
    /// connection has such a buffer only if its bodies fill it.
    pub read_ahead: usize,
    /// The most headers of a request. By default 100.
    pub headers: usize,
    /// How long a client may take nothing of a response. By default 30 seconds.
    pub write_within: Duration,
    /// The token that a request other than `GET`, `HEAD` and `OPTIONS` must have in `Authorization: Bearer TOKEN`.
    /// Without a token, or with an empty one, which is none, a server listens only on loopback.
    pub token: Option<String>,
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            connections: 10_000,
            requests_of_one: None,
            head_within: Duration::from_secs(30),
            head: 16 << 10,
            read_ahead: 256 << 10,
            headers: 100,
            write_within: Duration::from_secs(30),
            token: None,
        }
    }
}

/// A longer time limit is none: the times of this machine end before it.
pub(super) const NO_LIMIT: Duration = Duration::from_secs(100 * 365 * 86_400);

impl Limits {
    pub(super) fn head_time(&self) -> Duration {
        self.head_within.min(NO_LIMIT)
    }

    pub(super) fn write_time(&self) -> Duration {
        self.write_within.min(NO_LIMIT)
    }

    /// Sets the most connections at a time.
    #[must_use]
    pub fn connections(self, connections: usize) -> Self {
        Limits { connections, ..self }
    }

    /// Sets the most open requests from one address.
    #[must_use]
    pub fn requests_of_one(self, requests: usize) -> Self {
        Limits { requests_of_one: Some(requests), ..self }
    }

    /// Sets the time limit for the head of a request.
    #[must_use]
    pub fn head_within(self, head_within: Duration) -> Self {
        Limits { head_within, ..self }
    }

    /// Sets how long a client may take nothing of a response.
    #[must_use]
    pub fn write_within(self, write_within: Duration) -> Self {
        Limits { write_within, ..self }
    }

    /// Sets the token for requests that change something.
    #[must_use]
    pub fn token(self, token: impl Into<String>) -> Self {
        Limits { token: Some(token.into()), ..self }
    }
}
