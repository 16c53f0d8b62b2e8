//! Accepts connections, a bounded number at a time, on its own threads, until it is closed.

use crate::OpenError;
use std::future::Future;
#[cfg(feature = "http")]
use std::future::poll_fn;
use std::io;
use std::net::{SocketAddr, ToSocketAddrs};
#[cfg(feature = "http")]
use std::pin::{Pin, pin};
use std::sync::{Arc, Mutex, PoisonError, Weak};
#[cfg(feature = "http")]
use std::task::{Poll, Waker};
use std::thread::JoinHandle;
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio::time::{sleep, timeout};

/// How long a server without free descriptors waits before it tries again.
const NO_DESCRIPTORS: Duration = Duration::from_millis(50);

/// The length of the system's queue of connections to accept, as far as the system allows. If the queue is full, the
/// system drops the packet that opens a connection, and the client sends it again after a second. The standard library
/// sets 128.
#[cfg(unix)]
pub(crate) const WAITING: i32 = 4096;

/// The silence after which the system asks whether a client is still there.
#[cfg(target_os = "linux")]
const ASKED_AFTER: Duration = Duration::from_secs(60);

/// The time limit for open requests when a server is dropped.
const AT_DROP: Duration = Duration::from_secs(5);

/// A place among the allowed connections, while this exists.
pub(crate) type Place = Arc<OwnedSemaphorePermit>;

/// Tells connections that their server is closing, and waits for them.
#[derive(Clone, Debug)]
pub(crate) struct Closing(watch::Receiver<bool>);

impl Closing {
    /// A handle on this channel, for a connection without a listener.
    #[cfg(any(all(test, feature = "tcp"), feature = "fuzzed"))]
    pub(crate) fn of(closed: watch::Receiver<bool>) -> Self {
        Closing(closed)
    }

    /// Waits until the server is closed.
    pub(crate) async fn wait(&mut self) {
        // An error means that the server is gone.
        let _ = self.0.wait_for(|closed| *closed).await;
    }

    /// The output of a future; none if the server is closed before it is ready.
    #[cfg(feature = "http")]
    pub(crate) async fn before<F: Future>(mut self, mut future: Pin<&mut F>) -> Option<F::Output> {
        let state = self.0.clone();
        let (mut closed, mut waits) = (pin!(self.wait()), None::<Waker>);
        poll_fn(|cx| {
            if let Poll::Ready(output) = future.as_mut().poll(cx) {
                return Poll::Ready(Some(output));
            }
            // To poll it takes a lock that all connections share, and it need not be polled until it wakes this task.
            let waker = cx.waker();
            if waits.as_ref().is_some_and(|waits| waits.will_wake(waker)) && matches!(state.has_changed(), Ok(false)) {
                return Poll::Pending;
            }
            waits = Some(waker.clone());
            closed.as_mut().poll(cx).map(|()| None)
        })
        .await
    }
}

/// An accepted connection.
pub(crate) struct Accepted {
    pub(crate) stream: TcpStream,
    #[cfg_attr(not(feature = "http"), expect(dead_code, reason = "it concerns requests alone"))]
    pub(crate) peer: SocketAddr,
    pub(crate) place: Place,
    pub(crate) closing: Closing,
}

/// Whether connections are accepted.
#[cfg_attr(not(all(unix, feature = "http")), expect(dead_code, reason = "only a server can be handed over"))]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Accepting {
    Yes,
    /// Not now: they wait in the system's queue.
    NotNow,
    /// Never again: the listener is closed, and open connections go on.
    Never,
}

/// A server. When it is dropped, it is closed.
#[cfg_attr(not(all(unix, feature = "http")), expect(dead_code, reason = "only a server can be handed over"))]
#[derive(Debug)]
pub(crate) struct Listening {
    address: SocketAddr,
    closing: watch::Sender<bool>,
    accepting: watch::Sender<Accepting>,
    within: Arc<Mutex<Duration>>,
    thread: Option<JoinHandle<usize>>,
    beside: Beside,
    /// The listener, as long as connections may be accepted.
    listener: Weak<TcpListener>,
}

