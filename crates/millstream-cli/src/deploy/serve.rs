//! Services: pipelines that answer requests over the network, until a signal comes or a new process takes over.

mod change;
mod took_over;

#[cfg(feature = "run")]
use change::UP_WITHIN;
#[cfg(feature = "run")]
pub(super) use took_over::Followed;
pub(crate) use took_over::TookOver;

use super::keep::say_storing;
use super::{Failed, Runs};
use crate::config::{Doing, Keep};
use crate::environment::TOKEN;
use crate::outcome::Outcome;
use crate::watching::Watching;
use millstream_core::{AnyEdge, Arrow, Item, PartsExt, pipeline};
use millstream_exec::{Client, Handle, Lasting, Observer, RunEnd, Stage, Stopper, service};
use millstream_net::http::axum::Router;
use millstream_net::http::hand_over::Predecessor;
use millstream_net::http::{Limits, OpenError, Refusal, Server};
use millstream_state::{Following, JobError, Persistent, Recorded, Retention, Running, StateDir, Stored};
use serde_json::Value;
use std::io;
use std::net::TcpListener;
use std::thread;
use std::time::{Duration, Instant};

/// The interval between checks whether the run has failed, or a process wants to take over.
const LOOK: Duration = Duration::from_millis(100);

/// Why the service does not start, and the exit code.
pub(crate) type Refused = (String, Outcome);

/// Why the server cannot listen. `listen` is the flag, or the text, that names the address.
pub(crate) fn refused(listen: &str, error: &OpenError) -> Refused {
    match error {
        OpenError::NoToken(_) => {
            let set = format!("`export {TOKEN}=$(openssl rand -hex 16)` sets one");
            (format!("{listen}: other machines can reach this address, so a token is needed: {set}"), Outcome::WrongUse)
        }
        error => (format!("{listen}: {error}"), Outcome::InputOrOutputFailed),
    }
}

/// Opens a server for plain connections: with the sockets of the process `before`, at the socket of a supervisor, or
/// else at this address. `said` is the flag, or the text, that names the address.
pub(crate) fn opened(
    address: &str,
    said: &str,
    routes: Router,
    limits: Limits,
    before: Option<&Predecessor>,
) -> Result<Server, Refused> {
    let server = match (before, supervised()?) {
        (Some(before), _) => before.open(routes, limits),
        (None, Some(listener)) => Server::open_on(listener, routes, limits),
        (None, None) => Server::open_with(address, routes, limits),
    };
    server.map_err(|error| refused(said, &error))
}

/// The socket of a supervisor, if there is one.
pub(crate) fn supervised() -> Result<Option<TcpListener>, Refused> {
    #[cfg(target_os = "linux")]
    {
        let failed = |why: String| (format!("LISTEN_FDS: {why}"), Outcome::InputOrOutputFailed);
        let mut listeners = millstream_net::inherited().map_err(|error| failed(error.to_string()))?;
        match listeners.len() {
            0 | 1 => Ok(listeners.pop()),
            many => Err(failed(format!("the supervisor passed {many} sockets, and this command listens at one"))),
        }
    }
    #[cfg(not(target_os = "linux"))]
    Ok(None)
}

/// A service, and where it listens.
pub(crate) trait Serves {
    type Request: Recorded;
    type Answer: Item + Clone;

    fn stages(&self) -> impl Stage<AnyEdge<Self::Request>, Self::Answer> + Lasting;

    /// The routes that lead to a run of the stages.
    fn routes(&self, client: Client<Self::Request, Self::Answer>, observer: Observer) -> Router;

    /// Opens the server, with the sockets of the process that had the service before, if there is one.
    fn open(&self, routes: Router, before: Option<&Predecessor>) -> Result<Server, Refused>;

    /// The server accepts connections, perhaps those of a process from which this one took over.
    fn listens(&self, server: &Server, took_over: Option<TookOver>);

    /// The time after which a connection without a request is closed.
    fn idle(&self) -> Duration;

    /// Reports to readers of the service's page how it is about to end.
    fn ends(&self, outcome: Outcome);
}

/// A run of a service.
type Started<S> = (Client<<S as Serves>::Request, <S as Serves>::Answer>, Serving);

