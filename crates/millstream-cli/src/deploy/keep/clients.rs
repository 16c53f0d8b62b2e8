//! The clients that post the rows of a run with a state. Their server stays open when the run is started again, and
//! passes to the process that takes over, as the server of a [service](super::super::serve) does.
//!
//! The run ends after the last row that it has acknowledged. Rows that are posted later wait: for the other process, or
//! for this one, which starts the run again if the other process does not go on.

use super::super::serve::{Followed, GRACE, Refused, TookOver, opened, refuse_held};
use super::super::{Failed, Runs};
use super::offered::{Asked, LOOK, Of, Offered, named};
use crate::config::Keep;
use crate::environment::{SHORTEST_TOKEN, TOKEN, secret};
use crate::outcome::Outcome;
use millstream_core::text::Block;
use millstream_exec::{Client, Stopper};
use millstream_net::http::axum::Router;
use millstream_net::http::hand_over::{self, HandOverError, Offer, Predecessor, Successor};
use millstream_net::http::{Limits, Server};
use millstream_state::{JobError, StateDir, Storer};
use std::cell::OnceCell;
use std::fmt;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// The time limit for the old process to store its state, and end its run.
const LETS_GO_WITHIN: Duration = Duration::from_secs(60);

/// The time limit for the new process to restore the state, which may be large.
const UP_WITHIN: Duration = Duration::from_secs(60);

/// The time limit for the old process to let this one begin.
const GO_WITHIN: Duration = Duration::from_secs(30);

/// The time limit for the rows that are under way in the pipeline to get to the output.
const RETIRES_WITHIN: Duration = Duration::from_secs(5);

/// The time limit to refuse the requests that are open when a run has ended.
const ENDS_WITHIN: Duration = Duration::from_secs(1);

/// The clients of one source.
#[derive(Clone, Default)]
pub(crate) struct Clients {
    inner: Arc<Mutex<Inner>>,
    /// The threads that close the server.
    closing: Arc<Mutex<Vec<JoinHandle<()>>>>,
}

#[derive(Default)]
struct Inner {
    /// The process that had the clients before.
    before: Option<Predecessor>,
    server: Option<Server>,
    offer: Option<Offer>,
    /// A client of the run that is the source. That run ends with its last client, so this one keeps it alive without
    /// routes.
    source: Option<Client<Block, ()>>,
    held: bool,
    /// How this process has followed the one before, and since when that one does not serve.
    followed: Option<(Followed, Instant)>,
}

/// A process that gets the clients when the run has ended.
pub(super) struct Leaving {
    to: Successor,
    /// The number of requests without an answer in time, and since when all others wait.
    held: (u64, Instant),
}

impl fmt::Debug for Clients {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Clients").finish_non_exhaustive()
    }
}

impl Clients {
    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Answers the clients by these routes, and opens their server if there is none. `source` is a client of the run
    /// behind the routes, if that run must outlive them. Returns the address of a newly opened server.
    ///
    /// # Errors
    ///
    /// Why the server cannot listen there, and the exit code.
    pub(crate) fn open(
        &self,
        address: &str,
        routes: Router,
        source: Option<Client<Block, ()>>,
    ) -> Result<Option<SocketAddr>, Refused> {
        let token = secret(TOKEN, SHORTEST_TOKEN).map_err(|why| (why, Outcome::WrongUse))?;
        let mut inner = self.lock();
        (inner.source, inner.held) = (source, false);
        if let Some(server) = &inner.server {
            server.resume(routes);
            return Ok(None);
        }
        let limits = Limits { token, ..Limits::default() };
        let server = opened(address, &format!("listen: {address}"), routes, limits, inner.before.as_ref())?;
        Ok(Some(inner.server.insert(server).address()))
    }

    /// Closes the server, unless another process is about to get the clients. Returns at once: open requests wait for
    /// the pipeline, which goes on meanwhile.
    pub(crate) fn close(&self) {
        let clients = self.clone();
        let close = move || {
            if !clients.lock().held {
                clients.end(GRACE);
            }
        };
        self.closing.lock().unwrap_or_else(PoisonError::into_inner).push(thread::spawn(close));
    }

