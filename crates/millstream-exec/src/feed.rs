//! Values from outside: from the thread of a source that may wait, or from a [`Sender`](crate::Sender).
//!
//! A source that may wait gets a thread, which publishes each value at once: a value that arrives alone comes out at
//! once. Where values come fast, it gathers some (`feed/quick.rs`). The thread is never joined, since it may be in an
//! iterator that never returns. A run is drained by ending its stream at the source's ring, so it does not matter what
//! the thread waits for; a value that it brings later is not accepted. A run that is fed by a `Sender` has no such
//! thread.
//!
//! The producer is shared, so a lock protects it. Values are dropped apart from it, by a `Sweeper`: a worker uses it,
//! or a thread that finds no room. A drop is user code, and may send by the same sender.

mod early;
mod gathered;
mod quick;
mod sweep;
mod thread;

pub(crate) use early::Ended;
pub(crate) use quick::Quick;
pub(crate) use sweep::SweepTasklet;
pub(crate) use thread::{Turns, spawn};

use crate::external_source::{Accepted, ExternalSource};
use crate::shared::Shared;
use crate::signal::Condition;
use crate::source_ring::SourceRing;
use early::Early;
use gathered::Gathered;
use millstream_core::failure::caught;
use millstream_core::{Item, SequenceNumber};
use millstream_ring::{RingProbe, spsc};
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use sweep::Sweeping;

/// The source's producer. Senders publish through it; draining the run ends the stream through it.
///
/// Released values are dropped separately, since a drop is user code: it may take long, panic, or send through the same
/// sender. A worker drops them, so that an idle source keeps no value alive, and so does a sender that finds no room. A
/// sweep in progress is not waited for, so a drop never waits for itself. If a drop panics, the run fails, and the
/// thread that was dropping goes on.
pub(crate) struct Output<T: Item> {
    line: Arc<Mutex<Line<T>>>,
    /// None for types without `Drop`, and before there is a ring.
    sweeping: Arc<OnceLock<Sweeping<T>>>,
    /// The probe of the ring; none before there is a ring.
    probe: Arc<OnceLock<RingProbe>>,
    shared: Arc<Shared>,
}

/// Where values go.
enum Line<T: Item> {
    /// Into the source's ring, except values that wait aside for the mark of a change: those that were sent early, and
    /// END. Behind them are the values that the source's thread has gathered.
    Ring(SourceRing<T>, Early<T>, Gathered<T>),
    /// Aside: no run on rings has taken the receiver yet, or the run with the ring has not begun.
    Early(Early<T>, Option<SourceRing<T>>),
}

impl<T: Item> Line<T> {
    /// Lays a mark that is due, and puts values from aside into the ring, as far as they need not wait. Returns whether
    /// other threads have to be woken.
    fn go_on(&mut self, shared: &Shared) -> bool {
        let (Line::Ring(ring, aside, gathered), marks) = (self, &shared.marks) else { return false };
        let mut goes_on = ring.lay(marks);
        while aside.leave_to(ring, marks) || (aside.is_empty() && gathered.leave_to(ring, marks)) {
            goes_on = true;
            ring.lay(marks);
            if ring.producer.ended() {
                shared.end_source();
            } else {
                shared.markers.published(|| published(ring));
            }
        }
        goes_on
    }
}

/// How many numbers a ring has, END's among them.
fn published<T: Item>(ring: &SourceRing<T>) -> u64 {
    ring.producer.next().0
}

impl<T: Item> Clone for Output<T> {
    fn clone(&self) -> Self {
        let (line, sweeping, probe) = (self.line.clone(), self.sweeping.clone(), self.probe.clone());
        Output { line, sweeping, probe, shared: self.shared.clone() }
    }
}

/// The result of offering a value.
pub(crate) enum Offer<T> {
    Published,
    Full(T),
    Ended(T),
}

/// What came of publishing gathered values.
struct Published {
    none_left: bool,
    /// How many slots are free now.
    free: usize,
}

impl<T: Item> Output<T> {
    pub(crate) fn new(ring: SourceRing<T>, shared: Arc<Shared>) -> Self {
        let output = Output::early(0, shared);
        output.connect(ring);
        output
    }

    /// Without a ring, and with room for `slots` values until there is one.
    pub(crate) fn early(slots: usize, shared: Arc<Shared>) -> Self {
        let line = Arc::new(Mutex::new(Line::Early(Early::new(slots), None)));
        Output { line, sweeping: Arc::default(), probe: Arc::default(), shared }
    }

