//! The new process's part of a take-over of a run whose state is kept: `--take-over`.

use super::super::{Failed, Runs};
use super::offered::{Offered, named};
use crate::config::Keep;
use millstream_core::Plan;
use millstream_exec::Stopper;
use millstream_state::door::{self, ASK, BUSY, Door, FREE, GO, NO, SETTLED, SOCKETS, UP, VERSION, is_silence};
use millstream_state::{JobError, Persistent, StateDir, StateError, Storer};
use std::io::{self, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// The time limit for the old process to store its state, and end its run.
const LETS_GO_WITHIN: Duration = Duration::from_secs(60);

/// The time limit for the old process to let this one begin.
const GO_WITHIN: Duration = Duration::from_secs(30);

/// The time limit for the directory of a killed process to become free, or for another process to offer it.
const FOUND_WITHIN: Duration = Duration::from_secs(10);

/// After this time, a run counts as begun even if it has stored nothing.
const SETTLES_WITHIN: Duration = Duration::from_secs(5);

/// The interval between checks.
const LOOK: Duration = Duration::from_millis(20);

/// A take-over. If it is dropped before it is settled, the old process goes on.
pub(super) enum Taken {
    State(TakenState),
    /// The state, with the clients that post the rows.
    #[cfg(all(feature = "run", feature = "serve"))]
    Clients(super::Clients),
}

/// A state that was taken over.
pub(super) struct TakenState {
    link: Arc<Mutex<Option<UnixStream>>>,
    process: Option<u32>,
    at: u64,
}

impl Runs {
    /// Opens the directory for a run of this plan, after the process that has it has let it go. Does not disturb that
    /// process if the plan cannot go on with its states.
    pub(super) fn own(&self, keep: &Keep, program: &str, plan: &Plan) -> Result<(StateDir, Option<Taken>), Failed> {
        let since = Instant::now();
        loop {
            let taken = match StateDir::read(&keep.dir) {
                Ok(dir) if keep.take_over && dir.program() == program => {
                    let rings = self.config.rings.clone();
                    keep.judged(Persistent::new(rings, dir)).judge(plan)?;
                    self.ask(&keep.dir).map_err(|why| Failed::TakeOver(format!("the other process: {why}")))?
                }
                // The start reports what is wrong.
                _ => None,
            };
            match (StateDir::open(&keep.dir, program), &taken) {
                (Ok(dir), Some(found)) => {
                    found.up().map_err(Failed::TakeOver)?;
                    return Ok((dir, taken));
                }
                (Ok(dir), None) => {
                    if keep.take_over {
                        self.say("--take-over: no process has this state, so nothing is taken over");
                    }
                    return Ok((dir, None));
                }
                // The old process was killed, or another process is about to offer the directory.
                (Err(StateError::InUse { .. }), None) if keep.take_over && since.elapsed() < FOUND_WITHIN => {
                    thread::sleep(LOOK);
                }
                (Err(error), _) => return Err(JobError::State(error).into()),
            }
        }
    }

    /// Asks the process that has the directory for it. `None` if there is no such process.
    fn ask(&self, dir: &Path) -> Result<Option<Taken>, String> {
        #[cfg(all(feature = "run", feature = "serve"))]
        if let Some(clients) = &self.clients {
            return Ok(clients.ask(dir)?.then(|| Taken::Clients(clients.clone())));
        }
        Ok(ask(dir)?.map(Taken::State))
    }

    /// The run has begun, at this number: lets other processes take over from this one.
    pub(super) fn begins(
        &self,
        (keep, at): (&Keep, u64),
        taken: Option<&Taken>,
        storer: Storer,
        stopper: Stopper,
    ) -> Result<Option<Offered>, Failed> {
        #[cfg(all(feature = "run", feature = "serve"))]
        if let Some(clients) = &self.clients {
            return self.begins_with(clients, (keep, at), storer, stopper);
        }
        let _ = at;
        if let Some(Taken::State(taken)) = taken {
            self.took_over(taken, storer.clone());
        }
        Ok(self.offered(keep, storer, stopper))
    }

    fn took_over(&self, taken: &TakenState, storer: Storer) {
        self.say(&format!("took over from {} at number {}", named(taken.process), taken.at));
        let (link, since) = (taken.link.clone(), Instant::now());
        let settles = move || {
            while storer.stored() == 0 && since.elapsed() < SETTLES_WITHIN {
                thread::sleep(LOOK);
            }
            settle(&link);
        };
        // If no thread can be started, the end of the run settles it.
        drop(thread::Builder::new().name("take-over".to_owned()).spawn(settles));
    }
}

/// Asks the process that has the directory for it. `None` if there is no such process.
fn ask(dir: &Path) -> Result<Option<TakenState>, String> {
    let failed = |error: io::Error| error.to_string();
    let Some(link) = Door::of(dir).and_then(|door| door.knock()).map_err(failed)? else { return Ok(None) };
    if (&link).write_all(&[ASK, VERSION]).is_err() {
        return Ok(None);
    }
    match door::hear(&link, LETS_GO_WITHIN) {
        Ok(Some(FREE)) => {
            let at = door::hear_number(&link).map_err(failed)?;
            let process = door::process(&link);
            Ok(Some(TakenState { link: Arc::new(Mutex::new(Some(link))), process, at }))
        }
        Ok(Some(BUSY)) => Err("another process is taking over: try again once that has ended".to_owned()),
        Ok(Some(NO)) => Err(door::reason(&link)),
        Ok(Some(SOCKETS)) => {
            Err("its source listens, and no source of this run does: end that process first".to_owned())
        }
        Ok(Some(_)) => Err("it answers what this process does not understand".to_owned()),
        // The process has ended.
        Ok(None) => Ok(None),
        Err(error) if is_silence(&error) => Err("it does not answer".to_owned()),
        Err(_) => Ok(None),
    }
}

impl Taken {
    /// The process that had the state, if the system says which one.
    pub(super) fn process(&self) -> Option<u32> {
        match self {
            Taken::State(state) => state.process,
            #[cfg(all(feature = "run", feature = "serve"))]
            Taken::Clients(clients) => clients.process(),
        }
    }

    /// This process has the directory. Waits until the old process lets it begin; with clients, that comes later.
    fn up(&self) -> Result<(), String> {
        match self {
            Taken::State(state) => state.up(),
            #[cfg(all(feature = "run", feature = "serve"))]
            Taken::Clients(_) => Ok(()),
        }
    }

    /// The run has ended, by itself or by a signal: the old process must not go on.
    pub(super) fn settled(&self) {
        match self {
            Taken::State(state) => settle(&state.link),
            #[cfg(all(feature = "run", feature = "serve"))]
            Taken::Clients(clients) => clients.settled(),
        }
    }

    /// The run has failed: the old process goes on.
    pub(super) fn failed(&self) {
        match self {
            Taken::State(state) => drop(state.link.lock().unwrap_or_else(PoisonError::into_inner).take()),
            #[cfg(all(feature = "run", feature = "serve"))]
            Taken::Clients(clients) => clients.give_back(),
        }
    }
}

impl TakenState {
    /// This process has the directory. Waits until the old process lets it begin, or has ended.
    fn up(&self) -> Result<(), String> {
        let link = self.link.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(link) = &*link else { return Ok(()) };
        let of = named(self.process);
        let _ = door::say(link, UP);
        match door::hear(link, GO_WITHIN) {
            Ok(Some(GO) | None) => Ok(()),
            Ok(Some(NO)) => Err(format!("{of} does not let this process begin: {}", door::reason(link))),
            Ok(Some(_)) => Err(format!("{of} answers what this process does not understand")),
            Err(error) if is_silence(&error) => Err(format!("{of} does not answer")),
            Err(_) => Ok(()),
        }
    }
}

fn settle(link: &Mutex<Option<UnixStream>>) {
    if let Some(link) = link.lock().unwrap_or_else(PoisonError::into_inner).take() {
        // An error means that the old process has ended.
        let _ = door::say(&link, SETTLED);
    }
}
