use super::batch::Batch;
use super::{FanIn, ItemFormat, Merge, MergeTasklet, Opened, Plain, ProducerPanics, Ticks};
use crate::batching_delay::{BatchingDelay, linger_until};
use crate::explain::Feed;
use crate::external_source::{ExternalSource, StopSource};
use crate::machine::usable_cores;
use crate::shared::Shared;
use crate::source::{Closer, Connect, EndsWithRun, StopOnDrop, Waits};
use crate::source_ring::SourceRing;
use crate::wait::IdleStrategy;
use crate::watched::Role;
use crate::{Rings, RunError, Wiring};
use millstream_core::{Item, Plan, SequenceNumber};
use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The consumer's end of a [`fan_in`](crate::fan_in) without a pipeline: it polls all rings, on any thread.
///
/// Its closure receives the values themselves, moved out of their rings without a copy. After it is dropped, senders
/// get an error.
///
/// ```
/// use millstream::prelude::*;
/// use std::time::Duration;
///
/// let (senders, mut poller) = fan_in::<u64>(3).open(&Rings::new())?;
/// let producing: Vec<_> = senders
///     .into_iter()
///     .map(|s| std::thread::spawn(move || s.send_all(0..1000)))
///     .collect();
/// let mut sum = 0;
/// while poller.poll_for(Duration::from_millis(100), |_, x| sum += x)? != Polled::Ended {}
/// assert_eq!(sum, 3 * 499_500);
/// assert_eq!(poller.next_number().0, 3000);
/// # Ok::<(), RunError>(())
/// ```
pub struct Poller<T: Item, O: ItemFormat<T> = Plain> {
    /// Dropped first, so that the senders learn that nothing is taken any more.
    stop: StopOnDrop,
    merge: Merge<T>,
    shared: Arc<Shared>,
    /// How a run gets its values.
    feed: Feed,
    next: u64,
    most: usize,
    linger: BatchingDelay,
    not_before: Option<Instant>,
    idle: Option<Duration>,
    /// Set while it is asked for the values of a source: those of the run.
    run: Option<Arc<Waits>>,
    /// A closure has panicked during a poll; which numbers it had received is unknown.
    broken: bool,
    format: PhantomData<O>,
}

/// The result of a poll.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Polled {
    /// This many values came.
    Values(usize),
    /// No value was there.
    Nothing,
    /// The stream has ended.
    Ended,
}

impl<T: Item, O: ItemFormat<T>> Poller<T, O> {
    pub(super) fn open(fan_in: FanIn<T, O>, rings: &Rings) -> Result<Opened<T, O>, RunError> {
        fan_in.check()?;
        let feed = fan_in.feed_of(rings.slots());
        rings.check(&Plan::default(), feed)?;
        let shared = Arc::new(Shared::new(IdleStrategy::of(rings.waiting(), usable_cores().usable)));
        shared.idle.beside(fan_in.producers);
        let _ = shared.idle.placed(1);
        let idle = fan_in.idle_bound();
        let (senders, merge) = Merge::new(fan_in, &shared, rings.slots());
        Ok((
            senders,
            Poller {
                stop: StopOnDrop(Some(shared.clone())),
                merge,
                shared,
                feed,
                next: 0,
                most: rings.most(1),
                linger: BatchingDelay::new(),
                not_before: None,
                idle,
                run: None,
                broken: false,
                format: PhantomData,
            },
        ))
    }

    /// Calls `f` with the available values in order, each with its number in the merged stream, at most as many as the
    /// batch of the [`Rings`]. It never waits. When it returns, the values were one batch: the moment to flush, if
    /// needed.
    ///
    /// # Errors
    ///
    /// If a producer has panicked, which the error names; if the rule cannot go on; or if `f`, the record, or the
    /// function of a value's time has panicked before. No further values come then, and senders get an error.
    pub fn poll(&mut self, mut f: impl FnMut(SequenceNumber, O::Item)) -> Result<Polled, RunError> {
        self.poll_into(&mut f, |f, number, value| f(number, value))
    }

