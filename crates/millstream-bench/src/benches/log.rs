//! The report of an access log, by the example `access_log`, beside a loop by hand and rayon, with the same parser and
//! the same windows. Each program writes the report to standard output, and dead letters to a file.
//!
//! Case `one` has one worker, `two` has two, and `auto` as many as improve throughput. They parse whole blocks. In the
//! cases `lines-one` and `lines-two` each line has a number.

#[path = "../../../millstream/examples/access_log/generated.rs"]
mod generated;

use super::rss;
use crate::failure::Failure;
use crate::figure::{Figure, Ratio, Results, Unit};
use crate::hash::Hash;
use crate::peers;
use crate::programs::Chain;
use crate::setting::Setting;
use crate::text::made;
use crate::turns::{Contestant, Work, take_turns};
use std::fs::File;
use std::io::{self, BufReader, Write};
use std::path::{Path, PathBuf};

/// The most memory, in bytes.
const MOST: f64 = 25e6;

/// A case: the example's command and workers, and the bounds beside the loop and rayon.
struct Case {
    case: &'static str,
    args: [&'static str; 2],
    plain: Option<f64>,
    rayon: Option<f64>,
}

const CASES: [Case; 5] = [
    Case { case: "one", args: ["blocks", "1"], plain: Some(0.9), rayon: None },
    Case { case: "two", args: ["blocks", "2"], plain: Some(1.5), rayon: Some(1.0) },
    Case { case: "auto", args: ["blocks", "0"], plain: None, rayon: None },
    Case { case: "lines-one", args: ["lines", "1"], plain: None, rayon: None },
    Case { case: "lines-two", args: ["lines", "2"], plain: None, rayon: None },
];

pub(crate) fn run(setting: &Setting) -> Result<Results, Failure> {
    let ours = peers::example(&setting.progress, "access_log")?;
    setting.progress.say("building the rivals");
    let rivals = peers::built("text", "millstream-text-peers")?;
    setting.progress.say("log");
    let least = setting.items(300_000_000, 60_000_000);
    let log = made(&format!("access-{least}"), |out| generated::write_log(least, out).map(drop))?;
    let bytes = log.metadata().map_err(Failure::io(log.display().to_string()))?.len();
    let letters = tempfile::tempdir().map_err(Failure::io("a directory for dead letters"))?;
    let program = |who: &'static str, program: &Path, args: &[&str]| {
        let dead = letters.path().join(who);
        let args = args.iter().map(Into::into).chain([dead.clone().into_os_string()]);
        Program { who, chain: Chain::reading(&log).then(program, args), dead }
    };
    let plain = program("plain", &rivals, &["log-plain"]);
    let expected = plain.hash()?;
    let mut results = Vec::new();
    for Case { case, args, plain: bound, rayon: beside_rayon } in CASES {
        let mut contestants = vec![
            program("ours", &ours, &args).contestant(expected)?,
            program("plain", &rivals, &["log-plain"]).contestant(expected)?,
        ];
        if setting.rivals.wanted() {
            contestants.push(program("rayon", &rivals, &["log-rayon"]).contestant(expected)?);
        }
        let work = Work { case, unit: Unit::BytesPerSecond, size: bytes, goes: 1 };
        let speeds = take_turns(setting, work, contestants)?;
        let ratios = [speeds.ratio("plain", bound), speeds.ratio("rayon", beside_rayon)];
        results.push(speeds.results(ratios));
        results.push(memory(case, &ours, &args, &letters.path().join("fed"), &log, expected)?);
    }
    Ok(Results::joined(results))
}

/// A program that reads the log.
struct Program {
    who: &'static str,
    chain: Chain,
    dead: PathBuf,
}

impl Program {
    /// Runs it. Returns a hash of its report and its dead letters.
    fn hash(&self) -> Result<u64, Failure> {
        both(self.chain.hash()?, &self.dead)
    }

    /// Its report is hashed in a run of its own, and its dead letters after every run.
    fn contestant<'a>(self, expected: u64) -> Result<Contestant<'a, u64>, Failure> {
        let report = self.chain.hash()?;
        let Program { who, chain, dead } = self;
        Ok(Contestant::away(who, expected, move || {
            let took = chain.timed()?;
            Ok((both(report, &dead)?, took))
        }))
    }
}

/// A hash of a report, by its hash, and of dead letters.
fn both(report: u64, dead: &Path) -> Result<u64, Failure> {
    let cannot = || Failure::io(dead.display().to_string());
    let mut hash = Hash::default();
    hash.write_all(&report.to_le_bytes()).map_err(cannot())?;
    io::copy(&mut BufReader::new(File::open(dead).map_err(cannot())?), &mut hash).map_err(cannot())?;
    Ok(hash.finish())
}

/// The peak memory while the log goes through a pipe.
fn memory(
    case: &'static str,
    program: &Path,
    args: &[&str; 2],
    dead: &Path,
    log: &Path,
    expected: u64,
) -> Result<Results, Failure> {
    let name = dead.to_string_lossy();
    let feed = |out: &mut dyn Write| io::copy(&mut File::open(log)?, out).map(drop);
    let (report, peak) = rss::ran(program, &[args[0], args[1], &name], feed)?;
    let got = both(report, dead)?;
    if got != expected {
        return Err(Failure::Checksum { who: case, expected: expected.to_string(), got: got.to_string() });
    }
    let Some(peak) = peak else { return Ok(Results::default()) };
    Ok(Results {
        figures: vec![
            Figure::new(case, "peak", vec![peak as f64], Unit::Bytes),
            Figure::new(case, "limit", vec![MOST], Unit::Bytes),
        ],
        ratios: vec![Ratio::new(case, "limit", vec![MOST / peak as f64], Some(1.0))],
        ..Results::default()
    })
}
