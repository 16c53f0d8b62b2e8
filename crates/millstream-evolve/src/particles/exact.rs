use super::{Linear, Particle, Volatility};

/// The exact estimate of a round.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimated {
    /// The mean of the hidden number, given all observations until then.
    pub mean: f64,
    /// Its standard deviation.
    pub deviation: f64,
}

/// The Kalman filter: the exact answer for [`Linear`].
#[must_use]
pub fn kalman(linear: &Linear, observations: &[f64]) -> Vec<Estimated> {
    let (mut mean, mut variance) = (0.0, linear.variance());
    let round = |observation: &f64| {
        mean *= linear.keeps;
        variance = linear.keeps * linear.keeps * variance + linear.push * linear.push;
        let gain = variance / (variance + linear.blur * linear.blur);
        mean += gain * (observation - mean);
        variance *= 1.0 - gain;
        Estimated { mean, deviation: variance.sqrt() }
    };
    observations.iter().map(round).collect()
}

/// The number of grid points on either side of 0.
const HALF: i32 = 250;

/// The width of the grid on either side of 0, in standard deviations of the hidden number.
const WIDE: f64 = 6.0;

/// The exact answer for [`Volatility`], as a sum over a fine grid of states.
#[must_use]
pub fn grid(volatility: &Volatility, observations: &[f64]) -> Vec<Estimated> {
    let wide = volatility.push / (1.0 - volatility.keeps * volatility.keeps).sqrt();
    let points: Vec<f64> = (-HALF..=HALF).map(|i| WIDE * wide * f64::from(i) / f64::from(HALF)).collect();
    let bell = |off: f64| (-0.5 * off * off).exp();
    let mut likely: Vec<f64> = points.iter().map(|point| bell(point / wide)).collect();
    let mut round = |observation: &f64| {
        let moved = |to: &f64| {
            let from = points.iter().zip(&likely);
            from.map(|(from, likely)| likely * bell((to - volatility.keeps * from) / volatility.push)).sum::<f64>()
        };
        let logs: Vec<f64> = points.iter().map(|point| volatility.log_likelihood(point, *observation)).collect();
        // Only their differences count, and far from all points the exponentials of the logs are 0.
        let most = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let next: Vec<f64> = points.iter().zip(&logs).map(|(point, log)| moved(point) * (log - most).exp()).collect();
        let total: f64 = next.iter().sum();
        likely = next.into_iter().map(|likely| likely / total).collect();
        let mean: f64 = points.iter().zip(&likely).map(|(point, likely)| point * likely).sum();
        let square: f64 = points.iter().zip(&likely).map(|(point, likely)| (point - mean).powi(2) * likely).sum();
        Estimated { mean, deviation: square.sqrt() }
    };
    observations.iter().map(&mut round).collect()
}
