//! Readings of 150 sensors from three stations, by timestamp: an alarm where the moving average of a sensor goes above
//! a limit, and where it goes below a lower one.
//!
//! `plain` is the loop by hand over the same stations, with the same alarms. Case `scan` is the program on one worker;
//! case `windows` collects each window into a vector, and case `waiting` has stations that may wait for their next
//! reading. Case `feedback` keeps the alarm's state in a loop, beside the same in a `scan`.

mod program;

use crate::failure::Failure;
use crate::figure::{Results, Unit};
use crate::setting::Setting;
use crate::turns::{Contestant, Work, take_turns};
use millstream::prelude::*;
use program::{Alarm, Reading, plain, stations};
use std::hint::black_box;

pub(crate) fn run(setting: &Setting) -> Result<Results, Failure> {
    let (one, n) = (setting.rings(1), setting.items(3_000_000, 600_000));
    let scan = || program::scan();
    let cases = [
        beside_plain(setting, "scan", Some(0.8), n, || alarms(&one, &scan(), ready(n)))?,
        beside_plain(setting, "windows", None, n, || alarms(&one, &program::windows(), ready(n)))?,
        beside_plain(setting, "waiting", None, n, || alarms(&setting.rings, &scan(), waiting(n)))?,
    ];
    let expected = plain(n);
    let contestants = vec![
        Contestant::new("ours", expected, || alarms(&one, &program::feedback(), ready(n))),
        Contestant::new("scan", expected, || alarms(&one, &scan(), ready(n))),
    ];
    let work = Work { case: "feedback", unit: Unit::ItemsPerSecond, size: n, goes: 3 };
    let speeds = take_turns(setting, work, contestants)?;
    let ratio = speeds.ratio("scan", Some(0.5));
    Ok(Results::joined(cases.into_iter().chain([speeds.results([ratio])])))
}

fn beside_plain(
    setting: &Setting,
    case: &'static str,
    bound: Option<f64>,
    n: u64,
    ours: impl Fn() -> Result<u64, Failure>,
) -> Result<Results, Failure> {
    let expected = plain(n);
    let contestants =
        vec![Contestant::new("ours", expected, ours), Contestant::new("plain", expected, || Ok(plain(black_box(n))))];
    let speeds = take_turns(setting, Work { case, unit: Unit::ItemsPerSecond, size: n, goes: 3 }, contestants)?;
    let ratio = speeds.ratio("plain", bound);
    Ok(speeds.results([ratio]))
}

/// Stations that have their readings.
fn ready(n: u64) -> impl Source<Reading> {
    source::by_timestamp(stations(n).map(source::ready), |reading: &Reading| reading.time)
}

/// Stations that may wait for their next reading.
fn waiting(n: u64) -> impl Source<Reading> {
    source::by_timestamp(stations(n), |reading: &Reading| reading.time)
}

fn alarms<P>(on: &Rings, pipeline: &P, readings: impl Source<Reading>) -> Result<u64, Failure>
where
    P: Arrow<In = Val<Reading>, Out: for<'a> Shape<Ref<'a> = &'a Alarm>> + RunsOn<Rings, Item = Reading>,
{
    let join = |all: &mut u64, _, alarm: &Alarm| *all = alarm.joined(*all);
    Ok(on.run(pipeline.from(readings).to_fold(0, join))?.0)
}
