use std::time::Duration;

/// The limits of connections.
///
/// ```
/// use millstream::net::tcp::Options;
/// let options = Options { connections: 10, ..Options::default() }.acknowledge();
/// assert!(options.acknowledge);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// The most connections at a time. Further ones wait until one ends. By default 1,000.
    pub connections: usize,
    /// The most bytes of a line, counting its end, or of a record. By default 1 MiB.
    pub longest: usize,
    /// The time without a byte after which a connection that sends is closed. By default there is none: a source may
    /// have nothing to send. A token must come within 10 seconds.
    pub idle: Option<Duration>,
    /// The time limit for a reader to take a write of at most 64 KiB or one value, or for a sender to take an answer.
    /// By default 30 seconds.
    pub write_within: Duration,
    /// The token, which must be the first line or record of every connection. Without one, or with an empty one,
    /// which is none, it listens only on loopback. TCP does not hide the token from others on the network.
    pub token: Option<String>,
    /// Whether a source answers. Whenever it waits for more, it sends a line with the number of taken lines or records
    /// of this connection; before it closes the connection for an error, it sends a line that begins with `error: `. A
    /// sender that does not read its answers for `write_within` is closed.
    pub acknowledge: bool,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            connections: 1000,
            longest: 1 << 20,
            idle: None,
            write_within: Duration::from_secs(30),
            token: None,
            acknowledge: false,
        }
    }
}

impl Options {
    /// Sets the most connections at a time.
    #[must_use]
    pub fn connections(self, connections: usize) -> Self {
        Options { connections, ..self }
    }

    /// Sets the most bytes of a line or record.
    #[must_use]
    pub fn longest(self, longest: usize) -> Self {
        Options { longest, ..self }
    }

    /// Sets the time without a byte after which a connection is closed.
    #[must_use]
    pub fn idle(self, idle: Duration) -> Self {
        Options { idle: Some(idle), ..self }
    }

    /// Sets how long a reader may take nothing.
    #[must_use]
    pub fn write_within(self, write_within: Duration) -> Self {
        Options { write_within, ..self }
    }

    /// Sets the token, the first line or record of every connection.
    #[must_use]
    pub fn token(self, token: impl Into<String>) -> Self {
        Options { token: Some(token.into()), ..self }
    }

    /// Makes a source answer how much was taken.
    #[must_use]
    pub fn acknowledge(self) -> Self {
        Options { acknowledge: true, ..self }
    }
}
