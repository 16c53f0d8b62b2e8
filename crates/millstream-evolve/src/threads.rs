use std::io;
use std::sync::mpsc::{Receiver, Sender, TryRecvError, channel};
use std::thread::{Builder, JoinHandle};
use std::time::{Duration, Instant};

/// Threads that are waited for, but not for ever.
#[derive(Debug)]
pub(crate) struct Threads {
    threads: Vec<JoinHandle<()>>,
    /// Nothing is sent: each thread has one of these senders until it ends.
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

    /// Waits until all have ended; those who take longer than this are left behind.
    pub(crate) fn join_within(&mut self, time: Duration) {
        let Threads { threads, run, ended } = std::mem::take(self);
        drop(run);
        let until = Instant::now() + time;
        // Nothing comes: this is over when the last of them has dropped its sender, or the time is.
        let _ = ended.recv_timeout(until.saturating_duration_since(Instant::now()));
        let all = ended.try_recv() == Err(TryRecvError::Disconnected);
        for thread in threads {
            if all || thread.is_finished() {
                // What panics in it has ended a worker, which the master was told of.
                let _ = thread.join();
            }
        }
    }
}
