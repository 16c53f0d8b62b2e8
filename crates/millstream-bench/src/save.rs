//! A run as JSON: `DIR/DATE-MACHINE/NAME.json`.

use crate::args::Args;
use crate::failure::Failure;
use crate::figure::Results;
use crate::machine::{Machine, today};
use crate::setting::Effort;
use std::path::{Path, PathBuf};

#[derive(serde::Serialize)]
struct Run<'a> {
    bench: &'a str,
    date: &'a str,
    machine: &'a Machine,
    effort: Effort,
    rivals: bool,
    /// The sizes of the command line, if any.
    items: Option<u64>,
    ring: Option<usize>,
    batch: Option<usize>,
    #[serde(flatten)]
    results: &'a Results,
}

/// Where the runs of today on this machine are kept.
pub(crate) fn directory(runs: &Path) -> PathBuf {
    runs.join(format!("{}-{}", today(), Machine::here().short_name()))
}

pub(crate) fn save(runs: &Path, bench: &str, args: &Args, results: &Results) -> Result<(), Failure> {
    let (date, machine) = (today(), Machine::here());
    let dir = directory(runs);
    let Args { rivals, items, ring, batch, .. } = *args;
    let run = Run { bench, date: &date, machine: &machine, effort: args.effort(), rivals, items, ring, batch, results };
    let file = dir.join(format!("{bench}.json"));
    let cannot = || Failure::io(format!("cannot write {}", file.display()));
    std::fs::create_dir_all(&dir).map_err(cannot())?;
    let json = serde_json::to_string_pretty(&run).map_err(|error| cannot()(error.into()))?;
    std::fs::write(&file, json + "\n").map_err(cannot())
}