    /// As [`poll`](Poller::poll), for a function that receives its state.
    fn poll_into<S>(
        &mut self,
        state: &mut S,
        f: impl FnMut(&mut S, SequenceNumber, O::Item),
    ) -> Result<Polled, RunError> {
        if let Some(failure) = self.failure() {
            return Err(failure);
        }
        let Poller { merge, shared, next, most, broken, .. } = self;
        let users = UserCode::runs(broken, shared);
        let taken = Batch { merge, shared, next, most: *most }.take::<O, S>(state, f);
        users.came_back();
        match taken {
            Err(cause) => {
                let (stage, number) = ("fan-in".to_owned(), Some(self.next_number()));
                self.shared.fail_with(RunError::Stage { stage, number, cause: cause.into() });
                Err(self.shared.failure().expect("it has failed"))
            }
            Ok(Polled::Nothing) => self.failure().map_or(Ok(Polled::Nothing), Err),
            Ok(polled) => {
                self.shared.signal.notify();
                Ok(polled)
            }
        }
    }

    /// As [`poll`](Poller::poll); if no value is there, it waits for at most `most`, in the way the [`Rings`] define. A
    /// value sent to any ring wakes it.
    ///
    /// # Errors
    ///
    /// As [`poll`](Poller::poll).
    pub fn poll_for(&mut self, most: Duration, mut f: impl FnMut(SequenceNumber, O::Item)) -> Result<Polled, RunError> {
        self.wait_into(most, &mut f, |f, number, value| f(number, value))
    }

    /// Waits for values, for a source of a run. [`Polled::Ended`] also once the run takes no more values.
    pub(super) fn poll_in_source(
        &mut self,
        ends: &mut EndsWithRun,
        f: impl FnMut(SequenceNumber, O::Item),
    ) -> Result<Polled, RunError> {
        self.run = Some(ends.of_thread(&self.shared));
        self.poll_for(Duration::MAX, f)
    }

    /// As [`poll_for`](Poller::poll_for), for a function that receives its state.
    fn wait_into<S>(
        &mut self,
        most: Duration,
        state: &mut S,
        mut f: impl FnMut(&mut S, SequenceNumber, O::Item),
    ) -> Result<Polled, RunError> {
        let deadline = Instant::now().checked_add(most);
        if let Some(then) = self.not_before.take() {
            linger_until(deadline.map_or(then, |deadline| then.min(deadline)));
        }
        let mut round = 0_u32;
        loop {
            match self.poll_into(state, &mut f)? {
                Polled::Nothing => (),
                polled => return Ok(self.coming_back(polled)),
            }
            let left = deadline.map_or(most, |deadline| deadline.saturating_duration_since(Instant::now()));
            if left.is_zero() {
                return Ok(Polled::Nothing);
            }
            round = round.saturating_add(1);
            if self.shared.idle.wait(round) {
                continue;
            }
            let shared = self.shared.clone();
            let ticket = shared.signal.announce();
            match self.poll_into(state, &mut f) {
                Ok(Polled::Nothing) if self.run.as_ref().is_some_and(|run| run.ended()) => {
                    shared.signal.withdraw(ticket);
                    return Ok(Polled::Ended);
                }
                Ok(Polled::Nothing) => {
                    self.linger.forget();
                    let idle = self.idle.map_or(left, |idle| idle.max(Duration::from_millis(1)));
                    shared.signal.park_timeout(ticket, left.min(idle))
                }
                polled => {
                    shared.signal.withdraw(ticket);
                    return polled;
                }
            }
            round = 0;
        }
    }

    /// A result may be a reason to linger before the next poll. The time the caller takes in between counts.
    fn coming_back(&mut self, polled: Polled) -> Polled {
        if let Polled::Values(found) = polled
            && found < self.most
            && self.shared.idle.lingers()
        {
            self.not_before = self.linger.after(found).map(|time| Instant::now() + time);
        }
        polled
    }

    /// Calls `f` with all values until all senders are dropped.
    ///
    /// # Errors
    ///
    /// As [`poll`](Poller::poll).
    pub fn for_each(&mut self, mut f: impl FnMut(SequenceNumber, O::Item)) -> Result<(), RunError> {
        while self.poll_for(Duration::MAX, &mut f)? != Polled::Ended {}
        Ok(())
    }

    /// As [`for_each`](Poller::for_each), with a state: the fastest way to take everything. The compiler knows that `f`
    /// changes nothing else and can process several values at once.
    ///
    /// ```
    /// use millstream::prelude::*;
    /// let (senders, mut poller) = fan_in::<u64>(3).open(&Rings::new())?;
    /// for sender in senders {
    ///     std::thread::spawn(move || sender.send_all(0..1000));
    /// }
    /// assert_eq!(poller.fold(0, |sum, _, x| *sum += x)?, 3 * 499_500);
    /// # Ok::<(), RunError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`poll`](Poller::poll); the state is lost then.
    pub fn fold<S>(&mut self, mut state: S, mut f: impl FnMut(&mut S, SequenceNumber, O::Item)) -> Result<S, RunError> {
        while self.wait_into(Duration::MAX, &mut state, &mut f)? != Polled::Ended {}
        Ok(state)
    }

