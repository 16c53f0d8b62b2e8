//! A server with limits.

use super::Limits;
use super::counters::Counters;
use super::events::ends_with_server;
use super::guard::Guard;
use crate::OpenError;
use crate::listening::{Accepted, Bound, Closing, Listening, Place};
use crate::timed::Timed;
use axum::Router;
use axum::body::Body;
use axum::extract::{ConnectInfo, Request};
use axum::response::Response;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use std::convert::Infallible;
use std::fmt;
use std::net::{SocketAddr, ToSocketAddrs};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
#[cfg(feature = "tls")]
use tokio::time::timeout;
use tower_service::Service;

/// Serves routes over HTTP/1.1 on threads of its own, within [limits](Limits), until it is dropped.
///
/// It listens on loopback alone, unless a [token](Limits::token) is asked for. On loopback it answers only to
/// `localhost` and IP addresses, and nowhere to a `POST` from another site, so that a page in a browser cannot reach
/// it. Bodies that are compressed are refused (415). A request with `Transfer-Encoding` and `Content-Length` is read by
/// its chunks, and its connection is closed.
///
/// When it is [closed](Server::close), it accepts no connection any more, answers the requests under way, and ends
/// streams of events. Its routes are dropped then, and with them their clients.
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
    listening: Listening,
    encrypted: bool,
    counters: Arc<Counters>,
}

/// How a server was closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Closed {
    /// The connections that were cut off, since their requests were not answered in time.
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
    /// If others than this machine could connect and no token is asked for; if the address cannot be used, or no thread
    /// can be started.
    pub fn open_with(address: impl ToSocketAddrs, routes: Router, limits: Limits) -> Result<Self, OpenError> {
        Server::begin(address, routes, limits, Transport::Plain)
    }

    /// As [`open_with`](Server::open_with), with connections that are encrypted.
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
        Server::begin(address, routes, limits, Transport::Tls(certificate.acceptor()))
    }

    fn begin(
        address: impl ToSocketAddrs,
        routes: Router,
        limits: Limits,
        transport: Transport,
    ) -> Result<Self, OpenError> {
        let bound = Bound::to(address, limits.token.is_some())?;
        let (counters, connections) = (Arc::<Counters>::default(), limits.connections);
        let encrypted = !matches!(transport, Transport::Plain);
        let guard = Arc::new(Guard::new(&limits, bound.address));
        let serving = Arc::new(Serving { routes, guard, limits, transport, counters: counters.clone() });
        let listening =
            bound.serve("millstream-http", connections, move |accepted| connected(serving.clone(), accepted))?;
        Ok(Server { listening, encrypted, counters })
    }

    /// The address where it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.listening.address()
    }

    /// Whether its connections are encrypted.
    #[must_use]
    pub fn is_encrypted(&self) -> bool {
        self.encrypted
    }

    /// What it has done.
    #[must_use]
    pub fn counters(&self) -> &Arc<Counters> {
        &self.counters
    }

    /// Accepts no connection any more, and waits until all requests under way are answered, at most for this time.
    pub fn close(self, within: Duration) -> Closed {
        Closed { cut_off: self.listening.close(within) }
    }
}

impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Server").field("address", &self.address()).finish_non_exhaustive()
    }
}

/// What is between TCP and HTTP.
pub(super) enum Transport {
    Plain,
    #[cfg(feature = "tls")]
    Tls(tokio_rustls::TlsAcceptor),
}

/// What all connections share.
pub(super) struct Serving {
    routes: Router,
    guard: Arc<Guard>,
    limits: Limits,
    transport: Transport,
    counters: Arc<Counters>,
}

#[cfg(any(all(test, feature = "tcp"), feature = "fuzzed"))]
impl Serving {
    /// As if it had been accepted at this address, without a counter that others see.
    pub(super) fn plain(routes: Router, limits: Limits, address: SocketAddr) -> Arc<Self> {
        let guard = Arc::new(Guard::new(&limits, address));
        Arc::new(Serving { routes, guard, limits, transport: Transport::Plain, counters: Arc::default() })
    }

