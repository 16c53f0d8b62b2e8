use serde::{Deserialize, Serialize};

/// Quantiles within one per cent of the value, in bounded memory: counts of values by the logarithm of their size.
///
/// The order in which values are added changes nothing.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Sketch {
    /// The counts by place, those of negative values first.
    counts: std::collections::BTreeMap<i32, u64>,
    all: u64,
    least: f64,
    most: f64,
}

/// A bucket reaches up to this many times its least value.
const WIDTH: f64 = 1.02;
/// Smaller values count as zero.
const SMALLEST: f64 = 1e-12;

impl Sketch {
    pub(crate) fn add(&mut self, value: f64) {
        (self.least, self.most) = match self.all {
            0 => (value, value),
            _ => (self.least.min(value), self.most.max(value)),
        };
        self.all += 1;
        *self.counts.entry(place(value)).or_default() += 1;
    }

    /// The value below which this part of the values lies; `None` if there are none.
    pub(crate) fn quantile(&self, part: f64) -> Option<f64> {
        let rank = (part * self.all.checked_sub(1)? as f64).round() as u64;
        let mut below = 0;
        let place = self.counts.iter().find_map(|(place, count)| {
            below += count;
            (below > rank).then_some(*place)
        })?;
        Some(middle(place).clamp(self.least, self.most))
    }

    pub(crate) fn join(&mut self, other: Sketch) {
        if other.all == 0 {
            return;
        }
        if self.all == 0 {
            *self = other;
            return;
        }
        for (place, count) in other.counts {
            *self.counts.entry(place).or_default() += count;
        }
        self.all += other.all;
        (self.least, self.most) = (self.least.min(other.least), self.most.max(other.most));
    }
}

/// 0 for zero; the sign is the value's.
fn place(value: f64) -> i32 {
    let size = value.abs();
    if size < SMALLEST {
        return 0;
    }
    let place = ((size / SMALLEST).ln() / WIDTH.ln()).floor() as i32 + 1;
    if value < 0.0 { -place } else { place }
}

fn middle(place: i32) -> f64 {
    if place == 0 {
        return 0.0;
    }
    let size = SMALLEST * WIDTH.powf(f64::from(place.abs()) - 0.5);
    if place < 0 { -size } else { size }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_within_one_per_cent() {
        let (mut all, mut parts) = (Sketch::default(), [Sketch::default(), Sketch::default()]);
        for n in -1000..=9000 {
            let value = f64::from(n) * 0.37;
            all.add(value);
            parts[usize::from(n % 3 == 0)].add(value);
        }
        let [mut one, other] = parts;
        one.join(other);
        for (part, expected) in [(0.0, -370.0), (0.05, -185.0), (0.5, 1480.0), (0.99, 3293.0), (1.0, 3330.0)] {
            let found = all.quantile(part).unwrap();
            assert!((found - expected).abs() <= 0.0101 * f64::abs(expected), "{part}: {found}, not {expected}");
            assert_eq!(Some(found), one.quantile(part));
        }
        assert_eq!(Sketch::default().quantile(0.5), None);
    }
}
