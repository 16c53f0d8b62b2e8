//! How parked threads wake: an event count.

use crate::sync::{AtomicUsize, Condvar, Mutex, Ordering, fence};
use std::sync::PoisonError;
use std::time::{Duration, Instant};

/// Wakes whoever waits when something has happened, and costs next to nothing while nobody waits.
///
/// A waiter announces itself, looks once more whether there is something to do, and only then parks; a notifier makes
/// its change visible, and only then looks whether somebody has announced himself. One of the two sees the other, so
/// no wake-up is lost.
///
/// ```
/// let signal = millstream_exec::Signal::new();
/// let ticket = signal.announce();
/// signal.notify(); // something happens between the last look and the park
/// signal.park(ticket); // returns at once
/// ```
#[derive(Debug)]
pub struct Signal {
    waiting: AtomicUsize,
    events: Mutex<u64>,
    woken: Condvar,
}

/// What [`Signal::announce`] gives and [`Signal::park`] takes.
#[derive(Debug)]
#[must_use = "an announced waiter parks or withdraws"]
pub struct Ticket(u64);

impl Default for Signal {
    fn default() -> Self {
        Self::new()
    }
}

impl Signal {
    /// A signal that nobody waits for.
    #[must_use]
    pub fn new() -> Self {
        Signal { waiting: AtomicUsize::new(0), events: Mutex::new(0), woken: Condvar::new() }
    }

    /// Announces a waiter, who must now look once more whether there is something to do.
    pub fn announce(&self) -> Ticket {
        self.waiting.fetch_add(1, Ordering::SeqCst);
        let ticket = Ticket(*self.events.lock().unwrap_or_else(PoisonError::into_inner));
        // Orders the announcement before the look that follows; pairs with the fence in `notify`.
        fence(Ordering::SeqCst);
        ticket
    }

    /// Takes an announcement back: there was something to do.
    pub fn withdraw(&self, _: Ticket) {
        self.waiting.fetch_sub(1, Ordering::SeqCst);
    }

    /// Parks until something has happened since the announcement.
    pub fn park(&self, ticket: Ticket) {
        let mut events = self.events.lock().unwrap_or_else(PoisonError::into_inner);
        while *events == ticket.0 {
            events = self.woken.wait(events).unwrap_or_else(PoisonError::into_inner);
        }
        drop(events);
        self.withdraw(ticket);
    }

    /// As [`park`](Signal::park), but for so long at most.
    pub fn park_timeout(&self, ticket: Ticket, most: Duration) {
        let Some(deadline) = Instant::now().checked_add(most) else { return self.park(ticket) };
        let mut events = self.events.lock().unwrap_or_else(PoisonError::into_inner);
        while *events == ticket.0 {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            events = self.woken.wait_timeout(events, left).unwrap_or_else(PoisonError::into_inner).0;
        }
        drop(events);
        self.withdraw(ticket);
    }

    /// Says that something has happened that was made visible before: wakes everybody who waits.
    #[inline]
    pub fn notify(&self) {
        // Orders what the caller published before the look at the waiters; pairs with the fence in `announce`.
        fence(Ordering::SeqCst);
        if self.waiting.load(Ordering::SeqCst) > 0 {
            self.wake_all();
        }
    }

    /// As [`notify`](Signal::notify), but it may overlook somebody who is just announcing himself: for waking early
    /// those who wait already. `notify` has to follow.
    #[inline]
    pub fn notify_early(&self) {
        if self.waiting.load(Ordering::Relaxed) > 0 {
            self.wake_all();
        }
    }

    #[cold]
    fn wake_all(&self) {
        *self.events.lock().unwrap_or_else(PoisonError::into_inner) += 1;
        self.woken.notify_all();
    }
}
