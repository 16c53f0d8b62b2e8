//! Generated load for a pipeline: its rate, sizes and distribution of keys.

mod arrivals;
mod keys;

pub use arrivals::{Arrival, Arrivals};

use crate::time::{Clock, SystemClock};
use keys::Keys;

/// The options of generated traffic. It depends on a seed, and is the same in every run.
///
/// By default, events come as fast as they are taken, one at a time, of 8 bytes and one key.
///
/// [`arrivals`](Traffic::arrivals) is a source without an end that waits until each event is due, so it may not be
/// declared `ready`; `take` ends it. Everything about event n but the waits depends on the seed, n and these options
/// alone.
///
/// ```
/// use millstream::io::Traffic;
///
/// // A million events a second, a thousand at a time; of 100 keys, the first one most often.
/// let traffic = Traffic::new(7).rate(1_000_000).burst(1000).size(64).keys(100).skew(1.0);
/// let of_first_key = traffic.arrivals().take(3000).filter(|event| event.key == 0).count();
/// assert!(of_first_key > 300);
/// assert_eq!(traffic.arrivals().next().unwrap().bytes().len(), 64);
/// ```
///
/// Anchor: the load does not wait for the loaded system, as an open system in Schroeder, Wierman and Harchol-Balter,
/// "Open versus closed: a cautionary tale" (NSDI 2006). A late event is late from when it was due. Otherwise the load
/// would decrease exactly when the system is slow ("coordinated omission", Gil Tene).
#[derive(Clone, Debug)]
pub struct Traffic {
    seed: u64,
    rate: Option<u64>,
    burst: u64,
    size: usize,
    keys: u32,
    skew: f64,
}

impl Traffic {
    /// Traffic of this seed.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Traffic { seed, rate: None, burst: 1, size: 8, keys: 1, skew: 0.0 }
    }

    /// Sets the mean number of events a second. A late reader gets all events that are due at once, and none is left
    /// out.
    ///
    /// # Panics
    ///
    /// If it is zero.
    #[must_use]
    pub fn rate(mut self, events_per_second: u64) -> Self {
        assert!(events_per_second > 0, "traffic of no events a second never arrives: take none of it instead");
        self.rate = Some(events_per_second);
        self
    }

    /// Sets the number of events that are due at the same moment. No further one is due until the rate requires it.
    ///
    /// # Panics
    ///
    /// If it is zero.
    #[must_use]
    pub fn burst(mut self, events: u64) -> Self {
        assert!(events > 0, "a burst has at least one event");
        self.burst = events;
        self
    }

    /// Sets the bytes of an event.
    #[must_use]
    pub fn size(mut self, bytes: usize) -> Self {
        self.size = bytes;
        self
    }

    /// Sets the number of keys, which are numbered from 0: customers, or producers that send the events. With a
    /// [skew](Traffic::skew), 8 bytes are kept for each.
    ///
    /// # Panics
    ///
    /// If it is zero.
    #[must_use]
    pub fn keys(mut self, keys: u32) -> Self {
        assert!(keys > 0, "an event has a key: there must be at least one");
        self.keys = keys;
        self
    }

    /// Sets how uneven keys are, by Zipf's law: key k is drawn less often than key 0, by (k + 1) to the power of this
    /// number. With 0, all are drawn equally often. With 1 and a hundred keys, the first one has a fifth of all events.
    ///
    /// The shares are computed in floating point: on another platform an event in 10^15 may have another key.
    ///
    /// # Panics
    ///
    /// If it is negative or not a number.
    #[must_use]
    pub fn skew(mut self, exponent: f64) -> Self {
        assert!(exponent >= 0.0 && exponent.is_finite(), "a skew of {exponent}: it must be 0 or more");
        self.skew = exponent;
        self
    }

    /// The events, from now on.
    #[must_use]
    pub fn arrivals(&self) -> Arrivals {
        self.arrivals_by(SystemClock::default())
    }

    /// As [`arrivals`](Traffic::arrivals), with this clock; for example a virtual one in tests. The traffic begins when
    /// the clock shows zero.
    ///
    /// ```
    /// use millstream::io::{Traffic, time::{Clock, VirtualClock}};
    /// use std::time::Duration;
    ///
    /// let clock = VirtualClock::default();
    /// let hours = Traffic::new(1).rate(10).arrivals_by(clock.clone());
    /// assert_eq!(hours.take(36_001).last().unwrap().due, Duration::from_secs(3600));
    /// assert_eq!(clock.now(), Duration::from_secs(3600)); // at once
    /// ```
    #[must_use]
    pub fn arrivals_by<C: Clock>(&self, clock: C) -> Arrivals<C> {
        Arrivals::new(self, Keys::new(self.keys, self.skew), clock)
    }
}
