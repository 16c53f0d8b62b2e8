//! Accepts connections, a bounded number at a time, on threads of its own, until it is closed.

use crate::OpenError;
use std::future::Future;
use std::io;
use std::net::{SocketAddr, ToSocketAddrs};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio::time::{sleep, timeout};

/// How long a server that has no descriptors left waits until it tries again.
const NO_DESCRIPTORS: Duration = Duration::from_millis(50);

/// The connections that the system keeps until they are accepted, if it keeps that many. When the queue is full, the
/// packet that opens a connection is dropped, and comes again after a second. The standard library asks for 128.
#[cfg(unix)]
const WAITING: i32 = 4096;

/// The time that a server that is dropped has for what is under way.
const AT_DROP: Duration = Duration::from_secs(5);

/// A connection counts as one of those that are allowed as long as one of these lives.
pub(crate) type Place = Arc<OwnedSemaphorePermit>;

/// Tells connections that their server accepts no more, and waits for them.
#[derive(Clone, Debug)]
pub(crate) struct Closing(watch::Receiver<bool>);

impl Closing {
    /// By this channel, for a connection without a listener.
    #[cfg(any(all(test, feature = "http", feature = "tcp"), feature = "fuzzed"))]
    pub(crate) fn of(closed: watch::Receiver<bool>) -> Self {
        Closing(closed)
    }

    /// Waits until the server is closed.
    pub(crate) async fn wait(&mut self) {
        // An error means that the server is gone.
        let _ = self.0.wait_for(|closed| *closed).await;
    }
}

/// A connection that was accepted.
pub(crate) struct Accepted {
    pub(crate) stream: TcpStream,
    #[cfg_attr(not(feature = "http"), expect(dead_code, reason = "it concerns requests alone"))]
    pub(crate) peer: SocketAddr,
    pub(crate) place: Place,
    pub(crate) closing: Closing,
}

/// A server. When it is dropped, it is closed.
#[derive(Debug)]
pub(crate) struct Listening {
    address: SocketAddr,
    closing: watch::Sender<bool>,
    within: Arc<Mutex<Duration>>,
    thread: Option<JoinHandle<usize>>,
}

/// What listens, and accepts nothing yet.
pub(crate) struct Bound {
    listener: std::net::TcpListener,
    pub(crate) address: SocketAddr,
}

impl Bound {
    /// Listens. Without a token, others than this machine are refused.
    pub(crate) fn to(address: impl ToSocketAddrs, has_token: bool) -> Result<Self, OpenError> {
        let addresses: Vec<SocketAddr> = address.to_socket_addrs()?.collect();
        if let Some(open) = addresses.iter().find(|address| !address.ip().is_loopback() && !has_token) {
            return Err(OpenError::NoToken(*open));
        }
        let listener = std::net::TcpListener::bind(&addresses[..])?;
        // Listening again only changes the length of the queue.
        #[cfg(unix)]
        rustix::net::listen(&listener, WAITING).map_err(io::Error::from)?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        Ok(Bound { listener, address })
    }

    /// Accepts at most this many connections at a time, and does this with each.
    pub(crate) fn serve<F: Future<Output = ()> + Send + 'static>(
        self,
        name: &str,
        most: usize,
        connected: impl Fn(Accepted) -> F + Send + Sync + 'static,
    ) -> io::Result<Listening> {
        let runtime = tokio::runtime::Builder::new_multi_thread().thread_name(name).enable_all().build()?;
        let within = Arc::new(Mutex::new(AT_DROP));
        let (closing, closed) = watch::channel(false);
        let (grace, listener, address) = (within.clone(), self.listener, self.address);
        let work = move || {
            let cut_off = runtime.block_on(async move {
                let Ok(listener) = TcpListener::from_std(listener) else { return 0 };
                serve(listener, most, Closing(closed), connected, &grace).await
            });
            // What was cut off is dropped before this returns, unless it does not wait where it should.
            runtime.shutdown_timeout(Duration::from_secs(1));
            cut_off
        };
        let thread = std::thread::Builder::new().name(name.to_owned()).spawn(work)?;
        Ok(Listening { address, closing, within, thread: Some(thread) })
    }
}

impl Listening {
    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Accepts no connection any more, and waits until all have ended, at most for this time. Returns how many were
    /// cut off.
    pub(crate) fn close(mut self, within: Duration) -> usize {
        *self.within.lock().unwrap_or_else(PoisonError::into_inner) = within;
        self.end()
    }

    fn end(&mut self) -> usize {
        self.closing.send_replace(true);
        self.thread.take().map_or(0, |thread| thread.join().unwrap_or(0))
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        self.end();
    }
}

async fn serve<F: Future<Output = ()> + Send + 'static>(
    listener: TcpListener,
    most: usize,
    mut closing: Closing,
    connected: impl Fn(Accepted) -> F,
    within: &Mutex<Duration>,
) -> usize {
    let most = most.clamp(1, Semaphore::MAX_PERMITS.min(u32::MAX as usize));
    let free = Arc::new(Semaphore::new(most));
    let told = closing.clone();
    tokio::select! {
        () = accept(&listener, &free, &told, &connected) => {}
        () = closing.wait() => {}
    }
    drop((listener, connected));
    let within = *within.lock().unwrap_or_else(PoisonError::into_inner);
    // The end of every connection.
    let all = timeout(within, free.acquire_many(most as u32)).await;
    if all.is_ok() { 0 } else { most - free.available_permits() }
}

async fn accept<F: Future<Output = ()> + Send + 'static>(
    listener: &TcpListener,
    free: &Arc<Semaphore>,
    closing: &Closing,
    connected: &impl Fn(Accepted) -> F,
) {
    loop {
        // A connection beyond the limit waits in the system's queue.
        let Ok(place) = free.clone().acquire_owned().await else { return };
        match listener.accept().await {
            Ok((stream, peer)) => {
                // What is small is written at once. If that cannot be set, it comes a little later.
                let _ = stream.set_nodelay(true);
                let accepted = Accepted { stream, peer, place: Arc::new(place), closing: closing.clone() };
                drop(tokio::spawn(connected(accepted)));
            }
            // There are no descriptors left. Open connections will free some.
            Err(_) => sleep(NO_DESCRIPTORS).await,
        }
    }
}
