//! The listeners, and how a connection is accepted.

use super::connection::{Connection, Peer, Stream};
use super::{Hub, LISTENERS};
use crate::EvolveError;
use crate::address::Address;
use crate::hello;
use mio::net::{TcpListener, UnixListener, UnixStream};
use mio::{Interest, Token as Key};
use rustix::io::Errno;
use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The most connections without a handshake. A further one closes the oldest of them.
pub(super) const STRANGERS: usize = 1024;

/// After this many accepted connections, the existing connections get their turn.
pub(super) const ACCEPTS: usize = 64;

#[derive(Debug)]
pub(super) enum Listener {
    Tcp(TcpListener),
    /// With the file, and what it was when it was bound.
    Unix(UnixListener, PathBuf, Option<[u64; 2]>),
}

impl Hub {
    /// Listens for workers at an address. Returns the address, with the port that the system chose if it was 0.
    pub(crate) fn listen(&mut self, address: &Address) -> Result<Address, EvolveError> {
        let failed = || EvolveError::io(format!("cannot listen at {address}"));
        let key = Key(LISTENERS + self.listeners.len());
        let (mut listener, at) = match address {
            Address::Tcp(text) => {
                let listener = std::net::TcpListener::bind(text).map_err(failed())?;
                listener.set_nonblocking(true).map_err(failed())?;
                let at = listener.local_addr().map_err(failed())?;
                (Listener::Tcp(TcpListener::from_std(listener)), Address::Tcp(at.to_string()))
            }
            Address::Unix(path) => {
                let listener = bind(path).map_err(failed())?;
                (Listener::Unix(listener, path.clone(), identity(path)), address.clone())
            }
        };
        let registry = self.poll.registry();
        match &mut listener {
            Listener::Tcp(listener) => registry.register(listener, key, Interest::READABLE),
            Listener::Unix(listener, ..) => registry.register(listener, key, Interest::READABLE),
        }
        .map_err(failed())?;
        self.listeners.push(listener);
        Ok(at)
    }

    /// Accepts the connections that wait at a listener. `epoll` reports only later ones, so this is called until none
    /// waits: at the next turn if there were too many for one, and at intervals if the system has no descriptor left.
    pub(super) fn accept(&mut self, listener: usize, now: Duration) {
        for _ in 0..ACCEPTS {
            match self.listeners[listener].accept() {
                Ok(stream) => self.greet(stream, now),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                Err(error) if is_of_one(&error) => (),
                Err(error) if is_lack(&error) && self.close_oldest_stranger() => (),
                Err(_) => return,
            }
        }
        self.unread.push(LISTENERS + listener);
    }

    /// Accepts the connections that wait at any listener.
    pub(super) fn accept_all(&mut self, now: Duration) {
        for listener in 0..self.listeners.len() {
            self.accept(listener, now);
        }
    }

    fn greet(&mut self, stream: Stream, now: Duration) {
        let strangers = self.connections.iter().flatten().filter(|one| matches!(one.peer, Peer::Stranger(..)));
        if strangers.count() >= self.strangers {
            self.close_oldest_stranger();
        }
        let Ok(nonce) = hello::nonce() else { return };
        if let Ok(key) = self.add(Connection::stranger(stream, nonce, now)) {
            let mut greeting = Vec::new();
            hello::greet(&mut greeting, nonce);
            self.say(key, &greeting);
            self.greeted += 1;
        }
    }

    /// Closes the connection that has gone longest without a handshake. Returns false if there is none.
    fn close_oldest_stranger(&mut self) -> bool {
        let since = |key: &usize| match self.connections[*key] {
            Some(Connection { peer: Peer::Stranger(_, since), .. }) => Some(since),
            _ => None,
        };
        let oldest = (0..self.connections.len()).filter_map(|key| Some((since(&key)?, key))).min();
        let Some((_, key)) = oldest else { return false };
        self.close(key, "it did not show that it knows the secret, and others came");
        true
    }
}

impl Listener {
    /// Removes the file of a socket, unless another process has bound one of that name since.
    pub(super) fn remove_file(&self) {
        if let Listener::Unix(_, path, bound) = self
            && *bound == identity(path)
        {
            let _ = std::fs::remove_file(path);
        }
    }

    fn accept(&self) -> io::Result<Stream> {
        match self {
            Listener::Tcp(listener) => listener.accept().map(|(stream, _)| {
                // Without this, small messages wait for acknowledgements of earlier ones.
                let _ = stream.set_nodelay(true);
                Stream::Tcp(stream)
            }),
            Listener::Unix(listener, ..) => listener.accept().map(|(stream, _)| Stream::Unix(stream)),
        }
    }
}

/// Binds a Unix socket. A process that was killed leaves its socket's file, which is replaced.
fn bind(path: &Path) -> io::Result<UnixListener> {
    match UnixListener::bind(path) {
        Err(error) if error.kind() == io::ErrorKind::AddrInUse && is_left(path) => {
            std::fs::remove_file(path)?;
            UnixListener::bind(path)
        }
        bound => bound,
    }
}

/// What no other file has while this one exists, or is open.
fn identity(path: &Path) -> Option<[u64; 2]> {
    std::fs::symlink_metadata(path).ok().map(|file| [file.dev(), file.ino()])
}

/// Whether this is a socket at which no process listens. The connection does not wait if one listens and is busy.
fn is_left(path: &Path) -> bool {
    let is_socket = std::fs::symlink_metadata(path).is_ok_and(|file| file.file_type().is_socket());
    let refused = |error: io::Error| error.kind() == io::ErrorKind::ConnectionRefused;
    is_socket && UnixStream::connect(path).is_err_and(refused)
}

/// Whether the error concerns one connection that has gone, or only interrupted the call.
fn is_of_one(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::Interrupted | io::ErrorKind::ConnectionAborted)
}

/// Whether the system has no descriptor or no memory for a further connection.
fn is_lack(error: &io::Error) -> bool {
    let lacks = [Errno::MFILE, Errno::NFILE, Errno::NOBUFS, Errno::NOMEM];
    Errno::from_io_error(error).is_some_and(|errno| lacks.contains(&errno))
}
