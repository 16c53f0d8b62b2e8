use crate::hello::{LONGEST, Nonce};
use crate::received::Received;
use mio::event::Source;
use mio::net::{TcpStream, UnixStream};
use mio::{Interest, Registry, Token as Key};
use std::io::{self, Read, Write};
use std::time::Duration;

/// A master's end of a connection. Its reads and writes do not block.
#[derive(Debug)]
pub(super) enum Stream {
    Tcp(TcpStream),
    Unix(UnixStream),
}

/// A connection to a peer.
#[derive(Debug)]
pub(super) struct Connection {
    pub(super) stream: Stream,
    pub(super) received: Received,
    pub(super) peer: Peer,
}

/// What the master knows about the peer.
#[derive(Clone, Copy, Debug)]
pub(super) enum Peer {
    /// It was greeted with this nonce, at this time.
    Stranger(Nonce, Duration),
    /// It is the worker of this number.
    Worker(usize),
}

impl Connection {
    pub(super) fn stranger(stream: Stream, nonce: Nonce, now: Duration) -> Self {
        Connection { stream, received: Received::new(LONGEST), peer: Peer::Stranger(nonce, now) }
    }
}

impl Stream {
    fn source(&mut self) -> &mut dyn Source {
        match self {
            Stream::Tcp(stream) => stream,
            Stream::Unix(stream) => stream,
        }
    }

    pub(super) fn register(&mut self, registry: &Registry, key: Key) -> io::Result<()> {
        self.source().register(registry, key, Interest::READABLE | Interest::WRITABLE)
    }

    pub(super) fn deregister(&mut self, registry: &Registry) {
        // The connection is closed next.
        let _ = self.source().deregister(registry);
    }
}

impl Read for Stream {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        match self {
            Stream::Tcp(stream) => stream.read(bytes),
            Stream::Unix(stream) => stream.read(bytes),
        }
    }
}

impl Write for Stream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Stream::Tcp(stream) => stream.write(bytes),
            Stream::Unix(stream) => stream.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
