use serde::{Deserialize, Serialize};

/// Quantiles within one per cent of the value, in bounded memory: counts of values by the logarithm of their size.
///
/// The least and the greatest value are exact. The order in which values are added changes nothing.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Sketch {
    /// The counts by place.
    counts: std::collections::BTreeMap<i32, u64>,
    all: u64,
    least: f64,
    most: f64,
}

/// A bucket reaches up to this many times its least value.
const WIDTH: f64 = 1.02;
/// Places are counted from here: those of smaller values from the smallest one on, after `TINY`.
const SMALL: f64 = 1e-12;
const SMALLEST: f64 = 5e-324;
const TINY: i32 = 1 << 20;
/// More than all places that are counted from the smallest value.
const MOST: i32 = 1 << 17;

impl Sketch {
    pub(crate) fn add(&mut self, value: f64) {
        (self.least, self.most) = match self.all {
            0 => (value, value),
            _ => (self.least.min(value), self.most.max(value)),
        };
        self.all += 1;
        *self.counts.entry(place(value)).or_default() += 1;
    }

    /// The value that this part of the values, from 0 to 1, does not exceed; `None` if there are none.
    pub(crate) fn quantile(&self, part: f64) -> Option<f64> {
        let last = self.all.checked_sub(1)?;
        let rank = (part * last as f64).round() as u64;
        if rank == 0 {
            return Some(self.least);
        }
        if rank >= last {
            return Some(self.most);
        }
        let mut places: Vec<(i32, u64)> = self.counts.iter().map(|(place, count)| (*place, *count)).collect();
        places.sort_by_key(|(place, _)| size_of(*place));
        let mut below = 0;
        let place = places.into_iter().find_map(|(place, count)| {
            below += count;
            (below > rank).then_some(place)
        })?;
        Some(rounded(middle(place)).clamp(self.least, self.most))
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
    if size == 0.0 {
        return 0;
    }
    // A quotient of the sizes would be infinite for the largest ones.
    let steps = |from: f64| ((size.ln() - from.ln()) / WIDTH.ln()).floor() as i32 + 1;
    let place = if size < SMALL { TINY + steps(SMALLEST).max(1) } else { steps(SMALL).max(1) };
    if value < 0.0 { -place } else { place }
}

/// A number by which places are in the order of their values.
fn size_of(place: i32) -> i32 {
    let size = if place.abs() > TINY { place.abs() - TINY } else { place.abs() + MOST };
    size * place.signum()
}

fn middle(place: i32) -> f64 {
    if place == 0 {
        return 0.0;
    }
    let (from, steps) = if place.abs() > TINY { (SMALLEST, place.abs() - TINY) } else { (SMALL, place.abs()) };
    let size = (from.ln() + (f64::from(steps) - 0.5) * WIDTH.ln()).exp();
    if place < 0 { -size } else { size }
}

/// To four digits: the value is within one per cent.
fn rounded(value: f64) -> f64 {
    if value == 0.0 {
        return value;
    }
    let digits = 10_f64.powi(3 - value.abs().log10().floor() as i32);
    let rounded = (value * digits).round() / digits;
    // The powers of ten reach as far as the numbers do in one direction alone.
    if rounded.is_finite() { rounded } else { value }
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
    #[test]
    fn the_ends_are_exact_and_no_size_is_too_large_or_too_small() {
        for scale in [1.0, 1e299, 1.7e304, 1e-299, 1e-17, -1e299, -3e-15] {
            let mut sketch = Sketch::default();
            let values: Vec<f64> = (1..=1001).map(|n| f64::from(n) * 1.234_567_8 * scale).collect();
            values.iter().for_each(|value| sketch.add(*value));
            let (first, last) = (values[0].min(values[1000]), values[0].max(values[1000]));
            assert_eq!((sketch.quantile(0.0), sketch.quantile(1.0)), (Some(first), Some(last)), "{scale}");
            for (part, n) in [(0.25, 250), (0.5, 500), (0.75, 750)] {
                let found = sketch.quantile(if scale > 0.0 { part } else { 1.0 - part }).unwrap();
                assert!((found / values[n] - 1.0).abs() < 0.0101, "{part} of {scale}: {found}, not {}", values[n]);
            }
        }
        // From the smallest to the largest, in their order.
        let mut sketch = Sketch::default();
        let all = [-1e308, -1.0, -1e-20, 0.0, 1e-300, 1e-20, 2e-12, 1.0, 1e299, 1.5e308, f64::MAX];
        all.iter().for_each(|value| sketch.add(*value));
        for (n, value) in all.iter().enumerate() {
            let found = sketch.quantile(n as f64 / 10.0).unwrap();
            assert!((found - value).abs() <= 0.0101 * value.abs(), "{found}, not {value}");
        }
        // What is rounded stays between the least and the greatest.
        let mut sketch = Sketch::default();
        [1.234_56, 1.234_561, 1.234_562].into_iter().for_each(|value| sketch.add(value));
        assert!((1.234_56..=1.234_562).contains(&sketch.quantile(0.5).unwrap()));
    }
}
