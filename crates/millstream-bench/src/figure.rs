//! The results of a bench.

use crate::counters::Counters;
use crate::failure::Failure;
use crate::load::Use;
use crate::timeline::Timeline;
use serde::Serialize;
use std::fmt;

/// The unit of a figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub(crate) enum Unit {
    #[serde(rename = "items/s")]
    ItemsPerSecond,
    #[serde(rename = "B/s")]
    BytesPerSecond,
    #[serde(rename = "s")]
    Seconds,
    #[serde(rename = "ns")]
    Nanoseconds,
    #[serde(rename = "B")]
    Bytes,
    /// Processor time per time.
    #[serde(rename = "cores")]
    Cores,
    /// A ratio.
    #[serde(rename = "x")]
    Times,
}

impl fmt::Display for Unit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Unit::ItemsPerSecond => "items/s",
            Unit::BytesPerSecond => "B/s",
            Unit::Seconds => "s",
            Unit::Nanoseconds => "ns",
            Unit::Bytes => "B",
            Unit::Cores => "cores",
            Unit::Times => "x",
        })
    }
}

/// One measured quantity of a contestant.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Figure {
    pub(crate) case: &'static str,
    pub(crate) who: &'static str,
    /// The median of the samples.
    pub(crate) value: f64,
    pub(crate) unit: Unit,
    pub(crate) samples: Vec<f64>,
}

impl Figure {
    pub(crate) fn new(case: &'static str, who: &'static str, samples: Vec<f64>, unit: Unit) -> Self {
        let samples: Vec<_> = samples.into_iter().map(rounded).collect();
        Figure { case, who, value: median(&samples), unit, samples }
    }
}

/// The speed of ours over a rival's, by turn: above 1, ours is faster.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Ratio {
    pub(crate) case: &'static str,
    pub(crate) who: &'static str,
    /// The two contestants, if they are not `ours` and `who`: the first one's speed over the second one's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) pair: Option<[&'static str; 2]>,
    pub(crate) median: f64,
    pub(crate) min: f64,
    pub(crate) max: f64,
    /// The bound of the median.
    pub(crate) bound: Option<f64>,
    pub(crate) samples: Vec<f64>,
}

/// The share by which a median may miss its bound: machines that others use too are noisy.
pub(crate) const TOLERANCE: f64 = 0.05;

impl Ratio {
    pub(crate) fn new(case: &'static str, who: &'static str, samples: Vec<f64>, bound: Option<f64>) -> Self {
        let samples: Vec<_> = samples.into_iter().map(rounded).collect();
        let (min, max) = (least(&samples), greatest(&samples));
        Ratio { case, who, pair: None, median: median(&samples), min, max, bound, samples }
    }

    /// A median that is no number misses its bound.
    pub(crate) fn misses(&self) -> bool {
        self.bound.is_some_and(|bound| self.median.is_nan() || self.median < bound * (1.0 - TOLERANCE))
    }
}

impl fmt::Display for Ratio {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.ratio.{} is {}", self.case, self.who, shown(self.median))?;
        self.bound.map_or(Ok(()), |bound| write!(f, ", its bound {bound}"))
    }
}

/// All results of a bench.
#[derive(Clone, Debug, Default, Serialize)]
pub(crate) struct Results {
    /// The use of the machine by others while the contestants took turns, in all cases together. Of a bench without
    /// turns, while it ran.
    pub(crate) others: Option<Use>,
    /// The nanoseconds in which a cache line went to another core and back, measured before each turn.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) round_trips: Vec<f64>,
    pub(crate) figures: Vec<Figure>,
    pub(crate) ratios: Vec<Ratio>,
    /// Speed against waits, if a bench tries settings that trade one for the other.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) curve: Vec<Point>,
    /// The answers for each offered load.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) overload: Vec<Offered>,
    /// The programs' costs beside time.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) counters: Vec<Counters>,
    /// Remarks on the figures.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) notes: Vec<String>,
    /// Times with more and more workers.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) scaling: Vec<Scaling>,
    /// Speeds along an axis.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) growth: Vec<Growth>,
    /// How outputs and shards follow a load.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) following: Vec<Following>,
    /// The counts of each line over time. They are drawn and not saved, since there are too many.
    #[serde(skip)]
    pub(crate) timelines: Vec<Timeline>,
    /// The bounds that were not judged, as `CASE.WHO`, since that contestant was left out.
    #[serde(skip)]
    pub(crate) unjudged: Vec<String>,
}

