//! How parked threads and pending futures wake: all threads of a run share one event count.
//!
//! A worker notifies once per round in which something moved and not once per publish, so the cost is one fence per
//! round. Within the round it wakes those that already wait, without a fence (`notify_early`). Threads that are of use
//! only in a certain state of a ring wait for a condition, which the worker evaluates (`signal/conditional.rs`).
//!
//! A future that waits for a run (`Sender::send_async`, `Through::stream`) uses the same event count, with its waker in
//! place of a thread. So it needs no runtime, and a future that is dropped takes its announcement back.

mod conditional;

use crate::sync::{AtomicUsize, Condvar, Mutex, MutexGuard, Ordering, fence};
use conditional::Conditional;
use millstream_core::failure::{caught, discard};
use std::sync::{Arc, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

/// What a thread waits for: see [`Signal::park_until`].
pub type Condition = Arc<dyn Fn() -> bool + Send + Sync>;

/// Wakes waiting threads and futures when something has happened, and costs next to nothing while there are none.
///
/// A waiter announces itself, checks once more whether there is something to do, and only then parks. A notifier makes
/// its change visible, and only then checks whether a waiter has announced itself. One of the two sees the other, so no
/// wake-up is lost. A future waits in the same way, with its waker in the place of a thread.
///
/// ```
/// let signal = millstream::exec::Signal::new();
/// let ticket = signal.announce();
/// signal.notify(); // something happens between the last look and the park
/// signal.park(ticket); // returns at once
/// ```
#[derive(Debug)]
pub struct Signal {
    /// Threads that have announced themselves, and wakers, without those that were woken.
    waiting: AtomicUsize,
    events: Mutex<Events>,
    woken: Condvar,
    conditional: Conditional,
}

#[derive(Debug, Default)]
struct Events {
    count: u64,
    /// The threads that have announced themselves since the last event.
    announced: usize,
    wakers: Vec<(u64, Waker)>,
    /// The number of the next waker.
    next: u64,
}

/// Returned by [`Signal::announce`] and consumed by [`Signal::park`] or [`Signal::withdraw`].
#[derive(Debug)]
#[must_use = "an announced waiter parks or withdraws"]
pub struct Ticket(u64);

/// A future's place among the waiters of a [`Signal`]. A future that is dropped must [leave](Signal::leave).
#[derive(Debug, Default)]
pub struct WakerSlot(Option<u64>);

/// Takes a thread's announcement back when it is dropped, unless an event has done so.
struct Announced<'a>(&'a Signal, u64);

impl Drop for Announced<'_> {
    fn drop(&mut self) {
        let mut events = self.0.lock();
        if events.count == self.1 {
            events.announced -= 1;
            drop(events);
            self.0.waiting.fetch_sub(1, Ordering::SeqCst);
        }
    }
}

/// Takes a future's announcement back when it is dropped.
struct AnnouncedFuture<'a>(&'a Signal);

impl Drop for AnnouncedFuture<'_> {
    fn drop(&mut self) {
        self.0.waiting.fetch_sub(1, Ordering::SeqCst);
    }
}

impl Default for Signal {
    fn default() -> Self {
        Self::new()
    }
}

