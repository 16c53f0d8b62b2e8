//! How a job describes itself, and what it says while it runs.

use super::Persistent;
use super::on_storing::OnStoring;
use serde_json::Value;

impl Persistent {
    /// Sets the description of the job in the manifests: how it was started, for tools that start it again.
    #[must_use]
    pub fn described_as(self, job: Value) -> Self {
        Persistent { job, ..self }
    }

    /// Calls `says` as soon as a snapshot cannot be stored, with the reason, and once one is stored again, with its
    /// number. It is called at these changes alone, and not for each snapshot between them; [`Stored`](super::Stored)
    /// counts all that failed. The job goes on meanwhile, and each next snapshot is tried.
    ///
    /// `says` runs on the thread that stores, so no snapshot is stored until it returns. If it panics, the job goes on,
    /// and stores the next ones.
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
        Persistent { on_storing: OnStoring::calls(says), ..self }
    }
}
