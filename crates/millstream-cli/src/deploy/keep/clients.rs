//! Who posts the rows that a run with a state reads. Their server outlives the run's starts, and passes to the process
//! that takes over, as that of a [service](super::super::serve) does.
//!
//! The run ends behind what it has acknowledged. What is posted from then on waits: for the other process, or for this
//! one, which starts the run again if the other one does not go on.

use super::super::serve::{GRACE, Refused, opened};
use super::super::{Failed, Runs};
use super::offered::{Asked, LOOK, Of, Offered, UP_WITHIN as FREE_WITHIN, named};
use crate::config::Keep;
use crate::environment::{SHORTEST_TOKEN, TOKEN, secret};
use crate::message::quoted;
use crate::outcome::Outcome;
use millstream_core::text::Block;
use millstream_exec::{Client, Stopper};
use millstream_net::http::axum::Router;
use millstream_net::http::hand_over::{self, HandOverError, Offer, Predecessor, Successor};
use millstream_net::http::{Limits, Refusal, Server};
use millstream_state::{StateDir, StateError, Storer};
use std::cell::OnceCell;
use std::fmt;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// The time in which the old process stores its state, and ends its run.
const LETS_GO_WITHIN: Duration = Duration::from_secs(60);

/// The time in which the new process has restored the state, which may be large.
const UP_WITHIN: Duration = Duration::from_secs(60);

/// The time in which the old process lets this one begin.
const GO_WITHIN: Duration = Duration::from_secs(30);

/// What is under way when a run has ended has this long to be refused.
const ENDS_WITHIN: Duration = Duration::from_secs(1);

/// The clients of one source.
#[derive(Clone, Default)]
pub(crate) struct Clients(Arc<Mutex<Inner>>);

#[derive(Default)]
struct Inner {
    /// The process that had them before.
    before: Option<Predecessor>,
    server: Option<Server>,
    offer: Option<Offer>,
    /// Their source ends with the last one of these: it goes on without routes as long as this is here.
    source: Option<Client<Block, ()>>,
    held: bool,
}

/// A process to which they go when the run has ended.
pub(super) struct Leaving {
    to: Successor,
    /// How many requests were not answered in time, and since when all others wait.
    held: (u64, Instant),
}

impl fmt::Debug for Clients {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Clients").finish_non_exhaustive()
    }
}

impl Clients {
    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// They get their answers from these routes; `source` is a client of what is behind them, if that has to outlive
    /// them. Returns where they post, if that is new.
    ///
    /// # Errors
    ///
    /// Why nothing listens there, in words, and the exit code.
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

    /// Accepts no connection any more, unless they are about to go to another process. Returns at once: requests under
    /// way wait for the pipeline, which goes on meanwhile.
    pub(crate) fn close(&self) {
        let clients = self.clone();
        thread::spawn(move || {
            if !clients.lock().held {
                clients.end(GRACE);
            }
        });
    }

    fn end(&self, within: Duration) {
        let Inner { before: _, server, offer, source, held } = std::mem::take(&mut *self.lock());
        if let Some(offer) = offer {
            offer.settle();
        }
        let Some(server) = server else { return };
        if held {
            server.resume(Router::new().fallback(|| async { Refusal::Ending }));
        }
        server.close(within);
        // What was posted has come.
        drop(source);
    }

    /// Asks the process that has the directory for it and for them, and waits until it has let them go. `false` if
    /// there is none.
    pub(super) fn ask(&self, dir: &Path) -> Result<bool, String> {
        match hand_over::ask(dir, LETS_GO_WITHIN) {
            Ok(asked) => {
                let before = &mut self.lock().before;
                *before = asked;
                Ok(before.is_some())
            }
            // Its state is free.
            Err(HandOverError::Gone) => Ok(false),
            Err(HandOverError::Refused(why)) => Err(why),
            Err(error) => Err(error.to_string()),
        }
    }

    /// The run is over, by itself or by a signal: the process before this one does not go on.
    pub(super) fn settled(&self) {
        if let Some(offer) = &self.lock().offer {
            offer.settle();
        }
    }

    /// The run has failed: the process before this one goes on.
    pub(super) fn give_back(&self) {
        let mut inner = self.lock();
        (inner.before, inner.offer) = (None, None);
    }

    fn asked(&self) -> Option<Successor> {
        self.lock().offer.as_ref()?.asked(Duration::ZERO)
    }

    /// Lets what comes from now on wait, and waits for the answers to what was there. None if all is closed.
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

    /// This process ends, and leaves them to chance.
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
    match storer.snapshot() {
        Ok(Some(at)) => match clients.hold() {
            Some(held) => {
                let leaving = Leaving { to, held };
                if let Err(asked) = offered.stop(Asked { of: Of::Clients(leaving), at }, stopper) {
                    asked.leave();
                }
            }
            None => to.leave(),
        },
        // It is about to end.
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

    /// The run has begun, at this number: its clients are this process's, and other ones may take over.
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
                    offer.map_err(|error| Failed::TakeOver(format!("{of} does not let this one begin: {error}")))?,
                );
                self.say(&format!("took over from {of} at number {at}"));
            } else if inner.offer.is_none() {
                match server.offer(&keep.dir) {
                    Ok(offer) => inner.offer = Some(offer),
                    Err(error) => self.say(&format!("--state: no process can take over from this one: {error}")),
                }
            }
        }
        Ok(Offered::with_clients(clients.clone(), storer, stopper).ok())
    }

    /// Hands the clients of a run that has stopped over, and forwards what they still send to this process.
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
            // A signal that comes meanwhile leaves the other process some time.
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
        let (since, mut said) = (Instant::now(), false);
        while let Err(StateError::InUse { .. }) = StateDir::open(&keep.dir, program)
            && !self.interrupted()
        {
            if !said && since.elapsed() > FREE_WITHIN {
                said = true;
                self.say(&format!("nothing is answered: another process has {}", quoted(keep.dir.as_os_str())));
            }
            self.interrupts.wait_at_most(LOOK);
        }
        if self.interrupted() { Ok(false) } else { Err(Failed::GoesOn) }
    }

    /// No run is left that could answer them.
    pub(crate) fn end_clients(&self) {
        self.clients.iter().for_each(|clients| clients.end(ENDS_WITHIN));
    }
}
