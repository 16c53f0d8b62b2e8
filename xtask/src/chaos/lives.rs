//! A process is killed at any moment, and started again.

use super::Random;
use super::processes::{PATIENCE, Process, Service};
use crate::cmd::{Result, failure};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{JoinHandle, sleep};
use std::time::Duration;

/// One life in this many is ended by SIGTERM.
const TERMINATED_ONE_IN: u64 = 6;

/// The longest life.
const MOST_MS: u64 = 400;

/// A message on standard error after this many kills or upgrades.
pub(super) const SAID_AFTER: u64 = 10;

/// The ends of a program's processes.
#[derive(Default)]
pub(super) struct Lives {
    pub(super) killed: u64,
    pub(super) terminated: u64,
}

impl Lives {
    /// Kills and starts until enough were killed, or a client has ended. The program has to answer
    /// after most starts.
    pub(super) fn lived<C>(
        now: &mut Process,
        service: &impl Service,
        (random, kills): (&mut Random, u64),
        clients: &[JoinHandle<C>],
    ) -> Result<Lives> {
        let (mut lives, mut has_begun) = (Lives::default(), true);
        while lives.killed < kills && !clients.iter().any(JoinHandle::is_finished) {
            sleep(Duration::from_millis(random.below(MOST_MS)));
            if has_begun && random.below(TERMINATED_ONE_IN) == 0 {
                now.terminate()?;
                lives.terminated += 1;
            } else {
                now.kill()?;
                lives.killed += 1;
                if lives.killed.is_multiple_of(SAID_AFTER) {
                    eprintln!("{} of {kills} killed", lives.killed);
                }
            }
            *now = service.start(&service.place().program, lives.killed + lives.terminated, &[])?;
            // Some are killed while they begin.
            has_begun = random.below(4) > 0 || lives.killed == kills;
            if has_begun {
                service.answers(PATIENCE)?;
            }
        }
        Ok(lives)
    }
}

/// Lets the clients end. Returns what they have to say.
pub(super) fn joined<T>(over: &AtomicBool, clients: Vec<JoinHandle<Result<T>>>) -> Result<Vec<T>> {
    over.store(true, Ordering::Relaxed);
    clients.into_iter().map(|client| client.join().map_err(|_| failure("a client panicked"))?).collect()
}
