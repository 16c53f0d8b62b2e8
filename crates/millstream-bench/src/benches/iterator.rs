//! The lines of an iterator of the standard library, `BufRead::lines`: the sum of the numbers in each, if it is even.
//!
//! `plain` is the loop by hand over the same iterator. In case `thread` the iterator may wait, as any may, so it has a
//! thread of its own, which hands over each line at once, or runs the stages after 64 of them where that is faster. In
//! case `ready` it is marked as one that never waits. In case `here` the run is on the calling thread, and each line is
//! in the sink before the next one is asked for. `last-p50` and `last-p99` are the times until the sink has the last of
//! 50,000 numbers that come fast, before the iterator waits for 2 ms; `workers` hands over each number.

use crate::failure::Failure;
use crate::figure::{Results, Unit};
use crate::latency::{Quantile, Waiter, compare};
use crate::setting::Setting;
use crate::turns::{Contestant, Work, take_turns};
use millstream::prelude::*;
use std::fmt::Write;
use std::io::{BufRead, BufReader, Cursor};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

pub(crate) fn run(setting: &Setting) -> Result<Results, Failure> {
    let n = setting.items(2_000_000, 400_000);
    let text = text(n);
    let (rings, here) = (&setting.rings, Inline::new(setting.rings.clone()));
    let add = |all: &mut u64, _: SequenceNumber, sum: &u64| *all += sum;
    let cases = [
        beside_plain(setting, "here", Some(0.7), n, &text, || {
            Ok(here.run(sums().from(lines(&text)).to_fold(0, add))?.0)
        })?,
        beside_plain(setting, "ready", Some(0.9), n, &text, || {
            Ok(rings.run(sums().from(source::ready(lines(&text))).to_fold(0, add))?.0)
        })?,
        beside_plain(setting, "thread", Some(0.5), n, &text, || {
            Ok(rings.run(sums().from(lines(&text)).to_fold(0, add))?.0)
        })?,
    ];
    let numbers = setting.items(50 * BURST, 20 * BURST);
    let waiters = vec![
        Waiter::new("ours", || last_of_bursts(&setting.rings, numbers)),
        Waiter::new("workers", || last_of_bursts(&setting.rings.clone().stages_on(StagesOn::Workers), numbers)),
    ];
    Ok(Results::joined(cases.into_iter().chain([compare(setting, &LAST, waiters)?])))
}

const LAST: [Quantile; 2] = [Quantile { case: "last-p50", of: 0.50 }, Quantile { case: "last-p99", of: 0.99 }];
const BURST: u64 = 50_000;
const PAUSE: Duration = Duration::from_millis(2);

/// The times from the last number of each burst to the sink. If there are fewer numbers, all are one burst.
fn last_of_bursts(rings: &Rings, numbers: u64) -> Result<Vec<u64>, Failure> {
    let burst = BURST.min(numbers);
    let times = (0..numbers / burst * burst).map(move |n| {
        if n > 0 && n.is_multiple_of(burst) {
            thread::sleep(PAUSE);
        }
        Instant::now()
    });
    let note = move |all: &mut Vec<u64>, n: SequenceNumber, time: &Instant| {
        if (n.0 + 1).is_multiple_of(burst) {
            all.push(time.elapsed().as_nanos() as u64);
        }
    };
    Ok(rings.run(pipeline::<Instant>().from(times).to_fold(Vec::new(), note))?.0)
}

type Text = Arc<[u8]>;

fn beside_plain(
    setting: &Setting,
    case: &'static str,
    bound: Option<f64>,
    n: u64,
    text: &Text,
    ours: impl Fn() -> Result<u64, Failure>,
) -> Result<Results, Failure> {
    let plain = || lines(text).map(|line| numbers(&line)).filter(|sum| sum % 2 == 0).sum();
    let expected = plain();
    let contestants = vec![Contestant::new("ours", expected, ours), Contestant::new("plain", expected, || Ok(plain()))];
    let speeds = take_turns(setting, Work { case, unit: Unit::ItemsPerSecond, size: n, goes: 3 }, contestants)?;
    let ratio = speeds.ratio("plain", bound);
    Ok(speeds.results([ratio]))
}

fn sums() -> impl Pipeline<String, u64> {
    pipeline::<String>().map(|line: &String| numbers(line)).filter(|sum| sum % 2 == 0)
}

fn numbers(line: &str) -> u64 {
    line.split(' ').filter_map(|word| word.parse::<u64>().ok()).sum()
}

fn lines(text: &Text) -> impl Iterator<Item = String> + Send + use<> {
    BufReader::new(Cursor::new(text.clone())).lines().map_while(Result::ok)
}

/// Lines of about 30 bytes.
fn text(n: u64) -> Text {
    let mut text = String::new();
    for line in 0..n {
        let _ = writeln!(text, "item {line} costs {} and {}", line * 7919 % 1000, line % 7);
    }
    text.into_bytes().into()
}
