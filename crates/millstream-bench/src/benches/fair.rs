//! Three producers that could all send more than is taken, one consumer who takes what is there: what the slowest of them
//! gets through, of a third.

use crate::failure::Failure;
use crate::figure::{Figure, Ratio, Results, Unit};
use crate::setting::Setting;
use millstream::prelude::*;
use std::time::{Duration, Instant};

const PRODUCERS: usize = 3;

/// What each producer got through, and how long that took.
struct Taken {
    of: [u64; PRODUCERS],
    seconds: f64,
}

pub(crate) fn run(setting: &Setting) -> Result<Results, Failure> {
    // In less time than that one of them may not have had a core.
    let n = setting.items(30_000_000, 6_000_000).max(3_000_000);
    Ok(Results::joined([
        at(setting, "arrival", n, false, Some(0.5))?,
        // Here it is for the scheduler, and not for us, who comes to claim.
        at(setting, "shared", n / 3, true, None)?,
    ]))
}

fn at(setting: &Setting, case: &'static str, n: u64, shared: bool, bound: Option<f64>) -> Result<Results, Failure> {
    let rings = setting.rings.clone().wait(Wait::Yielding).ring(setting.ring.unwrap_or(4096));
    let (mut speeds, mut shares) = (Vec::new(), Vec::new());
    for turn in 0..=setting.turns() {
        setting.progress.turn(turn, setting.turns());
        let Taken { of, seconds } = taken(&rings, n, shared)?;
        if turn > 0 {
            speeds.push(n as f64 / seconds);
            let least = of.into_iter().min().unwrap_or(0);
            shares.push(least as f64 * PRODUCERS as f64 / n as f64);
        }
    }
    setting.progress.done();
    let figures = vec![Figure::new(case, "ours", speeds, Unit::ItemsPerSecond)];
    let ratios = vec![Ratio::new(case, "fair-share", shares, bound)];
    Ok(Results { figures, ratios, ..Results::default() })
}

/// Takes at least `n` values of producers that never have enough.
fn taken(rings: &Rings, n: u64, shared: bool) -> Result<Taken, Failure> {
    let fan_in = fan_in(PRODUCERS).with_origin();
    let (senders, mut poller) = if shared { fan_in.shared() } else { fan_in }.open(rings)?;
    std::thread::scope(|scope| {
        for sender in senders {
            let send = move || sender.send_all(0..u64::MAX);
            std::thread::Builder::new().spawn_scoped(scope, send).map_err(Failure::io("a thread"))?;
        }
        let (mut of, mut in_order) = ([0_u64; PRODUCERS], true);
        let mut poll = |of: &mut [u64; PRODUCERS]| {
            poller.poll_for(Duration::MAX, |_, Produced { producer, number, value }| {
                in_order &= number == value && of[producer as usize] == number;
                of[producer as usize] += 1;
            })
        };
        while of.contains(&0) {
            poll(&mut of)?;
        }
        let (before, started) = (of, Instant::now());
        while of.iter().sum::<u64>() < n + before.iter().sum::<u64>() {
            poll(&mut of)?;
        }
        let seconds = started.elapsed().as_secs_f64();
        drop(poller);
        of.iter_mut().zip(before).for_each(|(now, before)| *now -= before);
        let (who, expected, got) = ("ours", "values in order".to_owned(), "others".to_owned());
        if in_order { Ok(Taken { of, seconds }) } else { Err(Failure::Checksum { who, expected, got }) }
    })
}
