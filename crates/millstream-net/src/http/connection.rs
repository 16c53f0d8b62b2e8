//! The connections of a server, and the path of each request.

use super::counters::Counters;
use super::events::ends_with_server;
use super::guard::{Admitted, Guard, open_while_streamed};
#[cfg(unix)]
use super::hand_over::forward;
use super::ingest::TAKEN;
use super::switch::{Switch, Visitor, Way};
use super::timers::Timers;
use super::wire::Wire;
use super::{Limits, Refusal};
use crate::lingering::{Lingering, Watch, Watched};
use crate::listening::{Accepted, Closing, Place};
use crate::timed::Timed;
use axum::Router;
use axum::body::Body;
use axum::extract::{ConnectInfo, Request};
use axum::http::request::Parts;
use axum::http::{Extensions, Uri};
use axum::response::{IntoResponse, Response};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper_util::rt::TokioIo;
use std::convert::Infallible;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use tokio::io::{AsyncRead, AsyncWrite};
#[cfg(feature = "tls")]
use tokio::time::timeout;
use tower_service::Service;

/// The layers between TCP and HTTP.
pub(super) enum Transport {
    Plain,
    #[cfg(feature = "tls")]
    Tls(tokio_rustls::TlsAcceptor),
}

/// The data that all connections share.
pub(super) struct Serving {
    pub(super) switch: Arc<Switch>,
    guard: Arc<Guard>,
    limits: Limits,
    transport: Transport,
    pub(super) counters: Arc<Counters>,
}

impl Serving {
    pub(super) fn new(routes: Router, limits: Limits, address: SocketAddr, transport: Transport) -> Arc<Self> {
        let (switch, guard) = (Switch::new(routes), Arc::new(Guard::new(&limits, address)));
        Arc::new(Serving { switch, guard, limits, transport, counters: Arc::default() })
    }

    fn held(&self, peer: SocketAddr, place: Place, closing: Closing) -> Held {
        let (open, visitor) = (Open::on(&self.counters), Visitor::of(peer, &self.switch));
        let (timers, watch) = (Timers::default(), Watch::default());
        let connection = Arc::new(Connection { place, _open: open, closing, visitor, timers, watch });
        Held { connection, target: Uri::default(), _admitted: None }
    }

    /// Serves the connection of a process that has a request for this one.
    #[cfg(unix)]
    pub(super) async fn forwarded(
        self: Arc<Self>,
        stream: tokio::net::UnixStream,
        peer: SocketAddr,
        place: Place,
        closing: Closing,
    ) {
        let held = self.held(peer, place, closing);
        let stream = Timed::new(Wire::Unix(stream), self.limits.write_time());
        connection(&self, stream, held, From::Process).await;
    }
}

#[cfg(any(all(test, feature = "tcp"), feature = "fuzzed"))]
impl Serving {
    /// A connection as if accepted at this address, without counters that others see.
    pub(super) fn alone(routes: Router, limits: Limits, address: SocketAddr) -> Arc<Self> {
        Serving::new(routes, limits, address, Transport::Plain)
    }

    /// Serves one connection, of any kind.
    pub(super) async fn converse<S>(self: Arc<Self>, stream: S, peer: SocketAddr, place: Place, closing: Closing)
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        connection(&self, stream, self.held(peer, place, closing), From::Client).await;
    }
}

pub(super) async fn connected(serving: Arc<Serving>, accepted: Accepted) {
    let Accepted { stream, peer, place, closing } = accepted;
    serving.counters.connections.fetch_add(1, Ordering::Relaxed);
    let held = serving.held(peer, place, closing);
    let stream = Timed::new(Wire::Tcp(stream), serving.limits.write_time());
    match &serving.transport {
        Transport::Plain => connection(&serving, stream, held, From::Client).await,
        #[cfg(feature = "tls")]
        Transport::Tls(acceptor) => {
            let accepted = pin!(timeout(serving.limits.head_time(), acceptor.clone().accept(stream)));
            // A client that does not finish its handshake does not hold up the end of the server.
            if let Some(Ok(Ok(stream))) = held.closing().before(accepted).await {
                connection(&serving, stream, held, From::Client).await;
            }
        }
    }
}

/// The connection of a request, for code that outlives the response: an upgraded connection counts as open while this
/// exists.
#[derive(Clone)]
pub(super) struct Held {
    connection: Arc<Connection>,
    /// The target of the request as it came. A router within a router cuts the path that its routes see.
    target: Uri,
    /// The request counts as open while a socket that it has become is open.
    _admitted: Option<Arc<Admitted>>,
}

/// The data that all requests of a connection share.
struct Connection {
    place: Place,
    _open: Open,
    closing: Closing,
    visitor: Arc<Visitor>,
    timers: Timers,
    watch: Watch,
}

