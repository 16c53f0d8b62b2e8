//! The connections of a server, and the path of each request.

use super::counters::Counters;
use super::events::ends_with_server;
use super::guard::Guard;
#[cfg(unix)]
use super::hand_over::forward;
use super::ingest::TAKEN;
use super::switch::{Switch, Visitor, Way};
use super::wire::Wire;
use super::{Limits, Refusal};
use crate::lingering::Lingering;
use crate::listening::{Accepted, Closing, Place};
use crate::timed::Timed;
use axum::Router;
use axum::body::Body;
use axum::extract::{ConnectInfo, Request};
use axum::response::{IntoResponse, Response};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
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
        let open = Arc::new(Open::on(&self.counters));
        Held { place, _open: open, closing, visitor: Visitor::of(peer, &self.switch), of_process: false }
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
        let held = Held { of_process: true, ..self.held(peer, place, closing) };
        let stream = Timed::new(Wire::Unix(stream), self.limits.write_within);
        connection(&self, stream, held).await;
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
        connection(&self, stream, self.held(peer, place, closing)).await;
    }
}

pub(super) async fn connected(serving: Arc<Serving>, accepted: Accepted) {
    let Accepted { stream, peer, place, closing } = accepted;
    serving.counters.connections.fetch_add(1, Ordering::Relaxed);
    let held = serving.held(peer, place, closing);
    let stream = Timed::new(Wire::Tcp(stream), serving.limits.write_within);
    match &serving.transport {
        Transport::Plain => connection(&serving, stream, held).await,
        #[cfg(feature = "tls")]
        Transport::Tls(acceptor) => {
            if let Ok(Ok(stream)) = timeout(serving.limits.head_within, acceptor.clone().accept(stream)).await {
                connection(&serving, stream, held).await;
            }
        }
    }
}

/// The connection of a request, for code that outlives the response: an upgraded connection counts as open while this
/// exists.
#[derive(Clone)]
pub(super) struct Held {
    place: Place,
    _open: Arc<Open>,
    pub(super) closing: Closing,
    pub(super) visitor: Arc<Visitor>,
    /// Whether it belongs to a process that forwards the request.
    of_process: bool,
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
async fn connection<S>(serving: &Arc<Serving>, stream: S, held: Held)
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let (mut http, mut closing) = (http1::Builder::new(), held.closing.clone());
    let Limits { head_within, head, headers, read_ahead, .. } = serving.limits;
    http.timer(TokioTimer::new()).header_read_timeout(head_within).max_headers(headers).max_header_size(head);
    http.max_buf_size(read_ahead.max(head).max(8 << 10));
    // A client that closes its half after a request still gets the answer.
    http.half_close(true);
    let stream = Lingering::new(stream, held.place.clone());
    let service = hyper::service::service_fn(|request| {
        let (serving, held) = (serving.clone(), held.clone());
        async move { Ok::<_, Infallible>(serving.respond(request, held).await) }
    });
    let mut connection = pin!(http.serve_connection(TokioIo::new(stream), service).with_upgrades());
    tokio::select! {
        _ = connection.as_mut() => return,
        () = closing.wait() => connection.as_mut().graceful_shutdown(),
    }
    let _ = connection.await;
}

impl Serving {
    async fn respond(&self, request: Request<Incoming>, held: Held) -> Response {
        let _under_way = UnderWay::of(&self.counters.under_way);
        let response = self.answer(request.map(Body::new), held).await;
        self.counters.responded(response.status().as_u16());
        response
    }

    async fn answer(&self, mut request: Request, held: Held) -> Response {
        let peer = held.visitor.peer;
        if !held.of_process {
            // Only the process that has begun to take a body may set this header.
            request.headers_mut().remove(&TAKEN);
        }
        match held.visitor.way().await {
            Way::Own(routes) => {
                let _inside = Inside(held.visitor.clone());
                match self.guard.admit(request.method(), request.headers(), peer.ip()) {
                    Ok(_admitted) => {
                        let closing = held.closing.clone();
                        request.extensions_mut().insert(ConnectInfo(peer));
                        request.extensions_mut().insert(held);
                        let response = called(routes, request).await;
                        if !response.status().is_server_error() {
                            self.switch.answered();
                        }
                        ends_with_server(response, closing)
                    }
                    Err(refused) => *refused,
                }
            }
            // The other process checks the token and the limits.
            #[cfg(unix)]
            Way::Away(door) => forward(request, &door, peer).await,
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

impl Visitor {
    /// The response to an admitted request, from its present destination.
    pub(super) async fn again(&self, request: Request) -> Response {
        match self.way().await {
            Way::Own(routes) => called(routes, request).await,
            #[cfg(unix)]
            Way::Away(door) => forward(request, &door, self.peer).await,
            Way::Nowhere => Refusal::Ending.into_response(),
        }
    }
}

/// A request in the server's own routes, unless it has left.
struct Inside(Arc<Visitor>);

impl Drop for Inside {
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