    fn failure(&self) -> Option<RunError> {
        if self.broken {
            let (number, cause) = (Some(self.next_number()), "its closure has panicked before".into());
            return Some(RunError::Stage { stage: "fan-in".to_owned(), number, cause });
        }
        if self.shared.stopped() { self.shared.failure() } else { None }
    }

    pub(crate) fn closer(&self) -> Closer {
        Closer { senders: self.merge.registry().clone(), shared: self.shared.clone() }
    }

    /// Refuses further values; the values already sent still come.
    pub fn drain(&mut self) {
        self.merge.end();
        self.shared.signal.notify();
    }

    /// As [`drain`](Poller::drain), and calls `f` with the values already sent, for at most `most`. Values left then
    /// can still be polled.
    ///
    /// ```
    /// use millstream::prelude::*;
    /// use std::time::Duration;
    /// let (senders, mut poller) = fan_in(2).open(&Rings::new().batch(2))?;
    /// senders[0].send_all([1, 2, 3]).unwrap();
    /// let mut came = 0;
    /// assert_eq!(
    ///     poller.drain_within(Duration::ZERO, |_, _| came += 1),
    ///     Err(RunError::DrainTimeout { left: 1 })
    /// );
    /// poller.drain_within(Duration::from_secs(1), |_, _| came += 1)?;
    /// assert_eq!(came, 3);
    /// # Ok::<(), RunError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`RunError::DrainTimeout`] if the time was over before everything came, with the number of values left. As
    /// [`poll`](Poller::poll).
    pub fn drain_within(&mut self, most: Duration, mut f: impl FnMut(SequenceNumber, O::Item)) -> Result<(), RunError> {
        self.drain();
        let deadline = Instant::now().checked_add(most);
        loop {
            let time = deadline.map_or(most, |deadline| deadline.saturating_duration_since(Instant::now()));
            if self.poll_for(time, &mut f)? == Polled::Ended {
                return Ok(());
            }
            if deadline.is_some_and(|deadline| Instant::now() >= deadline) {
                return match self.merge.backlog() {
                    0 => Ok(()),
                    left => Err(RunError::DrainTimeout { left }),
                };
            }
        }
    }

    /// The producers that ended by a panic of their threads, if [`isolate_panics`](FanIn::isolate_panics) is set.
    #[must_use]
    pub fn producer_panics(&self) -> ProducerPanics {
        self.merge.registry().panics()
    }

    /// The number of the next value.
    #[must_use]
    pub fn next_number(&self) -> SequenceNumber {
        SequenceNumber(self.next)
    }
}

/// Guards user code: the closure, the record, the function of a value's time. If it panics, its effect is unknown: the
/// poller yields no further value, and senders get an error.
struct UserCode<'p> {
    broken: &'p mut bool,
    shared: &'p Shared,
}

impl<'p> UserCode<'p> {
    fn runs(broken: &'p mut bool, shared: &'p Shared) -> Self {
        *broken = true;
        UserCode { broken, shared }
    }

    fn came_back(self) {
        *self.broken = false;
    }
}

impl Drop for UserCode<'_> {
    fn drop(&mut self) {
        if *self.broken {
            self.shared.stop();
        }
    }
}

impl<T: Item, O: ItemFormat<T>> Connect<O::Item> for Poller<T, O> {
    fn shared(&self) -> Arc<Shared> {
        self.shared.clone()
    }

    fn feed(&self) -> Feed {
        self.feed
    }

    fn connect(self: Box<Self>, ring: SourceRing<O::Item>, wiring: &mut Wiring) -> std::io::Result<StopSource> {
        let Poller { mut stop, merge, shared, idle, .. } = *self;
        stop.leave_to_run();
        let end_source: StopSource = merge.registry().clone();
        let ticks = idle.map(|bound| Ticks::start(&shared, bound)).transpose()?;
        let tasklet = MergeTasklet::<T, O>::new(merge, ring, wiring.batch, shared, ticks);
        wiring.end("source", Role::Source, Box::new(tasklet));
        Ok(end_source)
    }
}

impl<T: Item, O: ItemFormat<T>> fmt::Debug for Poller<T, O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Poller").field("next", &self.next).finish_non_exhaustive()
    }
}
