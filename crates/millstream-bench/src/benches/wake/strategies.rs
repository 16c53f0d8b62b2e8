//! Each wait strategy: the time until a worker that has waited for a while sees a value, and its use of a core
//! meanwhile.

use super::wakes;
use crate::failure::Failure;
use crate::figure::{Figure, Results, Unit};
use crate::latency::{Quantile, Waiter, compare};
use crate::load::processor_time;
use crate::setting::Setting;
use millstream::core::SplitMix64;
use millstream::prelude::*;
use std::cell::RefCell;
use std::thread;
use std::time::{Duration, Instant};

const WAITS: [Quantile; 2] = [Quantile { case: "waiting-p50", of: 0.50 }, Quantile { case: "waiting-p99", of: 0.99 }];
const STRATEGIES: [(&str, Wait); 5] = [
    ("phased", Wait::Phased),
    ("busy-spin", Wait::BusySpin),
    ("yielding", Wait::Yielding),
    ("sleeping", Wait::Sleeping),
    ("blocking", Wait::Blocking),
];

/// Long enough for naps to have reached their full length.
const SETTLED: Duration = Duration::from_millis(2);
/// The longest random delay of a value, so that values are not in step with the naps.
const LATER: Duration = Duration::from_millis(1);

pub(super) fn run(setting: &Setting) -> Result<Results, Failure> {
    // A value takes as long as a hundred items of other benches.
    let n = setting.items(20_000, 10_000).div_ceil(100);
    let random = RefCell::new(SplitMix64::new(1));
    let moment = || SETTLED + Duration::from_nanos(random.borrow_mut().below(LATER.as_nanos() as u64));
    let rings = STRATEGIES.map(|(who, way)| (who, setting.rings(1).wait(way)));
    let waiters = rings.iter().map(|(who, rings)| Waiter::new(who, || wakes(rings, n, moment))).collect();
    // Each strategy has its own purpose, so their ratios mean nothing.
    let waits = Results { ratios: Vec::new(), ..compare(setting, &WAITS, waiters)? };
    let shares = rings.iter().map(|(who, rings)| {
        let share = |_| idle(rings, SETTLED * 5 * n as u32 / 2);
        let shares = (0..setting.turns()).map(share).collect::<Result<_, _>>()?;
        Ok(Figure::new("idle", who, shares, Unit::Cores))
    });
    let idle = Results { figures: shares.collect::<Result<_, Failure>>()?, ..Results::default() };
    Ok(Results::joined([waits, idle]))
}

/// The use of a core by a run without values, over all its threads.
fn idle(rings: &Rings, time: Duration) -> Result<f64, Failure> {
    let (sender, receiver) = source::channel(4096);
    let run = rings.start(pipeline::<u64>().from(receiver).to_each(|_, _| ()))?;
    thread::sleep(SETTLED);
    let (started, before) = (Instant::now(), processor_time());
    thread::sleep(time);
    let share = (processor_time() - before).as_secs_f64() / started.elapsed().as_secs_f64();
    drop(sender);
    run.wait()?;
    Ok(share)
}
