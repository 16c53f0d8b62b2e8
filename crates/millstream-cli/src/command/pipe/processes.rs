use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};
use std::io;
use std::process::{Child, Command, ExitStatus};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The processes of a run that have not been waited for, each with a process group of its own.
#[derive(Debug, Default)]
pub(super) struct Processes(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    running: Vec<Pid>,
    /// What whoever starts now is sent at once.
    stopped: Option<Signal>,
}

impl Processes {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn start(&self, command: &mut Command) -> io::Result<Child> {
        let child = command.spawn()?;
        let pid = Pid::from_child(&child);
        let mut state = self.lock();
        state.running.push(pid);
        if let Some(signal) = state.stopped {
            send(pid, signal);
        }
        Ok(child)
    }

    /// Waits until it has ended.
    pub(super) fn end(&self, child: &mut Child) -> io::Result<ExitStatus> {
        let pid = Pid::from_child(child);
        // Its number may become another's once it has been waited for, and nobody is to send that one a signal.
        while let Err(error) = waitid(WaitId::Pid(pid), WaitIdOptions::EXITED | WaitIdOptions::NOWAIT) {
            if error != rustix::io::Errno::INTR {
                return Err(error.into());
            }
        }
        self.lock().running.retain(|running| *running != pid);
        child.wait()
    }

    /// Ends all that run, and what they have started in their groups: those that do not listen if there is no time left.
    pub(super) fn stop(&self, now: bool) {
        let signal = if now { Signal::KILL } else { Signal::TERM };
        let mut state = self.lock();
        state.stopped = Some(signal);
        state.running.iter().for_each(|pid| send(*pid, signal));
    }
}

/// One that has ended in the meantime needs no signal.
fn send(group: Pid, signal: Signal) {
    let _ = kill_process_group(group, signal);
}