/// A run of a service that follows another process's run.
type FollowingOf<S> = Following<<S as Serves>::Request, <S as Serves>::Answer>;

/// The time limit to answer open requests when a service ends. Later ones are cut off.
pub(super) const GRACE: Duration = Duration::from_secs(10);

/// The time in which readers of the page can get the last state. `top` asks four times a second.
const LAST_WHILE: Duration = Duration::from_millis(300);

/// A running service, with its state kept or not.
enum Serving {
    Volatile(Box<Handle<()>>),
    Kept(Box<Running<()>>),
}

impl Serving {
    fn stopper(&self) -> Stopper {
        match self {
            Serving::Volatile(run) => run.stopper(),
            Serving::Kept(run) => run.stopper(),
        }
    }

    fn observer(&self) -> Observer {
        match self {
            Serving::Volatile(run) => run.observer(),
            Serving::Kept(run) => run.handle().observer(),
        }
    }

    /// Takes no further requests.
    fn close(&self) {
        match self {
            Serving::Volatile(run) => run.begin_drain(),
            Serving::Kept(run) => run.close(),
        }
    }

    /// Prepares to be closed: does now, while it still answers, what takes long.
    fn rest(&mut self) {
        if let Serving::Kept(run) = self {
            run.rest();
        }
    }

    /// Waits for its end, and lets the directory go. Returns whether it has failed.
    fn lets_go(&mut self) -> bool {
        match self {
            Serving::Volatile(_) => false,
            Serving::Kept(run) => {
                run.let_go();
                run.handle().failure().is_some()
            }
        }
    }

    /// The number of its first request.
    fn began(&self) -> u64 {
        match self {
            Serving::Volatile(_) => 0,
            Serving::Kept(run) => run.began(),
        }
    }

    fn is_finished(&self) -> bool {
        match self {
            Serving::Volatile(run) => run.is_finished(),
            Serving::Kept(run) => run.handle().is_finished(),
        }
    }

    fn join(self) -> (RunEnd<()>, Option<Stored>, Option<io::Error>) {
        match self {
            Serving::Volatile(run) => (run.join(), None, None),
            Serving::Kept(run) => {
                let (ended, stored, source) = run.join();
                (ended, Some(stored), source)
            }
        }
    }
}

impl Runs {
    /// Serves until a signal comes, the run fails, or another process has taken over. The inner error is why the
    /// service did not start.
    pub(crate) fn serve<S>(&mut self, service: &S) -> Result<Result<(), Refused>, Failed>
    where
        S: Serves,
        AnyEdge<S::Request>: millstream_exec::BoxShape,
    {
        // The first signal ends the server, not the run, so accepted requests are still answered.
        self.interrupts.when_drained(|| ());
        let (before, (client, mut serving)) = match self.first(service) {
            Ok(started) => started?,
            Err(refused) => return Ok(Err(refused)),
        };
        match &before {
            Some(before) => self.shown.begins_after(before.process.process()),
            None => self.shown.begins_alone(),
        }
        let mut watching = self.attend(&serving);
        let server = match service
            .open(service.routes(client, serving.observer()), before.as_ref().map(|before| &before.process))
        {
            Ok(server) => server,
            Err(refused) => return Ok(Err(refused)),
        };
        let (mut offer, took_over) = match self.offer(&server, before, serving.began()) {
            Ok(offered) => offered,
            Err(refused) => return Ok(Err(refused)),
        };
        service.listens(&server, took_over);
        loop {
            let Some(successor) = self.asked(&serving, offer.as_ref()) else {
                let signal = self.interrupts.first();
                if let (Some(_), Some(offer)) = (signal, &offer) {
                    offer.settle();
                }
                self.over(service, server);
                return self.end(serving, watching).map(Ok);
            };
            serving.rest();
            let held = Instant::now();
            let left = server.hold(GRACE);
            serving.close();
            if serving.lets_go() {
                successor.refuse("its run has failed");
                refuse_held(&server);
                self.over(service, server);
                return self.end(serving, watching).map(Ok);
            }
            let handed_over = self.hands_over(&server, &mut offer, successor, (left, held), (UP_WITHIN, &|| false));
            // No client waits any more, so the memory can be freed.
            let ended = self.end(serving, watching);
            if handed_over.is_some_and(|handed_over| self.forwards(&server, &mut offer, handed_over, service.idle())) {
                self.close(server);
                self.shown.is_taken_over();
                return ended.map(Ok);
            }
            let (client, again) = match ended.and_then(|()| self.again(service)) {
                Ok(again) => again,
                Err(failed) => {
                    refuse_held(&server);
                    self.over(service, server);
                    return Err(failed);
                }
            };
            watching = self.attend(&again);
            server.resume(service.routes(client, again.observer()));
            serving = again;
        }
    }