    /// Waits until a server that is [closed](Clients::close) has answered: no client misses the response to rows that
    /// were taken.
    pub(crate) fn wait(&self) {
        let closing = std::mem::take(&mut *self.closing.lock().unwrap_or_else(PoisonError::into_inner));
        closing.into_iter().for_each(|thread| _ = thread.join());
    }

    fn end(&self, within: Duration) {
        let Inner { server, offer, source, held, .. } = std::mem::take(&mut *self.lock());
        if let Some(offer) = offer {
            offer.settle();
        }
        let Some(server) = server else { return };
        if held {
            refuse_held(&server);
        }
        server.close(within);
        // All posted rows have come, so the source may end.
        drop(source);
    }

    /// Asks the process that has the directory for it and for the clients, and waits until that process has let them
    /// go. `false` if there is no such process.
    pub(super) fn ask(&self, dir: &Path) -> Result<bool, String> {
        if self.lock().before.is_some() {
            // It was asked for a run that could not go on, and has stopped.
            return Ok(true);
        }
        match hand_over::ask(dir, LETS_GO_WITHIN) {
            Ok(asked) => {
                let before = &mut self.lock().before;
                *before = asked;
                Ok(before.is_some())
            }
            // The process has ended, so its state is free.
            Err(HandOverError::Gone) => Ok(false),
            Err(HandOverError::Refused(why)) => Err(why),
            Err(error) => Err(error.to_string()),
        }
    }

    /// The process that was asked, if the system says which one.
    pub(super) fn process(&self) -> Option<u32> {
        self.lock().before.as_ref()?.process()
    }

    /// The run has ended, by itself or by a signal: the old process must not go on.
    pub(super) fn settled(&self) {
        if let Some(offer) = &self.lock().offer {
            offer.settle();
        }
    }

    /// The run that has followed has taken over.
    pub(super) fn have_followed(&self, followed: Followed, asked: Instant) {
        self.lock().followed = Some((followed, asked));
    }

    /// The run that has followed cannot go on: another one will open the server.
    pub(super) fn take_back(&self) {
        let mut inner = self.lock();
        (inner.server, inner.source) = (None, None);
    }

    /// The run has failed: the old process goes on.
    pub(super) fn give_back(&self) {
        let mut inner = self.lock();
        (inner.before, inner.offer) = (None, None);
    }

    fn asked(&self) -> Option<Successor> {
        self.lock().offer.as_ref()?.asked(Duration::ZERO)
    }

    /// Holds new requests, and waits for the answers to the open ones. `None` if the server is closed.
    fn hold(&self) -> Option<(u64, Instant)> {
        let mut inner = self.lock();
        let (held, server) = (Instant::now(), inner.server.as_ref()?);
        let left = server.hold(GRACE);
        inner.held = true;
        Some((left, held))
    }
}

impl Leaving {
    pub(super) fn process(&self) -> Option<u32> {
        self.to.process()
    }

    /// This process ends without a hand-over: the other process starts as always.
    pub(super) fn leave(self) {
        self.to.leave();
    }
}

impl Offered {
    /// A run that a new process may take over with its clients.
    pub(super) fn with_clients(clients: Clients, storer: Storer, stopper: Stopper) -> std::io::Result<Self> {
        let offered = Offered::default();
        let told = offered.clone();
        let listens = move || {
            while !told.is_over() {
                match clients.asked() {
                    Some(successor) => {
                        if stops(&clients, &told, successor, &storer, &stopper) {
                            return;
                        }
                    }
                    None => thread::sleep(LOOK),
                }
            }
        };
        thread::Builder::new().name("take-over".to_owned()).spawn(listens)?;
        Ok(offered)
    }
}

