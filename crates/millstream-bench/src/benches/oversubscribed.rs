//! Fourteen cheap stages, a source and a sink on sixteen workers, and on two. The former have one tasklet each, the
//! latter eight. More workers than cores must not cost much.

use crate::failure::Failure;
use crate::figure::{Results, Unit};
use crate::setting::Setting;
use crate::turns::{Contestant, Work, take_turns};
use crate::work;
use millstream::prelude::*;

pub(crate) fn run(setting: &Setting) -> Result<Results, Failure> {
    let n = setting.items(200_000_000, 50_000_000);
    let expected = (0..n).fold(0, |sum: u64, x| sum.wrapping_add((0..14).fold(x, |x, i| work::stage(i, x))));
    let (many, few) = (setting.rings(16), setting.rings(2));
    let contestants = vec![
        Contestant::new("ours", expected, || ours(&many, n)),
        Contestant::new("limit", expected, || ours(&few, n)),
    ];
    let work = Work { case: "speed", unit: Unit::ItemsPerSecond, size: n, goes: 1 };
    let speeds = take_turns(setting, work, contestants)?;
    let ratio = speeds.ratio("limit", Some(0.8));
    Ok(speeds.results([ratio]))
}

fn ours(rings: &Rings, n: u64) -> Result<u64, Failure> {
    macro_rules! stages {
        ($($i:literal)*) => {
            pipeline::<u64>()$(.map(|x| work::stage($i, *x)))*
        };
    }
    let p = stages!(0 1 2 3 4 5 6 7 8 9 10 11 12 13);
    let add = |sum: &mut u64, _, x: &u64| *sum = sum.wrapping_add(*x);
    Ok(rings.run((&p).from(source::ready(0..n)).to_fold(0, add))?.0)
}
