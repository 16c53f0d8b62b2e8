//! The flags about state, and those of the tools that read it.

pub(crate) use super::examples::COLUMNS;
use super::shaped::STATE;
use super::values::whole;
use clap::{Args, ValueHint};
use millstream_state::Cadence;
use millstream_state::journal::Fsync;
use std::ffi::OsString;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

/// Where a run's state is kept.
#[derive(Debug, Args)]
#[command(next_help_heading = STATE)]
pub(crate) struct Keeping {
    /// Keep the run's state in this directory, and go on from there when started again: even after a crash, the output
    /// is that of one run. Standard output must be a file, `>> FILE`, unless only the line of `wc`, or nothing, goes
    /// there. On rings only
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) state: Option<PathBuf>,
    /// Take over from the process that has this state: go on at its number, and, for `serve` or a source that listens,
    /// with its clients. The old process then ends with 0. If this process fails or dies before it has begun, the old
    /// one goes on. Without an old process, start as always
    #[arg(long, requires = "state")]
    pub(crate) take_over: bool,
    /// Take a snapshot after N more numbers, or after S seconds, and at the end [default: 1s; for `serve` 5s]
    #[arg(long, value_name = "N|Ss", requires = "state", value_parser = cadence)]
    pub(crate) snapshot_every: Option<Cadence>,
    /// When to make standard input, posted rows or requests durable in the state's journal: before they are passed on
    /// (every), at most N milliseconds later, or when the system does it (never) [default: every]
    #[arg(long, value_name = "every|Nms|never", requires = "state", value_parser = fsync)]
    pub(crate) fsync: Option<Fsync>,
    /// Go on although the journal is damaged, and leave out what is lost
    #[arg(long, requires = "state")]
    pub(crate) skip_corrupt: bool,
    /// How many snapshots to keep; up to 7 older ones stay too, of which these have parts [default: 5]
    #[arg(long, value_name = "N", requires = "state", value_parser = super::values::at_least_one)]
    pub(crate) snapshots: Option<usize>,
}

/// `every`, `never`, or milliseconds: `5ms`, or `ms 5`.
fn fsync(text: &str) -> Result<Fsync, String> {
    let number = text.strip_prefix("ms").map(|number| number.trim_start_matches([' ', '=', ':']));
    match (text, number.or(text.strip_suffix("ms"))) {
        ("every", _) => Ok(Fsync::Every),
        ("never", _) => Ok(Fsync::Never),
        (_, Some(number)) => whole(number.trim()).map(|ms| Fsync::Interval(Duration::from_millis(ms))),
        _ => Err("must be every, never, or milliseconds, such as 5ms".to_owned()),
    }
}

/// When a snapshot is taken: after a count of numbers, or after a time.
fn cadence(text: &str) -> Result<Cadence, String> {
    let wrong = || "must be a count of numbers, such as 10000, or seconds, such as 5s or 0.5s".to_owned();
    if let Some(seconds) = text.strip_suffix('s') {
        let seconds: f64 = seconds.parse().map_err(|_| wrong())?;
        let period = Duration::try_from_secs_f64(seconds).ok().filter(|period| !period.is_zero());
        return Ok(Cadence::Every(period.ok_or_else(wrong)?));
    }
    match whole(text).map_err(|_| wrong())? {
        0 => Err(wrong()),
        numbers => Ok(Cadence::Numbers(numbers)),
    }
}

/// The place of a look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum When {
    /// Just before this number.
    At(u64),
    /// After the last value.
    End,
}

impl FromStr for When {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "end" => Ok(When::End),
            number => whole(number).map(When::At).map_err(|why| format!("{why}, or `end`")),
        }
    }
}

#[derive(Debug, Args)]
pub(crate) struct Replay {
    /// The state directory
    #[arg(value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) dir: PathBuf,
    /// Begin with the newest snapshot at or before this number of the source's values [default: the number of `--to`]
    #[arg(long, value_name = "N", value_parser = whole)]
    pub(crate) from: Option<u64>,
    /// Stop just before this number of the source's values [default: the end of the input]
    #[arg(long, value_name = "N", value_parser = whole)]
    pub(crate) to: Option<u64>,
}

#[derive(Debug, Args)]
pub(crate) struct Look {
    /// The state directory
    #[arg(value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) dir: PathBuf,
    /// Show the state just before this number of the source's values, or at the `end` [default: at the newest snapshot]
    #[arg(long, value_name = "N|end")]
    pub(crate) at: Option<When>,
    /// The stage [default: all stages with a state]
    #[arg(long, value_name = "NAME")]
    pub(crate) stage: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct Snapshots {
    /// The state directory
    #[arg(value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) dir: PathBuf,
    /// Read every snapshot whole, and check it; exit with 4 if one is damaged
    #[arg(long)]
    pub(crate) verify: bool,
    /// Remove all but the newest N, and those that `redo` needs for dead letters
    #[arg(long, value_name = "N", value_parser = super::values::at_least_one)]
    pub(crate) prune: Option<usize>,
    /// Go back to the snapshot with this id, and remove the newer ones: the next run begins there, and cuts its output
    /// files. It processes the numbers since once more, also those in the journal. Refused while a run has the
    /// directory, and if the output is a database that has later rows
    #[arg(long, value_name = "ID", value_parser = whole, conflicts_with = "prune")]
    pub(crate) back_to: Option<u64>,
    /// With --back-to: the later rows have been removed from the database, and its next number has been set
    #[arg(long, requires = "back_to")]
    pub(crate) rows_removed: bool,
    /// Print JSON, one object a line
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Differ {
    /// The state directory of one run
    #[arg(value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) dir: PathBuf,
    /// The state directory of the other run
    #[arg(value_name = "OTHER", value_hint = ValueHint::DirPath)]
    pub(crate) other: PathBuf,
}

#[derive(Debug, Args)]
pub(crate) struct Upgrade {
    /// Print what would become of every stage and its state: kept, migrated, new, dropped or refused. Exit with 4 if
    /// the change would be refused
    #[arg(long, required = true)]
    pub(crate) check: bool,
    /// Assume that the upgrade has a migration for the state of this stage
    #[arg(long = "migrate", value_name = "STAGE")]
    pub(crate) migrated: Vec<String>,
    /// Let the state of this stage be lost
    #[arg(long = "drop", value_name = "STAGE")]
    pub(crate) dropped: Vec<String>,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
    /// The plan of the running pipeline, as `plan --json` wrote it; `-` is standard input
    #[arg(value_name = "OLD.json", value_hint = ValueHint::FilePath)]
    pub(crate) old: OsString,
    /// The plan of the pipeline that is to take its place
    #[arg(value_name = "NEW.json", value_hint = ValueHint::FilePath)]
    pub(crate) new: OsString,
}
