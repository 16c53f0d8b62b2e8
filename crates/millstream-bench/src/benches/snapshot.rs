//! Snapshots of a job that runs: 100 MB of keyed state, one every second, and none.
//!
//! In case `tenth` one key in ten is touched between two snapshots, in case `all` every key is. The time begins at the
//! number at which every key has its state. Case `stop` is the longest time for which a stage stopped at a mark. A job
//! stores at least two snapshots: the first one has every key, and only later ones can leave untouched keys out.

use super::keyed_state::{KEYS, Numbers, SumFrom, totals};
use crate::failure::Failure;
use crate::figure::{Figure, Ratio, Results, Unit};
use crate::setting::Setting;
use crate::turns::{Contestant, Work, take_turns};
use millstream::state::{Cadence, Persistent, StateDir, Stored};
use std::path::Path;
use std::time::Duration;

/// The longest time for which a stage may stop, in seconds.
const STOP: f64 = 5e-3;

/// The fewest snapshots of a job.
const SNAPSHOTS: u64 = 2;

/// One key in `spread` is touched, and the speed must be at least this share of the speed without snapshots.
struct Case {
    case: &'static str,
    spread: u64,
    bound: f64,
}

const CASES: [Case; 2] = [Case { case: "tenth", spread: 10, bound: 0.9 }, Case { case: "all", spread: 1, bound: 0.75 }];

pub(crate) fn run(setting: &Setting) -> Result<Results, Failure> {
    let mut all = Vec::new();
    let mut stops = Vec::new();
    for Case { case, spread, bound } in CASES {
        let n = setting.items(60_000_000, 40_000_000);
        let keys = if n < 10 * KEYS { n.div_ceil(10) } else { KEYS };
        let numbers = Numbers { keys, spread, end: keys + n, pause: None };
        let expected = numbers.expected_from(0);
        let home = tempfile::tempdir().map_err(Failure::io("a directory"))?;
        let (mut stored, mut bytes, mut stopped) = (Vec::new(), Vec::new(), Vec::new());
        let contestants = vec![
            Contestant::away("ours", expected, || {
                let (sum, took, outcome) = job(setting, numbers, home.path(), Cadence::default())?;
                if outcome.snapshots < SNAPSHOTS {
                    return Err(Failure::Snapshots(outcome.snapshots, SNAPSHOTS));
                }
                stored.push(outcome.snapshots as f64);
                bytes.push(outcome.written_bytes as f64 / outcome.snapshots as f64);
                stopped.push(outcome.longest_stop.as_secs_f64());
                Ok((sum, took))
            }),
            Contestant::away("volatile", expected, || {
                let (sum, took, _) = job(setting, numbers, home.path(), Cadence::OnCall)?;
                Ok((sum, took))
            }),
        ];
        let speeds = take_turns(setting, Work { case, unit: Unit::ItemsPerSecond, size: n, goes: 1 }, contestants)?;
        let ratio = speeds.ratio("volatile", Some(bound));
        let mut results = speeds.results([ratio]);
        // The first turn is not measured.
        for samples in [&mut stored, &mut bytes, &mut stopped] {
            samples.remove(0);
        }
        stops.extend(stopped);
        results.figures.push(Figure::new(case, "snapshots", stored, Unit::Times));
        results.figures.push(Figure::new(case, "written", bytes, Unit::Bytes));
        all.push(results);
    }
    let mut results = Results::joined(all);
    let most = stops.iter().copied().fold(0.0, f64::max);
    results.figures.push(Figure::new("stop", "ours", vec![most], Unit::Seconds));
    results.figures.push(Figure::new("stop", "limit", vec![STOP], Unit::Seconds));
    results.ratios.push(Ratio::new("stop", "limit", vec![STOP / most], Some(1.0)));
    Ok(results)
}

/// Runs the job from its beginning. Returns the sum of the sink, the time after the fill, and the report about the
/// snapshots.
fn job(setting: &Setting, numbers: Numbers, home: &Path, cadence: Cadence) -> Result<(u64, Duration, Stored), Failure> {
    let path = home.join("state");
    match std::fs::remove_dir_all(&path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(Failure::io("the last run")(error)),
        _ => {}
    }
    let dir = StateDir::open(&path, "snapshot")?;
    let job = Persistent::new(setting.rings.clone(), dir).snapshot_every(cadence);
    let ((sum, took), stored) = job.run(&totals(), numbers, SumFrom(numbers.keys))?;
    if let Some(why) = stored.last_failure {
        return Err(Failure::Program("a snapshot".to_owned(), why));
    }
    Ok((sum, took, stored))
}
