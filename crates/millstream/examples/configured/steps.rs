//! The steps that a configuration may have, and the stage of each.

use millstream::prelude::*;
use serde::Deserialize;
use std::collections::VecDeque;
use std::num::{NonZeroU32, NonZeroUsize};
use std::sync::Arc;

/// A value of a station. It is not `Clone`, though its name is shared by all readings that are made of it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Reading {
    pub(crate) station: Arc<str>,
    pub(crate) value: i64,
}

impl Reading {
    pub(crate) fn parse(line: &str) -> Result<Self, String> {
        let wrong = || format!("{line:?} is no reading: write a station and a whole number, as in `north 12`");
        let (station, value) = line.split_once(' ').ok_or_else(wrong)?;
        Ok(Reading { station: station.into(), value: value.parse().map_err(|_| wrong())? })
    }

    fn with(&self, value: i64) -> Self {
        Reading { station: self.station.clone(), value }
    }
}

/// The text of a configuration: `{"steps": [STEP, ...]}`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Configuration {
    steps: Vec<Step>,
}

/// A step, as an object with one key: `{"add": 3}`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Step {
    /// Adds a number to every value.
    Add(i64),
    /// Multiplies every value.
    Multiply(i64),
    /// Leaves out the readings that do not pass a test.
    Keep(Test),
    /// The mean of the last values, at most this many, rounded toward zero.
    Average(NonZeroUsize),
    /// The steps inside, for each station by itself.
    EachStation(Vec<Step>),
    /// The sum of what two lists of steps make of a reading; nothing where one of them leaves it out.
    Sum(Vec<Step>, Vec<Step>),
    /// A step with a name for plans, pages and errors: `{"named": ["tenths", {"multiply": 10}]}`.
    Named(String, Box<Step>),
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Test {
    AtLeast(i64),
    Below(i64),
    DivisibleBy(NonZeroU32),
}

/// A stage from readings to readings, whatever it is. It is quiet, so that it can be at a key.
type Readings = BoxStage<Reading, Reading, QuietPipe>;

/// The tasklets of each stage inside `each_station`.
const SHARDS: usize = 2;

impl Configuration {
    pub(crate) fn parse(text: &str) -> Result<Self, serde_json::Error> {
        serde_json::from_str(text)
    }

    /// All steps, one after the other.
    pub(crate) fn stages(&self) -> Readings {
        stages(&self.steps)
    }
}

fn stages(steps: &[Step]) -> Readings {
    steps.iter().fold(id().boxed_exact(), |before, step| before.then(step.stage()).boxed_exact())
}

impl Step {
    fn stage(&self) -> Readings {
        let readings = id::<AnyEdge<Reading>>();
        match self {
            Step::Add(n) => {
                let n = *n;
                readings.map(move |reading: &Reading| reading.with(reading.value.wrapping_add(n))).boxed_as()
            }
            Step::Multiply(by) => {
                let by = *by;
                readings.map(move |reading: &Reading| reading.with(reading.value.wrapping_mul(by))).boxed_as()
            }
            Step::Keep(test) => {
                let test = *test;
                readings.filter(move |reading: &Reading| test.passes(reading.value)).boxed_as()
            }
            Step::Average(of) => {
                let of = of.get();
                readings.scan(VecDeque::new(), move |last, reading| reading.with(average(last, of, reading))).boxed_as()
            }
            Step::EachStation(steps) => {
                let body = stages(steps);
                readings.shard_by_ref(|reading: &Reading| &reading.station, SHARDS, |p| p.then(body)).boxed_as()
            }
            Step::Sum(left, right) => {
                let (left, right) = (stages(left), stages(right));
                let both = readings.fanout(|p| p.then(left), |p| p.then(right));
                both.map(|(a, b): (&Reading, &Reading)| a.with(a.value.wrapping_add(b.value))).boxed_as()
            }
            Step::Named(name, step) => step.stage().named(name).boxed_exact(),
        }
    }
}

impl Test {
    fn passes(self, value: i64) -> bool {
        match self {
            Test::AtLeast(least) => value >= least,
            Test::Below(limit) => value < limit,
            Test::DivisibleBy(n) => value % i64::from(n.get()) == 0,
        }
    }
}

/// Puts a reading to the last ones, and returns the mean of the last `of`.
fn average(last: &mut VecDeque<i64>, of: usize, reading: &Reading) -> i64 {
    if last.len() == of {
        last.pop_front();
    }
    last.push_back(reading.value);
    let sum: i128 = last.iter().map(|value| i128::from(*value)).sum();
    (sum / last.len() as i128) as i64
}
