//! The beginning of a run whose state is kept.

use super::super::{Failed, Runs};
use super::say_storing;
use super::taken::Taken;
use crate::config::Keep;
use crate::message::{Complaints, quoted};
use millstream_core::{Arrow, Item, Val};
use millstream_exec::Lasting;
use millstream_state::claims::OutputOf;
use millstream_state::{ClaimingSink, Persistent, Resumable, Retention, Running, StateDir};
use serde_json::Value;

/// A run, and the take-over that it began with.
pub(super) type Begun<O> = (Running<O>, Option<Taken>);

impl Runs {
    /// Starts a run: beside the process that has the state, if it can follow that, or when it has the state itself.
    pub(super) fn begin<const FOLLOWS: bool, P, T, X, K>(
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
        #[cfg(all(feature = "run", feature = "serve"))]
        if FOLLOWS && self.follows(keep, program) {
            return self.followed(keep, (program, job), pipeline, source, into);
        }
        let (dir, taken) = self.own(keep, program, &pipeline.plan())?;
        self.say_removed(&dir);
        let source = source(&dir);
        let running = self.persistent(keep, dir, job).start(pipeline, source, into)?;
        for why in running.passed_over() {
            self.complaints.note(&format!("--state: a newer snapshot is passed over: {why}"));
        }
        if !self.config.quiet {
            say_begun(&self.complaints, keep, running.began());
        }
        Ok((running, taken))
    }

    /// A job in this directory.
    pub(super) fn persistent(&self, keep: &Keep, dir: StateDir, job: &Value) -> Persistent {
        let retention = Retention { count: Some(keep.snapshots), ..Retention::default() };
        let persistent = Persistent::new(self.config.rings.clone(), dir).described_as(job.clone());
        let persistent = persistent.keep(retention).snapshot_every(keep.cadence);
        keep.judged(persistent).on_storing(say_storing(&self.complaints))
    }

    pub(super) fn say_removed(&self, dir: &StateDir) {
        for removed in dir.removed() {
            self.complaints.note(&format!("--state: removed {removed}, which an earlier run did not finish"));
        }
    }
}

fn say_begun(complaints: &Complaints, keep: &Keep, began: u64) {
    if began > 0 {
        let dir = quoted(keep.dir.as_os_str());
        complaints.note(&format!("--state: goes on at number {began}, from a snapshot in {dir}"));
    }
}
