//! Workers that share a core though there are others move apart.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// On which core every worker was seen last.
///
/// Where a thread begins, or wakes, or is left behind when others park, the system may put it on the core of another worker
/// and leave both there for tens of milliseconds or for good, with a core idle beside them: each of them waits so often for
/// the other that neither looks busy.
pub(crate) struct Spread {
    /// A core's number and 1; 0 of a worker that was not seen.
    seen_on: Box<[AtomicUsize]>,
}

/// When a worker may move again: where it comes back to a shared core, it is tried less and less often.
pub(crate) struct Moves {
    next: Option<Instant>,
    patience: Duration,
}

/// How soon a worker moves again.
const SOON: Duration = Duration::from_millis(1);
/// The longest time between two moves, where it is of no use.
const SELDOM: Duration = Duration::from_secs(2);

impl Moves {
    pub(crate) fn new() -> Self {
        Moves { next: None, patience: SOON }
    }

    fn due(&mut self, now: Instant) -> bool {
        if self.next.is_some_and(|next| now < next) {
            return false;
        }
        self.next = Some(now + self.patience);
        self.patience = (self.patience * 2).min(SELDOM);
        true
    }
}

impl Spread {
    /// Of at most so many workers.
    pub(crate) fn new(most: usize) -> Self {
        Spread { seen_on: (0..most).map(|_| AtomicUsize::new(0)).collect() }
    }

    /// Sees where the calling thread is, which is this worker's, and moves it to another core if one of those before it was
    /// seen there. The thread may run afterwards where it might before.
    pub(crate) fn look(&self, worker: usize, moves: &mut Moves, now: Instant) {
        let Some(core) = system::core() else { return };
        if self.shares(worker, core) && moves.due(now) {
            let taken = self.seen_on.iter().filter_map(|seen| seen.load(Ordering::Relaxed).checked_sub(1));
            system::leave(core, taken);
        }
    }

    /// This worker is on that core; whether one of those before it was seen there.
    fn shares(&self, worker: usize, core: usize) -> bool {
        let on = |seen: &AtomicUsize| seen.load(Ordering::Relaxed) == core + 1;
        let Some((this, before)) = self.seen_on.get(..=worker).and_then(|seen| seen.split_last()) else { return false };
        if !on(this) {
            this.store(core + 1, Ordering::Relaxed);
        }
        before.iter().any(on)
    }
}

#[cfg(target_os = "linux")]
mod system {
    use rustix::thread::{sched_getaffinity, sched_getcpu, sched_setaffinity};

    /// The core that the calling thread is on.
    pub(super) fn core() -> Option<usize> {
        Some(sched_getcpu())
    }

    /// Moves the calling thread to another core, if it may run on one: one that is not taken, if there is one. What the
    /// system refuses stays as it is.
    pub(super) fn leave(core: usize, taken: impl Iterator<Item = usize>) {
        let Ok(allowed) = sched_getaffinity(None) else { return };
        let without = |cores: &mut dyn Iterator<Item = usize>| {
            let mut others = allowed;
            cores.for_each(|core| others.unset(core));
            (others.count() > 0).then_some(others)
        };
        let free = without(&mut taken.chain([core]));
        let Some(others) = free.or_else(|| without(&mut [core].into_iter())) else { return };
        if sched_setaffinity(None, &others).is_ok() {
            let _ = sched_setaffinity(None, &allowed);
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod system {
    pub(super) fn core() -> Option<usize> {
        None
    }

    pub(super) fn leave(_: usize, _: impl Iterator<Item = usize>) {}
}

#[cfg(test)]
mod tests {
    use super::{Moves, SELDOM, SOON, Spread};
    use std::time::Instant;

    #[test]
    fn of_two_on_a_core_the_later_one_has_to_go() {
        let spread = Spread::new(3);
        assert!(!spread.shares(2, 0), "nobody else was seen");
        assert!(!spread.shares(0, 0), "nobody is before it");
        assert!(spread.shares(2, 0) && !spread.shares(2, 1));
        assert!(!spread.shares(1, 2));
        assert!(spread.shares(2, 2) && !spread.shares(2, 1));
        assert!(!spread.shares(7, 0), "more workers than were said");
    }

    #[test]
    fn what_is_of_no_use_is_done_less_and_less_often() {
        let (mut moves, start) = (Moves::new(), Instant::now());
        assert!(moves.due(start) && !moves.due(start));
        assert!(moves.due(start + SOON) && !moves.due(start + SOON * 2) && moves.due(start + SOON * 3));
        let mut now = start;
        for _ in 0..100 {
            now += SELDOM;
            assert!(moves.due(now));
        }
        assert!(!moves.due(now + SELDOM / 2));
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn who_leaves_a_core_is_elsewhere_and_may_come_back() {
        use rustix::thread::sched_getaffinity;
        let allowed = sched_getaffinity(None).unwrap();
        // Whoever is moved may be moved again before it looks.
        let left = (0..100).any(|_| {
            let core = super::system::core().unwrap();
            super::system::leave(core, std::iter::empty());
            assert_eq!(sched_getaffinity(None).unwrap(), allowed);
            super::system::core().unwrap() != core
        });
        assert_eq!(left, allowed.count() > 1);
    }
}
