//! A timer wheel: one timer for each key, set and taken in constant time unless too many share a slot.

use std::time::Duration;

/// A slot is 2^16 ns long, 66 us, and the wheel turns once in 268 ms. A later timer stays in its slot until its turn.
const SLOT: u32 = 16;
const SLOTS: usize = 4096;

/// The times at which keys are due.
#[derive(Debug)]
pub(super) struct Wheel {
    /// By slot, its first key.
    slots: Vec<Option<usize>>,
    /// By key, when it is due, and the next key in its slot.
    timers: Vec<(Duration, Option<usize>)>,
    /// A bit for each slot that has a key.
    occupied: [u64; SLOTS / 64],
    /// No key is due before this slot, counted from time zero.
    from: u64,
    set: usize,
}

fn slot(at: Duration) -> u64 {
    u64::try_from(at.as_nanos() >> SLOT).unwrap_or(u64::MAX)
}

fn index(slot: u64) -> usize {
    (slot % SLOTS as u64) as usize
}

impl Wheel {
    /// A wheel for keys below this one.
    pub(super) fn new(keys: usize) -> Self {
        let timers = vec![(Duration::ZERO, None); keys];
        Wheel { slots: vec![None; SLOTS], timers, occupied: [0; SLOTS / 64], from: 0, set: 0 }
    }

    /// Sets the timer of a key, which must not be set.
    pub(super) fn set(&mut self, key: usize, at: Duration) {
        let slot = slot(at);
        self.from = if self.set == 0 { slot } else { self.from.min(slot) };
        let first = &mut self.slots[index(slot)];
        self.timers[key] = (at, first.replace(key));
        self.occupied[index(slot) / 64] |= 1 << (index(slot) % 64);
        self.set += 1;
    }

    /// The next key, and when it is due.
    pub(super) fn next(&mut self) -> Option<(Duration, usize)> {
        while self.set > 0 {
            let until = self.from + SLOTS as u64;
            while self.from < until {
                self.from = self.next_occupied(until);
                if let Some(found) = self.earliest(self.from) {
                    return Some(found);
                }
                self.from += 1;
            }
        }
        None
    }

    /// Takes the next key that is due by now.
    pub(super) fn take(&mut self, now: Duration) -> Option<(Duration, usize)> {
        let (at, key) = self.next().filter(|(at, _)| *at <= now)?;
        let place = index(slot(at));
        let (mut before, mut here) = (None, self.slots[place]);
        while here != Some(key) {
            before = here;
            here = self.timers[here?].1;
        }
        let after = self.timers[key].1;
        match before {
            Some(before) => self.timers[before].1 = after,
            None => self.slots[place] = after,
        }
        if self.slots[place].is_none() {
            self.occupied[place / 64] &= !(1 << (place % 64));
        }
        self.set -= 1;
        Some((at, key))
    }

    /// The first slot from `from` and before `until` that has a key, or `until`.
    fn next_occupied(&self, until: u64) -> u64 {
        let mut at = self.from;
        while at < until {
            let rest = self.occupied[index(at) / 64] >> (at % 64);
            if rest != 0 {
                return (at + u64::from(rest.trailing_zeros())).min(until);
            }
            at += 64 - at % 64;
        }
        until
    }

    /// The earliest key of this slot. Keys of later turns of the wheel share its place, and are skipped.
    fn earliest(&self, of: u64) -> Option<(Duration, usize)> {
        let mut found: Option<(Duration, usize)> = None;
        let mut here = self.slots[index(of)];
        while let Some(key) = here {
            let (at, after) = self.timers[key];
            if slot(at) == of && found.is_none_or(|(earliest, _)| at < earliest) {
                found = Some((at, key));
            }
            here = after;
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Keys are set in any order and are taken in the order of their times, also if they are several turns ahead.
    #[test]
    fn keys_come_out_in_order() {
        for (keys, most) in [(1, 10), (450, 1_000), (450, 60_000_000), (300, 3_000_000_000)] {
            let (mut wheel, mut random, mut expected) = (Wheel::new(keys), 7_u64, Vec::new());
            let mut now = Duration::from_secs(5);
            let mut any = |most: u64| {
                random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                Duration::from_nanos((random >> 33) % most)
            };
            for key in 0..keys {
                let at = now + any(most);
                wheel.set(key, at);
                expected.push(at);
            }
            for _ in 0..3 * keys {
                let earliest = *expected.iter().min().unwrap();
                assert_eq!(wheel.next().map(|(at, _)| at), Some(earliest));
                assert_eq!(wheel.take(earliest - Duration::from_nanos(1)), None);
                now = earliest + any(100_000);
                let (at, key) = wheel.take(now).unwrap();
                assert_eq!((at, expected[key]), (earliest, earliest));
                expected[key] = now + any(most);
                wheel.set(key, expected[key]);
            }
        }
    }

    #[test]
    fn an_empty_wheel_has_no_key() {
        let mut wheel = Wheel::new(1);
        wheel.set(0, Duration::from_secs(1));
        assert!(wheel.take(Duration::from_secs(1)).is_some());
        assert_eq!(wheel.next(), None);
        wheel.set(0, Duration::from_millis(1));
        assert_eq!(wheel.next(), Some((Duration::from_millis(1), 0)));
    }
}
