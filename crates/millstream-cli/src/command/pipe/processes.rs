use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};
use std::io;
use std::process::{Child, Command, ExitStatus};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

/// The processes of a run that have not been waited for, each with a process group of its own.
#[derive(Debug, Default)]
pub(super) struct Processes(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    /// Each with the number of its latest block or line.
    running: Vec<(Pid, u64)>,
    /// The signal that every process of this number or a later one receives at once.
    stopped: Option<(u64, Signal)>,
}

impl State {
    fn stop_from(&mut self, number: u64, signal: Signal) {
        let from = self.stopped.map_or(number, |(before, _)| before.min(number));
        self.stopped = Some((from, signal));
        self.running.iter().filter(|(_, at)| *at >= number).for_each(|(pid, _)| send(*pid, signal));
    }

    fn check(&self, pid: Pid, number: u64) {
        if let Some((from, signal)) = self.stopped
            && number >= from
        {
            send(pid, signal);
        }
    }
}

/// How long a process may take to end when it is no longer needed.
pub(super) const GRACE: Duration = Duration::from_millis(500);

impl Processes {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Starts a process for this number. Under the lock: a signal reaches it or comes before it.
    pub(super) fn start(&self, command: &mut Command, number: u64) -> io::Result<Child> {
        let mut state = self.lock();
        let child = command.spawn()?;
        let pid = Pid::from_child(&child);
        state.running.push((pid, number));
        state.check(pid, number);
        Ok(child)
    }

    /// Moves a process on to another number.
    pub(super) fn goes_on(&self, child: &Child, number: u64) {
        let pid = Pid::from_child(child);
        let mut state = self.lock();
        state.running.iter_mut().filter(|(running, _)| *running == pid).for_each(|(_, at)| *at = number);
        state.check(pid, number);
    }

    /// Waits until a process has ended.
    pub(super) fn end(&self, child: &mut Child) -> io::Result<ExitStatus> {
        let pid = Pid::from_child(child);
        // After the final wait the pid may belong to another process. The process leaves the list before, so that no
        // signal reaches the wrong one.
        while let Err(error) = waitid(WaitId::Pid(pid), WaitIdOptions::EXITED | WaitIdOptions::NOWAIT) {
            if error != rustix::io::Errno::INTR {
                return Err(error.into());
            }
        }
        self.lock().running.retain(|(running, _)| *running != pid);
        child.wait()
    }

    /// Ends an unused process, and its group.
    pub(super) fn kill(&self, child: &mut Child) {
        self.send(Pid::from_child(child), Signal::KILL);
        let _ = self.end(child);
    }

    /// Sends a signal to a process and its group, if it has not been waited for.
    pub(super) fn send(&self, process: Pid, signal: Signal) {
        let state = self.lock();
        state.running.iter().filter(|(running, _)| *running == process).for_each(|(group, _)| send(*group, signal));
    }

    /// Ends all running processes and their groups: by SIGTERM, or by SIGKILL if `now`.
    pub(super) fn stop(&self, now: bool) {
        self.lock().stop_from(0, if now { Signal::KILL } else { Signal::TERM });
    }

    /// Sends a signal to all running processes. The caller then ends this process: no other one is started or waited
    /// for.
    pub(super) fn leave(&self, signal: Signal) {
        let mut state = self.lock();
        state.stop_from(0, signal);
        std::mem::forget(state);
    }

    /// Ends the processes of this number and of later ones, and their groups: by SIGTERM, and a little later by
    /// SIGKILL.
    pub(super) fn stop_from(self: &Arc<Self>, number: u64) {
        self.lock().stop_from(number, Signal::TERM);
        let processes = self.clone();
        let later = move || {
            thread::sleep(GRACE);
            processes.lock().stop_from(number, Signal::KILL);
        };
        if thread::Builder::new().name("millstream-killer".to_owned()).spawn(later).is_err() {
            self.lock().stop_from(number, Signal::KILL);
        }
    }

    /// Whether processes of this number receive a signal.
    pub(super) fn stopped(&self, number: u64) -> bool {
        self.lock().stopped.is_some_and(|(from, _)| number >= from)
    }
}

/// A group that has ended in the meantime needs no signal.
fn send(group: Pid, signal: Signal) {
    let _ = kill_process_group(group, signal);
}
