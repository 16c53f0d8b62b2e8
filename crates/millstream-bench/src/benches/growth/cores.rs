//! More workers, up to the cores of the machine, for a map of some 100 nanoseconds and one of a microsecond in a shard
//! for each worker; and one thread that runs the loop. The number of workers that outperform the loop is the COST of
//! McSherry, Isard and Murray (HotOS 2015). The serial share of the work is that of Karp and Flatt, from the times of
//! one worker and of all.

use super::{Step, curve, summed};
use crate::failure::Failure;
use crate::figure::{Results, Unit};
use crate::setting::Setting;
use crate::work;
use millstream::prelude::*;
use std::hint::black_box;
use std::thread::available_parallelism;

/// The name of the cases with 2^i workers.
const CHEAP: [&str; 9] =
    ["100ns-1", "100ns-2", "100ns-4", "100ns-8", "100ns-16", "100ns-32", "100ns-64", "100ns-128", "100ns-256"];
const DEAR: [&str; 9] = ["1us-1", "1us-2", "1us-4", "1us-8", "1us-16", "1us-32", "1us-64", "1us-128", "1us-256"];

pub(crate) fn run(setting: &Setting) -> Result<Results, Failure> {
    let cheap = of_work(setting, "100 ns", &CHEAP, 60, setting.items(1_000_000, 200_000))?;
    let mut dear = of_work(setting, "1 us", &DEAR, work::ROUNDS, setting.items(100_000, 40_000))?;
    // If a value takes a microsecond, all cores outperform one loop.
    if let Some(all_cores) = dear.ratios.last_mut().filter(|_| cores() > 1) {
        all_cores.bound = Some(1.0);
    }
    Ok(Results::joined([cheap, dear]))
}

fn cores() -> usize {
    available_parallelism().map_or(1, usize::from)
}

fn of_work(setting: &Setting, work: &str, names: &[&'static str], rounds: u32, n: u64) -> Result<Results, Failure> {
    let workers = (0..).map(|i| 1 << i).take_while(|workers| *workers <= cores()).zip(names);
    let steps = workers.map(|(workers, name)| {
        let rings = setting.rings(workers);
        let p = pipeline::<u64>().shard(workers, move |p| p.map(move |x| work::rounds(*x, rounds)));
        Step {
            place: (workers as u64, name),
            unit: Unit::ItemsPerSecond,
            size: n,
            expected: fused(n, rounds),
            contestants: vec![
                ("ours", Box::new(move || summed(&rings, &p, n)) as super::Run<'_>),
                ("fused", Box::new(move || Ok(fused(black_box(n), rounds)))),
            ],
        }
    });
    let mut results = curve(setting, steps)?;
    let ours: Vec<_> =
        results.growth.iter().filter(|point| point.who == "ours").map(|point| (point.at, point.speed)).collect();
    let ahead = results.growth.chunks(2).find(|pair| pair[0].speed > pair[1].speed).map(|pair| pair[0].at);
    let cost = ahead.map_or("no number of workers here beats the loop".to_owned(), |workers| {
        format!("{workers} workers beat the loop")
    });
    results.notes.push(match serial_share(&ours) {
        Some(share) => format!("{work}: {cost}; the serial share is {:.1}%", share * 100.0),
        None => format!("{work}: {cost}"),
    });
    Ok(results)
}

/// Karp and Flatt's serial share, from the speeds with one worker and with the most.
fn serial_share(ours: &[(u64, f64)]) -> Option<f64> {
    let ((1, alone), (workers, together)) = (*ours.first()?, *ours.last()?) else { return None };
    let (speedup, workers) = (together / alone, workers as f64);
    (workers > 1.0).then(|| (1.0 / speedup - 1.0 / workers) / (1.0 - 1.0 / workers))
}

#[inline(never)]
fn fused(n: u64, rounds: u32) -> u64 {
    (0..n).fold(0, |sum, x| sum.wrapping_add(work::rounds(x, rounds)))
}

#[cfg(test)]
mod tests {
    use super::serial_share;

    #[test]
    fn a_perfect_speedup_has_no_serial_share() {
        assert_eq!(serial_share(&[(1, 10.0), (2, 20.0)]), Some(0.0));
        assert_eq!(serial_share(&[(1, 10.0), (4, 10.0)]), Some(1.0));
        assert_eq!(serial_share(&[(1, 10.0)]), None);
    }
}