    /// Once the run [begins](ExternalSource::begin), values go into this ring, those that were kept aside the first
    /// ones. It has room for them.
    pub(crate) fn connect(&self, mut ring: SourceRing<T>) {
        // There is one ring.
        let _ = self.probe.set(ring.producer.probe());
        if let Some(sweeper) = ring.producer.sweep_apart() {
            let _ = self.sweeping.set(Sweeping::new(sweeper));
        }
        if let Line::Early(_, connected) = &mut *self.lock() {
            *connected = Some(ring);
        }
    }

    /// The first value that was kept aside; none if there is none now; an error if there will be none.
    pub(crate) fn take_early(&self) -> Result<Option<T>, Ended> {
        match &mut *self.lock() {
            Line::Ring(..) => Err(Ended),
            Line::Early(early, _) => early.take(),
        }
    }

    /// No user code runs while this lock is held.
    fn lock(&self) -> MutexGuard<'_, Line<T>> {
        self.line.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the result of `claims`. If that is `full` and a sweep makes room, calls it once more.
    fn unless_full<R>(&self, full: &R, mut claims: impl FnMut(&mut Line<T>) -> R) -> R
    where
        R: PartialEq,
    {
        let claimed = self.going_on(&mut claims);
        if claimed == *full && self.sweep() { self.going_on(&mut claims) } else { claimed }
    }

    /// Lets the line [go on](Line::go_on), and then does this with it.
    fn going_on<R>(&self, then: impl FnOnce(&mut Line<T>) -> R) -> R {
        let (result, wakes) = self.went_on(then);
        if wakes {
            self.shared.wake();
        }
        result
    }

    /// The same. Returns also whether other threads have to be woken.
    fn went_on<R>(&self, then: impl FnOnce(&mut Line<T>) -> R) -> (R, bool) {
        let mut line = self.lock();
        let wakes = line.go_on(&self.shared);
        (then(&mut line), wakes)
    }

    /// Publishes a value, if there is room and the run takes values.
    pub(crate) fn offer(&self, value: T) -> Offer<T> {
        // A stopped run's ring has no readers; values published there would be lost.
        if self.shared.stopped() {
            return Offer::Ended(value);
        }
        let mut unsent = Some(value);
        let full = self.unless_full(&true, |line| match line {
            Line::Early(early, _) => early.offer(&mut unsent),
            Line::Ring(_, aside, _) if aside.ended() => false,
            Line::Ring(_, aside, gathered) if !aside.is_empty() || !gathered.is_empty() => true,
            Line::Ring(ring, ..) => match ring.try_claim(&self.shared.marks, 1) {
                Err(_) => false,
                Ok(None) => true,
                Ok(Some(mut claim)) => {
                    let SequenceNumber(first) = claim.first();
                    unsent.take().into_iter().for_each(|value| claim.write(value));
                    claim.publish();
                    self.shared.markers.published(|| first + 1);
                    false
                }
            },
        });
        match unsent {
            None => Offer::Published,
            Some(value) if full => Offer::Full(value),
            Some(value) => Offer::Ended(value),
        }
    }

    /// Publishes the first of these values as far as there is room. Returns how many; none if the run takes no more
    /// values.
    pub(crate) fn give(&self, values: &mut VecDeque<T>) -> Option<usize> {
        if self.shared.stopped() {
            return None;
        }
        self.unless_full(&Some(0), |line| match line {
            Line::Early(early, _) => early.give(values),
            Line::Ring(_, aside, _) if aside.ended() => None,
            Line::Ring(_, aside, gathered) if !aside.is_empty() || !gathered.is_empty() => Some(0),
            Line::Ring(ring, ..) => match ring.try_claim(&self.shared.marks, values.len().max(1)) {
                Err(_) => None,
                Ok(None) => Some(0),
                Ok(Some(mut claim)) => {
                    let SequenceNumber(first) = claim.first();
                    let given = claim.extend(&mut values.drain(..claim.len().min(values.len())));
                    claim.publish();
                    self.shared.markers.published(|| first + given as u64);
                    Some(given)
                }
            },
        })
    }

    /// Asks for a mark at which no state is copied, lays it if that is possible now, and returns its id then. It wakes
    /// no other thread.
    pub(crate) fn lay_cut_quietly(&self) -> Option<u64> {
        let marks = &self.shared.marks;
        let id = marks.ask(false);
        self.went_on(|_| ());
        marks.has_laid(id).then_some(id)
    }

    /// Makes a ring in which the source's thread gathers values, and which this empties into the source's ring.
    fn gathers(&self, slots: usize) -> Option<spsc::Sender<T>> {
        let (sender, receiver) = spsc::ring(slots).ok()?;
        match &mut *self.lock() {
            Line::Ring(.., gathered) => *gathered = Gathered::of(receiver),
            Line::Early(..) => return None,
        }
        Some(sender)
    }

