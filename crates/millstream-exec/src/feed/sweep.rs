use super::{Line, Output};
use crate::task_probe::TaskProbe;
use crate::tasklet::{Progress, Tasklet};
use millstream_core::Item;
use millstream_ring::Sweeper;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, TryLockError};

/// Drops released values, on one thread at a time. No thread waits for another one to do so.
pub(super) struct Sweeping<T: Item> {
    sweeper: Mutex<Sweeper<T>>,
    /// Whether a thread has found a sweep in progress, which may have begun too early for what that thread needs.
    missed: AtomicBool,
}

impl<T: Item> Sweeping<T> {
    pub(super) fn new(sweeper: Sweeper<T>) -> Self {
        Sweeping { sweeper: Mutex::new(sweeper), missed: AtomicBool::new(false) }
    }

    /// The sweeper, unless a sweep is in progress. The thread that sweeps looks for the note once it has unlocked: it
    /// finds it, or the second try finds the lock free.
    fn take(&self) -> Option<MutexGuard<'_, Sweeper<T>>> {
        self.try_lock().or_else(|| {
            self.missed.swap(true, Ordering::AcqRel);
            self.try_lock()
        })
    }

    fn try_lock(&self) -> Option<MutexGuard<'_, Sweeper<T>>> {
        match self.sweeper.try_lock() {
            Ok(sweeper) => Some(sweeper),
            Err(TryLockError::Poisoned(sweeper)) => Some(sweeper.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        }
    }
}

impl<T: Item> Output<T> {
    /// Drops released values, unless a sweep is in progress: perhaps on this thread, in the drop of a value. Returns
    /// whether it made room. Wakes those that may have missed that.
    pub(super) fn sweep(&self) -> bool {
        let Some(sweeping) = self.sweeping.get() else { return false };
        let Some(mut sweeper) = sweeping.take() else { return false };
        let swept = catch_unwind(AssertUnwindSafe(|| sweeper.sweep()));
        drop(sweeper);
        let missed = sweeping.missed.swap(false, Ordering::AcqRel);
        let swept = swept.unwrap_or_else(|payload| {
            self.shared.fail("source", None, payload);
            true
        });
        if swept || missed {
            self.shared.signal.notify_progress();
        }
        swept
    }

    /// Whether END is published, and all values are dropped.
    fn is_swept(&self) -> bool {
        matches!(&*self.lock(), Line::Ring(ring, ..) if ring.producer.is_swept())
    }
}

/// Drops values that the readers of a source's ring have released.
pub(crate) struct SweepTasklet<T: Item>(pub(crate) Output<T>);

impl<T: Item> Tasklet for SweepTasklet<T> {
    fn step(&mut self, _: usize) -> Progress {
        self.0.sweep();
        // Taking the lock of the senders at each step before END would hold them up.
        if self.0.shared.source_has_ended() && self.0.is_swept() { Progress::DONE } else { Progress::NONE }
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

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::Sender;
    use crate::external_source::ExternalSource;
    use crate::shared::Shared;
    use crate::source_ring::{SourceFork, SourceRing};
    use millstream_core::Dense;
    use millstream_ring::ring;
    use millstream_testkit::within;
    use std::future::Future;
    use std::pin::pin;
    use std::sync::{Arc, Barrier};
    use std::task::{Context, Wake, Waker};
    use std::time::Duration;

    /// A value whose drop, if it has a barrier, says that it has begun, and waits.
    struct Slow(Option<Arc<Barrier>>);

    impl Drop for Slow {
        fn drop(&mut self) {
            self.0.iter().for_each(|there| (0..2).for_each(|_| _ = there.wait()));
        }
    }

    #[derive(Default)]
    struct Woken(AtomicBool);

    impl Wake for Woken {
        fn wake(self: Arc<Self>) {
            self.0.store(true, Ordering::SeqCst);
        }
    }

    #[test]
    fn a_look_at_the_room_wakes_those_that_found_its_sweep_in_progress() {
        within(Duration::from_secs(60), || {
            let (producer, mut reader) = ring::<Slow, Dense>(1).unwrap();
            let shared = Arc::new(Shared::early());
            let output = Output::new(SourceRing::new(producer, SourceFork::new()), shared.clone());
            output.begin();
            let (sender, there) = (Sender::new(output, shared), Arc::new(Barrier::new(2)));
            assert!(sender.try_send(Slow(Some(there.clone()))).is_ok());
            drop(reader.batch(1));
            let woken = Arc::new(Woken::default());
            let waker = Waker::from(woken.clone());
            let mut sends = pin!(sender.send_async(Slow(None)));
            let mut poll = || sends.as_mut().poll(&mut Context::from_waker(&waker));
            std::thread::scope(|scope| {
                let looks = scope.spawn(|| sender.free());
                there.wait();
                assert!(poll().is_pending(), "the value is being dropped");
                there.wait();
                assert_eq!(looks.join().unwrap(), 1);
            });
            assert!(woken.0.load(Ordering::SeqCst));
            assert!(poll().is_ready());
        })
        .unwrap();
    }
}