/// The time of some work with this number of workers.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct Scaling {
    pub(crate) scenario: &'static str,
    pub(crate) who: &'static str,
    pub(crate) workers: usize,
    pub(crate) seconds: f64,
    /// The time if all workers were busy all the time.
    pub(crate) ideal: f64,
    /// The share of their time in which workers wait, from 0 to 1.
    pub(crate) idle: f64,
}

/// The speed of a contestant at a place of an axis, such as the number of stages.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct Growth {
    pub(crate) who: &'static str,
    pub(crate) at: u64,
    /// Per second, in the unit of the figures.
    pub(crate) speed: f64,
}

/// A load over time, and the outputs and shards that follow it. Each list is as long as `at`; a value covers the time
/// since the previous moment.
#[derive(Clone, Debug, Default, Serialize)]
pub(crate) struct Following {
    pub(crate) case: &'static str,
    /// Seconds since the start.
    pub(crate) at: Vec<f64>,
    /// Items a second that were due.
    pub(crate) offered: Vec<f64>,
    /// Items a second that came out.
    pub(crate) output: Vec<f64>,
    /// The shards at the moment.
    pub(crate) shards: Vec<usize>,
    /// The mean number of workers that were not parked.
    pub(crate) awake: Vec<f64>,
}

impl Following {
    /// Adds a moment.
    pub(crate) fn push(&mut self, at: f64, [offered, output, awake]: [f64; 3], shards: usize) {
        let short = |value: f64| (value * 1e3).round() / 1e3;
        self.at.push(short(at));
        self.offered.push(short(offered));
        self.output.push(short(output));
        self.shards.push(shards);
        self.awake.push(short(awake));
    }
}

/// The answers of a service to this many requests a second.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct Offered {
    pub(crate) offered: f64,
    /// The requests a second that it answers, and does not refuse.
    pub(crate) good: f64,
    /// The 99th percentile of the waits, in nanoseconds.
    pub(crate) p99: f64,
}

/// A point of such a curve.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct Point {
    /// The size in bytes.
    pub(crate) size: u64,
    /// The speed in bytes a second.
    pub(crate) speed: f64,
    /// The wait in nanoseconds.
    pub(crate) wait: f64,
}

impl Results {
    /// The cases of one bench, one after the other.
    pub(crate) fn joined(cases: impl IntoIterator<Item = Results>) -> Results {
        let join = |all: Results, case: Results| Results {
            others: case.others.into_iter().chain(all.others).reduce(Use::and),
            round_trips: [all.round_trips, case.round_trips].concat(),
            figures: [all.figures, case.figures].concat(),
            ratios: [all.ratios, case.ratios].concat(),
            curve: [all.curve, case.curve].concat(),
            overload: [all.overload, case.overload].concat(),
            counters: [all.counters, case.counters].concat(),
            notes: [all.notes, case.notes].concat(),
            scaling: [all.scaling, case.scaling].concat(),
            growth: [all.growth, case.growth].concat(),
            following: [all.following, case.following].concat(),
            timelines: [all.timelines, case.timelines].concat(),
            unjudged: [all.unjudged, case.unjudged].concat(),
        };
        cases.into_iter().fold(Results::default(), join)
    }

    /// No results, since a tool is left out, and so is this bound, as `CASE.WHO`.
    pub(crate) fn left_out(bound: &str) -> Results {
        Results { unjudged: vec![bound.to_owned()], ..Results::default() }
    }

    /// These results, unless one of them is infinite or no number. Such a value is no result, JSON has none, and an
    /// infinite ratio would hold every bound.
    pub(crate) fn finite(self) -> Result<Self, Failure> {
        let figures = self.figures.iter().map(|figure| (figure.case, figure.who, &figure.samples));
        let ratios = self.ratios.iter().map(|ratio| (ratio.case, ratio.who, &ratio.samples));
        let wrong = figures.chain(ratios).find_map(|(case, who, samples)| {
            let value = samples.iter().find(|value| !value.is_finite())?;
            Some(Failure::NotFinite(format!("{case}.{who}"), *value))
        });
        wrong.map_or(Ok(self), Err)
    }

