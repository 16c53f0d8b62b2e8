//! `millstream-bench NAME...`: the speed of Millstream, each figure beside a yardstick that takes turns with it in the
//! same run.
//!
//! Standard output has the result lines, standard error a table for people, and `runs/` the same as JSON.

mod alone;
mod args;
mod benches;
#[path = "../../millstream-cli/tests/programs/spaces/byte_loop.rs"]
mod byte_loop;
mod count;
mod counters;
mod demand;
mod failure;
mod figure;
#[cfg(test)]
#[path = "../../millstream-cli/tests/programs/spaces/golden.rs"]
mod golden;
mod hash;
mod judges;
mod latency;
mod load;
mod machine;
mod memory;
mod neighbours;
mod peers;
#[cfg(feature = "plot")]
mod plot;
mod print;
mod programs;
mod progress;
mod report;
mod rivals;
mod round_trip;
mod save;
mod setting;
mod text;
mod timeline;
mod turns;
mod waiting;
#[path = "../peers/rust/src/work.rs"]
mod work;

use crate::args::Args;
use crate::failure::Failure;
use crate::figure::Results;
use crate::load::Load;
use clap::Parser;
use std::process::ExitCode;
use std::time::{Duration, Instant};

/// Counts allocations. That costs two atomic additions for an allocation and two when it is freed, on one cache line
/// for all threads. All contestants in this process pay for it, and rivals in programs of their own do not.
#[global_allocator]
static ALLOCATOR: &memory::Counting = memory::COUNTING;

/// The exit code if a median missed its bound.
const MISSED: u8 = 4;

fn main() -> ExitCode {
    if let Some((at, workers)) = waiting::asked() {
        return match waiting::run(&at, workers) {
            Ok(()) => ExitCode::SUCCESS,
            Err(failure) => {
                eprintln!("millstream-bench: workers that wait: {failure}");
                ExitCode::FAILURE
            }
        };
    }
    if let Some(done) = alone::asked(|| Args::parse().setting("copying"), benches::alone) {
        return match done {
            Ok(()) => ExitCode::SUCCESS,
            Err(failure) => {
                eprintln!("millstream-bench: alone: {failure}");
                ExitCode::FAILURE
            }
        };
    }
    if let Some(done) = benches::serving() {
        return match done {
            Ok(()) => ExitCode::SUCCESS,
            Err(failure) => {
                eprintln!("millstream-bench: a server: {failure}");
                ExitCode::FAILURE
            }
        };
    }
    let (missed, failure) = run(&Args::parse()).unwrap_or_else(|failure| (Vec::new(), Some(failure)));
    for line in &missed {
        eprintln!("millstream-bench: {line}");
    }
    if let Some(failure) = &failure {
        eprintln!("millstream-bench: {failure}");
    }
    match (missed.is_empty(), failure) {
        (false, _) => ExitCode::from(MISSED),
        (true, Some(_)) => ExitCode::FAILURE,
        (true, None) => ExitCode::SUCCESS,
    }
}

/// Runs the benches one after the other. Returns the missed bounds, if `--check` is set, and why benches have no
/// results.
fn run(args: &Args) -> Result<(Vec<String>, Option<Failure>), Failure> {
    if args.list {
        print::list(benches::ALL)?;
        return Ok((Vec::new(), None));
    }
    if args.report {
        report::write(&Args::home())?;
        return Ok((Vec::new(), None));
    }
    let (mut measured, mut failed, mut failure) = (Vec::new(), Vec::new(), None);
    let runs = args.runs();
    if let Err(why) = runs {
        eprintln!("millstream-bench: runs are not kept: {why}; --runs DIR saves them");
    }
    let begun = Instant::now();
    for bench in args.benches() {
        let before = Load::now();
        let mut results = match bench.run(&args.setting(bench.name)).and_then(Results::finite) {
            Ok(results) => results,
            Err(why) if args.all => {
                eprintln!("millstream-bench: {}: {why}", bench.name);
                failed.push(bench.name);
                continue;
            }
            Err(why) => {
                failure = Some(why);
                break;
            }
        };
        // Benches without turns do not measure it themselves.
        results.others = results.others.or_else(|| Load::of_others(before));
        print::table(bench, &results);
        print::lines(bench.name, &results)?;
        if let Ok(runs) = &runs {
            save::save(runs, bench.name, args, &results)?;
        }
        #[cfg(feature = "plot")]
        if let Some(dir) = args.charts(&results) {
            plot::plot(&dir, bench, &results)?;
        }
        measured.push((bench.name, results.ratios));
    }
    if !failed.is_empty() {
        failure = Some(Failure::Benches(failed.join(", ")));
    }
    if args.all {
        let (all, building) = (begun.elapsed(), peers::building());
        let minutes = |time: Duration| format!("{:.1} min", time.as_secs_f64() / 60.0);
        let benches = minutes(all.saturating_sub(building));
        eprintln!("the benches took {benches}, and building other programs {}", minutes(building));
    }
    if args.all && args.keeps_here() {
        failure = failure.or(report::write(&Args::home()).err());
    }
    Ok(args.judges().verdict(&measured, failure))
}
