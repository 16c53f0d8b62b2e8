//! A run with a state that follows the one of the process from which it takes over.

use super::super::serve::Followed;
use super::super::{Failed, Runs};
use super::begun::Begun;
use super::taken::Taken;
use crate::config::Keep;
use millstream_core::{Arrow, Item, Val};
use millstream_exec::Lasting;
use millstream_state::claims::OutputOf;
use millstream_state::{ClaimingSink, JobError, Resumable, StateDir};
use serde_json::Value;
use std::time::Instant;

impl Runs {
    /// Whether the next run follows another process: its source can, and the directory is that of this program.
    pub(super) fn follows(&self, keep: &Keep, program: &str) -> bool {
        let is_ours = || StateDir::read(&keep.dir).is_ok_and(|dir| dir.program() == program);
        self.when_taken.is_set() && keep.take_over && is_ours()
    }

    /// Starts a run beside the process that has the state, and asks for that when it is close behind.
    ///
    /// # Errors
    ///
    /// [`Failed::LeftBehind`] or [`Failed::Restores`] if the run must be started again.
    pub(super) fn followed<P, T, X, K>(
        &mut self,
        keep: &Keep,
        (program, job): (&str, &Value),
        pipeline: &P,
        source: impl FnOnce(&StateDir) -> X,
        into: K,
    ) -> Result<Begun<OutputOf<P::Out, K>>, Failed>
    where
        T: Item,
        P: Lasting + Arrow<In = Val<T>>,
        X: Resumable<T>,
        K: ClaimingSink<P::Out>,
    {
        let since = Instant::now();
        let beside = self.persistent(keep, StateDir::read(&keep.dir).map_err(JobError::State)?, job);
        let mut following = match beside.follow_run(pipeline, source, into) {
            Ok(Some(following)) => following,
            Ok(None) | Err(JobError::CannotFollow) => return Err(Failed::Restores),
            Err(error) => return Err(behind(error)),
        };
        self.catch_up(&mut following).map_err(|_| Failed::Interrupted)?.map_err(behind)?;
        let (took, asked) = (since.elapsed(), Instant::now());
        let clients = self.clients();
        match clients.ask(&keep.dir) {
            Ok(true) => {}
            // There is no other process any more, or it is about to offer the directory.
            Ok(false) => return Err(Failed::Restores),
            Err(why) => return Err(Failed::TakeOver(format!("the other process: {why}"))),
        }
        if let Err(why) = self.when_taken.call() {
            clients.give_back();
            return Err(Failed::TakeOver(why));
        }
        let dir = StateDir::open(&keep.dir, program).map_err(JobError::State)?;
        self.say_removed(&dir);
        match following.own(dir) {
            Ok(running) => {
                let to = running.began() - running.replayed();
                clients.have_followed(Followed { took, to }, asked);
                Ok((running, Some(Taken::Clients(clients))))
            }
            Err(error) => {
                self.say(&format!("--take-over: begins at the newest snapshot: {error}"));
                clients.take_back();
                Err(Failed::Restores)
            }
        }
    }
}

/// Why a run cannot follow.
fn behind(error: JobError) -> Failed {
    if error.is_left_behind() { Failed::LeftBehind(error) } else { error.into() }
}
