//! A server with limits.

use super::Limits;
use super::connection::{Serving, Transport, connected};
use super::counters::Counters;
#[cfg(unix)]
use super::hand_over::Offer;
use crate::OpenError;
use crate::listening::{Accepting, Bound, Listening};
use axum::Router;
use std::fmt;
#[cfg(unix)]
use std::io;
use std::net::{SocketAddr, TcpListener, ToSocketAddrs};
#[cfg(unix)]
use std::path::Path;
use std::sync::Arc;
#[cfg(unix)]
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Serves routes over HTTP/1.1 on its own threads, within [limits](Limits), until it is dropped.
///
/// It listens only on loopback, unless a [token](Limits::token) is set. On loopback it answers only to `localhost` and
/// IP addresses; and it never answers a `POST` from another site, so a page in a browser cannot reach it. It refuses
/// compressed bodies (415). If a request has both `Transfer-Encoding` and `Content-Length`, it reads the chunks, and
/// closes the connection.
///
/// When it is [closed](Server::close), it accepts no further connections, answers open requests, and ends streams of
/// events. It then drops its routes, and with them their clients.
///
/// ```
/// use millstream::net::http::{Server, axum::{Router, routing::get}};
/// use std::io::{Read, Write};
///
/// let server = Server::open("127.0.0.1:0", Router::new().route("/", get(|| async { "hello" })))?;
/// let mut connection = std::net::TcpStream::connect(server.address())?;
/// connection.write_all(b"GET / HTTP/1.0\r\n\r\n")?;
/// let mut response = String::new();
/// connection.read_to_string(&mut response)?;
/// assert!(response.ends_with("hello"));
/// assert_eq!(server.counters().responses("2xx"), 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Server {
    pub(super) listening: Listening,
    encrypted: bool,
    pub(super) serving: Arc<Serving>,
    /// The number of the present routes. Each replacement gets the next number.
    #[cfg(unix)]
    routes: AtomicU64,
}

/// The result of closing a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Closed {
    /// The number of connections that were cut off because their requests were not answered in time.
    pub cut_off: usize,
}

impl Server {
    /// Listens at this address, with the default limits. Port 0 is any free port.
    ///
    /// # Errors
    ///
    /// As [`open_with`](Server::open_with).
    pub fn open(address: impl ToSocketAddrs, routes: Router) -> Result<Self, OpenError> {
        Server::open_with(address, routes, Limits::default())
    }

    /// Listens at this address, with these limits.
    ///
    /// # Errors
    ///
    /// If other machines could connect and no token is set; if the address cannot be used, or no thread can be started.
    pub fn open_with(address: impl ToSocketAddrs, routes: Router, limits: Limits) -> Result<Self, OpenError> {
        let bound = Bound::to(address, limits.token.as_deref())?;
        Server::plain(bound, routes, limits, Accepting::Yes)
    }

    /// Listens by a socket that listens already: one of a supervisor, at which clients wait even while no process
    /// serves.
    ///
    /// # Errors
    ///
    /// As [`open_with`](Server::open_with).
    pub fn open_on(listener: TcpListener, routes: Router, limits: Limits) -> Result<Self, OpenError> {
        let bound = Bound::on(listener, limits.token.as_deref())?;
        Server::plain(bound, routes, limits, Accepting::Yes)
    }

    /// As [`open_with`](Server::open_with), with encrypted connections.
    ///
    /// # Errors
    ///
    /// As [`open_with`](Server::open_with).
    #[cfg(feature = "tls")]
    pub fn open_tls(
        address: impl ToSocketAddrs,
        routes: Router,
        limits: Limits,
        certificate: &super::Certificate,
    ) -> Result<Self, OpenError> {
        let bound = Bound::to(address, limits.token.as_deref())?;
        Server::encrypted(bound, routes, limits, certificate, Accepting::Yes)
    }

    /// As [`open_on`](Server::open_on), with encrypted connections.
    ///
    /// # Errors
    ///
    /// As [`open_with`](Server::open_with).
    #[cfg(feature = "tls")]
    pub fn open_tls_on(
        listener: TcpListener,
        routes: Router,
        limits: Limits,
        certificate: &super::Certificate,
    ) -> Result<Self, OpenError> {
        let bound = Bound::on(listener, limits.token.as_deref())?;
        Server::encrypted(bound, routes, limits, certificate, Accepting::Yes)
    }

    pub(super) fn plain(bound: Bound, routes: Router, limits: Limits, accepting: Accepting) -> Result<Self, OpenError> {
        Server::begin(bound, routes, limits, Transport::Plain, accepting)
    }

    #[cfg(feature = "tls")]
    pub(super) fn encrypted(
        bound: Bound,
        routes: Router,
        limits: Limits,
        certificate: &super::Certificate,
        accepting: Accepting,
    ) -> Result<Self, OpenError> {
        Server::begin(bound, routes, limits, Transport::Tls(certificate.acceptor()), accepting)
    }

    fn begin(
        bound: Bound,
        routes: Router,
        limits: Limits,
        transport: Transport,
        accepting: Accepting,
    ) -> Result<Self, OpenError> {
        let connections = limits.connections;
        let encrypted = !matches!(transport, Transport::Plain);
        let serving = Serving::new(routes, limits, bound.address, transport);
        let served = serving.clone();
        let connected = move |accepted| connected(served.clone(), accepted);
        let listening = bound.serve("millstream-http", connections, accepting, connected)?;
        #[cfg(unix)]
        let server = Server { listening, encrypted, serving, routes: AtomicU64::new(0) };
        #[cfg(not(unix))]
        let server = Server { listening, encrypted, serving };
        Ok(server)
    }

    /// The address at which it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.listening.address()
    }

    /// Whether its connections are encrypted.
    #[must_use]
    pub fn is_encrypted(&self) -> bool {
        self.encrypted
    }

    /// Its counters.
    #[must_use]
    pub fn counters(&self) -> &Arc<Counters> {
        &self.serving.counters
    }

    /// Stops accepting connections, and waits until all open requests are answered, at most for this time.
    pub fn close(self, within: Duration) -> Closed {
        Closed { cut_off: self.listening.close(within) }
    }
}

/// What a hand-over needs: see [`hand_over`](super::hand_over).
#[cfg(unix)]
impl Server {
    /// Offers the service to a new process, at a socket in this directory, which only this process may use: the offer
    /// replaces an earlier one.
    ///
    /// # Errors
    ///
    /// If the system refuses the socket.
    pub fn offer(&self, dir: impl AsRef<Path>) -> io::Result<Offer> {
        Offer::new(self, dir.as_ref())
    }

    /// Stops accepting connections, holds new requests, and drops the routes. Waits until earlier requests are
    /// answered, at most for this time, and returns how many are not. A request that is held for longer than 30 seconds
    /// is [refused](super::Refusal::Ending).
    pub fn hold(&self, within: Duration) -> u64 {
        self.listening.accept(Accepting::NotNow);
        self.serving.switch.hold(within)
    }

    /// Goes on with these routes: accepts connections, and answers held requests.
    pub fn resume(&self, routes: Router) {
        let number = self.routes.fetch_add(1, Ordering::Relaxed) + 1;
        self.serving.switch.own(number, routes);
        self.listening.accept(Accepting::Yes);
    }
}

impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Server").field("address", &self.address()).finish_non_exhaustive()
    }
}
