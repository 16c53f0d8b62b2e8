//! `millstream pipe` and GNU `parallel --pipe -k`, both with two processes of `tr a-z A-Z` on blocks of the same size,
//! from a file in memory to nowhere.

use crate::failure::Failure;
use crate::figure::{Results, Unit};
use crate::peers;
use crate::programs::{Chain, is_here, yes_pv};
use crate::setting::Setting;
use crate::text::Text;
use crate::turns::{Work, take_turns};
use std::path::Path;

/// The block sizes, and the factors by which we must be faster than GNU parallel.
const CASES: [(&str, f64); 2] = [("1M", 3.0), ("10M", 1.0)];

pub(crate) fn run(setting: &Setting) -> Result<Results, Failure> {
    let millstream = peers::millstream(&setting.progress)?;
    setting.progress.say("text");
    let text = Text::prose(setting.items(300_000_000, 100_000_000));
    let (file, bytes) = (text.file()?, text.bytes());
    let expected = text.hash(|block| block.to_ascii_uppercase());
    let parallel = setting.rivals.wanted() && is_here("parallel", "gnu-parallel")?;
    let cases =
        CASES.map(|(block, bound)| case(setting, &millstream, &file, Case { block, bytes, expected, parallel, bound }));
    Ok(Results::joined(cases.into_iter().collect::<Result<Vec<_>, _>>()?))
}

struct Case {
    block: &'static str,
    bytes: u64,
    expected: u64,
    parallel: bool,
    bound: f64,
}

fn case(setting: &Setting, millstream: &Path, file: &Path, case: Case) -> Result<Results, Failure> {
    let Case { block, bytes, expected, parallel, bound } = case;
    let work = Work { case: block, unit: Unit::BytesPerSecond, size: bytes, goes: 1 };
    const TR: [&str; 3] = ["tr", "a-z", "A-Z"];
    let ours = ["pipe", "-j", "2", "--block", block, "--"];
    let ours = Chain::reading(file).then(millstream, ours.into_iter().chain(TR));
    let mut contestants = vec![ours.contestant("ours", expected)?];
    if parallel {
        let theirs = ["--will-cite", "--pipe", "-k", "-j", "2", "--block", block];
        let theirs = Chain::reading(file).then("parallel", theirs.into_iter().chain(TR));
        contestants.push(theirs.contestant("gnu-parallel", expected)?);
    }
    if setting.rivals.wanted() {
        contestants.push(Chain::reading(file).then(TR[0], &TR[1..]).contestant("tr", expected)?);
        contestants.extend(yes_pv(bytes)?);
    }
    let speeds = take_turns(setting, work, contestants)?;
    let ratios = [speeds.ratio("gnu-parallel", Some(bound)), speeds.ratio("tr", None), speeds.ratio("yes-pv", None)];
    Ok(speeds.results(ratios))
}