    fn attend(&mut self, serving: &Serving) -> Watching {
        let watching = Watching::begin(&self.config, &self.shown, &serving.observer(), &self.complaints);
        self.interrupts.attend(serving.stopper());
        watching
    }

    /// Ends the server of a run that takes no further requests. Readers of the page get its end.
    fn over<S: Serves>(&self, service: &S, server: Server) {
        service.ends(self.interrupts.first().map_or(Outcome::PipelineFailed, Outcome::Interrupted));
        if server.counters().open() > 0 {
            thread::sleep(LAST_WHILE);
        }
        self.close(server);
    }

    /// Answers accepted requests, and closes all connections.
    fn close(&self, server: Server) {
        let closed = server.close(GRACE);
        if closed.cut_off > 0 {
            self.complaints.complain(&format!("{} connections were cut off", closed.cut_off));
        }
    }

    /// Waits for the end of a run that gets no further requests.
    fn end(&mut self, serving: Serving, watching: Watching) -> Result<(), Failed> {
        let (ended, stored, source) = serving.join();
        self.interrupts.leave();
        let (_, failure) = match stored {
            Some(stored) => self.kept(ended, &stored, watching),
            None => {
                let ended = self.ended("rings", ended);
                self.seen(watching);
                ended
            }
        };
        if let Some(error) = source {
            self.complaints.complain(&error.to_string());
        }
        failure.map_or(Ok(()), Err)
    }

    fn start<S>(&self, serves: &S) -> Result<Started<S>, Failed>
    where
        S: Serves,
        AnyEdge<S::Request>: millstream_exec::BoxShape,
    {
        let stages = serves.stages();
        match &self.config.keep {
            None => {
                let (client, run) = service(stages).start_on(&self.config.rings).map_err(Failed::Run)?;
                Ok((client, Serving::Volatile(Box::new(run))))
            }
            Some(keep) => {
                let (_, program) = doing(keep);
                let dir = StateDir::open(&keep.dir, program).map_err(JobError::State)?;
                let stages = pipeline::<S::Request>().any_edge().then(stages);
                let (client, run) = self.job(dir, keep).serve(stages, keep.journal)?;
                Ok((client, Serving::Kept(Box::new(run))))
            }
        }
    }

    /// A run that follows the process with the service; `None` if the directory has nothing to begin with.
    fn beside<S: Serves>(&self, serves: &S, keep: &Keep) -> Result<Option<FollowingOf<S>>, JobError> {
        // The start reports what is wrong with the directory.
        let Ok(dir) = StateDir::read(&keep.dir) else { return Ok(None) };
        let stages = pipeline::<S::Request>().any_edge().then(serves.stages());
        self.job(dir, keep).follow(stages, keep.journal)
    }

    fn job(&self, dir: StateDir, keep: &Keep) -> Persistent {
        let retention = Retention { count: Some(keep.snapshots), ..Retention::default() };
        let job = Persistent::new(self.config.rings.clone(), dir).described_as(doing(keep).0.clone()).keep(retention);
        job.snapshot_every(keep.cadence).on_storing(say_storing(&self.complaints))
    }
}

/// Refuses the requests that are held, and later ones: no run is left that could answer them.
pub(super) fn refuse_held(server: &Server) {
    server.resume(Router::new().fallback(|| async { Refusal::Ending }));
}

/// The job and the program of the run.
fn doing(keep: &Keep) -> (&Value, &str) {
    let Doing::Run { program, job } = &keep.doing else { unreachable!("a look serves nothing") };
    (job, program)
}
