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
    /// By SIGTERM after this time, and by SIGKILL what does not listen.
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

    /// The process has ended: whether it had to be.
    pub(super) fn has_bitten(self) -> bool {
        drop(self.ended);
        self.bites.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }
}

/// Whether this time is over before the process has ended.
fn is_over(ended: &Receiver<()>, time: Duration) -> bool {
    ended.recv_timeout(time) == Err(RecvTimeoutError::Timeout)
}
