use super::Traffic;
use super::keys::Keys;
use crate::time::{Clock, SystemClock, wait_until};
use millstream_core::SplitMix64;
use std::time::Duration;

/// An event of some [`Traffic`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Arrival {
    /// The index of the event: 0, 1, ...
    pub number: u64,
    /// When it is due, since the beginning of the traffic. A latency begins here, however late the event was taken.
    pub due: Duration,
    /// Its key.
    pub key: u32,
    /// A pseudo-random number.
    pub random: u64,
    /// The number of its [`bytes`](Arrival::bytes).
    pub size: usize,
}

impl Arrival {
    /// Its contents: pseudo-random bytes, of its size.
    #[must_use]
    pub fn bytes(&self) -> Vec<u8> {
        let mut bytes = vec![0; self.size];
        self.fill(&mut bytes);
        bytes
    }

    /// As [`bytes`](Arrival::bytes), but fills existing bytes, whatever their number.
    pub fn fill(&self, bytes: &mut [u8]) {
        let mut word = self.random;
        for part in bytes.chunks_mut(8) {
            part.copy_from_slice(&word.to_le_bytes()[..part.len()]);
            word = SplitMix64::new(word).draw();
        }
    }
}

/// The events of some [`Traffic`], each when it is due. Without an end.
#[derive(Clone, Debug)]
pub struct Arrivals<C = SystemClock> {
    seed: u64,
    rate: Option<u64>,
    burst: u64,
    size: usize,
    keys: Keys,
    next: u64,
    /// The remaining events of the burst, and when it is due.
    left: u64,
    due: Duration,
    /// The last time that the clock showed.
    seen: Duration,
    clock: C,
}

impl<C: Clock> Arrivals<C> {
    pub(super) fn new(traffic: &Traffic, keys: Keys, clock: C) -> Self {
        let Traffic { seed, rate, burst, size, .. } = *traffic;
        let (seed, zero) = (SplitMix64::new(seed).draw(), Duration::ZERO);
        Arrivals { seed, rate, burst, size, keys, next: 0, left: 0, due: zero, seen: zero, clock }
    }

    /// The clock of the events, by which a reader can compute how late it takes them.
    ///
    /// ```
    /// use millstream::io::{Traffic, time::Clock};
    ///
    /// let mut arrivals = Traffic::new(1).rate(1000).arrivals();
    /// let event = arrivals.nth(2).unwrap();
    /// let latency = arrivals.clock().now() - event.due;
    /// # let _ = latency;
    /// ```
    pub fn clock(&self) -> &C {
        &self.clock
    }

    /// Waits for the next burst.
    fn begin_burst(&mut self) {
        self.left = self.burst;
        let Some(rate) = self.rate else { return };
        let nanos = u128::from(self.next % rate) * 1_000_000_000 / u128::from(rate);
        self.due = Duration::new(self.next / rate, nanos as u32);
        // The clock is not read if the burst is late.
        if self.due > self.seen {
            self.seen = wait_until(&self.clock, self.due);
        }
    }
}

impl<C: Clock> Iterator for Arrivals<C> {
    type Item = Arrival;

    fn next(&mut self) -> Option<Arrival> {
        if self.left == 0 {
            self.begin_burst();
        }
        self.left -= 1;
        let number = self.next;
        self.next += 1;
        let random = SplitMix64::at(self.seed, number);
        let key = self.keys.draw(SplitMix64::new(random ^ self.seed).draw());
        Some(Arrival { number, due: self.due, key, random, size: self.size })
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (usize::MAX, None)
    }
}
