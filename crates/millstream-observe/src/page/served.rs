use axum::Router;
use axum::extract::Request;
use axum::http::{StatusCode, header};
use axum::middleware::{Next, from_fn};
use axum::response::{IntoResponse, Response};
use futures_util::FutureExt;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use hyper_util::service::TowerToHyperService;
use millstream_exec::is_here;
use std::io;
use std::net::{SocketAddr, ToSocketAddrs};
use std::thread::JoinHandle;
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::sync::oneshot;

/// A server with a thread of its own, which runs until this is dropped.
#[derive(Debug)]
pub(super) struct Served {
    pub(super) address: SocketAddr,
    /// Both are dropped at the end: the first ends the accepting, the second begins the time for the last answers.
    stop: Option<[oneshot::Sender<()>; 2]>,
    thread: Option<JoinHandle<()>>,
}

impl Served {
    /// Starts a server. When it is dropped, running requests have `last_while` until their connections are closed.
    pub(super) fn begin(address: impl ToSocketAddrs, app: Router, last_while: Duration) -> io::Result<Self> {
        let listener = std::net::TcpListener::bind(address)?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        let app = if address.ip().is_loopback() { app.layer(from_fn(only_from_here)) } else { app };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let ((closing, closed), (ending, ended)) = (oneshot::channel::<()>(), oneshot::channel::<()>());
        let stop = Some([closing, ending]);
        let serve = async move {
            let Ok(listener) = TcpListener::from_std(listener) else { return };
            let open = accept(&listener, app, closed).await;
            drop(listener);
            let cut_off = async move {
                drop(ended.await);
                tokio::time::sleep(last_while).await;
            };
            tokio::select! {
                () = open.shutdown() => {}
                () = cut_off => {}
            }
        };
        let work = move || {
            runtime.block_on(serve);
            // Readers of events are not waited for.
            runtime.shutdown_background();
        };
        let thread = std::thread::Builder::new().name("millstream-page".to_owned()).spawn(work)?;
        Ok(Served { address, stop, thread: Some(thread) })
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// A connection without a request for this time is closed.
const IDLE: Duration = Duration::from_secs(10);

/// Accepts connections until `closed`. Returns those that are still open.
async fn accept(listener: &TcpListener, app: Router, closed: oneshot::Receiver<()>) -> GracefulShutdown {
    let (open, mut http) = (GracefulShutdown::new(), http1::Builder::new());
    http.timer(TokioTimer::new()).header_read_timeout(IDLE);
    let mut closed = std::pin::pin!(closed);
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            _ = &mut closed => return open,
        };
        match accepted {
            Ok((stream, _)) => {
                let service = TowerToHyperService::new(app.clone());
                // An error of one connection does not concern the others.
                tokio::spawn(open.watch(http.serve_connection(TokioIo::new(stream), service)).map(drop));
            }
            // For example there are no descriptors left. Open connections will free some.
            Err(_) => tokio::time::sleep(super::GLANCE).await,
        }
    }
}

/// A page from elsewhere can have a host name that resolves to this machine, and could read what is served here.
/// Browsers send the host name of the request.
async fn only_from_here(request: Request, next: Next) -> Response {
    let host = request.headers().get(header::HOST).map(|host| host.to_str().unwrap_or_default());
    if host.is_none_or(is_here) {
        return next.run(request).await;
    }
    (StatusCode::MISDIRECTED_REQUEST, "this server answers only to `localhost` and IP addresses\n").into_response()
}
