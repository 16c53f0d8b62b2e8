//! What a server allows.

use std::time::Duration;

/// What a [`Server`](super::Server) allows to those who connect.
///
/// ```
/// use millstream::net::http::Limits;
/// let limits = Limits { connections: 100, ..Limits::default() };
/// assert_eq!(limits.headers, 100);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The connections at a time. Further ones wait until one ends. By default 10,000.
    pub connections: usize,
    /// The requests under way at a time from one address; 429 for further ones. By default there is no limit.
    pub requests_of_one: Option<usize>,
    /// The time from the end of a request, or from the beginning of the connection, until the head of the next one is
    /// whole. By default 30 seconds.
    pub head_within: Duration,
    /// The bytes of the head of a request. By default 16 KiB.
    pub head: usize,
    /// The bytes of a body that a connection reads at once, and keeps. At least 8 KiB, and by default 128 KiB. A
    /// connection has such a buffer only if its bodies fill it.
    pub read_ahead: usize,
    /// The headers of a request. By default 100.
    pub headers: usize,
    /// The time in which something of a response is taken. By default 30 seconds.
    pub write_within: Duration,
    /// What a request other than `GET`, `HEAD` and `OPTIONS` has in `Authorization: Bearer TOKEN`. Without one a server
    /// listens on loopback alone.
    pub token: Option<String>,
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            connections: 10_000,
            requests_of_one: None,
            head_within: Duration::from_secs(30),
            head: 16 << 10,
            read_ahead: 128 << 10,
            headers: 100,
            write_within: Duration::from_secs(30),
            token: None,
        }
    }
}

impl Limits {
    /// With at most this many connections at a time.
    #[must_use]
    pub fn connections(self, connections: usize) -> Self {
        Limits { connections, ..self }
    }

    /// With at most this many requests under way from one address.
    #[must_use]
    pub fn requests_of_one(self, requests: usize) -> Self {
        Limits { requests_of_one: Some(requests), ..self }
    }

    /// With heads of requests that are whole within this time.
    #[must_use]
    pub fn head_within(self, head_within: Duration) -> Self {
        Limits { head_within, ..self }
    }

    /// With responses of which something is taken within this time.
    #[must_use]
    pub fn write_within(self, write_within: Duration) -> Self {
        Limits { write_within, ..self }
    }

    /// With this token for requests that change something.
    #[must_use]
    pub fn token(self, token: impl Into<String>) -> Self {
        Limits { token: Some(token.into()), ..self }
    }
}
