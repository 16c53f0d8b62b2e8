//! Turns raw flags into a command, with every default filled in and every contradiction refused.

mod evolve;
#[cfg(feature = "jq")]
mod jq;
mod looks;
#[cfg(feature = "run")]
mod run;
#[cfg(feature = "serve")]
mod serve;
mod upgrade;

pub(crate) use looks::looking;

#[cfg(feature = "completions")]
use crate::command::Man;
use crate::command::pipe::{Filter, How, JOB_LOG_BEGIN};
use crate::command::wc::{self, Kinds};
use crate::command::{
    Command, Copying, Graph, HowToDraw, HowToShow, Idle, Panic, Pipe, PlanCommand, Sleep, Snapshots, Spaces, Uppercase,
    Verify, Wc,
};
use crate::config::{LINES, NUMBERS, RING, rings, run, run_with_slots, with_state, without_state, would_overwrite};
use crate::flags::{self, Program, ProgramName, ShardBy};
use crate::input::Names;
use crate::message::quoted;
use std::ffi::OsStr;
use std::path::PathBuf;
use std::time::Duration;

/// The shards of a program, and the default number of slots of each ring: as a run has them.
fn shards_and_slots(program: &ProgramName, tuning: &flags::Tuning) -> (usize, usize) {
    let shards = tuning.shards.unwrap_or(1);
    match program {
        #[cfg(feature = "run")]
        ProgramName::Text(_) => run::shards_and_slots(tuning),
        ProgramName::BuiltIn(Program::Copying) => (shards, NUMBERS),
        ProgramName::BuiltIn(Program::Spaces) => (shards, LINES),
        _ => (shards, RING),
    }
}

/// The message of `jq` in a build without it.
#[cfg(not(feature = "jq"))]
const NO_JQ: &str = "this build lacks jq filters: \
                     `cargo run --release -- jq ..` runs a build that has them, and \
                     `cargo install --path crates/millstream-cli` installs one";

/// An answer of fewer bytes stays in memory, whatever the block size.
const MOST_ANSWER: usize = 1 << 16;

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
            Ok(Command::Uppercase(Uppercase { files, shards, run: with_state("uppercase", run(flags.run)?) }))
        }
        flags::Command::Spaces(flags) => {
            let flags::OverLines { max_line: longest, input } = flags;
            let files = if input.files.is_empty() { vec!["-".into()] } else { input.files };
            let files = Names { files, decompress: input.decompress };
            let shards = input.run.tuning.shards.unwrap_or(1);
            let run = with_state("spaces", run_with_slots(LINES, input.run)?);
            Ok(Command::Spaces(Spaces { files, shards, longest, run }))
        }
        flags::Command::Sleep(flags) => {
            let shards = flags.run.tuning.shards.unwrap_or(if flags.sharded { 2 } else { 1 });
            Ok(Command::Sleep(Sleep { shards, run: without_state("sleep", run(flags.run)?)? }))
        }
        flags::Command::Panic(flags) => {
            let shards = flags.run.tuning.shards.unwrap_or(1);
            Ok(Command::Panic(Panic { at: flags.at, shards, run: without_state("panic", run(flags.run)?)? }))
        }
        flags::Command::Idle(flags) => {
            let shards = flags.run.tuning.shards.unwrap_or(1);
            Ok(Command::Idle(Idle { shards, run: without_state("idle", run(flags.run)?)? }))
        }
        flags::Command::Copying(flags) => {
            // A slot holds a number here, not a block.
            let (shards, quiet) = (flags.run.tuning.shards.unwrap_or(1), flags.run.quiet);
            let run = without_state("copying", run_with_slots(NUMBERS, flags.run)?)?;
            Ok(Command::Copying(Copying { fanout: flags.fanout, items: flags.items, shards, quiet, run }))
        }
        flags::Command::Pipe(flags) => Ok(Command::Pipe(pipe(flags)?)),
        #[cfg(feature = "jq")]
        flags::Command::Jq(flags) => Ok(Command::Jq(jq::jq(flags)?)),
        #[cfg(not(feature = "jq"))]
        flags::Command::Jq(_) => Err(NO_JQ.into()),
        #[cfg(feature = "run")]
        flags::Command::Run(flags) => Ok(Command::Run(Box::new(run::run(flags)?))),
        #[cfg(feature = "run")]
        flags::Command::Check(flags) => Ok(Command::Check(run::check(flags))),
        #[cfg(feature = "run")]
        flags::Command::Stages(flags) => Ok(Command::Stages(crate::command::ListStages { json: flags.json })),
        #[cfg(feature = "serve")]
        flags::Command::Serve(flags) => Ok(Command::Serve(Box::new(serve::serve(*flags)?))),
        #[cfg(feature = "cluster")]
        flags::Command::Cluster(flags) => Ok(Command::Cluster(crate::command::Cluster::new(flags.command)?)),
        #[cfg(feature = "cluster")]
        flags::Command::Worker(flags) => Ok(Command::Worker(Box::new((*flags).try_into()?))),
        flags::Command::Evolve(flags) => Ok(Command::Evolve(evolve::evolve(flags)?)),
        flags::Command::EvolveWorker(flags) => Ok(Command::EvolveWorker(evolve::worker(flags)?)),
        flags::Command::Replay(flags) => looks::replay(flags).map(Command::Replay),
        flags::Command::State(flags) => looks::look(flags).map(Command::Look),
        flags::Command::Snapshots(flags) => Ok(Command::Snapshots(Snapshots::of(flags))),
        flags::Command::Diff(flags) => looks::diff(flags).map(Command::Differ),
        flags::Command::Upgrade(flags) => upgrade::upgrade(flags),
        flags::Command::Verify(flags) => Ok(Command::Verify(verify(flags)?)),
        flags::Command::Plan(flags) => {
            let (shards, slots) = shards_and_slots(&flags.program, &flags.how.tuning);
            let how = how_to_show(&flags.how.with_slots(slots));
            Ok(Command::Plan(PlanCommand { program: flags.program, shards, how }))
        }
        #[cfg(feature = "top")]
        flags::Command::Top(flags) => {
            Ok(Command::Top(crate::command::Top { address: flags.address, once: flags.once, color }))
        }
        #[cfg(feature = "completions")]
        flags::Command::Completions(flags) => Ok(Command::Completions(flags.shell)),
        #[cfg(feature = "completions")]
        flags::Command::Man(flags) => Ok(Command::Man(Man { dir: flags.dir.map(PathBuf::from) })),
        flags::Command::Graph(flags) => {
            let (shards, slots) = shards_and_slots(&flags.program, &flags.how.tuning);
            Ok(Command::Graph(Graph { how: how_to_draw(&flags.how, slots), program: flags.program, shards }))
        }
    }
}

