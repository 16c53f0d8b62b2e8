/// What one step of a tasklet came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// Nothing could be done.
    Idle,
    /// Something moved.
    Busy,
    /// END is published: there is nothing left to do, ever.
    Done,
}

/// A stage at work: its step never blocks, and moves at most one batch.
pub(crate) trait Tasklet: Send {
    fn step(&mut self) -> Step;

    /// The number at which user code panicked in the last step.
    fn failed_at(&self) -> Option<u64>;
}
