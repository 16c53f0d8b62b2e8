use super::Output;
use crate::task_probe::TaskProbe;
use crate::tasklet::{Progress, Tasklet};
use millstream_core::Item;

/// Drops values that the readers of a source's ring have released.
pub(crate) struct SweepTasklet<T: Item>(pub(crate) Output<T>);

impl<T: Item> Tasklet for SweepTasklet<T> {
    fn step(&mut self) -> Progress {
        if self.0.sweep() {
            // A sender that waits for room may have found this sweep in progress.
            self.0.shared.signal.notify_progress();
        }
        // Taking the lock of the senders at each step would hold them up.
        if self.0.shared.source_has_ended() { Progress::DONE } else { Progress::NONE }
    }

    fn failed_at(&self) -> Option<u64> {
        None
    }

    fn backlog(&self) -> u64 {
        0
    }

    fn probe(&self) -> TaskProbe {
        TaskProbe::default()
    }
}
