use super::{Linear, Particle, Volatility};

/// What an exact filter knows of each round.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimated {
    /// The mean of the hidden number, given everything that was seen until then.
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

/// How many points the grid has on either side of 0.
const HALF: i32 = 250;

/// How many standard deviations of the number's own lie on either side of 0.
const WIDE: f64 = 6.0;

/// The answer for [`Volatility`], by summing over a fine grid of states.
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
        let weighed = |point| moved(point) * volatility.log_likelihood(point, *observation).exp();
        let next: Vec<f64> = points.iter().map(weighed).collect();
        let total: f64 = next.iter().sum();
        likely = next.into_iter().map(|likely| likely / total).collect();
        let mean: f64 = points.iter().zip(&likely).map(|(point, likely)| point * likely).sum();
        let square: f64 = points.iter().zip(&likely).map(|(point, likely)| (point - mean).powi(2) * likely).sum();
        Estimated { mean, deviation: square.sqrt() }
    };
    observations.iter().map(&mut round).collect()
}
