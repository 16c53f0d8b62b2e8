//! The cost of watching a run: two maps of numbers on one worker, with an observer that samples every millisecond, and
//! without.
//!
//! Time is too noisy for one part in a hundred, so instructions are counted: callgrind counts those of the worker of
//! `millstream copying`, with `--observe` and without. The times of paired runs are measured too, and the time between
//! two samples; and the time that a browser takes for the page of 3,000 stages.

mod page;

use crate::failure::Failure;
use crate::figure::{Figure, Ratio, Results, TOLERANCE, Unit};
use crate::peers;
use crate::programs::is_here;
use crate::setting::Setting;
use crate::turns::{Contestant, Work, take_turns};
use crate::work;
use millstream::observe::Watch;
use millstream::prelude::*;
use std::path::Path;
use std::process::{Command, Stdio};

/// The share of additional instructions that an observed worker may take.
const OVERHEAD: f64 = 0.01;

/// The mean time between two samples may be a fifth too long or too short, with what a check tolerates.
const LEAST_SPACING: f64 = 1.0 / 1.2 / (1.0 - TOLERANCE);

/// The time between two samples, in seconds.
const SPACING: f64 = 1e-3;

pub(crate) fn run(setting: &Setting) -> Result<Results, Failure> {
    let instructions = instructions(setting)?;
    Ok(Results::joined([instructions, times(setting)?, page::run(setting)?]))
}

/// The ratio of the worker's instructions.
fn instructions(setting: &Setting) -> Result<Results, Failure> {
    if !is_here("valgrind", "instructions")? {
        return Ok(Results::left_out("instructions.limit"));
    }
    let millstream = peers::millstream(&setting.progress)?;
    let items = setting.items(10_000_000, 2_000_000);
    setting.progress.say("counting instructions");
    let unobserved = counted(&millstream, items, &[])?;
    let observed = counted(&millstream, items, &["--observe"])?;
    let (ratio, more) = (unobserved / observed, observed / unobserved - 1.0);
    // A negative difference counts as a very small one.
    let fits = OVERHEAD / more.max(OVERHEAD / 1000.0);
    let ratios = vec![
        Ratio::new("instructions", "unobserved", vec![ratio], None),
        Ratio::new("instructions", "limit", vec![fits], Some(1.0)),
    ];
    Ok(Results { ratios, ..Results::default() })
}

/// The instructions of the one worker of a run.
fn counted(millstream: &Path, items: u64, more: &[&str]) -> Result<f64, Failure> {
    let name = format!("millstream-observe-{}.out", std::process::id());
    let out = std::env::temp_dir().join(name);
    let mut valgrind = Command::new("valgrind");
    valgrind.args(["--quiet", "--tool=callgrind", "--separate-threads=yes"]);
    valgrind.arg(format!("--callgrind-out-file={}", out.display())).arg(millstream);
    valgrind.args(["copying", "--fanout", "2", "--items", &items.to_string(), "--workers", "1"]).args(more);
    let shown = format!("{valgrind:?}");
    let status = valgrind.stdin(Stdio::null()).stdout(Stdio::null()).status().map_err(Failure::io(shown.clone()))?;
    let totals = totals(&out)?;
    match totals.into_iter().reduce(f64::max) {
        Some(most) if status.success() => Ok(most),
        _ => Err(Failure::Program(shown, status.to_string())),
    }
}

/// The instructions of each thread. Callgrind writes a file for each of them, and an empty one for all.
fn totals(out: &Path) -> Result<Vec<f64>, Failure> {
    let (dir, name) = (out.parent().unwrap_or(Path::new(".")), out.file_name().unwrap_or_default().to_string_lossy());
    let mut totals = Vec::new();
    for file in std::fs::read_dir(dir).map_err(Failure::io(dir.display().to_string()))?.filter_map(Result::ok) {
        if file.file_name().to_string_lossy().starts_with(&*name) {
            let text = std::fs::read_to_string(file.path()).map_err(Failure::io(name.to_string()))?;
            totals.extend(total(&text));
            let _ = std::fs::remove_file(file.path());
        }
    }
    Ok(totals)
}

/// The instructions in a file of callgrind.
fn total(text: &str) -> Option<f64> {
    text.lines().find_map(|line| line.strip_prefix("totals: ")?.trim().parse().ok())
}

/// Numbers a second, observed and not, and the time between two samples. A run is long enough for a hundred of them.
fn times(setting: &Setting) -> Result<Results, Failure> {
    let n = setting.items(2_000_000_000, 1_000_000_000);
    let expected = (0..n).fold(0, |sum: u64, x| sum.wrapping_add(work::second(work::first(x))));
    let rings = setting.rings(1);
    let mut apart = Vec::new();
    let work = Work { case: "speed", unit: Unit::ItemsPerSecond, size: n, goes: 1 };
    let contestants = vec![
        Contestant::new("ours", expected, || {
            let (sum, spacing) = ours(&rings, n, true)?;
            apart.extend(spacing);
            Ok(sum)
        }),
        Contestant::new("unobserved", expected, || Ok(ours(&rings, n, false)?.0)),
    ];
    let speeds = take_turns(setting, work, contestants)?;
    let ratio = speeds.ratio("unobserved", None);
    let mut results = speeds.results([ratio]);
    // The first turn is not measured.
    apart.remove(0);
    results.figures.push(Figure::new("spacing", "ours", apart.clone(), Unit::Seconds));
    // Samples that come too often are as wrong as those that come too seldom.
    let ratios = apart.iter().map(|apart| (SPACING / apart).min(apart / SPACING)).collect();
    results.ratios.push(Ratio::new("spacing", "limit", ratios, Some(LEAST_SPACING)));
    Ok(results)
}

/// The sum, and the mean time between two samples.
fn ours(rings: &Rings, n: u64, observed: bool) -> Result<(u64, Option<f64>), Failure> {
    let p = pipeline::<u64>().map(|x| work::first(*x)).map(|x| work::second(*x));
    let add = |sum: &mut u64, _, x: &u64| *sum = sum.wrapping_add(*x);
    let run = rings.start((&p).from(source::ready(0..n)).to_fold(0, add))?;
    let watch = observed.then(|| Watch::attach(run.observer())).transpose().map_err(Failure::io("a thread"))?;
    let (sum, _) = run.wait()?;
    let all = watch.map(|watch| watch.finish());
    Ok((sum, all.map(|all| spacing(all.span, all.looks))))
}

/// The mean time between two of the looks of a span. The last one is at its end, wherever that is in its interval.
fn spacing(span: f64, looks: u64) -> f64 {
    span / looks.saturating_sub(1).max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hundred_and_one_looks_have_a_hundred_intervals() {
        assert!((spacing(0.1, 101) - SPACING).abs() < 1e-9);
        assert!(spacing(0.0, 1) < 1e-9);
    }

    #[test]
    fn the_worker_is_the_thread_with_the_most_instructions() {
        let dir = tempfile::tempdir().unwrap();
        let out = dir.path().join("x.out");
        for (end, text) in [("", "events: Ir\n"), ("-01", "events: Ir\ntotals: 12\n"), ("-02", "totals: 345\n")] {
            std::fs::write(dir.path().join(format!("x.out{end}")), text).unwrap();
        }
        let mut totals = totals(&out).unwrap();
        totals.sort_by(f64::total_cmp);
        assert_eq!((totals, std::fs::read_dir(dir.path()).unwrap().count()), (vec![12.0, 345.0], 0));
    }
}
