//! An effect whose answers are in the record, which is in memory, beside the same function in a plain `map_blocking`:
//! the record costs at most 1 us a value.

use crate::failure::Failure;
use crate::figure::{Results, Unit};
use crate::setting::Setting;
use crate::turns::{Contestant, Work, take_turns};
use millstream::prelude::*;
use millstream::state::StateDir;
use millstream::state::effects::{Effects, Unknown};
use millstream::state::journal::{Fsync, JournalOptions};
use std::path::Path;

/// The most nanoseconds that the record costs a value.
const MOST: f64 = 1000.0;

pub(crate) fn run(setting: &Setting) -> Result<Results, Failure> {
    let home = tempfile::tempdir().map_err(Failure::io("a directory"))?;
    let n = setting.items(400_000, 100_000);
    let rings = setting.rings(1);
    let expected = (0..n).map(answer).fold(0, u64::wrapping_add);
    performed(&rings, home.path(), n)?;
    let state = StateDir::open(home.path(), "bench")?;
    let (effects, _) = Effects::open(&state, JournalOptions::default())?;
    let contestants = vec![
        Contestant::new("ours", expected, || {
            // The sum would differ if the function were called again.
            let price = effects.recorded("price", Unknown::fail(), |_, _: &u64| 0);
            sum(&rings, &pipeline::<u64>().enumerate().map_blocking(price).map(|price| price.clone().unwrap_or(1)), n)
        }),
        Contestant::new("plain", expected, || {
            sum(&rings, &pipeline::<u64>().enumerate().map_blocking(|(_, x)| answer(*x)), n)
        }),
    ];
    let work = Work { case: "speed", unit: Unit::ItemsPerSecond, size: n, goes: 1 };
    let speeds = take_turns(setting, work, contestants)?;
    let costs = speeds.longer("ours", "plain", 1.0);
    Ok(Results::joined([speeds.results([]), Results::cost("value", costs, MOST)]))
}

fn answer(x: u64) -> u64 {
    x ^ (x >> 7)
}

/// Makes all calls once, and records their answers.
fn performed(rings: &Rings, home: &Path, n: u64) -> Result<(), Failure> {
    let state = StateDir::open(home, "bench")?;
    let quick = JournalOptions { fsync: Fsync::Never, ..JournalOptions::default() };
    let (effects, _) = Effects::open(&state, quick)?;
    let price = effects.recorded("price", Unknown::fail(), |_, x: &u64| answer(*x));
    let p = pipeline::<u64>().enumerate().map_blocking(price).map(|price| price.clone().unwrap_or(1));
    sum(rings, &p, n).map(drop)
}

fn sum<P: Pipeline<u64, u64>>(rings: &Rings, p: &P, n: u64) -> Result<u64, Failure> {
    let add = |sum: &mut u64, _, x: &u64| *sum = sum.wrapping_add(*x);
    Ok(rings.run(p.from(source::ready(0..n)).to_fold(0, add))?.0)
}