    /// Publishes the gathered values, as far as there is room. None if the run takes no more values. It wakes no other
    /// thread.
    fn publish_gathered_quietly(&self) -> Option<Published> {
        self.try_publish_gathered().0
    }

    /// The same, for the workers: one that has parked since they were told to run the stages is woken. Returns whether
    /// no value is left.
    fn publish_gathered(&self) -> Option<bool> {
        let (published, wakes) = self.try_publish_gathered();
        if wakes {
            self.shared.wake();
        }
        published.map(|published| published.none_left)
    }

    /// Returns also whether other threads have to be woken.
    fn try_publish_gathered(&self) -> (Option<Published>, bool) {
        if self.shared.stopped() {
            return (None, false);
        }
        let published = |line: &mut Line<T>| match line {
            Line::Ring(ring, aside, gathered) => {
                let goes_on = !aside.ended() && !ring.producer.ended();
                goes_on.then(|| Published { none_left: gathered.is_empty(), free: ring.producer.free() })
            }
            Line::Early(..) => None,
        };
        let (done, wakes) = self.went_on(published);
        if done.as_ref().is_some_and(|done| !done.none_left) && self.sweep() {
            let (done, wakes_again) = self.went_on(published);
            return (done, wakes || wakes_again);
        }
        (done, wakes)
    }

    /// Whether the source's thread may gather this many values: it alone publishes, so the ring keeps room for them.
    fn has_room_for(&self, values: usize) -> bool {
        !self.unless_full(&true, |line| match line {
            Line::Ring(ring, ..) => ring.producer.free() < values,
            Line::Early(..) => true,
        })
    }

    /// How many slots the ring has; 0 if there is none.
    fn slots(&self) -> usize {
        self.probe.get().map_or(0, RingProbe::capacity)
    }

    /// Whether the ring is at most half full: a source's thread that has found the ring full waits for this. None if
    /// there is no ring.
    ///
    /// A thread that went on with each slot that becomes free would be woken for each, which costs more than many a
    /// value does.
    fn is_half_free(&self) -> Option<Condition> {
        let probe = self.probe.get()?.clone();
        Some(Arc::new(move || probe.occupied() <= probe.capacity() / 2))
    }

    pub(crate) fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }

    /// Whether no further value is accepted. END may have to wait.
    pub(crate) fn ended(&self) -> bool {
        match &*self.lock() {
            Line::Ring(_, early, _) | Line::Early(early, _) => early.ended(),
        }
    }

    pub(crate) fn free(&self) -> usize {
        self.sweep();
        self.going_on(|line| match line {
            Line::Ring(ring, aside, _) if aside.is_empty() => ring.free(&self.shared.marks),
            Line::Ring(..) => 0,
            Line::Early(early, _) => early.free(),
        })
    }

    /// How many values were accepted: the number of the next one.
    pub(crate) fn sent(&self) -> u64 {
        match &*self.lock() {
            Line::Ring(ring, aside, _) => published(ring) - u64::from(ring.producer.ended()) + aside.kept(),
            Line::Early(early, _) => early.sent(),
        }
    }
}

impl<T: Item> ExternalSource for Output<T> {
    fn end(&self) {
        match &mut *self.lock() {
            Line::Ring(_, early, gathered) => {
                // Its numbers come before END.
                gathered.put_aside(early);
                early.end();
            }
            Line::Early(early, _) => early.end(),
        }
        self.lay_mark();
        self.shared.source_waits.end();
    }

    fn accepted(&self) -> Option<Accepted> {
        Some(match &*self.lock() {
            Line::Ring(ring, aside, _) => Accepted { published: published(ring) - ring.first.0, waiting: aside.kept() },
            Line::Early(early, _) => Accepted { published: early.sent() + u64::from(early.ended()), waiting: 0 },
        })
    }

    fn clear(&self) {
        let left = match &mut *self.lock() {
            Line::Ring(_, aside, gathered) => (aside.give_up(), gathered.give_up()),
            Line::Early(..) => Default::default(),
        };
        if let Err(payload) = caught(|| drop(left)) {
            self.shared.fail("source", None, payload);
        }
        self.sweep();
    }

    fn begin(&self) {
        {
            let mut line = self.lock();
            if let Line::Early(early, ring) = &mut *line
                && let Some(ring) = ring.take()
            {
                *line = Line::Ring(ring, early.take_over(), Gathered::default());
            }
        }
        self.lay_mark();
    }

    fn lay_mark(&self) {
        self.going_on(|_| ());
    }
}
