use crate::gauges::Gauges;

/// What one step of a tasklet came to: how much moved, and whether that was all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Progress {
    /// How many numbers moved, END counted; 0 if nothing could be done.
    pub(crate) moved: usize,
    /// END is published: there is nothing left to do, ever.
    pub(crate) done: bool,
    /// Something was done that moved no number.
    pub(crate) worked: bool,
}

impl Progress {
    pub(crate) const NONE: Progress = Progress { moved: 0, done: false, worked: false };
    /// END moved.
    pub(crate) const ENDED: Progress = Progress { moved: 1, done: true, worked: false };
    /// There was nothing left to do.
    pub(crate) const DONE: Progress = Progress { moved: 0, done: true, worked: false };
    /// Something was done that moved no number.
    pub(crate) const WORKED: Progress = Progress { moved: 0, done: false, worked: true };

    pub(crate) fn moved(numbers: usize) -> Self {
        Progress { moved: numbers, done: false, worked: false }
    }
}

/// A stage at work: its step never blocks, and moves at most one batch.
pub(crate) trait Tasklet: Send {
    fn step(&mut self) -> Progress;

    /// The number at which user code panicked in the last step.
    fn failed_at(&self) -> Option<u64>;

    /// How many numbers wait to be worked on.
    fn backlog(&self) -> u64;

    /// Where its ends are, for whoever watches.
    fn gauges(&self) -> Gauges;
}
