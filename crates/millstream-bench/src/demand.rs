//! The options of generated traffic on the command line.

use clap::{Args, value_parser};
use millstream::io::Traffic;
use std::fmt;

/// The options of benches with generated traffic.
#[derive(Args, Clone, Debug, PartialEq)]
#[command(next_help_heading = "Generated traffic, in transport")]
pub(crate) struct Demand {
    /// The events a second; charts without this option have no limit
    #[arg(long, value_name = "N", value_parser = value_parser!(u64).range(1..))]
    pub(crate) rate: Option<u64>,

    /// The number of events in a burst
    #[arg(long, value_name = "EVENTS", default_value_t = BURST, value_parser = value_parser!(u64).range(1..))]
    pub(crate) burst: u64,

    /// The bytes of an event; a long has 8
    #[arg(long, value_name = "BYTES", default_value_t = SIZE)]
    size: usize,

    /// How uneven the keys of events are: the exponent of Zipf's law, 0 for even keys
    #[arg(long, value_name = "EXPONENT", default_value_t = SKEW, value_parser = skew)]
    skew: f64,
}

/// The default rate where waits are measured. It is so low that a waiting consumer causes its own waits.
const USUAL: u64 = 100_000;
const KEYS: u32 = 100;
const BURST: u64 = 100;
const SIZE: usize = 64;
const SKEW: f64 = 1.0;

impl Default for Demand {
    fn default() -> Self {
        Demand { rate: None, burst: BURST, size: SIZE, skew: SKEW }
    }
}

impl Demand {
    /// The same traffic in every run.
    pub(crate) fn traffic(&self) -> Traffic {
        let Demand { rate, burst, size, skew } = *self;
        Traffic::new(1).rate(rate.unwrap_or(USUAL)).burst(burst).size(size).keys(KEYS).skew(skew)
    }
}

/// A description of the traffic.
impl fmt::Display for Demand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Demand { rate, burst, size, skew } = self;
        let rate = rate.unwrap_or(USUAL);
        write!(f, "{rate} events/s, {burst} at a time, {size} bytes each, {KEYS} keys, skew {skew}")
    }
}

fn skew(value: &str) -> Result<f64, String> {
    let skew = value.parse().map_err(|error| format!("{error}"))?;
    if (0.0..=100.0).contains(&skew) { Ok(skew) } else { Err("must be from 0 to 100".to_owned()) }
}
