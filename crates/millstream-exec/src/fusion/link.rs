//! The state that a loop shares with the ends of its run.

use crate::tasklet::Progress;
use std::any::Any;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering, fence};

/// How much a step of a loop takes past the rings.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Pace {
    /// A batch, whatever it costs: the order of all steps depends on no clock.
    Untimed,
    /// A batch.
    #[default]
    One,
    /// Several batches, for a time.
    Several,
}

/// What a loop and the ends of its run share.
#[derive(Default)]
pub(crate) struct Link {
    /// Whether the loop takes the values from the source by itself.
    takes: AtomicBool,
    /// Whether it takes them from the source's ring.
    behind: AtomicBool,
    /// Whether the loop has found an end in use, and may sleep.
    waits: AtomicBool,
    /// The numbers that have passed since each end has looked.
    source: AtomicUsize,
    sink: AtomicUsize,
}

impl Link {
    /// The loop takes values by itself from now on.
    pub(crate) fn take(&self) {
        self.takes.store(true, Ordering::Relaxed);
    }

    /// This many numbers of the sink's clock have passed.
    pub(crate) fn count_sink(&self, numbers: usize) {
        self.sink.fetch_add(numbers, Ordering::Relaxed);
    }

    /// This many numbers have passed the source.
    pub(crate) fn count_source(&self, numbers: usize) {
        self.source.fetch_add(numbers, Ordering::Relaxed);
    }

    /// The loop takes values from the source's ring, in the first stage's place. The source fills it as usual.
    pub(crate) fn stand_behind(&self) {
        self.behind.store(true, Ordering::Relaxed);
    }

    /// Whether the source rests meanwhile.
    pub(crate) fn takes_source(&self) -> bool {
        self.takes() && !self.behind.load(Ordering::Relaxed)
    }

    /// Whether the first stage rests meanwhile.
    pub(crate) fn takes_ring(&self) -> bool {
        self.takes() && self.behind.load(Ordering::Relaxed)
    }

    pub(crate) fn takes(&self) -> bool {
        self.takes.load(Ordering::Relaxed)
    }

    pub(crate) fn has_passed_source(&self) -> bool {
        self.source.load(Ordering::Relaxed) > 0
    }

    pub(crate) fn has_passed_sink(&self) -> bool {
        self.sink.load(Ordering::Relaxed) > 0
    }

    /// How many numbers have passed since the source asked last.
    pub(crate) fn passed_source(&self) -> usize {
        self.source.swap(0, Ordering::Relaxed)
    }

    /// As [`passed_source`](Link::passed_source), for the sink.
    pub(crate) fn passed_sink(&self) -> usize {
        self.sink.swap(0, Ordering::Relaxed)
    }

    /// Notes that the loop has found an end in use. The loop looks once more, and then may sleep: the end's task sees
    /// the note after its use.
    pub(crate) fn wait(&self) {
        self.waits.store(true, Ordering::Relaxed);
        fence(Ordering::SeqCst);
    }

    /// Called when an end that was in use is free. Returns whether the loop has to be woken.
    pub(crate) fn is_awaited(&self) -> bool {
        fence(Ordering::SeqCst);
        self.waits.load(Ordering::Relaxed) && self.waits.swap(false, Ordering::Relaxed)
    }

    /// From now on the source publishes its values. It may sleep, so the returned progress wakes it.
    pub(crate) fn rest(&self) -> Progress {
        if self.takes.swap(false, Ordering::Relaxed) { Progress::WORKED } else { Progress::NONE }
    }
}

/// The ends of a run, while it is wired.
pub(crate) struct EndsOfRun {
    pub(crate) link: Arc<Link>,
    /// The source, as a [`Lent`](super::ends::Lent); none if it is not the loop's to take from.
    pub(crate) source: Option<Box<dyn Any>>,
    /// Where the loop finds the sink, as a [`Lent`](super::ends::Lent); none if no loop does.
    pub(crate) sink: Option<Box<dyn Any>>,
}

impl EndsOfRun {
    /// The ends of a run whose source the loop cannot take from.
    pub(crate) fn behind_ring() -> Self {
        EndsOfRun { link: Arc::default(), source: None, sink: None }
    }
}
