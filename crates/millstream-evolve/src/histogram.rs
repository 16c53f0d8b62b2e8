use std::fmt;
use std::time::Duration;

/// The number of steps between one power of two and the next.
const STEPS: usize = 8;

/// A histogram of durations. Its steps are an eighth of a power of two.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Histogram {
    counts: Vec<u64>,
    total: u64,
}

impl Default for Histogram {
    fn default() -> Self {
        Histogram { counts: vec![0; 64 * STEPS], total: 0 }
    }
}

impl Histogram {
    /// Counts one duration.
    pub fn add(&mut self, time: Duration) {
        let nanoseconds = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX).max(1);
        self.counts[slot(nanoseconds)] += 1;
        self.total += 1;
    }

    /// The number of durations.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.total
    }

    /// The duration that this share of all durations, from 0 to 1, does not exceed. It is rounded up to the end of a
    /// step.
    #[must_use]
    pub fn quantile(&self, of: f64) -> Duration {
        let rank = (self.total as f64 * of).ceil().max(1.0) as u64;
        let mut seen = 0;
        let found = self.counts.iter().position(|count| {
            seen += count;
            seen >= rank
        });
        Duration::from_nanos(found.map_or(0, end))
    }

    /// The end of each step that has durations, and the number of durations in it.
    pub fn steps(&self) -> impl Iterator<Item = (Duration, u64)> {
        let counts = self.counts.iter().enumerate().filter(|(_, count)| **count > 0);
        counts.map(|(slot, count)| (Duration::from_nanos(end(slot)), *count))
    }

    /// Forgets all durations.
    pub fn clear(&mut self) {
        self.counts.fill(0);
        self.total = 0;
    }
}

fn slot(nanoseconds: u64) -> usize {
    let power = nanoseconds.ilog2() as usize;
    let step = if power < 3 { 0 } else { (nanoseconds >> (power - 3)) as usize & (STEPS - 1) };
    power * STEPS + step
}

fn end(slot: usize) -> u64 {
    let (power, step) = (slot / STEPS, (slot % STEPS) as u64);
    if power < 3 { (1 << (power + 1)) - 1 } else { ((STEPS as u64 + step + 1) << (power - 3)).wrapping_sub(1) }
}

impl fmt::Display for Histogram {
    /// The 50th, 90th, 99th and 99.9th percentiles, and the longest.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [p50, p90, p99, p999, most] = [0.5, 0.9, 0.99, 0.999, 1.0].map(|of| self.quantile(of));
        write!(f, "p50 {p50:.1?}, p90 {p90:.1?}, p99 {p99:.1?}, p99.9 {p999:.1?}, most {most:.1?}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_right_to_an_eighth() {
        let mut histogram = Histogram::default();
        (1..=1000).for_each(|micros| histogram.add(Duration::from_micros(micros)));
        for (of, expected) in [(0.5, 500.0), (0.99, 990.0), (1.0, 1000.0)] {
            let found = histogram.quantile(of).as_secs_f64() * 1e6;
            assert!(found >= expected && found <= expected * 1.125 + 1.0, "{of}: {found}");
        }
        assert_eq!(histogram.total(), 1000);
        assert_eq!(histogram.steps().map(|(_, count)| count).sum::<u64>(), 1000);
    }

    #[test]
    fn every_time_is_within_its_step() {
        for nanoseconds in (0..64).map(|power| 1_u64 << power).flat_map(|n| [n, n + n / 3, n | (n - 1)]) {
            assert!(end(slot(nanoseconds)) >= nanoseconds, "{nanoseconds}");
            assert!(slot(nanoseconds) < 64 * STEPS);
        }
    }
}
