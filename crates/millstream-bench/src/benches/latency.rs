//! The time from when a value is due until a sink has it, at a fixed rate: over one hop, and through a chain of five
//! stages; and the same over the standard library's bounded channels, with a thread for each stage.
//!
//! A value's time begins when it is due, even if it is sent late because the one before it was slow. A pause therefore
//! counts for every value that it delays, and the rate does not hide it (coordinated omission).

use crate::failure::Failure;
use crate::figure::Results;
use crate::latency::{Quantile, Waiter, compare};
use crate::setting::Setting;
use millstream::io::Traffic;
use millstream::io::time::{Clock, SystemClock};
use millstream::prelude::*;
use std::sync::mpsc::{Receiver, sync_channel};
use std::thread;
use std::time::Duration;

/// A rate, and the names of its cases: the median wait, and the waits that one value in a hundred and one in a thousand
/// exceed.
struct Rate {
    a_second: u64,
    hop: [&'static str; 3],
    chain: [&'static str; 3],
}

const RATES: [Rate; 2] = [
    Rate {
        a_second: 10_000,
        hop: ["hop-10k-p50", "hop-10k-p99", "hop-10k-p999"],
        chain: ["chain5-10k-p50", "chain5-10k-p99", "chain5-10k-p999"],
    },
    Rate {
        a_second: 100_000,
        hop: ["hop-100k-p50", "hop-100k-p99", "hop-100k-p999"],
        chain: ["chain5-100k-p50", "chain5-100k-p99", "chain5-100k-p999"],
    },
];

const STAGES: usize = 5;
const CAPACITY: usize = 1024;

pub(crate) fn run(setting: &Setting) -> Result<Results, Failure> {
    let of_rate = |Rate { a_second, hop, chain }: &Rate| {
        // Half a second of traffic, or a fifth.
        let n = setting.items(a_second / 2, a_second / 5) as usize;
        let cases = [
            compare(
                setting,
                &quantiles(*hop),
                vec![
                    Waiter::new("ours", || ours(setting, pipeline::<Duration>(), *a_second, n)),
                    Waiter::new("channel", || over_channels(0, *a_second, n)),
                ],
            )?,
            compare(
                setting,
                &quantiles(*chain),
                vec![
                    Waiter::new("ours", || ours(setting, five(), *a_second, n)),
                    Waiter::new("channel", || over_channels(STAGES, *a_second, n)),
                ],
            )?,
        ];
        Ok::<_, Failure>(Results::joined(cases))
    };
    RATES.iter().map(of_rate).collect::<Result<Vec<_>, _>>().map(Results::joined)
}

fn quantiles(cases: [&'static str; 3]) -> [Quantile; 3] {
    let [median, p99, p999] = cases;
    [Quantile { case: median, of: 0.5 }, Quantile { case: p99, of: 0.99 }, Quantile { case: p999, of: 0.999 }]
}

/// The work of a stage: it passes on when the value was due.
fn passed(due: &Duration) -> Duration {
    std::hint::black_box(*due)
}

fn five() -> impl RunsOn<Rings, Item = Duration, In = Val<Duration>, Out = Val<Duration>> {
    pipeline::<Duration>().map(passed).map(passed).map(passed).map(passed).map(passed)
}

/// When each value is due. The iterator waits until then.
fn dues(a_second: u64, n: usize, clock: SystemClock) -> impl Iterator<Item = Duration> {
    Traffic::new(1).rate(a_second).burst(1).size(8).arrivals_by(clock).take(n).map(|arrival| arrival.due)
}

fn since(due: Duration, clock: SystemClock) -> u64 {
    clock.now().saturating_sub(due).as_nanos() as u64
}

fn ours<P>(setting: &Setting, p: P, a_second: u64, n: usize) -> Result<Vec<u64>, Failure>
where
    P: RunsOn<Rings, Item = Duration> + Arrow<In = Val<Duration>>,
    for<'a> P::Out: Shape<Ref<'a> = &'a Duration>,
{
    let rings = setting.rings.clone().ring(setting.ring.unwrap_or(CAPACITY));
    let clock = SystemClock::default();
    let (mut senders, poller) = fan_in(1).open(&rings)?;
    let add = move |waits: &mut Vec<u64>, _, due: &Duration| waits.push(since(*due, clock));
    let run = rings.start((&p).from(poller).to_fold(Vec::with_capacity(n), add))?;
    let sender = senders.pop();
    for due in dues(a_second, n, clock) {
        if sender.as_ref().is_none_or(|sender| sender.send(due).is_err()) {
            break;
        }
    }
    drop(sender);
    all(run.wait()?.0, n, "ours")
}

fn over_channels(stages: usize, a_second: u64, n: usize) -> Result<Vec<u64>, Failure> {
    let clock = SystemClock::default();
    let (sender, mut receiver) = sync_channel(CAPACITY);
    for _ in 0..stages {
        receiver = stage(receiver);
    }
    let waits = thread::spawn(move || receiver.into_iter().map(|due| since(due, clock)).collect());
    let _ = dues(a_second, n, clock).try_for_each(|due| sender.send(due));
    drop(sender);
    all(waits.join().expect("a clock does not panic"), n, "channel")
}

fn stage(input: Receiver<Duration>) -> Receiver<Duration> {
    let (sender, receiver) = sync_channel(CAPACITY);
    thread::spawn(move || input.into_iter().try_for_each(|due| sender.send(passed(&due))));
    receiver
}

/// A wait for every value.
fn all(waits: Vec<u64>, n: usize, who: &'static str) -> Result<Vec<u64>, Failure> {
    if waits.len() == n {
        return Ok(waits);
    }
    Err(Failure::Checksum { who, expected: format!("{n} waits"), got: waits.len().to_string() })
}
