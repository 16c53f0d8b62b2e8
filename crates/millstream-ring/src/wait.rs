//! A reader without an executor waits by itself: [`Reader::wait_for`], the Disruptor's `waitFor`.
//!
//! It spins, yields or sleeps between two looks, and never parks. A park needs a notifier: `publish` would have to look
//! for waiters, at the cost of a fence per publish, in every pipeline. The executor does the parking: its workers
//! notify once per round.

use crate::reader::Reader;
use crate::sync::pause;
use crate::view::{RingLayout, View};
use millstream_core::SequenceNumber;
use std::time::{Duration, Instant};
use std::{error::Error, fmt};

/// How a thread waits between two looks at a ring that has nothing for it yet.
///
/// None of them is woken: a producer publishes by one store, and does not look for waiters. A thread that parks until a
/// publication waits on an event count, which the producer's side notifies: `millstream::exec::Signal`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum IdleStrategy {
    /// Looks again at once: the least latency, at the cost of a whole core.
    BusySpin,
    /// Spins a little, then yields.
    Yielding,
    /// Spins and yields a little, then sleeps: a microsecond first, then twice as long every time, up to 512
    /// microseconds.
    #[default]
    Sleeping,
}

const SPINS: u32 = 256;
const YIELDS: u32 = 16;
/// How often a sleep of a microsecond is doubled.
const DOUBLINGS: u32 = 9;

impl IdleStrategy {
    /// Waits a little: for the `round`-th time, and no longer than `left`.
    fn idle(self, round: u32, left: Duration) {
        match self {
            IdleStrategy::BusySpin => pause::spin(),
            _ if round < SPINS => pause::spin(),
            IdleStrategy::Sleeping if round >= SPINS + YIELDS => {
                let nap = Duration::from_micros(1 << (round - SPINS - YIELDS).min(DOUBLINGS));
                pause::sleep(nap.min(left));
            }
            _ => pause::yield_now(),
        }
    }
}

/// The reason why a reader stops waiting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WaitError {
    /// The timeout has passed.
    TimedOut,
    /// The number comes after END, whose number this is: it will never be published.
    Ended(SequenceNumber),
}

impl fmt::Display for WaitError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            WaitError::TimedOut => f.write_str("the number was not published in time"),
            WaitError::Ended(end) => write!(f, "the stream ends at number {end}"),
        }
    }
}

impl Error for WaitError {}

impl<F: RingLayout> Reader<F> {
    /// Blocks until number `n` is published, and returns the producer's position: the next number that it publishes.
    /// Every number below is published, END included. The reader keeps its position, and releases nothing.
    ///
    /// For a reader of several rings, the result is the position of the producer that is least far. If the producer is
    /// past `n` already, this returns at once, also with a timeout of zero; the caller then takes batches of everything
    /// that is published. This is the Disruptor's `waitFor`; it needs no executor, and the producer does nothing for
    /// it. A producer that is dropped before END looks like a slow one.
    ///
    /// A producer without room cannot publish `n` until this reader releases numbers, which it does not do while it
    /// waits: wait only for numbers less than its position plus the capacity.
    ///
    /// ```
    /// use millstream::{prelude::*, ring::{IdleStrategy, WaitError, ring}};
    /// use std::time::Duration;
    ///
    /// let (mut producer, mut reader) = ring::<u64, Dense>(8)?;
    /// let filling = std::thread::spawn(move || {
    ///     producer.fill(3, |i| i as u64)?;
    ///     assert!(producer.try_end(None).is_ok());
    ///     Ok::<_, millstream::ring::ClaimError>(())
    /// });
    /// let (minute, idle) = (Duration::from_secs(60), IdleStrategy::default());
    /// let (mut sum, end) = (0, SequenceNumber(3));
    /// loop {
    ///     let published = reader.wait_for(reader.position(), minute, idle)?;
    ///     if reader.position() == end && published > end {
    ///         break;
    ///     }
    ///     let Some(batch) = reader.batch(8) else { continue };
    ///     sum += batch.iter().flatten().sum::<u64>();
    /// }
    /// assert_eq!(sum, 3);
    /// assert_eq!(
    ///     reader.wait_for(SequenceNumber(4), minute, idle),
    ///     Err(WaitError::Ended(SequenceNumber(3)))
    /// );
    /// # filling.join().unwrap()?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If `timeout` passes first, or END is published and `n` comes after it.
    pub fn wait_for(
        &mut self,
        n: SequenceNumber,
        timeout: Duration,
        idle: IdleStrategy,
    ) -> Result<SequenceNumber, WaitError> {
        // None: beyond the range of the clock.
        let deadline = Instant::now().checked_add(timeout);
        let mut round = 0;
        loop {
            let position = self.look();
            if position > n.0 {
                return Ok(SequenceNumber(position));
            }
            // END is known if the cursor is beyond it, and the cursor was just read.
            if self.view.end() < position {
                return Err(WaitError::Ended(SequenceNumber(self.view.end())));
            }
            let left = deadline.map_or(Duration::MAX, |deadline| deadline.saturating_duration_since(Instant::now()));
            if left.is_zero() {
                return Err(WaitError::TimedOut);
            }
            idle.idle(round, left);
            round = round.saturating_add(1);
        }
    }
}
