//! Where workers come in.

use super::connection::{Connection, Stream, Who};
use super::{Hub, LISTENERS};
use crate::EvolveError;
use crate::address::Address;
use crate::hello;
use mio::net::{TcpListener, UnixListener};
use mio::{Interest, Token as Key};
use std::io;
use std::time::Duration;

/// So many may be there who have not shown that they know the secret.
const STRANGERS: usize = 1024;

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

    pub(super) fn accept(&mut self, listener: usize, now: Duration) {
        loop {
            let stream = match &self.listeners[listener] {
                Listener::Tcp(listener) => listener.accept().map(|(stream, _)| {
                    // Without it, small messages wait for each other's acknowledgement.
                    let _ = stream.set_nodelay(true);
                    Stream::Tcp(stream)
                }),
                Listener::Unix(listener, _) => listener.accept().map(|(stream, _)| Stream::Unix(stream)),
            };
            let (stream, nonce) = match (stream, hello::nonce()) {
                (Ok(stream), Ok(nonce)) => (stream, nonce),
                (Err(error), _) if error.kind() == io::ErrorKind::Interrupted => continue,
                _ => return,
            };
            let strangers = self.connections.iter().flatten().filter(|one| matches!(one.who, Who::Stranger(..)));
            if strangers.count() >= STRANGERS {
                continue;
            }
            if let Ok(key) = self.add(Connection::stranger(stream, nonce, now)) {
                let mut greeting = Vec::new();
                hello::greet(&mut greeting, nonce);
                self.say(key, &greeting);
            }
        }
    }
}
