//! The source of a run on queues: a thread that puts its values into the first queue.

use super::control::{Activity, Control};
use super::message::{At, Outlet};
use super::wiring::Work;
use crate::external_source::{Accepted, ExternalSource};
use crate::shared::FailedAt;
use crate::source::{Channel, Closer, InSource, Waits};
use millstream_core::Item;
use millstream_core::failure::{caught, discard};
use std::sync::atomic::{AtomicU64, Ordering, fence};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};

/// A source that never waits: it checks by itself whether the run takes more values.
pub(crate) struct Ready<T, I> {
    pub(crate) values: I,
    pub(crate) outlet: Outlet<T>,
    pub(crate) control: Arc<Control>,
}

impl<T: Item, I: Iterator<Item = T> + Send> Work for Ready<T, I> {
    fn run(&mut self, activity: &Activity) {
        let mut number = 0;
        while !activity.stopped() {
            activity.works_on(number);
            let value = if self.control.draining() { None } else { self.values.next() };
            let end = value.is_none();
            let put = self.outlet.put(At { number, end }, value);
            if put && end {
                self.control.note_end();
            }
            if !put || end {
                break;
            }
            number += 1;
        }
        activity.rests();
    }

    fn left(&self) -> usize {
        0
    }
}

/// The first queue of a source that may wait for its next value, perhaps for ever. Draining, stopping or cancelling
/// closes the queue without waiting for the source; but draining lets a source with senders yield the values that were
/// sent.
pub(crate) struct Tap<T> {
    outlet: Mutex<Option<Outlet<T>>>,
    accepted: AtomicU64,
    control: Arc<Control>,
    /// Closes the senders of the source, if it has any.
    closer: Option<Closer>,
    /// How the source's thread waits for a time.
    waits: Arc<Waits>,
}

impl<T: Item> Tap<T> {
    /// Of a source with this [closer](crate::Source::closer) and with these [channels](crate::Source::channels).
    pub(crate) fn new(
        outlet: Outlet<T>,
        control: Arc<Control>,
        (closer, channels): (Option<Closer>, Vec<Channel>),
    ) -> Arc<Self> {
        let (outlet, accepted, waits) = (Mutex::new(Some(outlet)), AtomicU64::new(0), Arc::<Waits>::default());
        waits.stop_at_end(channels);
        Arc::new(Tap { outlet, accepted, control, closer, waits })
    }

    /// Whether the run takes the source's next value.
    fn takes(&self) -> bool {
        self.control.wants() && (self.closer.is_some() || !self.control.draining())
    }

    fn lock(&self) -> MutexGuard<'_, Option<Outlet<T>>> {
        self.outlet.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Drops the outlet: a queue without a writer has ended, which counts as END.
    fn cut(&self, outlet: &mut Option<Outlet<T>>) {
        if outlet.take().is_some() {
            self.accepted.fetch_add(1, Ordering::Relaxed);
            self.control.note_end();
        }
    }

    /// Puts a value. Returns false if the run takes no more.
    fn put(&self, number: u64, value: Option<T>) -> bool {
        let at = At { number, end: value.is_none() };
        let mut outlet = self.lock();
        let put = outlet.as_ref().is_some_and(|outlet| outlet.put(at, value));
        self.accepted.fetch_add(u64::from(put), Ordering::Relaxed);
        if put && at.end {
            self.control.note_end();
        }
        if at.end {
            *outlet = None;
        }
        drop(outlet);
        fence(Ordering::SeqCst);
        put && !at.end && self.takes()
    }

    /// Starts the source's thread. The thread is not joined: its iterator may never return.
    pub(crate) fn feed(self: Arc<Self>, values: impl Iterator<Item = T> + Send + 'static) -> std::io::Result<()> {
        let builder = std::thread::Builder::new().name("millstream-source".to_owned());
        builder.spawn(move || self.feed_all(values)).map(drop)
    }

    fn feed_all(&self, mut values: impl Iterator<Item = T>) {
        let mut number = 0;
        let outcome = caught(|| {
            let _in_source = InSource::of(&self.waits);
            while self.put(number, values.next()) {
                number += 1;
            }
        });
        let mut outlet = self.lock();
        let ended = outlet.is_none();
        self.accepted.fetch_add(u64::from(!ended), Ordering::Relaxed);
        self.control.note_end();
        // The reader must not take a failure for the end of the stream: the outlet stays open until the failure is
        // recorded.
        let kept_open = outlet.take();
        drop(outlet);
        match outcome {
            // A panic after the end, or after the run was stopped, is not part of the run.
            Err(payload) if ended || self.control.stopped() => discard(payload),
            Err(payload) => self.control.fail(FailedAt::source(Some(number)), "source", Some(number), payload),
            Ok(()) => {}
        }
        drop(kept_open);
    }
}

impl<T: Item> ExternalSource for Tap<T> {
    /// Ends the stream once the run takes no further values, without waiting: if the source is just putting a value,
    /// its thread does this afterwards.
    fn end(&self) {
        // This comes after the store of the flags and before the try_lock; the source unlocks and then loads the flags.
        // With a fence on both sides, one of the two sees the other's change.
        fence(Ordering::SeqCst);
        self.waits.end();
        match self.outlet.try_lock() {
            Ok(mut outlet) => self.cut(&mut outlet),
            Err(TryLockError::Poisoned(outlet)) => self.cut(&mut outlet.into_inner()),
            Err(TryLockError::WouldBlock) => {}
        }
    }

    fn drain(&self) {
        let Some(closer) = &self.closer else { return self.end() };
        closer.close();
        if closer.senders.accepted().is_some() {
            self.control.note_end();
        }
    }

    fn is_here(&self) -> bool {
        self.waits.are_here()
    }

    /// Includes the values that wait at the senders, if they count them: a drain has to take those, too.
    fn accepted(&self) -> Option<Accepted> {
        let drained = self.closer.as_ref().filter(|_| self.control.draining());
        let sent = drained.and_then(|closer| closer.senders.accepted());
        Some(sent.unwrap_or_else(|| Accepted { published: self.accepted.load(Ordering::Relaxed), waiting: 0 }))
    }
}
