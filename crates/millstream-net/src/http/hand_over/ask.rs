//! The new process, which takes a service over.

use super::link::{self, ASK, BUSY, GO, NO, SOCKETS, VERSION};
use super::offer::Settles;
use super::{HandOverError, Offer};
use crate::OpenError;
use crate::http::{Limits, Server};
use crate::listening::{Accepting, Bound};
use axum::Router;
use millstream_state::door::{self, Door};
use std::fmt;
use std::io::{self, Write};
use std::net::{SocketAddr, TcpListener};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// Asks the process that has the service of this directory for it, and waits until that process has let it go, at most
/// for this time. No other process uses the state then. Returns `None` if no process offers the service, which the
/// caller then starts as always.
///
/// # Errors
///
/// If another process has asked before, or the process refuses, does not answer in time, or ends.
pub fn ask(dir: impl AsRef<Path>, within: Duration) -> Result<Option<Predecessor>, HandOverError> {
    let door = match Door::of(dir.as_ref()) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        door => door?,
    };
    let Some(link) = door.knock()? else { return Ok(None) };
    (&link).write_all(&[ASK, VERSION])?;
    match link::receive(&link, within)? {
        None => Err(HandOverError::Gone),
        Some((BUSY, _)) => Err(HandOverError::Busy),
        Some((NO, _)) => Err(HandOverError::Refused(link::reason(&link))),
        Some((SOCKETS, sockets)) => {
            let [clients, own] = <[_; 2]>::try_from(sockets)
                .map_err(|_| HandOverError::Refused("it announced sockets, but sent none".to_owned()))?;
            let (clients, own) = (TcpListener::from(clients), UnixListener::from(own));
            Ok(Some(Predecessor { link, door, clients, own }))
        }
        Some(_) => Err(HandOverError::Refused("it sent a message that this process does not understand".to_owned())),
    }
}

/// The old process, which has let its service go. If this is dropped, the old process goes on.
pub struct Predecessor {
    link: UnixStream,
    door: Door,
    clients: TcpListener,
    own: UnixListener,
}

impl Predecessor {
    /// The old process's number, if the system knows it.
    #[must_use]
    pub fn process(&self) -> Option<u32> {
        door::process(&self.link)
    }

    /// The address to which its clients connect.
    ///
    /// # Errors
    ///
    /// If the system does not know it.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.clients.local_addr()
    }

    /// Opens a server for its clients. The server accepts no connection until this process is [up](Predecessor::up).
    ///
    /// # Errors
    ///
    /// As [`Server::open_with`].
    pub fn open(&self, routes: Router, limits: Limits) -> Result<Server, OpenError> {
        let bound = Bound::on(self.clients.try_clone()?, limits.token.as_deref())?;
        Server::plain(bound, routes, limits, Accepting::NotNow)
    }

    /// As [`open`](Predecessor::open), with encrypted connections.
    ///
    /// # Errors
    ///
    /// As [`open`](Predecessor::open).
    #[cfg(feature = "tls")]
    pub fn open_tls(
        &self,
        routes: Router,
        limits: Limits,
        certificate: &crate::http::Certificate,
    ) -> Result<Server, OpenError> {
        let bound = Bound::on(self.clients.try_clone()?, limits.token.as_deref())?;
        Server::encrypted(bound, routes, limits, certificate, Accepting::NotNow)
    }

    /// Tells the old process that this one can answer, and waits for its permission, at most for this time. Then the
    /// server accepts connections, and gets the requests that wait at the old process. If the old process has died by
    /// then, this one goes on all the same.
    ///
    /// # Errors
    ///
    /// If the old process has taken the service back because this one was too slow, or does not answer. This process
    /// has answered no request then, and must end.
    pub fn up(self, server: &Server, within: Duration) -> Result<Offer, HandOverError> {
        self.begin(server, within, None)
    }

    /// As [`up`](Predecessor::up), for a service that answers before its work is done: it is settled when `settled`
    /// returns `true`, or after a while, not by an answer. A separate thread calls `settled`.
    ///
    /// # Errors
    ///
    /// As [`up`](Predecessor::up).
    pub fn up_until(
        self,
        server: &Server,
        within: Duration,
        settled: impl Fn() -> bool + Send + 'static,
    ) -> Result<Offer, HandOverError> {
        self.begin(server, within, Some(Box::new(settled)))
    }

    fn begin(self, server: &Server, within: Duration, settles: Option<Settles>) -> Result<Offer, HandOverError> {
        let Predecessor { link, door, own, .. } = self;
        let go = match link::say(&link, link::UP) {
            Ok(()) => link::hear(&link, within)?,
            // The old process may have sent the reason before it ended.
            Err(_) => link::hear(&link, Duration::ZERO).unwrap_or(None),
        };
        match go {
            Some(GO) | None => {}
            Some(NO) => return Err(HandOverError::Refused(link::reason(&link))),
            Some(_) => {
                return Err(HandOverError::Refused(
                    "it sent a message that this process does not understand".to_owned(),
                ));
            }
        }
        let offer = Offer::on(server, Arc::new(door), own, go.map(|_| link), settles)?;
        server.listening.accept(Accepting::Yes);
        Ok(offer)
    }
}

impl fmt::Debug for Predecessor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Predecessor").field("door", &self.door).finish_non_exhaustive()
    }
}