impl Signal {
    /// A signal without waiters.
    #[must_use]
    pub fn new() -> Self {
        Signal {
            waiting: AtomicUsize::new(0),
            events: Mutex::new(Events::default()),
            woken: Condvar::new(),
            conditional: Conditional::new(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Events> {
        self.events.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Announces a waiter, which must then check once more whether there is something to do.
    pub fn announce(&self) -> Ticket {
        self.waiting.fetch_add(1, Ordering::SeqCst);
        let ticket = {
            let mut events = self.lock();
            events.announced += 1;
            Ticket(events.count)
        };
        // Orders the announcement before the check that follows; pairs with the fence in `notify`.
        fence(Ordering::SeqCst);
        ticket
    }

    /// Withdraws an announcement: there was something to do.
    pub fn withdraw(&self, ticket: Ticket) {
        drop(Announced(self, ticket.0));
    }

    /// Parks until something has happened since the announcement.
    pub fn park(&self, ticket: Ticket) {
        let mut events = self.lock();
        while events.count == ticket.0 {
            events = self.woken.wait(events).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// As [`park`](Signal::park), for at most `most`.
    pub fn park_timeout(&self, ticket: Ticket, most: Duration) {
        let Some(deadline) = Instant::now().checked_add(most) else { return self.park(ticket) };
        let mut events = self.lock();
        while events.count == ticket.0 {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            events = self.woken.wait_timeout(events, left).unwrap_or_else(PoisonError::into_inner).0;
        }
        drop(events);
        self.withdraw(ticket);
    }

    /// Returns the value of `ready`, or none after a notification. A panic in `ready` withdraws the announcement.
    pub fn park_unless<R>(&self, ready: impl FnOnce() -> Option<R>) -> Option<R> {
        let ticket = self.announce();
        let announced = Announced(self, ticket.0);
        let found = ready();
        // Either way the ticket is consumed once.
        std::mem::forget(announced);
        match found {
            None => self.park(ticket),
            Some(_) => self.withdraw(ticket),
        }
        found
    }

    /// As [`park_unless`](Signal::park_unless). Of [`notify_progress`](Signal::notify_progress) it wakes only if
    /// `condition` is met then.
    ///
    /// The notifiers call `condition`, which must therefore be short, and must neither block nor notify. A thread that
    /// looked by itself at each notification would cost two context switches each time.
    pub fn park_until<R>(&self, condition: &Condition, ready: impl FnOnce() -> Option<R>) -> Option<R> {
        let announced = self.conditional.announce(condition);
        let found = ready();
        if found.is_none() {
            announced.park();
        }
        found
    }

    /// Returns the value of `ready`; if it has none, the future is woken by the next notification.
    pub fn poll<R>(
        &self,
        place: &mut WakerSlot,
        cx: &mut Context<'_>,
        mut ready: impl FnMut() -> Option<R>,
    ) -> Poll<R> {
        let mut found = ready();
        if found.is_none() && self.enter(place, cx.waker()) {
            found = ready();
        }
        if found.is_some() {
            self.leave(place);
        }
        found.map_or(Poll::Pending, Poll::Ready)
    }

    /// Announces a future, unless it is announced already. Returns true if the future must check once more whether
    /// there is something to do.
    fn enter(&self, place: &mut WakerSlot, waker: &Waker) -> bool {
        // Counted before it is in the list: a notifier that does not see the count has made its change visible to the
        // check that follows.
        self.waiting.fetch_add(1, Ordering::SeqCst);
        let announced = AnnouncedFuture(self);
        // This is the executor's code, which must not find the lock held.
        let waker = waker.clone();
        let mut events = self.lock();
        if let Some((_, known)) = place.0.and_then(|place| events.wakers.iter_mut().find(|(id, _)| *id == place)) {
            let before = std::mem::replace(known, waker);
            drop(events);
            // As above.
            drop(before);
            return false;
        }
        let id = events.next;
        events.next += 1;
        events.wakers.push((id, waker));
        drop(events);
        std::mem::forget(announced);
        place.0 = Some(id);
        // As in `announce`.
        fence(Ordering::SeqCst);
        true
    }

    /// Withdraws a future's announcement.
    pub fn leave(&self, place: &mut WakerSlot) {
        let Some(place) = place.0.take() else { return };
        let mut events = self.lock();
        if let Some(at) = events.wakers.iter().position(|(id, _)| *id == place) {
            let waker = events.wakers.swap_remove(at);
            drop(events);
            self.waiting.fetch_sub(1, Ordering::SeqCst);
            // As in `enter`.
            drop(waker);
        }
    }

    /// Wakes all waiters after the caller made a change visible. A waker that panics is skipped.
    #[inline]
    pub fn notify(&self) {
        // Orders the caller's change before the check for waiters; pairs with the fence in `announce`.
        fence(Ordering::SeqCst);
        if self.waiting.load(Ordering::SeqCst) > 0 {
            self.wake_all();
        }
        self.conditional.notify(Ordering::SeqCst, true);
    }

    /// As [`notify`](Signal::notify), if no more has happened than that numbers were published or released: threads
    /// that wait for a [condition](Signal::park_until) are woken only if it is met.
    #[inline]
    pub fn notify_progress(&self) {
        // As in `notify`.
        fence(Ordering::SeqCst);
        if self.waiting.load(Ordering::SeqCst) > 0 {
            self.wake_all();
        }
        self.conditional.notify(Ordering::SeqCst, false);
    }

    /// As [`notify_progress`](Signal::notify_progress), but it may miss a waiter that is just announcing itself. It
    /// wakes existing waiters early; `notify_progress` must follow.
    #[inline]
    pub fn notify_early(&self) {
        if self.waiting.load(Ordering::Relaxed) > 0 {
            self.wake_all();
        }
        self.conditional.notify(Ordering::Relaxed, false);
    }

    #[cold]
    fn wake_all(&self) {
        let mut events = self.lock();
        events.count += 1;
        // A thread that is woken looks again before it parks, also if it does not run for some time. Until it announces
        // itself again, no notifier has to call the system for it.
        let threads = std::mem::take(&mut events.announced);
        let wakers = std::mem::take(&mut events.wakers);
        drop(events);
        if threads > 0 {
            self.woken.notify_all();
        }
        self.waiting.fetch_sub(threads + wakers.len(), Ordering::SeqCst);
        // Without the lock: a waker may run the future at once. If one panics, the others are still woken.
        for (_, waker) in wakers {
            caught(|| waker.wake()).unwrap_or_else(discard);
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

    fn waiting(signal: &Signal) -> usize {
        signal.waiting.load(Ordering::SeqCst)
    }

    #[test]
    fn a_panic_in_ready_leaves_no_waiter() {
        let signal = Signal::new();
        let looked =
            catch_unwind(AssertUnwindSafe(|| signal.park_unless(|| -> Option<()> { resume_unwind(Box::new(())) })));
        assert!(looked.is_err());
        assert_eq!(signal.park_unless(|| Some(7)), Some(7));
        assert_eq!(waiting(&signal), 0);
    }

    #[test]
    fn a_woken_thread_is_no_waiter_even_before_it_runs() {
        let signal = Signal::new();
        let (woken, waits) = (signal.announce(), signal.announce());
        assert_eq!(waiting(&signal), 2);
        signal.notify();
        assert_eq!(waiting(&signal), 0);
        let later = signal.announce();
        signal.park(woken);
        signal.withdraw(waits);
        assert_eq!(waiting(&signal), 1);
        signal.park_timeout(later, Duration::from_millis(1));
        assert_eq!(waiting(&signal), 0);
        let last = signal.announce();
        signal.notify();
        assert_eq!(waiting(&signal), 0, "each event counts out those that it wakes, and no others");
        signal.park(last);
    }

    #[test]
    fn progress_wakes_a_thread_when_its_condition_is_met() {
        let signal = Arc::new(Signal::new());
        let [met, looked] = [(); 2].map(|()| Arc::new(AtomicUsize::new(0)));
        let waiter = {
            let (signal, met, looked) = (signal.clone(), met.clone(), looked.clone());
            std::thread::spawn(move || {
                let condition: Condition = Arc::new(move || met.load(Ordering::SeqCst) > 0);
                signal.park_until(&condition, || {
                    looked.fetch_add(1, Ordering::SeqCst);
                    None::<()>
                })
            })
        };
        while looked.load(Ordering::SeqCst) == 0 {
            std::thread::yield_now();
        }
        for _ in 0..1000 {
            signal.notify_early();
            signal.notify_progress();
        }
        assert!(!waiter.is_finished());
        met.store(1, Ordering::SeqCst);
        signal.notify_progress();
        assert_eq!(waiter.join().unwrap(), None);
        assert_eq!(looked.load(Ordering::SeqCst), 1);
    }

    #[test]
    fn a_future_is_counted_once_until_it_is_woken_or_leaves() {
        let (signal, mut place) = (Signal::new(), WakerSlot::default());
        let poll = |place: &mut WakerSlot, ready: Option<()>| {
            signal.poll(place, &mut Context::from_waker(Waker::noop()), || ready)
        };
        for _ in 0..3 {
            assert!(poll(&mut place, None).is_pending());
            assert_eq!(waiting(&signal), 1);
        }
        signal.notify();
        assert_eq!(waiting(&signal), 0);
        assert!(poll(&mut place, None).is_pending());
        assert!(poll(&mut place, Some(())).is_ready());
        assert_eq!(waiting(&signal), 0);
        assert!(poll(&mut place, None).is_pending());
        signal.leave(&mut place);
        signal.leave(&mut place);
        assert_eq!(waiting(&signal), 0);
        assert!(signal.lock().wakers.is_empty());
    }
}