fn wc(flags: flags::Wc) -> Result<Wc, String> {
    let flags::OverFiles { files, decompress, run: how } = flags.input;
    let flags::Wc { lines, words, chars, bytes, width, files0_from, total, .. } = flags;
    let kinds = Kinds { lines, words, chars, bytes, width };
    let kinds = if kinds == Kinds::NONE { Kinds::USUAL } else { kinds };
    let names = match files0_from {
        Some(_) if !files.is_empty() => return Err("--files0-from cannot be combined with file names".into()),
        Some(list) => wc::Names::Listed(list),
        None => wc::Names::Given(files),
    };
    let shards = how.tuning.shards.unwrap_or(1);
    Ok(Wc { names, decompress, kinds, total, shards, run: with_state("wc", run(how)?) })
}

fn pipe(flags: flags::Pipe) -> Result<Pipe, String> {
    let cores = || std::thread::available_parallelism().map_or(1, usize::from);
    let jobs = flags.jobs.map(|jobs| jobs.on(cores())).or(flags.run.tuning.shards).unwrap_or_else(cores);
    let (how, slots) = match (flags.shard, flags.block, flags.patience) {
        (ShardBy::Block, _, Some(_)) => return Err("--patience works only with `--shard line`".into()),
        (ShardBy::Line, Some(_), _) => return Err("--block works only with `--shard block`".into()),
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
            return Err(format!("{flag} works only with `--shard block`"));
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
    let run = without_state("pipe", run_with_slots(slots, flags.run)?)?;
    Ok(Pipe { filter, jobs, how, max_line, header, log, grace, run })
}

fn verify(flags: flags::Verify) -> Result<Verify, String> {
    let reads = |program: &ProgramName| match program {
        ProgramName::BuiltIn(program) => program.reads(),
        ProgramName::Text(_) => true,
    };
    if !reads(&flags.program) && !flags.files.is_empty() {
        return Err("this program reads no files: it generates its input".into());
    }
    let is_text = matches!(flags.program, ProgramName::Text(_));
    let files = if flags.files.is_empty() && !is_text { vec!["-".into()] } else { flags.files };
    Ok(Verify { program: flags.program, files, longest: flags.max_line, quiet: flags.quiet })
}

/// The plan that `plan` shows.
pub(crate) fn how_to_show(flags: &flags::Planning) -> HowToShow {
    let flags::Planning { json, explain, ref diff, durable, ref tuning } = *flags;
    HowToShow { json, explain, diff: diff.clone(), durable, rings: rings(tuning) }
}

/// How to draw a graph. Its rings have `slots` slots, unless the flags set another number.
pub(crate) fn how_to_draw(flags: &flags::Drawing, slots: usize) -> HowToDraw {
    let rings = rings(&flags.tuning).ring(flags.tuning.ring.unwrap_or(slots));
    HowToDraw { format: flags.format, rings }
}

fn job_log_to(to: &OsStr) -> Result<PathBuf, String> {
    let path = PathBuf::from(to);
    if would_overwrite(&path, |begin| begin.starts_with(JOB_LOG_BEGIN)) {
        return Err(format!("--joblog would overwrite {}, which is not a job log", quoted(to)));
    }
    Ok(path)
}
