//! How a source waits for a time, on a thread that has to end with the run.

use crate::Signal;
use crate::shared::Shared;
use std::cell::Cell;
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

/// A channel whose receiver is in a source. See [`Source::channels`](crate::Source::channels).
#[doc(hidden)]
pub struct Channel(pub(crate) Arc<Shared>);

impl fmt::Debug for Channel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Channel").finish_non_exhaustive()
    }
}

/// Wakes a thread that takes values from a source, if the source waits for more than its next value. It ends when the
/// run takes no more values.
#[derive(Default)]
pub(crate) struct Waits {
    signal: Signal,
    ended: AtomicBool,
    /// The states of channels for whose values the source waits, by their own signals.
    channels: Mutex<Vec<Weak<Shared>>>,
    /// The channels that are in the source, whether it waits for their values or for others.
    within: Mutex<Vec<Channel>>,
    /// If the source has a thread of its own, those of the source that takes its values.
    taker: Option<Arc<Waits>>,
}

thread_local! {
    /// That of the run whose source this thread is in, if any.
    static OF_THREAD: Cell<Option<Arc<Waits>>> = const { Cell::new(None) };
}

impl Waits {
    /// That of the run whose source this thread is in. Without a run that could end meanwhile, a new one.
    pub(crate) fn of_thread() -> Arc<Self> {
        let found = OF_THREAD.take().unwrap_or_default();
        OF_THREAD.set(Some(found.clone()));
        found
    }

    /// Those of a source on a thread of its own, whose values the source of these takes.
    pub(crate) fn ahead(self: &Arc<Self>) -> Arc<Self> {
        Arc::new(Waits { taker: Some(self.clone()), ..Waits::default() })
    }

    /// Whether this thread is in the source of these, or in one that is ahead of it.
    pub(crate) fn are_here(&self) -> bool {
        let found = OF_THREAD.try_with(|of| {
            let found = of.take();
            of.set(found.clone());
            found
        });
        // A thread that exits is in no source.
        let mut next = found.unwrap_or_default();
        while let Some(waits) = next {
            if std::ptr::eq(&*waits, self) {
                return true;
            }
            next = waits.taker.clone();
        }
        false
    }

    /// Ends all waiting, now and later. The source's thread may wait for something else, and keep the receivers of
    /// channels; so their senders learn here that they can send no more.
    pub(crate) fn end(&self) {
        self.ended.store(true, Ordering::Relaxed);
        self.signal.notify();
        let channels = std::mem::take(&mut *self.channels());
        channels.iter().filter_map(Weak::upgrade).for_each(|channel| channel.wake());
        self.stop_within();
    }

    /// At the end these channels stop, as they do when their receivers are dropped; at once if it has been.
    pub(crate) fn stop_at_end(&self, channels: Vec<Channel>) {
        self.within().extend(channels);
        if self.ended() {
            self.stop_within();
        }
    }

    fn stop_within(&self) {
        let channels = std::mem::take(&mut *self.within());
        channels.iter().for_each(|Channel(channel)| channel.stop());
    }

    fn within(&self) -> MutexGuard<'_, Vec<Channel>> {
        self.within.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// From now on the end wakes also a thread that waits by the signal of this channel. If it has ended before, that
    /// thread sees it as soon as it looks.
    fn wake_at_end(&self, channel: &Arc<Shared>) {
        let mut channels = self.channels();
        channels.retain(|known| known.strong_count() > 0);
        channels.push(Arc::downgrade(channel));
    }

    fn channels(&self) -> MutexGuard<'_, Vec<Weak<Shared>>> {
        self.channels.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn ended(&self) -> bool {
        self.ended.load(Ordering::Relaxed)
    }

    /// Wakes the thread after the caller made a change visible.
    pub(crate) fn notify(&self) {
        self.signal.notify();
    }

    /// Waits until `ready` returns a value. It looks again when notified, and at the time that `ready` names, if it
    /// names one. None once this has ended.
    pub(crate) fn until<R>(&self, mut ready: impl FnMut() -> Result<R, Option<Instant>>) -> Option<R> {
        let mut next = if self.ended() { return None } else { ready() };
        loop {
            if let Ok(found) = next {
                return Some(found);
            }
            let ticket = self.signal.announce();
            next = ready();
            match &next {
                _ if self.ended() => {
                    self.signal.withdraw(ticket);
                    return None;
                }
                Ok(_) => self.signal.withdraw(ticket),
                Err(None) => self.signal.park(ticket),
                Err(Some(then)) => self.signal.park_timeout(ticket, then.saturating_duration_since(Instant::now())),
            }
        }
    }

    /// Waits until this much time has gone by since `start`. Returns false if this has ended before.
    pub(crate) fn sleep(&self, start: Instant, time: Duration) -> bool {
        let over = || if start.elapsed() >= time { Ok(()) } else { Err(start.checked_add(time)) };
        self.until(over).is_some()
    }
}

impl fmt::Debug for Waits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Waits").field("ended", &self.ended).finish_non_exhaustive()
    }
}

/// How a thread that waits for the values of a channel, in the source of a run that takes other values as well, ends
/// with that run: neither what is sent nor the end of the sending wakes it, while the other values' senders wait.
#[derive(Debug, Default)]
pub(crate) struct EndsWithRun(Option<Arc<Waits>>);

impl EndsWithRun {
    /// Those of the run whose source this thread is in. Their end wakes whatever waits by the signal of this channel.
    pub(crate) fn of_thread(&mut self, channel: &Arc<Shared>) -> Arc<Waits> {
        let waits = Waits::of_thread();
        if !self.0.as_ref().is_some_and(|known| Arc::ptr_eq(known, &waits)) {
            waits.wake_at_end(channel);
            self.0 = Some(waits.clone());
        }
        waits
    }
}

/// Says of the present thread that it is in a source, or in none, until this is dropped; also if user code panics.
#[derive(Debug)]
pub(crate) struct InSource {
    before: Option<Arc<Waits>>,
}

impl InSource {
    /// The thread takes values from the source of a run, which waits by these.
    pub(crate) fn of(waits: &Arc<Waits>) -> Self {
        InSource { before: OF_THREAD.replace(Some(waits.clone())) }
    }

    /// The thread runs stages, and maybe sources of other runs in them, whose waits do not end with this run's source.
    pub(crate) fn none() -> Self {
        InSource { before: OF_THREAD.take() }
    }
}

impl Drop for InSource {
    fn drop(&mut self) {
        OF_THREAD.set(self.before.take());
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_sleep_without_an_end_ends_with_the_waits() {
        let waits = Arc::new(Waits::default());
        let sleeper = {
            let waits = waits.clone();
            std::thread::spawn(move || waits.sleep(Instant::now(), Duration::MAX))
        };
        waits.end();
        assert!(!sleeper.join().unwrap());
        assert!(!waits.sleep(Instant::now(), Duration::MAX), "nor does it begin afterwards");
    }

    #[test]
    fn a_thread_is_in_a_source_as_long_as_it_says_so() {
        let (outer, inner) = (Arc::new(Waits::default()), Arc::new(Waits::default()));
        let here = |waits: &Arc<Waits>| Arc::ptr_eq(&Waits::of_thread(), waits);
        let in_outer = InSource::of(&outer);
        {
            let _stages = InSource::none();
            assert!(!here(&outer));
            let _nested = InSource::of(&inner);
            assert!(here(&inner));
        }
        assert!(here(&outer));
        let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            let _nested = InSource::of(&inner);
            panic!("of the source");
        }));
        assert!(panicked.is_err() && here(&outer));
        drop(in_outer);
        assert!(!here(&outer));
    }
}