    /// Serves one connection, of any kind.
    pub(super) async fn converse<S>(self: Arc<Self>, stream: S, peer: SocketAddr, place: Place, closing: Closing)
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let open = Arc::new(Open::on(&self.counters));
        connection(&self, stream, Of { peer, held: Held { _place: place, _open: open, closing } }).await;
    }
}

async fn connected(serving: Arc<Serving>, accepted: Accepted) {
    let Accepted { stream, peer, place, closing } = accepted;
    serving.counters.connections.fetch_add(1, Ordering::Relaxed);
    let open = Arc::new(Open::on(&serving.counters));
    let stream = Timed::new(stream, serving.limits.write_within);
    let of = Of { peer, held: Held { _place: place, _open: open, closing } };
    match &serving.transport {
        Transport::Plain => connection(&serving, stream, of).await,
        #[cfg(feature = "tls")]
        Transport::Tls(acceptor) => {
            if let Ok(Ok(stream)) = timeout(serving.limits.head_within, acceptor.clone().accept(stream)).await {
                connection(&serving, stream, of).await;
            }
        }
    }
}

/// The connection of a request, for what outlives its response: an upgraded connection counts as long as this lives.
#[derive(Clone)]
pub(super) struct Held {
    _place: Place,
    _open: Arc<Open>,
    pub(super) closing: Closing,
}

/// A connection that is counted as open while this lives.
struct Open(Arc<Counters>);

impl Open {
    fn on(counters: &Arc<Counters>) -> Self {
        counters.open.fetch_add(1, Ordering::Relaxed);
        Open(counters.clone())
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        self.0.open.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Whose connection it is.
#[derive(Clone)]
struct Of {
    peer: SocketAddr,
    held: Held,
}

/// Serves one connection. Its error does not concern the others.
async fn connection<S>(serving: &Arc<Serving>, stream: S, of: Of)
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let (mut http, mut closing) = (http1::Builder::new(), of.held.closing.clone());
    let Limits { head_within, head, headers, read_ahead, .. } = serving.limits;
    http.timer(TokioTimer::new()).header_read_timeout(head_within).max_headers(headers).max_header_size(head);
    http.max_buf_size(read_ahead.max(head).max(8 << 10));
    // Who has sent all of a request may say so, and still gets the answer.
    http.half_close(true);
    let service = hyper::service::service_fn(|request| {
        let (serving, of) = (serving.clone(), of.clone());
        async move { Ok::<_, Infallible>(serving.respond(request, of).await) }
    });
    let mut connection = pin!(http.serve_connection(TokioIo::new(stream), service).with_upgrades());
    tokio::select! {
        _ = connection.as_mut() => return,
        () = closing.wait() => connection.as_mut().graceful_shutdown(),
    }
    let _ = connection.await;
}

impl Serving {
    async fn respond(&self, request: Request<Incoming>, of: Of) -> Response {
        let _under_way = UnderWay::of(&self.counters.under_way);
        let response = match self.guard.admit(request.method(), request.headers(), of.peer.ip()) {
            Ok(_admitted) => {
                let mut request = request.map(Body::new);
                let closing = of.held.closing.clone();
                request.extensions_mut().insert(ConnectInfo(of.peer));
                request.extensions_mut().insert(of.held);
                let Ok(response) = self.routes.clone().call(request).await;
                ends_with_server(response, closing)
            }
            Err(refused) => *refused,
        };
        self.counters.responded(response.status().as_u16());
        response
    }
}

/// A count that is one more while this lives.
struct UnderWay<'c>(&'c std::sync::atomic::AtomicU64);

impl<'c> UnderWay<'c> {
    fn of(count: &'c std::sync::atomic::AtomicU64) -> Self {
        count.fetch_add(1, Ordering::Relaxed);
        UnderWay(count)
    }
}

impl Drop for UnderWay<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}
