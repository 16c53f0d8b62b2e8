//! The old process, which has a service and can hand it over.

use super::link::{self, ASK, BUSY, FORWARDED, GO, NO, SETTLED, UP, VERSION};
use super::{HandOverError, forward};
use crate::http::Server;
use crate::http::connection::Serving;
use crate::listening::{Accepting, Beside, WAITING};
use millstream_state::door::{self, Door};
use std::fmt;
use std::io;
use std::os::fd::AsFd;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use tokio::io::AsyncReadExt;
use tokio::sync::watch;
use tokio::time::timeout;

/// The time limit for the request of a process that has connected.
const SAYS_WITHIN: Duration = Duration::from_secs(5);

/// After this time, a process counts as settled even without a request.
const SETTLES_WITHIN: Duration = Duration::from_secs(5);

/// The interval between checks whether a process is settled.
const LOOK: Duration = Duration::from_millis(20);

/// A service that a new process may take over: it listens at the socket `take-over` in its directory. Dropping this
/// takes the offer back.
pub struct Offer {
    door: Arc<Door>,
    socket: UnixListener,
    asked: Receiver<UnixStream>,
    busy: Arc<AtomicBool>,
    listens: watch::Sender<bool>,
    /// The link to the process that had the service before, until this one is settled.
    before: Arc<Mutex<Option<UnixStream>>>,
}

impl Offer {
    pub(crate) fn new(server: &Server, dir: &Path) -> io::Result<Self> {
        let door = Door::of(dir)?;
        let socket = door.listen()?;
        Offer::on(server, Arc::new(door), socket, None, None)
    }

    pub(super) fn on(
        server: &Server,
        door: Arc<Door>,
        socket: UnixListener,
        before: Option<UnixStream>,
        settles: Option<Settles>,
    ) -> io::Result<Self> {
        let (ask, asked) = sync_channel(1);
        let (listens, listening) = watch::channel(true);
        let busy = Arc::new(AtomicBool::new(false));
        // Listens again: the other end sees the number of the process that listened last.
        rustix::net::listen(&socket, WAITING)?;
        socket.set_nonblocking(true)?;
        let clone = socket.try_clone()?;
        let beside = server.listening.beside().clone();
        let serving = server.serving.clone();
        let listener = {
            let _inside = beside.runtime.enter();
            tokio::net::UnixListener::from_std(clone)?
        };
        let visited = Visited { serving, beside: beside.clone(), ask, busy: busy.clone() };
        drop(beside.runtime.spawn(visited.listen(listener, listening)));
        let before = Arc::new(Mutex::new(before));
        settle(before.clone(), server, settles)?;
        Ok(Offer { door, socket, asked, busy, listens, before })
    }

    /// Waits for a process that wants to take over, at most for this time.
    pub fn asked(&self, within: Duration) -> Option<Successor> {
        let link = self.asked.recv_timeout(within).ok()?;
        Some(Successor { link, busy: Some(Busy(self.busy.clone())) })
    }

    /// Keeps the service for good, even if this process ends now. Without this call, the old process goes on if this
    /// one ends before it has answered a request.
    pub fn settle(&self) {
        settled(&self.before);
    }
}

impl fmt::Debug for Offer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Offer").field("door", &self.door).finish_non_exhaustive()
    }
}

type Before = Mutex<Option<UnixStream>>;

/// Whether this process is settled.
pub(super) type Settles = Box<dyn Fn() -> bool + Send>;

fn settled(before: &Before) {
    if let Some(link) = before.lock().unwrap_or_else(PoisonError::into_inner).take() {
        // An error means that the old process has ended.
        let _ = link::say(&link, SETTLED);
    }
}

/// Reports that this process is settled, once it has answered a request, or `settled` returns `true`.
fn settle(before: Arc<Before>, server: &Server, settles: Option<Settles>) -> io::Result<()> {
    if before.lock().unwrap_or_else(PoisonError::into_inner).is_none() {
        return Ok(());
    }
    let (serving, since) = (Arc::downgrade(&server.serving), Instant::now());
    let wait = move || {
        loop {
            std::thread::sleep(LOOK);
            let Some(serving) = serving.upgrade() else { return };
            let settles = settles.as_ref().map_or_else(|| serving.switch.has_answered(), |settles| settles());
            if settles || since.elapsed() > SETTLES_WITHIN {
                return settled(&before);
            }
        }
    };
    std::thread::Builder::new().name("millstream-settles".to_owned()).spawn(wait).map(drop)
}

/// Handles the messages of processes that connect.
struct Visited {
    serving: Arc<Serving>,
    beside: Beside,
    ask: SyncSender<UnixStream>,
    busy: Arc<AtomicBool>,
}

impl Visited {
    /// Listens until the offer is taken back, or the server is gone.
    async fn listen(self, listener: tokio::net::UnixListener, mut listening: watch::Receiver<bool>) {
        let this = Arc::new(self);
        loop {
            if listening.wait_for(|listens| *listens).await.is_err() {
                return;
            }
            let came = tokio::select! {
                came = listener.accept() => came,
                stops = listening.wait_for(|listens| !*listens) => match stops {
                    Ok(_) => continue,
                    Err(_) => return,
                },
            };
            match came {
                Ok((stream, _)) => drop(tokio::spawn(this.clone().visit(stream))),
                Err(_) => tokio::time::sleep(LOOK).await,
            }
        }
    }