/// Stops the run for a process that asks. `false` if it goes on.
fn stops(clients: &Clients, offered: &Offered, to: Successor, storer: &Storer, stopper: &Stopper) -> bool {
    match storer.newest() {
        Ok(Some(at)) => match clients.hold() {
            Some(held) => {
                // A process that has followed goes on there; another one, or after a longer wait, at the snapshot.
                let at = storer.retire(RETIRES_WITHIN).unwrap_or(at);
                let leaving = Leaving { to, held };
                if let Err(asked) = offered.stop(Asked { of: Of::Clients(leaving), at }, stopper) {
                    asked.leave();
                }
            }
            None => to.leave(),
        },
        // The run is about to end.
        Ok(None) => to.leave(),
        Err(why) => {
            to.refuse(&format!("its snapshot cannot be stored: {why}"));
            return false;
        }
    }
    true
}

impl Runs {
    /// The clients of this command's runs.
    pub(crate) fn clients(&mut self) -> Clients {
        self.clients.get_or_insert_default().clone()
    }

    /// The run has begun, at this number: this process has the clients, and lets other processes take over.
    pub(super) fn begins_with(
        &self,
        clients: &Clients,
        (keep, at): (&Keep, u64),
        storer: Storer,
        stopper: Stopper,
    ) -> Result<Option<Offered>, Failed> {
        {
            let inner = &mut *clients.lock();
            let (before, Some(server)) = (inner.before.take(), &inner.server) else { return Ok(None) };
            if let Some(before) = before {
                let (of, storer) = (named(before.process()), storer.clone());
                let offer = before.up_until(server, GO_WITHIN, move || storer.stored() > 0);
                inner.offer = Some(
                    offer
                        .map_err(|error| Failed::TakeOver(format!("{of} does not let this process begin: {error}")))?,
                );
                match inner.followed.take() {
                    Some((followed, asked)) => {
                        let took_over = TookOver { at, followed: Some(followed), paused: asked.elapsed() };
                        self.say(&format!("took over from {of} {took_over}"));
                    }
                    None => self.say(&format!("took over from {of} at number {at}")),
                }
            } else if inner.offer.is_none() {
                match server.offer(&keep.dir) {
                    Ok(offer) => inner.offer = Some(offer),
                    Err(error) => self.say(&format!("--state: no process can take over from this one: {error}")),
                }
            }
        }
        Ok(Offered::with_clients(clients.clone(), storer, stopper).ok())
    }

    /// Hands over the clients of a stopped run, and forwards what they still send to this process.
    ///
    /// # Errors
    ///
    /// [`Failed::GoesOn`] if the other process does not go on: the state is free again.
    pub(super) fn leaves(&self, keep: &Keep, program: &str, Leaving { to, held }: Leaving) -> Result<bool, Failed> {
        let Some(clients) = &self.clients else { return Ok(false) };
        {
            let inner = &mut *clients.lock();
            let Some(server) = &inner.server else {
                to.leave();
                return Ok(false);
            };
            // After a signal, the other process still has some time.
            let told = OnceCell::new();
            let ends = || self.interrupted() && told.get_or_init(Instant::now).elapsed() > GRACE;
            let handed_over = self.hands_over(server, &mut inner.offer, to, held, (UP_WITHIN, &ends));
            let idle = Limits::default().head_within;
            if handed_over.is_some_and(|handed_over| self.forwards(server, &mut inner.offer, handed_over, idle)) {
                let Inner { server, .. } = std::mem::take(inner);
                server.map(|server| server.close(GRACE));
                return Ok(true);
            }
        }
        // The start of the run reports any other error.
        let _ = self.when_free(|| StateDir::open(&keep.dir, program).map_err(|error| JobError::State(error).into()));
        if self.interrupted() { Ok(false) } else { Err(Failed::GoesOn) }
    }

    /// Closes the server after the last run: no run is left that could answer.
    pub(crate) fn end_clients(&self) {
        self.clients.iter().for_each(|clients| clients.end(ENDS_WITHIN));
    }
}
