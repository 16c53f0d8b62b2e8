//! More requests than the server can answer: the offered load, the successful answers, and their waits.

use super::client::Client;
use super::server::Server;
use super::{deposit, paid_in, quantile};
use crate::failure::Failure;
use crate::figure::{Figure, Offered, Ratio, Results, Unit};
use crate::setting::Setting;
use std::path::Path;
use std::time::Duration;

/// The most open requests.
const CONNECTIONS: usize = 1000;
/// Fewer slots than connections, so that the ring can be full.
const RING: &str = "256";

/// The offered load, as a share of the most that the server answers.
struct Load {
    share: f64,
    offered: &'static str,
    good: &'static str,
    refused: &'static str,
    unsent: &'static str,
    p99: &'static str,
}

macro_rules! loads {
    ($($share:literal),*) => {
        [$(Load {
            share: $share,
            offered: concat!("load", $share, "-offered"),
            good: concat!("load", $share, "-good"),
            refused: concat!("load", $share, "-refused"),
            unsent: concat!("load", $share, "-unsent"),
            p99: concat!("load", $share, "-p99"),
        }),*]
    };
}

const LOADS: [Load; 7] = loads![0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0];

/// The greatest load.
const MOST: f64 = 3.0;

/// The bound: the successful answers at the greatest load, as a share of the answers to 64 connections without a pause.
const FLAT: f64 = 0.7;

pub(super) fn run(setting: &Setting, millstream: &Path) -> Result<Results, Failure> {
    let server = Server::millstream(millstream, &["--ring", RING], None)?;
    let mut client = Client::connect(server.at, CONNECTIONS)?;
    setting.progress.say("overload");
    let time = Duration::from_secs(if setting.turns() > 3 { 4 } else { 2 });
    let n = setting.items(60_000, 15_000);
    let mut few = Client::connect(server.at, super::CONNECTIONS)?;
    few.closed(n, &deposit)?;
    let mut results = Results::default();
    let figure = |case, value, unit| Figure::new(case, "ours", vec![value], unit);
    for Load { share, offered, good, refused, unsent, p99 } in LOADS {
        setting.progress.say(offered);
        // Measured again each time, since other processes use the machine too.
        let saturated = n as f64 / few.closed(n, &deposit)?.took.as_secs_f64();
        let rate = saturated * share;
        let before = paid_in(&mut few)?;
        let mut seen = client.open(rate, time, &deposit)?;
        let done = paid_in(&mut few)? - before;
        if done != seen.waits.len() as u64 {
            let (expected, got) = (done.to_string(), seen.waits.len().to_string());
            return Err(Failure::Checksum { who: "overload", expected, got });
        }
        let second = |count: u64| count as f64 / seen.took.as_secs_f64();
        let point = Offered { offered: rate, good: second(done), p99: quantile(&mut seen.waits, 0.99) };
        results.figures.push(figure(offered, rate, Unit::ItemsPerSecond));
        results.figures.push(figure(good, point.good, Unit::ItemsPerSecond));
        results.figures.push(figure(refused, second(seen.refused), Unit::ItemsPerSecond));
        results.figures.push(figure(unsent, second(seen.unsent), Unit::ItemsPerSecond));
        results.figures.push(figure(p99, point.p99, Unit::Nanoseconds));
        results.overload.push(point);
    }
    let mut kept = Vec::new();
    for turn in 1..=setting.turns() {
        setting.progress.turn(turn, setting.turns());
        let saturated = n as f64 / few.closed(n, &deposit)?.took.as_secs_f64();
        let seen = client.open(saturated * MOST, Duration::from_secs(1), &deposit)?;
        kept.push(seen.waits.len() as f64 / seen.took.as_secs_f64() / saturated);
    }
    setting.progress.done();
    results.ratios.push(Ratio::new("overload", "saturated", kept, Some(FLAT)));
    Ok(results)
}
