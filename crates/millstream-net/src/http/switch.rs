//! Selects what answers a server's requests: its own routes, nothing for now, or the process that has taken over.

use axum::Router;
#[cfg(unix)]
use millstream_state::door::Door;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;
#[cfg(unix)]
use std::time::Instant;
use tokio::sync::watch;
use tokio::time::timeout;

/// The longest time for which a held request waits.
pub(super) const HELD_WITHIN: Duration = Duration::from_secs(30);

/// The interval between checks whether the last request has been answered.
#[cfg(unix)]
const LOOK: Duration = Duration::from_millis(1);

#[derive(Clone)]
enum Mode {
    /// Routes that replace others have another number.
    Own(u64, Router),
    #[cfg(unix)]
    Held,
    /// Whole requests go to the process behind this door.
    #[cfg(unix)]
    Away(Arc<Door>),
}

/// The destination of a server's requests. It can change while they come.
pub(super) struct Switch {
    mode: watch::Sender<Mode>,
    /// The number of requests in its own routes.
    inside: AtomicU64,
    /// Whether its own routes have answered a request.
    answered: AtomicBool,
}

/// The destination of one request.
pub(super) enum Way {
    Own(Router),
    #[cfg(unix)]
    Away(Arc<Door>),
    /// The request was held for too long.
    Nowhere,
}

impl Switch {
    pub(super) fn new(routes: Router) -> Arc<Self> {
        let mode = watch::Sender::new(Mode::Own(0, routes));
        Arc::new(Switch { mode, inside: AtomicU64::new(0), answered: AtomicBool::new(false) })
    }

    /// Records that its own routes have answered a request.
    pub(super) fn answered(&self) {
        // A read is cheaper than a write to memory that all connections share.
        if !self.answered.load(Ordering::Relaxed) {
            self.answered.store(true, Ordering::Relaxed);
        }
    }
}

#[cfg(unix)]
impl Switch {
    /// Holds new requests, and drops the routes. Waits until no request is in the routes, at most for this time.
    /// Returns the number of those that still are.
    pub(super) fn hold(&self, within: Duration) -> u64 {
        drop(self.mode.send_replace(Mode::Held));
        let since = Instant::now();
        loop {
            match self.inside.load(Ordering::SeqCst) {
                0 => return 0,
                inside if since.elapsed() >= within => return inside,
                _ => std::thread::sleep(LOOK),
            }
        }
    }

    /// Lets these routes answer, also the requests that wait. The number must be new.
    pub(super) fn own(&self, number: u64, routes: Router) {
        self.answered.store(false, Ordering::Relaxed);
        self.mode.send_replace(Mode::Own(number, routes));
    }

    /// Sends whole requests through this door, also those that wait.
    pub(super) fn away(&self, door: Arc<Door>) {
        self.mode.send_replace(Mode::Away(door));
    }

    /// Holds the requests that would go to another process, which has ended.
    pub(super) fn comes_back(&self) {
        self.mode.send_if_modified(|mode| {
            let is_away = matches!(mode, Mode::Away(_));
            if is_away {
                *mode = Mode::Held;
            }
            is_away
        });
    }

    pub(super) fn has_answered(&self) -> bool {
        self.answered.load(Ordering::Relaxed)
    }
}

/// The requests of one connection, one at a time.
pub(super) struct Visitor {
    pub(super) peer: SocketAddr,
    switch: Arc<Switch>,
    /// The number of the routes in which the request is, or was last.
    routes: AtomicU64,
    inside: AtomicBool,
}

impl Visitor {
    pub(super) fn of(peer: SocketAddr, switch: &Arc<Switch>) -> Arc<Self> {
        let (routes, inside) = (AtomicU64::new(0), AtomicBool::new(false));
        Arc::new(Visitor { peer, switch: switch.clone(), routes, inside })
    }

    /// The destination of the next request. In the server's own routes, it counts as inside until it
    /// [leaves](Visitor::leave).
    pub(super) async fn way(&self) -> Way {
        loop {
            self.enter();
            match self.mode() {
                Mode::Own(number, routes) => {
                    self.routes.store(number, Ordering::Relaxed);
                    return Way::Own(routes);
                }
                #[cfg(unix)]
                Mode::Away(door) => {
                    self.leave();
                    return Way::Away(door);
                }
                #[cfg(unix)]
                Mode::Held => self.leave(),
            }
            let mut mode = self.switch.mode.subscribe();
            let changed = timeout(HELD_WITHIN, mode.wait_for(|mode| !mode.is_held())).await;
            if !matches!(changed, Ok(Ok(_))) {
                return Way::Nowhere;
            }
        }
    }

    fn mode(&self) -> Mode {
        self.switch.mode.borrow().clone()
    }

    /// Counts the request before it reads the mode, so that [`Switch::hold`] waits for all requests that have read the
    /// earlier mode.
    fn enter(&self) {
        if !self.inside.swap(true, Ordering::Relaxed) {
            self.switch.inside.fetch_add(1, Ordering::SeqCst);
        }
    }

    /// The request has its answer, or only gathers its body from now on: holding the requests does not wait for it.
    pub(super) fn leave(&self) {
        if self.inside.swap(false, Ordering::Relaxed) {
            self.switch.inside.fetch_sub(1, Ordering::SeqCst);
        }
    }

    /// The request that has left goes on. `false` if its routes are gone, replaced by other routes or another process.
    pub(super) fn come_back(&self) -> bool {
        let same = self.stays();
        if !same {
            self.leave();
        }
        same
    }

    /// As [`come_back`](Visitor::come_back), but the request is inside even if this returns `false`: holding the
    /// requests waits until it [leaves](Visitor::leave).
    pub(super) fn stays(&self) -> bool {
        self.enter();
        let routes = self.routes.load(Ordering::Relaxed);
        matches!(&*self.switch.mode.borrow(), Mode::Own(number, _) if *number == routes)
    }
}

impl Mode {
    fn is_held(&self) -> bool {
        #[cfg(unix)]
        return matches!(self, Mode::Held);
        #[cfg(not(unix))]
        false
    }
}

impl Drop for Visitor {
    fn drop(&mut self) {
        self.leave();
    }
}
