//! The time and memory to compile a pipeline of thirty stages: `thirty_stages`, an example of the facade, in this
//! workspace's release profile (fat link-time optimisation, one code generation unit), with all dependencies built
//! before.
//!
//! Each turn compiles and links only that program again. The memory is the peak resident memory of the build's largest
//! process.

use crate::failure::Failure;
use crate::figure::{Figure, Ratio, Results, Unit};
use crate::memory::peak_of_tree;
use crate::peers;
use crate::setting::{Effort, Setting};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

const SECONDS: f64 = 30.0;
const BYTES: f64 = 2e9;

/// An example that compiles quickly, for what both depend on.
const SMALL: &str = "numbers";

/// The time between two looks at the build's processes.
const GLANCE: Duration = Duration::from_millis(10);

/// The result of one build.
struct Built {
    took: Duration,
    peak: Option<u64>,
    program: PathBuf,
}

pub(crate) fn run(setting: &Setting) -> Result<Results, Failure> {
    setting.progress.say("building what the program depends on");
    build(SMALL, "millstream_bench=\"first\"")?;
    let turns = if setting.effort == Effort::Full { 3 } else { 1 };
    let (mut seconds, mut peaks) = (Vec::new(), Vec::new());
    for turn in 0..turns {
        setting.progress.turn(turn, turns);
        let Built { took, peak, program } =
            build("thirty_stages", &format!("millstream_bench=\"{}.{turn}\"", std::process::id()))?;
        check(&program)?;
        seconds.push(took.as_secs_f64());
        peaks.extend(peak.map(|peak| peak as f64));
    }
    setting.progress.done();
    let ratio = |case, limit: f64, samples: &[f64]| {
        Ratio::new(case, "limit", samples.iter().map(|sample| limit / sample).collect(), Some(1.0))
    };
    let mut results = Results { ratios: vec![ratio("thirty", SECONDS, &seconds)], ..Results::default() };
    results.figures.push(Figure::new("thirty", "ours", seconds, Unit::Seconds));
    results.figures.push(Figure::new("thirty", "limit", vec![SECONDS], Unit::Seconds));
    if !peaks.is_empty() {
        results.ratios.push(ratio("thirty-peak", BYTES, &peaks));
        results.figures.push(Figure::new("thirty-peak", "ours", peaks, Unit::Bytes));
        results.figures.push(Figure::new("thirty-peak", "limit", vec![BYTES], Unit::Bytes));
    }
    Ok(results)
}

/// Compiles an example. Another `cfg` makes cargo build it again.
fn build(example: &str, cfg: &str) -> Result<Built, Failure> {
    let mut command = peers::cargo();
    command.args(["rustc", "--quiet", "--release", "-p", "millstream", "--example", example]);
    command.args(["--message-format", "json", "--", "--cfg", cfg]);
    command.current_dir(Path::new(env!("CARGO_MANIFEST_DIR"))).stdout(Stdio::piped());
    let started = Instant::now();
    let mut cargo = command.spawn().map_err(Failure::io("cargo"))?;
    let mut stdout = cargo.stdout.take().expect("a pipe");
    let reading = thread::spawn(move || {
        let mut text = String::new();
        stdout.read_to_string(&mut text).map(|_| text)
    });
    let peak = watch(&mut cargo)?;
    let took = started.elapsed();
    let text = reading.join().expect("reading does not panic").map_err(Failure::io("cargo's messages"))?;
    let status = cargo.wait().map_err(Failure::io("cargo"))?;
    match executable(&text) {
        Some(program) if status.success() => Ok(Built { took, peak, program }),
        _ => Err(Failure::Program("cargo rustc".to_owned(), status.to_string())),
    }
}

/// Waits for the build. Returns the peak memory of its largest process, if the system reports it.
fn watch(cargo: &mut Child) -> Result<Option<u64>, Failure> {
    let mut peak = None;
    while cargo.try_wait().map_err(Failure::io("cargo"))?.is_none() {
        peak = peak.max(peak_of_tree(cargo.id()));
        thread::sleep(GLANCE);
    }
    Ok(peak)
}

/// The path of the built program, from cargo's messages.
fn executable(messages: &str) -> Option<PathBuf> {
    let messages = messages.lines().filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok());
    messages.rev().find_map(|message| Some(PathBuf::from(message["executable"].as_str()?)))
}

/// The program's answer must be that of a plain loop.
fn check(program: &Path) -> Result<(), Failure> {
    let output = Command::new(program).output().map_err(Failure::io("thirty_stages"))?;
    let (expected, got) = (format!("30 [{}]\n", answer()), String::from_utf8_lossy(&output.stdout).into_owned());
    if got == expected { Ok(()) } else { Err(Failure::Checksum { who: "ours", expected, got }) }
}

fn answer() -> u64 {
    let mut sums = vec![0];
    // Six maps; a fan-out that adds 3 to one half and 6 to the other, and joins them; 3 in a lane and 4 in the shards.
    let added = (0..999).scan(0, |sum, x| {
        *sum += 2 * (x + 6) + 3 + 6 + 3 + 4;
        Some(*sum)
    });
    sums.extend(added);
    sums.into_iter().map(|sum: u64| 2 * (sum + 1)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_program_is_the_last_that_was_built() {
        let messages = "{\"executable\":null}\nnoise\n{\"executable\":\"/a/b\"}\n{\"reason\":\"build-finished\"}\n";
        assert_eq!(executable(messages), Some(PathBuf::from("/a/b")));
    }

    #[test]
    fn the_answer_is_the_programs() {
        assert_eq!(answer(), 692_642_000);
    }
}
