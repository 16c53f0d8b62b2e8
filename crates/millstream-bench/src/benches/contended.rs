//! `millstream wc` while a busy loop runs on every core: with its own choice of workers, on two workers, and all on one
//! thread.
//!
//! A hand-over between threads takes a time slice there, so a run with small hand-overs takes many times as long.

use crate::failure::Failure;
use crate::figure::{Results, Unit};
use crate::neighbours::Neighbours;
use crate::peers;
use crate::programs::Chain;
use crate::setting::Setting;
use crate::text::Text;
use crate::turns::{Work, take_turns};
use std::path::Path;

/// The bound: a run may take one and a half times as long as all on one thread.
const BOUND: f64 = 1.0 / 1.5;

/// A case: its name, whether `cat` reads the file, the flags, and the bound.
type Case = (&'static str, bool, &'static [&'static str], Option<f64>);

const CASES: [Case; 4] = [
    ("file", false, &[], Some(BOUND)),
    ("pipe", true, &[], Some(BOUND)),
    // Two workers were requested, so there are two.
    ("file-workers2", false, &["--workers", "2"], None),
    ("pipe-workers2", true, &["--workers", "2"], None),
];

pub(crate) fn run(setting: &Setting) -> Result<Results, Failure> {
    let millstream = peers::millstream(&setting.progress)?;
    setting.progress.say("text");
    let text = Text::prose(setting.items(1_000_000_000, 200_000_000));
    let (file, bytes) = (text.file()?, text.bytes());
    let neighbours = Neighbours::one_a_core()?;
    let cases = CASES.map(|case| judged(setting, &millstream, &file, bytes, case));
    drop(neighbours);
    Ok(Results::joined(cases.into_iter().collect::<Result<Vec<_>, _>>()?))
}

fn judged(
    setting: &Setting,
    millstream: &Path,
    file: &Path,
    bytes: u64,
    (case, piped, flags, bound): Case,
) -> Result<Results, Failure> {
    let input = Chain::reading(file);
    let input = if piped { input.then("cat", [""; 0]) } else { input };
    let with = |flags: &[&str]| input.clone().then(millstream, ["wc"].iter().chain(flags).copied());
    let (ours, inline) = (with(flags), with(&["--deploy", "inline"]));
    let expected = inline.hash()?;
    let work = Work { case, unit: Unit::BytesPerSecond, size: bytes, goes: 1 };
    let contestants = vec![ours.contestant("ours", expected)?, inline.contestant("inline", expected)?];
    let speeds = take_turns(setting, work, contestants)?;
    let ratio = speeds.ratio("inline", bound);
    Ok(speeds.results([ratio]))
}
