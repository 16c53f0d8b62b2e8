use std::time::Duration;

/// What connections may do, and for how long.
///
/// ```
/// use millstream::net::tcp::Options;
/// let options = Options { connections: 10, ..Options::default() }.acknowledge();
/// assert!(options.acknowledge);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// The connections at a time. Further ones wait until one ends. By default 1,000.
    pub connections: usize,
    /// The bytes of a line with its end, or of a record. By default 1 MiB.
    pub longest: usize,
    /// The time without a byte after which a connection that sends is closed. By default there is none: a source may
    /// have nothing to say. A token has to come within 10 seconds.
    pub idle: Option<Duration>,
    /// The time in which what is written at once, at most 64 KiB or one value, is taken. By default 30 seconds.
    pub write_within: Duration,
    /// The first line, or the first record, of every connection. Without one it listens on loopback alone. TCP alone
    /// does not hide it from those who see the network.
    pub token: Option<String>,
    /// Whether a source answers: with a line that has the number of lines or records of this connection that were
    /// taken, whenever it waits for more, and with a line that begins with `error: ` before it closes the connection.
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
    /// With at most this many connections at a time.
    #[must_use]
    pub fn connections(self, connections: usize) -> Self {
        Options { connections, ..self }
    }

    /// With lines or records of at most this many bytes.
    #[must_use]
    pub fn longest(self, longest: usize) -> Self {
        Options { longest, ..self }
    }

    /// With connections that are closed after this time without a byte.
    #[must_use]
    pub fn idle(self, idle: Duration) -> Self {
        Options { idle: Some(idle), ..self }
    }

    /// With readers that take something within this time.
    #[must_use]
    pub fn write_within(self, write_within: Duration) -> Self {
        Options { write_within, ..self }
    }

    /// With this token as the first line or record of every connection.
    #[must_use]
    pub fn token(self, token: impl Into<String>) -> Self {
        Options { token: Some(token.into()), ..self }
    }

    /// With answers that say how much was taken.
    #[must_use]
    pub fn acknowledge(self) -> Self {
        Options { acknowledge: true, ..self }
    }
}
