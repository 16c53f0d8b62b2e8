//! What a server allows.

use std::net::SocketAddr;
use std::time::Duration;
use std::{error, fmt, io};

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
    /// The requests under way at a time from one address; 429 for further ones. By default as many as they are.
    pub requests_of_one: Option<usize>,
    /// The time from the end of a request, or from the beginning of the connection, until the head of the next one is
    /// whole. By default 30 seconds.
    pub head_within: Duration,
    /// The bytes of the head of a request, and what is read ahead. At least 8 KiB, and by default 16 KiB.
    pub head: usize,
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

/// Why a server does not listen.
#[derive(Debug)]
#[non_exhaustive]
pub enum OpenError {
    /// Others than this machine could connect, and no token is asked for.
    NoToken(SocketAddr),
    /// The system refuses.
    Io(io::Error),
}

impl fmt::Display for OpenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            OpenError::NoToken(address) => write!(
                f,
                "{address} can be reached from other machines, and no token is asked for: set one, or listen at 127.0.0.1"
            ),
            OpenError::Io(error) => error.fmt(f),
        }
    }
}

impl error::Error for OpenError {
    fn source(&self) -> Option<&(dyn error::Error + 'static)> {
        match self {
            OpenError::NoToken(_) => None,
            OpenError::Io(error) => Some(error),
        }
    }
}

impl From<io::Error> for OpenError {
    fn from(error: io::Error) -> Self {
        OpenError::Io(error)
    }
}