/// The data for connections that do not come from the listener.
#[cfg_attr(not(all(unix, feature = "http")), expect(dead_code, reason = "only a server can be handed over"))]
#[derive(Clone, Debug)]
pub(crate) struct Beside {
    pub(crate) runtime: tokio::runtime::Handle,
    /// Places of their own: a client whose request is forwarded here may have one of the listener's, and the listener
    /// takes one before a client comes.
    free: Arc<Semaphore>,
    closing: Closing,
}

#[cfg(all(unix, feature = "http"))]
impl Beside {
    /// Waits for a place; `None` if the server is gone.
    pub(crate) async fn place(&self) -> Option<(Place, Closing)> {
        let place = self.free.clone().acquire_owned().await.ok()?;
        Some((Arc::new(place), self.closing.clone()))
    }
}

/// A listener that does not accept yet.
pub(crate) struct Bound {
    listener: std::net::TcpListener,
    pub(crate) address: SocketAddr,
}

impl Bound {
    /// Listens. Without a token, refuses an address that other machines can reach.
    pub(crate) fn to(address: impl ToSocketAddrs, token: Option<&str>) -> Result<Self, OpenError> {
        let addresses: Vec<SocketAddr> = address.to_socket_addrs()?.collect();
        may_be_open(&addresses, token)?;
        Bound::on(std::net::TcpListener::bind(&addresses[..])?, token)
    }

    /// As [`to`](Bound::to), by a socket that listens already.
    pub(crate) fn on(listener: std::net::TcpListener, token: Option<&str>) -> Result<Self, OpenError> {
        may_be_open(&[listener.local_addr()?], token)?;
        // Listening again only changes the length of the queue.
        #[cfg(unix)]
        rustix::net::listen(&listener, WAITING).map_err(io::Error::from)?;
        asks_silent_clients(&listener);
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        Ok(Bound { listener, address })
    }

    /// Accepts at most this many connections at a time, and runs the function on each.
    pub(crate) fn serve<F: Future<Output = ()> + Send + 'static>(
        self,
        name: &str,
        most: usize,
        at_first: Accepting,
        connected: impl Fn(Accepted) -> F + Send + Sync + 'static,
    ) -> io::Result<Listening> {
        let runtime = tokio::runtime::Builder::new_multi_thread().thread_name(name).enable_all().build()?;
        let within = Arc::new(Mutex::new(AT_DROP));
        let (closing, closed) = watch::channel(false);
        let (accepting, accepts) = watch::channel(at_first);
        let address = self.address;
        let listener = {
            let _inside = runtime.enter();
            Arc::new(TcpListener::from_std(self.listener)?)
        };
        let most = most.clamp(1, Semaphore::MAX_PERMITS.min(u32::MAX as usize));
        let [free, free_beside] = [(); 2].map(|()| Arc::new(Semaphore::new(most)));
        let runtime_here = runtime.handle().clone();
        let beside = Beside { runtime: runtime_here, free: free_beside.clone(), closing: Closing(closed.clone()) };
        let (grace, weak) = (within.clone(), Arc::downgrade(&listener));
        let work = move || {
            let cut_off = runtime.block_on(async move {
                let mut closing = Closing(closed);
                let told = closing.clone();
                tokio::select! {
                    () = accept(listener, &free, &told, accepts, &connected) => closing.wait().await,
                    () = closing.wait() => {}
                }
                drop(connected);
                let within = *grace.lock().unwrap_or_else(PoisonError::into_inner);
                let end_of_all = async {
                    let _none = free.acquire_many(most as u32).await;
                    let _none_beside = free_beside.acquire_many(most as u32).await;
                };
                let in_time = timeout(within, end_of_all).await.is_ok();
                let open = || most - free.available_permits() + most - free_beside.available_permits();
                if in_time { 0 } else { open() }
            });
            // Drops the connections that were cut off before this returns, unless their code blocks.
            runtime.shutdown_timeout(Duration::from_secs(1));
            cut_off
        };
        let thread = std::thread::Builder::new().name(name.to_owned()).spawn(work)?;
        Ok(Listening { address, closing, accepting, within, thread: Some(thread), beside, listener: weak })
    }
}

