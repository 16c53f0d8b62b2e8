//! Workers as processes. A worker that a signal ends is started again.

use super::SECRET;
use crate::message::say;
use crate::name;
use millstream_evolve::Address;
use std::ffi::OsString;
use std::io;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// The interval between checks for ended workers.
const LOOK: Duration = Duration::from_millis(10);

/// The time after which a worker that could not be started is tried again.
const TRY_AGAIN: Duration = Duration::from_secs(1);

/// How long a worker may take to end once it is no longer needed.
const GRACE: Duration = Duration::from_secs(2);

pub(super) struct Processes {
    children: Arc<Mutex<Vec<Child>>>,
    ending: Arc<AtomicBool>,
    watcher: Option<JoinHandle<()>>,
}

struct Start {
    at: Address,
    secret: String,
    pin: bool,
}

impl Start {
    fn command(&self, index: usize) -> io::Result<Command> {
        let mut connect = OsString::from("--connect=");
        match &self.at {
            Address::Tcp(address) => connect.push(address),
            // A relative name needs a `/`, or it would be read as a TCP address.
            Address::Unix(path) => connect.push(Path::new(".").join(path)),
        }
        let mut command = Command::new(name::file()?);
        // The worker sees when the master ends, since both are on this machine. A master that is stopped goes on later.
        command.arg("evolve-worker").arg(connect).args(["--patience", "0"]).env(SECRET, &self.secret);
        if self.pin {
            command.args(["--pin", &index.to_string()]);
        }
        Ok(command)
    }

    fn one(&self, index: usize) -> io::Result<Child> {
        let mut command = self.command(index)?;
        // The worker gets a process group of its own: an interrupt from the keyboard reaches only the master, which
        // ends the round first.
        command.stdin(Stdio::null()).stdout(Stdio::null()).process_group(0).spawn()
    }

    /// Starts the workers again that a signal has ended, unless the run is ending.
    fn again(&self, children: &mut [Child], ending: &AtomicBool) -> io::Result<()> {
        for (index, child) in children.iter_mut().enumerate() {
            let ended = child.try_wait().ok().flatten();
            // A worker that has ended by itself has printed why, and would do so again.
            if ended.is_some_and(|status| status.signal().is_some()) && !ending.load(Ordering::Acquire) {
                *child = self.one(index)?;
            }
        }
        Ok(())
    }
}

impl Processes {
    pub(super) fn start(workers: usize, pin: bool, at: &Address, secret: &str) -> io::Result<Self> {
        let start = Start { at: at.clone(), secret: secret.to_owned(), pin };
        let mut processes = Processes { children: Arc::default(), ending: Arc::default(), watcher: None };
        for index in 0..workers {
            lock(&processes.children).push(start.one(index)?);
        }
        let (children, ending) = (Arc::clone(&processes.children), Arc::clone(&processes.ending));
        let watch = move || {
            let mut failed: Option<Instant> = None;
            while !ending.load(Ordering::Acquire) {
                if failed.is_none_or(|at| at.elapsed() > TRY_AGAIN) {
                    match start.again(&mut lock(&children), &ending) {
                        Ok(()) => failed = None,
                        Err(error) => {
                            // The same message again would say nothing new.
                            if failed.replace(Instant::now()).is_none() {
                                say(&format!("millstream evolve: cannot start a worker again: {error}"));
                            }
                        }
                    }
                }
                thread::sleep(LOOK);
            }
        };
        processes.watcher = Some(thread::Builder::new().name("processes".to_owned()).spawn(watch)?);
        Ok(processes)
    }

    /// From now on no worker is started again.
    pub(super) fn stop_watching(&self) {
        self.ending.store(true, Ordering::Release);
    }
}

fn lock(children: &Mutex<Vec<Child>>) -> MutexGuard<'_, Vec<Child>> {
    children.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Drop for Processes {
    fn drop(&mut self) {
        self.stop_watching();
        if let Some(watcher) = self.watcher.take() {
            let _ = watcher.join();
        }
        let until = Instant::now() + GRACE;
        for child in lock(&self.children).iter_mut() {
            while matches!(child.try_wait(), Ok(None)) {
                if Instant::now() > until {
                    let _ = child.kill();
                    let _ = child.wait();
                }
                thread::sleep(Duration::from_millis(1));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;

    /// A master may be stopped for any time, and its socket may have any name.
    #[test]
    fn a_worker_waits_for_its_master_and_finds_any_socket() {
        for (name, connect) in [("m", "--connect=./m"), ("-x/m", "--connect=./-x/m"), ("/m", "--connect=/m")] {
            let start = Start { at: Address::Unix(name.into()), secret: "s".to_owned(), pin: false };
            let command = start.command(0).unwrap();
            let args: Vec<_> = command.get_args().collect();
            assert_eq!(args, ["evolve-worker", connect, "--patience", "0"]);
        }
        let at = Address::Unix(OsStr::from_bytes(b"\xff").into());
        let command = Start { at, secret: "s".to_owned(), pin: false }.command(0).unwrap();
        assert_eq!(command.get_args().nth(1), Some(OsStr::from_bytes(b"--connect=./\xff")));
    }
}
