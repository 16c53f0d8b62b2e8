//! How a pipeline is run, as the flags ask for it.

mod keeping;

#[cfg(feature = "run")]
pub(crate) use keeping::Judge;
pub(crate) use keeping::{Doing, GOES_ON, Keep, Seen, other_program, stored_flags, whole, with_state, without_state};

use crate::flags::{self, Deploy, StatsFormat};
use crate::message::quoted;
use crate::stats::are_stats;
use crate::watching::PICTURE_BEGIN;
use millstream_exec::{Queues, Rings, Wait};
use std::ffi::OsStr;
#[cfg(feature = "run")]
use std::ffi::OsString;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The default number of slots of each ring. A slot holds a block of text: 16 let a reader and a worker run
/// independently, and limit a run's memory to a few megabytes.
pub(crate) const RING: usize = 16;

/// The default if a slot holds a number or a line.
pub(crate) const NUMBERS: usize = 4096;

/// The default if a slot holds the position of a line.
pub(crate) const LINES: usize = 1024;

/// How to run a pipeline, and what to report about it.
#[derive(Clone, Debug)]
pub(crate) struct RunConfig {
    pub(crate) place: Deployment,
    pub(crate) rings: Rings,
    /// The idle strategy, if the flags name one.
    pub(crate) wait: Option<Wait>,
    pub(crate) queues: Queues,
    pub(crate) stats: Option<StatsTo>,
    pub(crate) stats_format: StatsFormat,
    pub(crate) observe: bool,
    /// The file for a picture of the run.
    pub(crate) picture: Option<PathBuf>,
    #[cfg(feature = "page")]
    pub(crate) page: Option<String>,
    /// How long the page stays after the runs.
    #[cfg(feature = "page")]
    pub(crate) page_linger: Duration,
    pub(crate) hash: bool,
    pub(crate) quiet: bool,
    /// The state directory, if the run keeps its state.
    pub(crate) keep: Option<Keep>,
}

#[cfg(feature = "run")]
impl RunConfig {
    /// The files of the reports that it writes, each with its flag.
    pub(crate) fn reports(&self) -> Vec<(&'static str, OsString)> {
        if self.looks() {
            return Vec::new();
        }
        let stats = self.stats.as_ref().and_then(StatsTo::path).map(|path| ("--stats", path));
        let picture = self.picture.as_deref().map(|path| ("--record-picture", path));
        stats.into_iter().chain(picture).map(|(flag, path)| (flag, path.into())).collect()
    }
}

/// The deployments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Deployment {
    Model,
    Inline,
    Queues,
    Rings,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum StatsTo {
    StandardError,
    File(PathBuf),
}

impl StatsTo {
    /// The file, if it is one.
    pub(crate) fn path(&self) -> Option<&Path> {
        match self {
            StatsTo::StandardError => None,
            StatsTo::File(path) => Some(path),
        }
    }
}

/// How to run a pipeline. Its rings have `slots` slots, unless the flags set another number.
pub(crate) fn run_with_slots(slots: usize, mut flags: flags::Run) -> Result<RunConfig, String> {
    flags.tuning.ring.get_or_insert(slots);
    run(flags)
}

pub(crate) fn run(flags: flags::Run) -> Result<RunConfig, String> {
    let place = match flags.deploy {
        Deploy::Model => Deployment::Model,
        Deploy::Inline => Deployment::Inline,
        Deploy::Rings => Deployment::Rings,
        Deploy::Queues => Deployment::Queues,
    };
    #[cfg(feature = "page")]
    let (page, watched) = (flags.page.clone(), flags.page.is_some());
    #[cfg(feature = "page")]
    let page_linger = Duration::from_secs(flags.page_linger.unwrap_or(0));
    #[cfg(not(feature = "page"))]
    let watched = false;
    let observe = flags.observe || watched;
    let rings = rings(&flags.tuning).observe(observe);
    let queues = Queues::new().capacity(flags.tuning.ring.unwrap_or(RING));
    let stats = flags.stats.as_ref().map(|to| stats_to(to)).transpose()?;
    if (observe || flags.record_picture.is_some()) && place != Deployment::Rings {
        return Err("only runs on rings can be observed or recorded: use `--deploy rings`".into());
    }
    let picture = flags.record_picture.as_ref().map(|to| picture_to("--record-picture", to)).transpose()?;
    let asked = flags.tuning.wait.map(|asked| wait(Some(asked)));
    let keep = keeping::keeping(&flags)?;
    let flags::Run { stats_format, hash, quiet, .. } = flags;
    Ok(RunConfig {
        place,
        rings,
        wait: asked,
        queues,
        stats,
        stats_format,
        observe,
        picture,
        #[cfg(feature = "page")]
        page,
        #[cfg(feature = "page")]
        page_linger,
        hash,
        quiet,
        keep,
    })
}

pub(crate) fn rings(tuning: &flags::Tuning) -> Rings {
    let mut rings = Rings::new().ring(tuning.ring.unwrap_or(RING)).wait(wait(tuning.wait)).pin_workers(tuning.pin);
    if let Some(n) = tuning.workers {
        rings = rings.workers(n);
    }
    if let Some(n) = tuning.batch {
        rings = rings.batch(n);
    }
    if let Some(ms) = tuning.step_budget {
        rings = rings.step_budget(Duration::from_millis(ms));
    }
    if let Some(bytes) = tuning.memory_limit {
        rings = rings.memory_limit(bytes);
    }
    rings
}

fn wait(flag: Option<flags::Wait>) -> Wait {
    match flag {
        None => Wait::default(),
        Some(flags::Wait::Phased) => Wait::Phased,
        Some(flags::Wait::BusySpin) => Wait::BusySpin,
        Some(flags::Wait::Yielding) => Wait::Yielding,
        Some(flags::Wait::Sleeping) => Wait::Sleeping,
        Some(flags::Wait::Blocking) => Wait::Blocking,
    }
}

/// The destination of statistics. `--stats FILE` can be meant as `--stats` and a file to read; a file that holds
/// anything but statistics is therefore never overwritten.
pub(crate) fn stats_to(to: &OsStr) -> Result<StatsTo, String> {
    if to == "-" {
        return Ok(StatsTo::StandardError);
    }
    let path = PathBuf::from(to);
    if would_overwrite(&path, are_stats) {
        return Err(format!(
            "--stats would overwrite {}, which holds no statistics; `--stats=-` writes them to standard error",
            quoted(to)
        ));
    }
    Ok(StatsTo::File(path))
}

/// The destination of a picture. `flag` has it.
pub(crate) fn picture_to(flag: &str, to: &OsStr) -> Result<PathBuf, String> {
    let path = PathBuf::from(to);
    if would_overwrite(&path, |begin| begin.starts_with(PICTURE_BEGIN)) {
        return Err(format!("{flag} would overwrite {}, which is not a picture", quoted(to)));
    }
    Ok(path)
}

/// The bytes that identify a file.
const BEGIN: u64 = 128;

/// Whether the file has contents whose beginning is of another kind.
pub(crate) fn would_overwrite(path: &Path, is_of_kind: impl Fn(&str) -> bool) -> bool {
    // A pipe or a device has nothing to lose, and a read of it would wait.
    if !path.metadata().is_ok_and(|file| file.is_file() && file.len() > 0) {
        return false;
    }
    let mut begin = Vec::new();
    let read = File::open(path).and_then(|file| file.take(BEGIN).read_to_end(&mut begin));
    read.is_err() || !is_of_kind(&String::from_utf8_lossy(&begin))
}