/// Lets the system ask a client that is silent whether it is still there, for every connection of this listener. A
/// client whose machine has gone would hold its connection for ever if there is nothing to send to it.
fn asks_silent_clients(listener: &std::net::TcpListener) {
    #[cfg(unix)]
    {
        use rustix::net::sockopt;
        // An error means that such a connection lasts longer.
        let _ = sockopt::set_socket_keepalive(listener, true);
        #[cfg(target_os = "linux")]
        let _ = sockopt::set_tcp_keepidle(listener, ASKED_AFTER);
    }
    #[cfg(not(unix))]
    let _ = listener;
}

/// The token that clients must have. An empty one is none: everybody has it.
pub(crate) fn asked_for(token: Option<&str>) -> Option<&str> {
    token.filter(|token| !token.trim().is_empty())
}

fn may_be_open(addresses: &[SocketAddr], token: Option<&str>) -> Result<(), OpenError> {
    let has_token = asked_for(token).is_some();
    let open = addresses.iter().find(|address| !address.ip().is_loopback() && !has_token);
    open.map_or(Ok(()), |open| Err(OpenError::NoToken(*open)))
}

impl Listening {
    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Sets whether it accepts connections.
    #[cfg(all(unix, feature = "http"))]
    pub(crate) fn accept(&self, accepting: Accepting) {
        self.accepting.send_replace(accepting);
    }

    /// The listening socket, as long as it may accept.
    #[cfg(all(unix, feature = "http"))]
    pub(crate) fn socket(&self) -> io::Result<std::os::fd::OwnedFd> {
        let listener = self.listener.upgrade().ok_or(io::ErrorKind::NotConnected)?;
        std::os::fd::AsFd::as_fd(&*listener).try_clone_to_owned()
    }

    #[cfg(all(unix, feature = "http"))]
    pub(crate) fn beside(&self) -> &Beside {
        &self.beside
    }

    /// Stops accepting connections, and waits until all have ended, at most for this time. Returns how many were cut
    /// off.
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

/// Waits until it never accepts again.
async fn accept<F: Future<Output = ()> + Send + 'static>(
    listener: Arc<TcpListener>,
    free: &Arc<Semaphore>,
    closing: &Closing,
    mut accepting: watch::Receiver<Accepting>,
    connected: &impl Fn(Accepted) -> F,
) {
    loop {
        // An error means that it is about to be closed.
        if let Ok(Accepting::Never) = accepting.wait_for(|accepting| *accepting != Accepting::NotNow).await.as_deref() {
            return;
        }
        // A connection beyond the limit waits in the system's queue.
        let Ok(place) = free.clone().acquire_owned().await else { return };
        let came = tokio::select! {
            came = listener.accept() => came,
            Ok(_) = accepting.wait_for(|accepting| *accepting != Accepting::Yes) => continue,
        };
        match came {
            Ok((stream, peer)) => {
                // Small writes are sent at once. If the option cannot be set, they come a little later.
                let _ = stream.set_nodelay(true);
                let accepted = Accepted { stream, peer, place: Arc::new(place), closing: closing.clone() };
                drop(tokio::spawn(connected(accepted)));
            }
            // There are no descriptors left. Open connections will free some.
            Err(_) => sleep(NO_DESCRIPTORS).await,
        }
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;
    use rustix::net::sockopt::{socket_keepalive, tcp_keepidle};
    use std::sync::mpsc::channel;

    #[test]
    fn the_system_asks_silent_clients_whether_they_are_there() {
        let bound = Bound::to("127.0.0.1:0", None).unwrap();
        let (address, (tell, told)) = (bound.address, channel());
        let connected = move |Accepted { stream, .. }| {
            tell.send((socket_keepalive(&stream).unwrap(), tcp_keepidle(&stream).unwrap())).unwrap();
            std::future::ready(())
        };
        let listening = bound.serve("test", 1, Accepting::Yes, connected).unwrap();
        let _client = std::net::TcpStream::connect(address).unwrap();
        assert_eq!(told.recv().unwrap(), (true, ASKED_AFTER));
        listening.close(Duration::ZERO);
    }
}