    /// Our cost in nanoseconds, with its limit. A cost is a difference of two times, so with few items, or on a busy
    /// machine, it can be negative.
    pub(crate) fn cost(case: &'static str, costs: Vec<f64>, most: f64) -> Results {
        let costs: Vec<f64> = costs.into_iter().map(|cost| cost.max(most / 100.0)).collect();
        let room = costs.iter().map(|cost| most / cost).collect();
        let figure = |who, samples| Figure::new(case, who, samples, Unit::Nanoseconds);
        let figures = vec![figure("ours", costs), figure("limit", vec![most])];
        Results { figures, ratios: vec![Ratio::new(case, "limit", room, Some(1.0))], ..Results::default() }
    }

    /// Whether there is more to draw than bars.
    #[cfg(feature = "plot")]
    pub(crate) fn has_curves(&self) -> bool {
        let Results { curve, overload, scaling, growth, following, timelines, .. } = self;
        let lines = !(scaling.is_empty() && growth.is_empty() && following.is_empty() && timelines.is_empty());
        lines || !(curve.is_empty() && overload.is_empty())
    }
}

/// Rounds to seven digits, since later ones are noise.
fn rounded(value: f64) -> f64 {
    format!("{value:.6e}").parse().unwrap_or(value)
}

/// A number as in the result lines.
pub(crate) fn shown(value: f64) -> String {
    match value.abs() {
        1000.0.. => format!("{value:.0}"),
        0.01.. => format!("{value:.3}"),
        _ => format!("{value:.6}"),
    }
}

/// The median: the middle sample, or the mean of the middle two. It is 0 if there are none.
pub(crate) fn median(samples: &[f64]) -> f64 {
    let mut sorted = samples.to_vec();
    sorted.sort_by(f64::total_cmp);
    match sorted.len() {
        0 => 0.0,
        n => f64::midpoint(sorted[(n - 1) / 2], sorted[n / 2]),
    }
}

fn least(samples: &[f64]) -> f64 {
    samples.iter().copied().min_by(f64::total_cmp).unwrap_or(0.0)
}

fn greatest(samples: &[f64]) -> f64 {
    samples.iter().copied().max_by(f64::total_cmp).unwrap_or(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_in_the_middle() {
        assert_eq!(median(&[3.0, 1.0, 2.0]), 2.0);
        assert_eq!(median(&[4.0, 1.0, 2.0, 3.0]), 2.5);
        assert_eq!(median(&[]), 0.0);
    }

    #[test]
    fn a_bound_is_missed_by_more_than_a_twentieth() {
        let ratio = |median| Ratio::new("speed", "fused", vec![median], Some(1.0));
        assert!(!ratio(1.1).misses());
        assert!(!ratio(0.951).misses());
        assert!(ratio(0.949).misses());
        assert!(ratio(f64::NAN).misses());
        assert!(!Ratio::new("speed", "fused", vec![0.1], None).misses());
    }

    #[test]
    fn a_value_that_is_no_number_is_no_result() {
        for wrong in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            let of =
                |samples| Results { ratios: vec![Ratio::new("speed", "fused", samples, None)], ..Results::default() };
            assert!(of(vec![1.0, 0.0, -1.0]).finite().is_ok());
            let message = of(vec![1.0, wrong, 1.0]).finite().unwrap_err().to_string();
            assert!(message.starts_with(&format!("speed.fused is {wrong}, ")), "{message}");
            let figures = vec![Figure::new("p99", "ours", vec![wrong], Unit::Nanoseconds)];
            assert!(Results { figures, ..Results::default() }.finite().is_err());
        }
    }

    #[test]
    fn extremes_are_kept() {
        let ratio = Ratio::new("speed", "fused", vec![2.0, 9.0, 1.0], None);
        assert_eq!((ratio.min, ratio.median, ratio.max), (1.0, 2.0, 9.0));
    }
}
