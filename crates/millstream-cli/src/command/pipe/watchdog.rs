use super::processes::{GRACE, Processes};
use rustix::process::{Pid, Signal};
use std::io;
use std::process::Child;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// Ends a process that takes too long, and its group.
#[derive(Debug)]
pub(super) struct Watchdog {
    ended: Sender<()>,
    bites: JoinHandle<bool>,
}

impl Watchdog {
    /// Sends SIGTERM after `time`, and SIGKILL a little later.
    pub(super) fn over(child: &Child, processes: &Arc<Processes>, time: Duration) -> io::Result<Self> {
        let (pid, processes) = (Pid::from_child(child), processes.clone());
        let (ended, waits) = channel();
        let thread = thread::Builder::new().name("millstream-watchdog".to_owned());
        let bites = thread.spawn(move || {
            let bites = is_over(&waits, time);
            if bites {
                processes.send(pid, Signal::TERM);
                if is_over(&waits, GRACE) {
                    processes.send(pid, Signal::KILL);
                }
            }
            bites
        })?;
        Ok(Watchdog { ended, bites })
    }

    /// Ends the watch of a process that has ended. Returns whether the process reached the time limit.
    pub(super) fn has_bitten(self) -> bool {
        drop(self.ended);
        self.bites.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }
}

/// Whether this time passes before the process ends.
fn is_over(ended: &Receiver<()>, time: Duration) -> bool {
    ended.recv_timeout(time) == Err(RecvTimeoutError::Timeout)
}
