//! What a job says of its snapshots while it runs.

use super::Persistent;
use std::fmt;
use std::mem;
use std::sync::Arc;

/// What is called when snapshots begin to fail, and when they are stored again.
#[derive(Clone, Default)]
pub(super) struct OnStoring {
    says: Option<Arc<Says>>,
    /// Whether the last snapshot could not be stored.
    fails: bool,
}

type Says = dyn Fn(Result<u64, &str>) + Send + Sync;

impl fmt::Debug for OnStoring {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OnStoring").field("fails", &self.fails).finish_non_exhaustive()
    }
}

impl Persistent {
    /// Calls `says` as soon as a snapshot cannot be stored, with the reason, and once one is stored again, with its
    /// number. It is called at these changes alone, and not for each snapshot between them; [`Stored`](super::Stored)
    /// counts all that failed. The job goes on meanwhile, and each next snapshot is tried.
    ///
    /// `says` runs on the thread that stores, so no snapshot is stored until it returns. If it panics, none is stored
    /// any more.
    ///
    /// ```
    /// use millstream::{io::FileSink, prelude::*, state::{Cadence, Persistent, StateDir, again}};
    ///
    /// # let home = tempfile::tempdir()?;
    /// # std::env::set_current_dir(&home)?;
    /// let sum = pipeline::<u64>().scan(0, |sum, x| { *sum += x; format!("{sum}\n") }).named("sum");
    /// let (sender, said) = std::sync::mpsc::channel();
    /// let job = Persistent::new(Rings::new(), StateDir::open("state", "sum")?)
    ///     .snapshot_every(Cadence::OnCall)
    ///     .on_storing(move |outcome| sender.send(outcome.map_err(str::to_owned)).expect("it is read"));
    /// let running = job.start(&sum, again(|| 0..), FileSink::append("sums"))?;
    /// std::fs::rename("state/snapshots", "state/gone")?;
    /// let why = running.snapshot().unwrap_err();
    /// assert!(said.recv()?.unwrap_err().ends_with(&why));
    /// std::fs::rename("state/gone", "state/snapshots")?;
    /// let at = running.snapshot()?.expect("the job runs");
    /// assert_eq!(said.recv()?, Ok(at));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn on_storing(self, says: impl Fn(Result<u64, &str>) + Send + Sync + 'static) -> Self {
        Persistent { on_storing: OnStoring { says: Some(Arc::new(says)), fails: false }, ..self }
    }
}

impl OnStoring {
    /// The snapshot at this number is stored.
    pub(super) fn stored(&mut self, at: u64) {
        if mem::take(&mut self.fails) {
            self.say(Ok(at));
        }
    }

    /// A snapshot could not be stored.
    pub(super) fn failed(&mut self, why: &str) {
        if !mem::replace(&mut self.fails, true) {
            self.say(Err(why));
        }
    }

    fn say(&self, outcome: Result<u64, &str>) {
        self.says.iter().for_each(|says| says(outcome));
    }
}
