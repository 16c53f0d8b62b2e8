//! Where workers come in.

use super::connection::{Connection, Stream, Who};
use super::{Hub, LISTENERS};
use crate::EvolveError;
use crate::address::Address;
use crate::hello;
use mio::net::{TcpListener, UnixListener};
use mio::{Interest, Token as Key};
use rustix::io::Errno;
use std::io;
use std::time::Duration;

/// So many may be there who have not shown that they know the secret; for the next one, the one who has been there for the
/// longest time goes.
pub(super) const STRANGERS: usize = 1024;

/// After so many who came in, others get their turn.
pub(super) const ACCEPTS: usize = 64;

#[derive(Debug)]
pub(super) enum Listener {
    Tcp(TcpListener),
    Unix(UnixListener, std::path::PathBuf),
}

impl Hub {
    /// Waits for workers at an address; gives the one that it became, if the system chose a port.
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
                let listener = UnixListener::bind(path).map_err(failed())?;
                (Listener::Unix(listener, path.clone()), address.clone())
            }
        };
        let registry = self.poll.registry();
        match &mut listener {
            Listener::Tcp(listener) => registry.register(listener, key, Interest::READABLE),
            Listener::Unix(listener, _) => registry.register(listener, key, Interest::READABLE),
        }
        .map_err(failed())?;
        self.listeners.push(listener);
        Ok(at)
    }

    /// Lets in who waits at a listener. `epoll` tells only of those who come later, so this is to be called again until
    /// nobody waits: at the next turn if many do, and now and then if the system has no descriptor left.
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

    /// Whoever waits at any listener.
    pub(super) fn accept_all(&mut self, now: Duration) {
        for listener in 0..self.listeners.len() {
            self.accept(listener, now);
        }
    }

    fn greet(&mut self, stream: Stream, now: Duration) {
        let strangers = self.connections.iter().flatten().filter(|one| matches!(one.who, Who::Stranger(..)));
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

    /// Whether there was one.
    fn close_oldest_stranger(&mut self) -> bool {
        let since = |key: &usize| match self.connections[*key] {
            Some(Connection { who: Who::Stranger(_, since), .. }) => Some(since),
            _ => None,
        };
        let oldest = (0..self.connections.len()).filter_map(|key| Some((since(&key)?, key))).min();
        let Some((_, key)) = oldest else { return false };
        self.close(key, "it did not say who it is, and others came");
        true
    }
}

impl Listener {
    fn accept(&self) -> io::Result<Stream> {
        match self {
            Listener::Tcp(listener) => listener.accept().map(|(stream, _)| {
                // Without it, small messages wait for each other's acknowledgement.
                let _ = stream.set_nodelay(true);
                Stream::Tcp(stream)
            }),
            Listener::Unix(listener, _) => listener.accept().map(|(stream, _)| Stream::Unix(stream)),
        }
    }
}

/// It was about one who has gone away, or about nobody.
fn is_of_one(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::Interrupted | io::ErrorKind::ConnectionAborted)
}

/// The system has no descriptor, or no memory, for one more.
fn is_lack(error: &io::Error) -> bool {
    let lacks = [Errno::MFILE, Errno::NFILE, Errno::NOBUFS, Errno::NOMEM];
    Errno::from_io_error(error).is_some_and(|errno| lacks.contains(&errno))
}