impl Held {
    pub(super) fn closing(&self) -> Closing {
        self.connection.closing.clone()
    }

    pub(super) fn visitor(&self) -> &Visitor {
        &self.connection.visitor
    }

    pub(super) fn timers(&self) -> &Timers {
        &self.connection.timers
    }

    /// Ends the connection if its client leaves while the result exists.
    pub(super) fn watch(&self) -> Watched {
        self.connection.watch.begin()
    }

    /// The response to an admitted request that its routes have left, from its present destination.
    pub(super) async fn again(self, mut parts: Parts, body: Body) -> Response {
        // Routers and layers have changed both.
        (parts.uri, parts.extensions) = (self.target.clone(), Extensions::new());
        let mut request = Request::from_parts(parts, body);
        let peer = self.visitor().peer;
        let way = self.visitor().way().await;
        match way {
            Way::Own(routes) => {
                request.extensions_mut().insert(ConnectInfo(peer));
                request.extensions_mut().insert(self);
                called(routes, request).await
            }
            #[cfg(unix)]
            Way::Away(door) => forward(request, &door, peer).await,
            Way::Nowhere => Refusal::Ending.into_response(),
        }
    }
}

/// The other end of a connection.
#[derive(Clone, Copy, PartialEq, Eq)]
enum From {
    Client,
    /// A process that forwards requests.
    Process,
}

/// Counts a connection as open while this exists.
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

/// Serves one connection. Its errors do not affect others.
async fn connection<S>(serving: &Arc<Serving>, stream: S, held: Held, from: From)
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let mut http = http1::Builder::new();
    let Limits { head, headers, read_ahead, .. } = serving.limits;
    http.timer(held.timers().head.clone()).header_read_timeout(serving.limits.head_time());
    http.max_headers(headers).max_header_size(head);
    http.max_buf_size(read_ahead.max(head).max(8 << 10));
    // A client that closes its half after a request still gets the answer.
    http.half_close(true);
    // A process that forwards a request closes its half after that.
    let watch = if from == From::Client { held.connection.watch.clone() } else { Watch::default() };
    let stream = Lingering::new(stream, held.connection.place.clone(), watch);
    let service = hyper::service::service_fn(|request| {
        let (serving, held) = (serving.clone(), held.clone());
        async move { Ok::<_, Infallible>(serving.respond(request, &held, from).await) }
    });
    let mut connection = pin!(http.serve_connection(TokioIo::new(stream), service).with_upgrades());
    if held.closing().before(connection.as_mut()).await.is_none() {
        connection.as_mut().graceful_shutdown();
        let _ = connection.await;
    }
}

impl Serving {
    async fn respond(&self, request: Request<Incoming>, held: &Held, from: From) -> Response {
        let _under_way = UnderWay::of(&self.counters.under_way);
        let response = self.answer(request.map(Body::new), held, from).await;
        self.counters.responded(response.status().as_u16());
        response
    }

    async fn answer(&self, mut request: Request, held: &Held, from: From) -> Response {
        let visitor = held.visitor();
        let peer = visitor.peer;
        if from == From::Client {
            // Only the process that has begun to take a body may set this header.
            request.headers_mut().remove(&TAKEN);
        }
        match visitor.way().await {
            Way::Own(routes) => {
                let _inside = Inside(visitor);
                match self.guard.admit(request.method(), request.headers(), peer.ip()) {
                    Ok(admitted) => {
                        request.extensions_mut().insert(ConnectInfo(peer));
                        let (target, admitted) = (request.uri().clone(), admitted.map(Arc::new));
                        let held = Held { target, _admitted: admitted.clone(), ..held.clone() };
                        request.extensions_mut().insert(held.clone());
                        let response = called(routes, request).await;
                        if !response.status().is_server_error() {
                            self.switch.answered();
                        }
                        open_while_streamed(ends_with_server(response, || held.closing()), admitted)
                    }
                    Err(refused) => *refused,
                }
            }
            // The other process checks the token and the limits.
            #[cfg(unix)]
            Way::Away(door) => ends_with_server(forward(request, &door, peer).await, || held.closing()),
            Way::Nowhere => Refusal::Ending.into_response(),
        }
    }
}

/// Drops the routes before the response comes, since they contain a client.
async fn called(mut routes: Router, request: Request) -> Response {
    let response = routes.call(request);
    drop(routes);
    let Ok(response) = response.await;
    response
}

/// A request in the server's own routes, unless it has left.
struct Inside<'v>(&'v Visitor);

impl Drop for Inside<'_> {
    fn drop(&mut self) {
        self.0.leave();
    }
}

/// Raises a count by one while this exists.
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
