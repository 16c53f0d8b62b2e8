use std::io;
use std::sync::mpsc::{Receiver, Sender, TryRecvError, channel};
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

/// Threads that are joined with a time limit.
#[derive(Debug)]
pub(crate) struct Threads {
    threads: Vec<JoinHandle<()>>,
    /// Each thread holds a clone of this sender until it ends. Nothing is sent.
    run: Sender<()>,
    ended: Receiver<()>,
}

impl Default for Threads {
    fn default() -> Self {
        let (run, ended) = channel();
        Threads { threads: Vec::new(), run, ended }
    }
}

impl Threads {
    pub(crate) fn len(&self) -> usize {
        self.threads.len()
    }

    pub(crate) fn spawn(&mut self, name: String, work: impl FnOnce() + Send + 'static) -> io::Result<()> {
        let runs = self.run.clone();
        let run = move || {
            work();
            drop(runs);
        };
        let thread = Builder::new().name(name).spawn(run)?;
        self.threads.push(thread);
        Ok(())
    }

    /// Joins all threads. Those that take longer than this are detached.
    pub(crate) fn join_within(&mut self, time: Duration) {
        let Threads { threads, run, ended } = std::mem::take(self);
        drop(run);
        // This returns when the last thread has dropped its sender, or the time is over.
        let _ = ended.recv_timeout(time);
        let all = ended.try_recv() == Err(TryRecvError::Disconnected);
        for thread in threads {
            if all || thread.is_finished() {
                // A panic in the thread has ended its worker, and the master has the reason.
                let _ = thread.join();
            }
        }
    }
}