    async fn visit(self: Arc<Self>, mut stream: tokio::net::UnixStream) {
        match timeout(SAYS_WITHIN, stream.read_u8()).await {
            Ok(Ok(FORWARDED)) => {
                let Ok(Ok(peer)) = timeout(SAYS_WITHIN, forward::peer(&mut stream)).await else { return };
                let Some((place, closing)) = self.beside.place().await else { return };
                self.serving.clone().forwarded(stream, peer, place, closing).await;
            }
            Ok(Ok(ASK)) => {
                let Ok(Ok(version)) = timeout(SAYS_WITHIN, stream.read_u8()).await else { return };
                let Ok(link) = stream.into_std() else { return };
                if link.set_nonblocking(false).is_err() {
                    return;
                }
                if version != VERSION {
                    return link::say_no(&link, "it speaks another version of the hand-over");
                }
                if self.busy.swap(true, Ordering::SeqCst) {
                    let _ = link::say(&link, BUSY);
                } else {
                    // An error means that the offer was taken back.
                    let _ = self.ask.try_send(link);
                }
            }
            _ => {}
        }
    }
}

/// While this exists, further processes learn that another is taking over.
#[derive(Debug)]
struct Busy(Arc<AtomicBool>);

impl Drop for Busy {
    fn drop(&mut self) {
        self.0.store(false, Ordering::SeqCst);
    }
}

/// A process that wants to take over. Dropping this tells the process that it cannot.
#[derive(Debug)]
pub struct Successor {
    link: UnixStream,
    /// Held until the take-over has succeeded or failed.
    busy: Option<Busy>,
}

impl Successor {
    /// The process's number, if the system knows it.
    #[must_use]
    pub fn process(&self) -> Option<u32> {
        door::process(&self.link)
    }

    /// Tells the process that it cannot take over, and why.
    pub fn refuse(mut self, why: &str) {
        link::say_no(&self.link, why);
        self.busy = None;
    }

    /// Closes the link without a message, as if this process had died. The other process waits for the state, and
    /// begins without this one.
    pub fn leave(mut self) {
        self.busy = None;
    }

    /// Hands the sockets over to a process that can begin now. The requests must be [held](Server::hold), and the state
    /// free. Waits until the process can answer, at most for this time. Then all requests go to it, including those
    /// that wait.
    ///
    /// # Errors
    ///
    /// If the process ends, reports that it cannot begin, or does not answer in time. That process is then refused, and
    /// this process can [go on](Server::resume) once the state is free again.
    pub fn hand_over(self, server: &Server, offer: &Offer, within: Duration) -> Result<HandedOver, HandOverError> {
        self.hand_over_unless(server, offer, within, || false)
    }

    /// As [`hand_over`](Successor::hand_over), but waits only until `ends` returns `true`. Then this process must end,
    /// and the other process begins without its permission.
    ///
    /// # Errors
    ///
    /// As [`hand_over`](Successor::hand_over); [`HandOverError::Silent`] if this process ends.
    pub fn hand_over_unless(
        mut self,
        server: &Server,
        offer: &Offer,
        within: Duration,
        ends: impl Fn() -> bool,
    ) -> Result<HandedOver, HandOverError> {
        let link = self.link.try_clone()?;
        if let Err(error) = self.up(server, offer, within, &ends) {
            offer.listens.send_replace(true);
            if ends() {
                self.busy = None;
            }
            return Err(error);
        }
        server.serving.switch.away(offer.door.clone());
        Ok(HandedOver { link, _busy: self.busy.take() })
    }

    fn up(
        &self,
        server: &Server,
        offer: &Offer,
        within: Duration,
        ends: &dyn Fn() -> bool,
    ) -> Result<(), HandOverError> {
        let clients = server.listening.socket()?;
        link::pass(&self.link, [clients.as_fd(), offer.socket.as_fd()])?;
        let since = Instant::now();
        let word = loop {
            match link::hear(&self.link, LOOK.min(within)) {
                Err(error) if door::is_silence(&error) && since.elapsed() < within && !ends() => {}
                word => break word?,
            }
        };
        match word {
            Some(UP) => {}
            Some(NO) => return Err(HandOverError::Refused(link::reason(&self.link))),
            Some(_) | None => return Err(HandOverError::Gone),
        }
        offer.listens.send_replace(false);
        link::say(&self.link, GO)?;
        Ok(())
    }
}

impl Drop for Successor {
    fn drop(&mut self) {
        if self.busy.is_some() {
            link::say_no(&self.link, "it goes on itself");
        }
    }
}

/// A service that another process has now.
#[derive(Debug)]
pub struct HandedOver {
    link: UnixStream,
    _busy: Option<Busy>,
}

/// Whether the other process keeps what it took over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Settled {
    /// It has answered a request, or has existed for a while.
    Yes,
    /// It has not answered a request yet, and may still end at its first.
    NotYet,
    /// It has ended before it was settled. This process holds the requests again, and can [go on](Server::resume) if
    /// the state is free.
    Lost,
}

impl HandedOver {
    /// Waits until the other process is settled or has ended, at most for this time. If it is settled, this process
    /// never accepts a connection again.
    pub fn settled(&self, server: &Server, offer: &Offer, within: Duration) -> Settled {
        match link::hear(&self.link, within) {
            Ok(Some(SETTLED)) => {
                server.listening.accept(Accepting::Never);
                Settled::Yes
            }
            Err(error) if door::is_silence(&error) => Settled::NotYet,
            Ok(_) | Err(_) => {
                // First: what comes through the door now would be sent through it again.
                server.serving.switch.comes_back();
                offer.listens.send_replace(true);
                Settled::Lost
            }
        }
    }
}
