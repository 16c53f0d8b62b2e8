//! Turns raw flags into a command, with every default filled in and every contradiction refused.

mod evolve;

#[cfg(feature = "completions")]
use crate::command::Man;
use crate::command::pipe::{Filter, How, JOB_LOG_BEGIN};
use crate::command::wc::{self, Kinds};
use crate::command::{
    Command, Copying, Graph, HowToDraw, HowToShow, Idle, Panic, Pipe, PlanCommand, Sleep, Spaces, Uppercase, Verify, Wc,
};
use crate::flags::{self, Deploy, Program, ShardBy, StatsFormat};
use crate::input::Names;
use crate::message::quoted;
use crate::stats::STATS_BEGIN;
use crate::watching::PICTURE_BEGIN;
use millstream_exec::{Queues, Rings, Wait};
use std::ffi::OsStr;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The default number of slots of each ring. A slot holds a block of text: 16 let a reader and a worker run
/// independently, and limit a run's memory to a few megabytes.
const RING: usize = 16;

/// The default if a slot holds a number or a line.
pub(crate) const NUMBERS: usize = 4096;

/// The default if a slot holds the position of a line.
const LINES: usize = 1024;

/// The default number of slots of each ring of a program.
fn slots_of(program: Program) -> usize {
    match program {
        Program::Copying => NUMBERS,
        Program::Spaces => LINES,
        _ => RING,
    }
}

/// An answer of fewer bytes stays in memory, whatever the block size.
const MOST_ANSWER: usize = 1 << 16;

/// How to run one pipeline, and what to report about it.
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

/// The command that the flags ask for, or a message to the user about why it cannot run.
pub(crate) fn resolve(flags: flags::Flags) -> Result<Command, String> {
    let flags::Colours { color } = flags.colours;
    #[cfg(not(feature = "top"))]
    let _ = color;
    match flags.command {
        flags::Command::Wc(flags) => Ok(Command::Wc(wc(flags)?)),
        flags::Command::Uppercase(flags) => {
            let files = if flags.files.is_empty() { vec!["-".into()] } else { flags.files };
            let files = Names { files, decompress: flags.decompress };
            let shards = flags.run.tuning.shards.unwrap_or(1);
            Ok(Command::Uppercase(Uppercase { files, shards, run: run(flags.run)? }))
        }
        flags::Command::Spaces(flags) => {
            let flags::OverLines { max_line: longest, input } = flags;
            let files = if input.files.is_empty() { vec!["-".into()] } else { input.files };
            let files = Names { files, decompress: input.decompress };
            let shards = input.run.tuning.shards.unwrap_or(1);
            Ok(Command::Spaces(Spaces { files, shards, longest, run: run_with_slots(LINES, input.run)? }))
        }
        flags::Command::Sleep(flags) => {
            let shards = flags.run.tuning.shards.unwrap_or(if flags.sharded { 2 } else { 1 });
            Ok(Command::Sleep(Sleep { shards, run: run(flags.run)? }))
        }
        flags::Command::Panic(flags) => {
            let shards = flags.run.tuning.shards.unwrap_or(1);
            Ok(Command::Panic(Panic { at: flags.at, shards, run: run(flags.run)? }))
        }
        flags::Command::Idle(flags) => {
            let shards = flags.run.tuning.shards.unwrap_or(1);
            Ok(Command::Idle(Idle { shards, run: run(flags.run)? }))
        }
        flags::Command::Copying(flags) => {
            // A slot holds a number here, not a block.
            let (shards, quiet) = (flags.run.tuning.shards.unwrap_or(1), flags.run.quiet);
            let run = run_with_slots(NUMBERS, flags.run)?;
            Ok(Command::Copying(Copying { fanout: flags.fanout, items: flags.items, shards, quiet, run }))
        }
        flags::Command::Pipe(flags) => Ok(Command::Pipe(pipe(flags)?)),
        flags::Command::Evolve(flags) => Ok(Command::Evolve(evolve::evolve(flags)?)),
        flags::Command::EvolveWorker(flags) => Ok(Command::EvolveWorker(evolve::worker(flags)?)),
        flags::Command::Verify(flags) => Ok(Command::Verify(verify(flags)?)),
        flags::Command::Plan(flags) => Ok(Command::Plan(PlanCommand {
            program: flags.program,
            shards: flags.how.tuning.shards.unwrap_or(1),
            how: how_to_show(&flags.how.with_slots(slots_of(flags.program))),
        })),
        #[cfg(feature = "top")]
        flags::Command::Top(flags) => {
            Ok(Command::Top(crate::command::Top { address: flags.address, once: flags.once, color }))
        }
        #[cfg(feature = "completions")]
        flags::Command::Completions(flags) => Ok(Command::Completions(flags.shell)),
        #[cfg(feature = "completions")]
        flags::Command::Man(flags) => Ok(Command::Man(Man { dir: flags.dir.map(PathBuf::from) })),
        flags::Command::Graph(flags) => Ok(Command::Graph(Graph {
            program: flags.program,
            shards: flags.how.tuning.shards.unwrap_or(1),
            how: how_to_draw(&flags.how, slots_of(flags.program)),
        })),
    }
}

fn wc(flags: flags::Wc) -> Result<Wc, String> {
    let flags::OverFiles { files, decompress, run: how } = flags.input;
    let flags::Wc { lines, words, chars, bytes, width, files0_from, total, .. } = flags;
    let kinds = Kinds { lines, words, chars, bytes, width };
    let kinds = if kinds == Kinds::NONE { Kinds::USUAL } else { kinds };
    let names = match files0_from {
        Some(_) if !files.is_empty() => return Err("--files0-from names the files: no others are allowed".into()),
        Some(list) => wc::Names::Listed(list),
        None => wc::Names::Given(files),
    };
    let shards = how.tuning.shards.unwrap_or(1);
    Ok(Wc { names, decompress, kinds, total, shards, run: run(how)? })
}

