use clap::{Args, ValueHint};
use std::ffi::OsString;

/// Replace the text of a running program, or check whether that is possible
///
/// The run must have been started by `run --page ADDR --accept-upgrades`. The rows that it has read by then go through
/// the old text, later rows go through the new one, and no row is lost. A stage of the same name goes on with its
/// state. Of a run with --state, the change is stored when this ends: start the run again with the new text. With
/// --check nothing changes. Given two plans, as `plan --json` writes them, --check says whether the second pipeline
/// could take the place of the first. Exit codes: 0 done, 1 there is no such run or file, or the change was made and
/// could not be stored, 2 wrong use or a wrong text, 4 the change is refused
#[derive(Debug, Args)]
pub(crate) struct UpgradeRun {
    /// Print what would become of every stage and its state: kept, migrated, new, dropped or refused. Exit with 4 if
    /// the change would be refused
    #[arg(long)]
    pub(crate) check: bool,
    /// Assume that the upgrade has a migration for the state of this stage
    #[arg(long = "migrate", value_name = "STAGE")]
    pub(crate) migrated: Vec<String>,
    /// Let the state of this stage be lost; if the new text still has the stage, it begins fresh
    #[arg(long = "drop", value_name = "STAGE")]
    pub(crate) dropped: Vec<String>,
    /// Keep the state of this stage although it reads something else or has other parameters; `keep STAGE;` in the text
    /// does the same
    #[arg(long = "keep", value_name = "STAGE")]
    pub(crate) kept: Vec<String>,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
    /// The page of the run, HOST:PORT or a port of this machine; or the plan of the running pipeline, as `plan --json`
    /// wrote it; `-` is standard input
    #[arg(value_name = "ADDR|OLD.json", value_hint = ValueHint::FilePath)]
    pub(crate) old: OsString,
    /// The text, `-` for standard input; or the plan of the pipeline that is to take its place
    #[arg(value_name = "FILE.mill|NEW.json", value_hint = ValueHint::FilePath)]
    pub(crate) new: OsString,
}
