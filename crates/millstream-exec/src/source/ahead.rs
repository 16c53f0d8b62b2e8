//! A source on a thread of its own, for a taker that looks at a clock while it waits for a value.
//!
//! The thread asks the source and puts what comes into a [`Line`], which the taker reads. Both look at the clock under
//! the line's lock, so the line sees times that never decrease, and what it decides is a function of the times at which
//! it was called: a state machine without threads or clocks.

use super::Channel;
use super::waits::{InSource, Waits};
use crate::shared::Payload;
use millstream_core::failure::{discard, fail};
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

/// The values between the thread of a source and their taker, and the rule by which they pass.
pub(super) trait Line: Send + 'static {
    /// A value of the source.
    type Value: Send + 'static;
    /// What the taker gets.
    type Out;

    /// The source is about to be asked for its next value, unless it must not be asked yet.
    fn ask(&mut self, now: Instant) -> Change;

    /// Puts a value in. If there is no room, leaves it in `value`. Otherwise a value that will not pass is left there,
    /// since a drop is user code, which runs without the lock.
    fn put(&mut self, value: &mut Option<Self::Value>, now: Instant) -> Change;

    /// No further value comes.
    fn end(&mut self, now: Instant);

    /// What passes now.
    fn take(&mut self, now: Instant) -> Next<Self::Out>;
}

/// Whether a [`Line`] has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Change {
    /// No: there is no room.
    Refused,
    /// Yes, and a taker that waits has to look.
    Shown,
    /// Yes, and a taker that waits need not look earlier than it does anyway.
    Quiet,
}

/// What passes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Next<R> {
    /// This, now.
    Is(R),
    /// Nothing before the line changes, or before this time.
    NotBefore(Option<Instant>),
    /// Nothing any more.
    End,
}

/// What the two threads share.
struct Desk<L> {
    /// None once nothing is taken any more.
    line: Mutex<Option<L>>,
    /// The panic that ended the source.
    panic: Mutex<Option<Payload>>,
    taker: Arc<Waits>,
    /// It ends when nothing is taken any more. The source itself may wait by it as well.
    giver: Arc<Waits>,
}

impl<L: Line> Desk<L> {
    /// Calls `f` with the line and the time. None if nothing is taken any more.
    fn with<R>(&self, f: impl FnOnce(&mut L, Instant) -> R) -> Option<R> {
        let mut line = self.line.lock().unwrap_or_else(PoisonError::into_inner);
        line.as_mut().map(|line| f(line, Instant::now()))
    }

    /// As [`with`](Desk::with), once the line has room.
    fn change(&self, mut f: impl FnMut(&mut L, Instant) -> Change) -> bool {
        let changed = self.giver.until(|| match self.with(&mut f) {
            Some(Change::Refused) => Err(None),
            changed => Ok(changed),
        });
        if changed == Some(Some(Change::Shown)) {
            self.taker.notify();
        }
        changed.flatten().is_some()
    }

    /// Takes values from the source until it ends, or none is taken any more.
    fn feed(&self, mut values: impl Iterator<Item = L::Value>) {
        let outcome = catch_unwind(AssertUnwindSafe(|| {
            let _in_source = InSource::of(&self.giver);
            while self.change(L::ask) {
                let mut value = values.next();
                if value.is_none() || !self.change(|line, now| line.put(&mut value, now)) {
                    break;
                }
            }
        }));
        if let Err(payload) = outcome {
            self.panicked(payload);
        }
        self.with(L::end);
        self.taker.notify();
    }

    /// Keeps the panic for the taker, if there still is one.
    fn panicked(&self, payload: Payload) {
        if self.with(|_, _| ()).is_none() {
            return discard(payload);
        }
        *self.panic.lock().unwrap_or_else(PoisonError::into_inner) = Some(payload);
    }
}

/// What passes a [`Line`] of a source's values: it starts the source's thread when it is first asked.
pub(super) enum Ahead<I, L: Line> {
    Ready(I, L, Vec<Channel>),
    Taking(Taking<L>),
    Over,
}

/// The taker's end.
pub(super) struct Taking<L: Line>(Arc<Desk<L>>);

impl<L: Line> Drop for Taking<L> {
    fn drop(&mut self) {
        let Taking(desk) = self;
        let line = desk.line.lock().unwrap_or_else(PoisonError::into_inner).take();
        desk.giver.end();
        // Values in it are dropped without the lock.
        drop(line);
    }
}

impl<I: Iterator<Item = L::Value> + Send + 'static, L: Line> Ahead<I, L> {
    fn begin(values: I, line: L, channels: Vec<Channel>) -> Taking<L> {
        let taker = Waits::of_thread();
        let giver = taker.ahead();
        giver.stop_at_end(channels);
        let desk = Arc::new(Desk { line: Mutex::new(Some(line)), panic: Mutex::default(), taker, giver });
        let feeds = desk.clone();
        let builder = std::thread::Builder::new().name("millstream-source".to_owned());
        if let Err(error) = builder.spawn(move || feeds.feed(values)) {
            fail(format!("no thread can be started for the source: {error}"));
        }
        Taking(desk)
    }
}

impl<L: Line> Taking<L> {
    /// Waits for what passes next. None at the end, or if the run has ended.
    fn next(&self) -> Option<L::Out> {
        let Taking(desk) = self;
        let taken = desk.taker.until(|| match desk.with(L::take) {
            Some(Next::Is(out)) => Ok(Some(out)),
            Some(Next::NotBefore(then)) => Err(then),
            Some(Next::End) | None => Ok(None),
        });
        let taken = taken.flatten();
        // There may be room again.
        desk.giver.notify();
        taken
    }

    fn panic(&self) -> Option<Payload> {
        self.0.panic.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

impl<I: Iterator<Item = L::Value> + Send + 'static, L: Line> Iterator for Ahead<I, L> {
    type Item = L::Out;

    fn next(&mut self) -> Option<L::Out> {
        if let Ahead::Ready(..) = self
            && let Ahead::Ready(values, line, channels) = std::mem::replace(self, Ahead::Over)
        {
            *self = Ahead::Taking(Self::begin(values, line, channels));
        }
        let Ahead::Taking(taking) = self else { return None };
        let next = taking.next();
        if next.is_none() {
            let panic = taking.panic();
            *self = Ahead::Over;
            if let Some(payload) = panic {
                resume_unwind(payload);
            }
        }
        next
    }
}

impl<I, L: Line> fmt::Debug for Ahead<I, L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Ahead::Ready(..) => "Ready",
            Ahead::Taking(_) => "Taking",
            Ahead::Over => "Over",
        })
    }
}
