//! A server with limits.

use super::counters::Counters;
use super::events::ends_with_server;
use super::guard::Guard;
use super::{Limits, OpenError};
use crate::timed::Timed;
use axum::Router;
use axum::body::Body;
use axum::extract::{ConnectInfo, Request};
use axum::response::Response;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use std::convert::Infallible;
use std::net::{SocketAddr, ToSocketAddrs};
use std::pin::pin;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;
use std::{fmt, io};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio::time::{sleep, timeout};
use tower_service::Service;

/// How long a server that has no descriptors left waits until it tries again.
const NO_DESCRIPTORS: Duration = Duration::from_millis(50);

/// The time that a server that is dropped has for the requests under way.
const AT_DROP: Duration = Duration::from_secs(5);

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
    address: SocketAddr,
    encrypted: bool,
    counters: Arc<Counters>,
    closing: watch::Sender<bool>,
    within: Arc<Mutex<Duration>>,
    thread: Option<JoinHandle<usize>>,
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
        let addresses: Vec<SocketAddr> = address.to_socket_addrs()?.collect();
        if let Some(open) = addresses.iter().find(|address| !address.ip().is_loopback() && limits.token.is_none()) {
            return Err(OpenError::NoToken(*open));
        }
        let listener = std::net::TcpListener::bind(&addresses[..])?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        let runtime =
            tokio::runtime::Builder::new_multi_thread().thread_name("millstream-http").enable_all().build()?;
        let (counters, within) = (Arc::<Counters>::default(), Arc::new(Mutex::new(AT_DROP)));
        let (closing, closed) = watch::channel(false);
        let encrypted = !matches!(transport, Transport::Plain);
        let serving = Arc::new(Serving {
            routes,
            guard: Arc::new(Guard::new(&limits, address)),
            limits,
            transport,
            counters: counters.clone(),
            closed,
        });
        let grace = within.clone();
        let work = move || {
            let cut_off = runtime.block_on(async move {
                let Ok(listener) = TcpListener::from_std(listener) else { return 0 };
                serve(listener, serving, &grace).await
            });
            // What was cut off is dropped before this returns, unless it does not wait where it should.
            runtime.shutdown_timeout(Duration::from_secs(1));
            cut_off
        };
        let thread = std::thread::Builder::new().name("millstream-http".to_owned()).spawn(work)?;
        Ok(Server { address, encrypted, counters, closing, within, thread: Some(thread) })
    }

    /// The address where it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
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
    pub fn close(mut self, within: Duration) -> Closed {
        *self.within.lock().unwrap_or_else(PoisonError::into_inner) = within;
        Closed { cut_off: self.end() }
    }

    fn end(&mut self) -> usize {
        self.closing.send_replace(true);
        self.thread.take().map_or(0, |thread| thread.join().unwrap_or(0))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.end();
    }
}

impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Server").field("address", &self.address).finish_non_exhaustive()
    }
}

/// What is between TCP and HTTP.
pub(super) enum Transport {
    Plain,
    #[cfg(feature = "tls")]
    Tls(tokio_rustls::TlsAcceptor),
}

/// What all connections share.
struct Serving {
    routes: Router,
    guard: Arc<Guard>,
    limits: Limits,
    transport: Transport,
    counters: Arc<Counters>,
    closed: watch::Receiver<bool>,
}

/// Accepts connections until it is closed. Returns how many were open when their time was over.
async fn serve(listener: TcpListener, serving: Arc<Serving>, within: &Mutex<Duration>) -> usize {
    let most = serving.limits.connections.clamp(1, Semaphore::MAX_PERMITS.min(u32::MAX as usize));
    let free = Arc::new(Semaphore::new(most));
    let mut closed = serving.closed.clone();
    tokio::select! {
        () = accept(&listener, &serving, &free) => {}
        _ = closed.wait_for(|closed| *closed) => {}
    }
    drop((listener, serving));
    let within = *within.lock().unwrap_or_else(PoisonError::into_inner);
    // The end of every connection.
    let all = timeout(within, free.acquire_many(most as u32)).await;
    if all.is_ok() { 0 } else { most - free.available_permits() }
}

async fn accept(listener: &TcpListener, serving: &Arc<Serving>, free: &Arc<Semaphore>) {
    loop {
        // A connection beyond the limit waits in the system's queue.
        let Ok(permit) = free.clone().acquire_owned().await else { return };
        match listener.accept().await {
            Ok((stream, peer)) => drop(tokio::spawn(connected(serving.clone(), stream, peer, permit))),
            // There are no descriptors left. Open connections will free some.
            Err(_) => sleep(NO_DESCRIPTORS).await,
        }
    }
}

async fn connected(serving: Arc<Serving>, stream: TcpStream, peer: SocketAddr, _permit: OwnedSemaphorePermit) {
    let counters = serving.counters.clone();
    counters.connections.fetch_add(1, Ordering::Relaxed);
    let _open = UnderWay::of(&counters.open);
    // An answer is written at once. If that cannot be set, it comes a little later.
    let _ = stream.set_nodelay(true);
    let stream = Timed::new(stream, serving.limits.write_within);
    match &serving.transport {
        Transport::Plain => connection(&serving, stream, peer).await,
        #[cfg(feature = "tls")]
        Transport::Tls(acceptor) => {
            if let Ok(Ok(stream)) = timeout(serving.limits.head_within, acceptor.clone().accept(stream)).await {
                connection(&serving, stream, peer).await;
            }
        }
    }
}

/// Serves one connection. Its error does not concern the others.
async fn connection<S>(serving: &Arc<Serving>, stream: S, peer: SocketAddr)
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let mut http = http1::Builder::new();
    let Limits { head_within, head, headers, .. } = serving.limits;
    http.timer(TokioTimer::new()).header_read_timeout(head_within).max_headers(headers).max_buf_size(head.max(8 << 10));
    // Who has sent all of a request may say so, and still gets the answer.
    http.half_close(true);
    let service = hyper::service::service_fn(|request| {
        let serving = serving.clone();
        async move { Ok::<_, Infallible>(serving.respond(request, peer).await) }
    });
    let mut closed = serving.closed.clone();
    let mut connection = pin!(http.serve_connection(TokioIo::new(stream), service).with_upgrades());
    tokio::select! {
        _ = connection.as_mut() => return,
        _ = closed.wait_for(|closed| *closed) => connection.as_mut().graceful_shutdown(),
    }
    let _ = connection.await;
}

impl Serving {
    async fn respond(&self, request: Request<Incoming>, peer: SocketAddr) -> Response {
        let _under_way = UnderWay::of(&self.counters.under_way);
        let response = match self.guard.admit(request.method(), request.headers(), peer.ip()) {
            Ok(_admitted) => {
                let mut request = request.map(Body::new);
                request.extensions_mut().insert(ConnectInfo(peer));
                let Ok(response) = self.routes.clone().call(request).await;
                ends_with_server(response, &self.closed)
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

impl From<OpenError> for io::Error {
    fn from(error: OpenError) -> Self {
        match error {
            OpenError::Io(error) => error,
            no_token @ OpenError::NoToken(_) => io::Error::other(no_token),
        }
    }
}
