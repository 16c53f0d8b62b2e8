//! Each wait strategy: the time until a worker that has waited for a while sees a value, and its use of a core
//! meanwhile.

use super::wakes;
use crate::failure::Failure;
use crate::figure::{Figure, Ratio, Results, Unit};
use crate::latency::{Quantile, Waiter, compare};
use crate::load::processor_time;
use crate::setting::Setting;
use millstream::core::SplitMix64;
use millstream::prelude::*;
use std::cell::RefCell;
use std::thread;
use std::time::{Duration, Instant};

const WAITS: [Quantile; 2] = [Quantile { case: "waiting-p50", of: 0.50 }, Quantile { case: "waiting-p99", of: 0.99 }];
/// The strategies, and the most of a core that a worker may use while it waits, if it gives the core away.
const STRATEGIES: [(&str, Wait, Option<f64>); 5] = [
    ("busy-spin", Wait::BusySpin, None),
    ("phased", Wait::Phased, Some(0.05)),
    ("yielding", Wait::Yielding, None),
    ("sleeping", Wait::Sleeping, Some(0.2)),
    ("blocking", Wait::Blocking, Some(0.05)),
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
    let rings = STRATEGIES.map(|(who, way, most)| (who, setting.rings(1).wait(way), most));
    let waiters = rings.iter().map(|(who, rings, _)| Waiter::new(who, || wakes(rings, n, moment))).collect();
    let mut results = compare(setting, &WAITS, waiters)?;
    // Each strategy has its own purpose, so most ratios mean nothing. But a worker that spins must see a value sooner
    // than one that has to be woken.
    results.ratios.retain(|ratio| ratio.case == WAITS[0].case && ratio.who == "blocking");
    results.ratios.iter_mut().for_each(|ratio| ratio.bound = Some(1.0));
    for (who, rings, most) in &rings {
        let share = |_| idle(rings, SETTLED * 5 * n as u32 / 2);
        let shares = (0..setting.turns()).map(share).collect::<Result<Vec<f64>, _>>()?;
        let within = |most: f64| shares.iter().map(|share| most / share).collect();
        results.ratios.extend(most.map(|most| Ratio::new("idle", who, within(most), Some(1.0))));
        results.figures.push(Figure::new("idle", who, shares, Unit::Cores));
    }
    Ok(results)
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
