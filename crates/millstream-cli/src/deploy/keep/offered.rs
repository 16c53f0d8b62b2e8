//! The old process's part of a take-over of a run whose state is kept. [`taken`](super::taken) is the new process's
//! part, and `clients` adds what a run that reads posted rows needs.
//!
//! The run takes a snapshot, stops after it, and lets the directory go. That loses nothing, since a run that is started
//! again goes on at the snapshot. If the new process does not go on, this process therefore starts its own program
//! again, in its place.

use crate::config::{GOES_ON, Keep};
use crate::interrupts::Interrupts;
use crate::name;
use millstream_exec::Stopper;
use millstream_state::door::{self, ASK, Door, NO, SETTLED, UP, VERSION, is_silence};
use millstream_state::{StateDir, StateError, Storer};
use std::env;
use std::io::{self, Read};
use std::os::unix::net::{UnixListener, UnixStream};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// The interval between checks whether a process asks, or the run is over.
pub(super) const LOOK: Duration = Duration::from_millis(20);

/// The time limit for the request of a process that has connected.
const SAYS_WITHIN: Duration = Duration::from_secs(5);

/// The time limit for the new process to open the directory, or for the directory of a killed process to become free.
const UP_WITHIN: Duration = Duration::from_secs(30);

/// A run that a new process may take over.
#[derive(Clone, Default)]
pub(super) struct Offered(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    asked: Option<Asked>,
    over: bool,
}

/// A process for which the run has stopped, at a number.
pub(super) struct Asked {
    pub(super) of: Of,
    pub(super) at: u64,
}

/// The answer to the process.
pub(super) enum Of {
    State(UnixStream),
    #[cfg(all(feature = "run", feature = "serve"))]
    Clients(super::clients::Leaving),
}

impl Offered {
    /// Listens for a process that wants to take over. `refuses` is why none can.
    pub(super) fn begin(
        dir: &Path,
        refuses: Option<&'static str>,
        storer: Storer,
        stopper: Stopper,
    ) -> io::Result<Self> {
        let listener = Door::of(dir)?.listen()?;
        listener.set_nonblocking(true)?;
        let offered = Offered::default();
        let listens = Listens { offered: offered.clone(), refuses, storer, stopper };
        thread::Builder::new().name("take-over".to_owned()).spawn(move || listens.listen(&listener))?;
        Ok(offered)
    }

    pub(super) fn is_over(&self) -> bool {
        self.lock().over
    }

    /// Stops the run for this process.
    ///
    /// # Errors
    ///
    /// Returns the process, if the run has ended by itself.
    pub(super) fn stop(&self, asked: Asked, stopper: &Stopper) -> Result<(), Asked> {
        let mut state = self.lock();
        if state.over {
            return Err(asked);
        }
        state.asked = Some(asked);
        stopper.stop_now();
        Ok(())
    }

    /// The process for which the run was stopped, if there is one. Later processes are not heard.
    pub(super) fn end(self) -> Option<Asked> {
        let mut state = self.lock();
        state.over = true;
        state.asked.take()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

struct Listens {
    offered: Offered,
    refuses: Option<&'static str>,
    storer: Storer,
    stopper: Stopper,
}

impl Listens {
    fn listen(self, listener: &UnixListener) {
        while !self.offered.is_over() {
            match listener.accept() {
                Ok((link, _)) => {
                    if self.asked(link) {
                        return;
                    }
                }
                Err(_) => thread::sleep(LOOK),
            }
        }
    }

    /// Stops the run for a process that asks. Returns whether listening is over.
    fn asked(&self, link: UnixStream) -> bool {
        let mut said = [0; 2];
        let heard = link.set_nonblocking(false).and_then(|()| link.set_read_timeout(Some(SAYS_WITHIN)));
        if heard.and_then(|()| (&link).read_exact(&mut said)).is_err() || said[0] != ASK {
            return false;
        }
        if said[1] != VERSION {
            door::say_no(&link, "it speaks another version of the hand-over");
            return false;
        }
        if let Some(why) = self.refuses {
            door::say_no(&link, why);
            return false;
        }
        match self.storer.newest() {
            Ok(Some(at)) => {
                if let Err(asked) = self.offered.stop(Asked { of: Of::State(link), at }, &self.stopper) {
                    asked.leave();
                }
                true
            }
            // The run is about to end.
            Ok(None) => true,
            Err(why) => {
                door::say_no(&link, &format!("its snapshot cannot be stored: {why}"));
                false
            }
        }
    }
}

impl Asked {
    pub(super) fn process(&self) -> Option<u32> {
        match &self.of {
            Of::State(link) => door::process(link),
            #[cfg(all(feature = "run", feature = "serve"))]
            Of::Clients(leaving) => leaving.process(),
        }
    }

    /// The run has ended. Its last snapshot may be a later one than that for the process, which begins at the last.
    pub(super) fn after(self, last: Option<u64>) -> Self {
        let at = last.map_or(self.at, |last| last.max(self.at));
        Asked { at, ..self }
    }

    /// Whether the process gets the run even after a signal, because clients wait for it.
    pub(super) fn with_clients(&self) -> bool {
        !matches!(self.of, Of::State(_))
    }

    /// The run has ended by itself: the process starts as always.
    pub(super) fn leave(self) {
        match self.of {
            Of::State(link) => drop(link),
            #[cfg(all(feature = "run", feature = "serve"))]
            Of::Clients(leaving) => leaving.leave(),
        }
    }
}

/// Lets the process begin at this number. The directory is free. Waits until the process has stored something.
///
/// # Errors
///
/// Why the process does not go on.
pub(super) fn hand_over(link: &UnixStream, at: u64, interrupts: &Interrupts) -> Result<(), String> {
    door::say_free(link, at).map_err(|_| ENDED)?;
    match door::hear(link, UP_WITHIN) {
        Ok(Some(UP)) => door::say(link, door::GO).map_err(|_| ENDED)?,
        Ok(Some(NO)) => return Err(door::reason(link)),
        Ok(_) => return Err(ENDED.to_owned()),
        Err(error) => {
            door::say_no(link, "it goes on itself");
            return Err(if is_silence(&error) { "it does not answer".to_owned() } else { error.to_string() });
        }
    }
    loop {
        match door::hear(link, LOOK) {
            Ok(Some(SETTLED)) => return Ok(()),
            // A signal ends this process, even if the other process fails.
            Err(error) if is_silence(&error) && interrupts.first().is_some() => return Ok(()),
            Err(error) if is_silence(&error) => {}
            Ok(_) | Err(_) => return Err("it ended before it had stored anything".to_owned()),
        }
    }
}

const ENDED: &str = "it has ended";

/// Replaces this process by its own program, started in the same way: the run goes on at its newest snapshot. Returns
/// only on an error.
pub(super) fn again(keep: &Keep, program: &str) -> io::Error {
    let since = Instant::now();
    // The directory of a killed process becomes free a little later.
    while let Err(StateError::InUse { .. }) = StateDir::open(&keep.dir, program)
        && since.elapsed() < UP_WITHIN
    {
        thread::sleep(LOOK);
    }
    let path = name::file().unwrap_or_default();
    let mut args = env::args_os();
    let name = args.next().unwrap_or_else(|| path.clone().into());
    Command::new(path).arg0(name).args(args).env(GOES_ON, "1").exec()
}

/// The name of a process in messages.
pub(in crate::deploy) fn named(process: Option<u32>) -> String {
    process.map_or("the other process".to_owned(), |number| format!("process {number}"))
}