fn pipe(flags: flags::Pipe) -> Result<Pipe, String> {
    let cores = || std::thread::available_parallelism().map_or(1, usize::from);
    let jobs = flags.jobs.map(|jobs| jobs.on(cores())).or(flags.run.tuning.shards).unwrap_or_else(cores);
    let (how, slots) = match (flags.shard, flags.block, flags.patience) {
        (ShardBy::Block, _, Some(_)) => return Err("--patience is for `--shard line`".into()),
        (ShardBy::Line, Some(_), _) => return Err("--block is for `--shard block`".into()),
        // Enough blocks to keep all processes busy while one of them takes longer.
        (ShardBy::Block, size, _) => (How::Block(size.unwrap_or(1 << 20)), (4 * jobs).next_power_of_two()),
        (ShardBy::Line, _, ms) => (How::Line(Duration::from_millis(ms.unwrap_or(5000))), NUMBERS),
    };
    if flags.shard == ShardBy::Line {
        let given = [
            ("--timeout", flags.timeout.is_some()),
            ("--retries", flags.retries > 0),
            ("--joblog", flags.joblog.is_some()),
            ("--header", flags.header > 0),
        ];
        if let Some((flag, _)) = given.iter().find(|(_, given)| *given) {
            return Err(format!("{flag} is for `--shard block`"));
        }
    }
    let words = match flags.shell {
        Some(line) => vec!["sh".into(), "-c".into(), line],
        None => flags.command,
    };
    let line_end = if flags.null { 0 } else { b'\n' };
    let filter = Filter::new(words).accepting(&flags.accept).keeping_going(flags.keep_going);
    let filter = filter.trying(flags.timeout, flags.retries).tagging(flags.tag).with_line_end(line_end);
    let filter = match how {
        // Then the ring of answers holds at most a fixed multiple of the bytes in the ring of blocks.
        How::Block(size) => filter.most_in_memory(MOST_ANSWER.max(4 * size)),
        How::Line(_) => filter,
    };
    let log = flags.joblog.as_ref().map(|to| job_log_to(to)).transpose()?;
    let (max_line, header, grace) = (flags.max_line, flags.header, Duration::from_secs(flags.grace));
    Ok(Pipe { filter, jobs, how, max_line, header, log, grace, run: run_with_slots(slots, flags.run)? })
}

fn verify(flags: flags::Verify) -> Result<Verify, String> {
    if !flags.program.reads() && !flags.files.is_empty() {
        return Err("this program reads no files: its input is its own numbers".into());
    }
    let files = if flags.files.is_empty() { vec!["-".into()] } else { flags.files };
    Ok(Verify { program: flags.program, files, longest: flags.max_line, quiet: flags.quiet })
}

/// What `plan` shows.
pub(crate) fn how_to_show(flags: &flags::Planning) -> HowToShow {
    let flags::Planning { json, explain, ref diff, durable, ref tuning } = *flags;
    HowToShow { json, explain, diff: diff.clone(), durable, rings: rings(tuning) }
}

/// How to draw a graph. Its rings have `slots` slots, unless the flags set another number.
pub(crate) fn how_to_draw(flags: &flags::Drawing, slots: usize) -> HowToDraw {
    let rings = rings(&flags.tuning).ring(flags.tuning.ring.unwrap_or(slots));
    HowToDraw { format: flags.format, rings }
}

/// How to run a pipeline. Its rings have `slots` slots, unless the flags set another number.
pub(crate) fn run_with_slots(slots: usize, mut flags: flags::Run) -> Result<RunConfig, String> {
    flags.tuning.ring.get_or_insert(slots);
    run(flags)
}

fn run(flags: flags::Run) -> Result<RunConfig, String> {
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
    let picture = flags.record_picture.as_ref().map(|to| picture_to(to)).transpose()?;
    let asked = flags.tuning.wait.map(|asked| wait(Some(asked)));
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
    })
}

fn rings(tuning: &flags::Tuning) -> Rings {
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
fn stats_to(to: &OsStr) -> Result<StatsTo, String> {
    if to == "-" {
        return Ok(StatsTo::StandardError);
    }
    let path = PathBuf::from(to);
    if would_overwrite(&path, STATS_BEGIN) {
        return Err(format!(
            "--stats would overwrite {}, which holds no statistics; `--stats=-` writes them to standard error",
            quoted(to)
        ));
    }
    Ok(StatsTo::File(path))
}

fn picture_to(to: &OsStr) -> Result<PathBuf, String> {
    let path = PathBuf::from(to);
    if would_overwrite(&path, PICTURE_BEGIN) {
        return Err(format!("--record-picture would overwrite {}, which is not a picture", quoted(to)));
    }
    Ok(path)
}

fn job_log_to(to: &OsStr) -> Result<PathBuf, String> {
    let path = PathBuf::from(to);
    if would_overwrite(&path, JOB_LOG_BEGIN) {
        return Err(format!("--joblog would overwrite {}, which is not a job log", quoted(to)));
    }
    Ok(path)
}

/// Whether the file has contents that do not begin with `begin`.
fn would_overwrite(path: &Path, begin: &str) -> bool {
    let mut start = vec![0; begin.len()];
    let read = File::open(path).and_then(|mut file| file.read_exact(&mut start));
    let written = path.metadata().is_ok_and(|file| file.is_file() && file.len() > 0);
    written && (read.is_err() || start != begin.as_bytes())
}
