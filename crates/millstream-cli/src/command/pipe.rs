//! `pipe`: runs standard input through a command, several processes at once, with the output in the order of the input.
//!
//! It is a program like any other: a stage that waits, in a `shard`, between a source and a sink. Blocks are cut by the
//! bytes alone and not by how they arrive, so they have the same numbers in every run. Each block is the whole input of
//! a process. One thread feeds the process, another drains its answer. The answer waits for its turn in memory, or in a
//! temporary file if it has four times the size of a block or more (and at least 64 KiB). `lines.rs` is `--shard line`,
//! where a process gets line after line.
//!
//! A command that fails does not fail the stage: its answer says so (`answer.rs`). Its output is therefore printed, and
//! the sink, which receives answers in order, ends at the first failure. `admission.rs` decides up to which number the
//! command is run: after a failure, later numbers are not run, their processes are ended, and those of earlier numbers
//! are waited for. The failure that is reported, and the output before it, are therefore the same in every run.
//! `--keep-going` counts failures instead.
//!
//! The first signal does not drain the run from outside. Standard input is read through a poll that the signal wakes
//! (`interrupts/watched.rs`), so the source ends by itself, with the whole lines that it has read. The command is not
//! run for numbers that wait in rings, except for the one that the signal has cut short, if no other number waits
//! before it. On the model, where nothing is run before the input ends, it is run for all that was read. Processes have
//! process groups of their own, so an interrupt from the keyboard does not end them. After `--grace` seconds, if one is
//! still at work, or at the second signal, the groups get SIGTERM, and half a second later SIGKILL. The same poll ends
//! a wait for input if a run is on the calling thread (`--deploy inline` and `model`) and cannot be drained from
//! outside.

mod admission;
mod answer;
mod attempt;
mod filter;
mod header;
mod job_log;
mod lines;
mod printed;
mod processes;
mod source;
mod tagged;
mod watchdog;

pub(crate) use filter::Filter;
pub(crate) use job_log::JOB_LOG_BEGIN;
pub(crate) use source::{Numbered, Numbers};

use crate::config::{Deployment, RunConfig};
use crate::deploy::{Failed, Runs};
use crate::input::{self, Input, message, not_output};
use crate::interrupts::{Interrupts, when_hung_up};
use crate::message::{Complaints, cause, quoted, say_soon};
use crate::outcome::{Outcome, before_exit};
use crate::output::Output;
use crate::progress::{self, Writes};
use answer::Answer;
use header::split_header;
use job_log::JobLog;
use lines::Talks;
use millstream_core::{Arrow, SequenceNumber, Val, pipeline};
use millstream_exec::{Everywhere, RunError};
use millstream_io::{LineBlocks, stdio};
use printed::{Printed, Verdict};
use rustix::process::Signal;
use std::fs::File;
use std::io::{Error, ErrorKind};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// `pipe`: a command that several processes run at once.
#[derive(Debug)]
pub(crate) struct Pipe {
    pub(crate) filter: Filter,
    pub(crate) jobs: usize,
    pub(crate) how: How,
    /// The limit for a line, in bytes.
    pub(crate) max_line: usize,
    /// The number of lines at the beginning of the input that every block begins with.
    pub(crate) header: usize,
    /// The file of the job log.
    pub(crate) log: Option<PathBuf>,
    /// How long commands may take to finish their work after a signal.
    pub(crate) grace: Duration,
    pub(crate) run: RunConfig,
}

/// The input of a process.
#[derive(Clone, Copy, Debug)]
pub(crate) enum How {
    /// A block of whole lines of about this many bytes, and its end.
    Block(usize),
    /// One line after the other, each after the answer to the one before. If no answer comes in this time, the input of
    /// the process is closed.
    Line(Duration),
}

/// Standard input's name.
const STDIN: &str = "-";

/// The stage's name.
const STAGE: &str = "pipe";

/// Each block, answered by a new process of the command.
pub(crate) fn blocks(jobs: usize, filter: Filter) -> impl Everywhere<In = Val<Numbered>, Out = Val<Answer>> {
    pipeline::<Numbered>().shard(jobs, move |p| {
        p.map_blocking(move |(number, block): &Numbered| filter.answer(*number, block)).named(STAGE)
    })
}

/// Each line, answered by one of the long-lived processes.
fn lines(jobs: usize, talks: Arc<Talks>) -> impl Everywhere<In = Val<Numbered>, Out = Val<Answer>> {
    pipeline::<Numbered>()
        .shard(jobs, move |p| p.map_blocking(move |(number, line): &Numbered| talks.answer(*number, line)).named(STAGE))
}

impl Pipe {
    pub(crate) fn run(self) -> Outcome {
        let complaints = Complaints::of("pipe");
        progress::begin("pipe", &[STDIN.into()], self.run.quiet, Writes::AllTheTime);
        Output::opened(&complaints, |output| {
            match stdio::input().and_then(|input| not_output(&input).map(|()| input)) {
                Ok(input) => self.run_over(input, output, &complaints),
                Err(error) => failed_input(&error, &complaints),
            }
        })
    }

    fn run_over(self, input: File, output: Output, complaints: &Complaints) -> Outcome {
        let (size, units) = match self.how {
            How::Block(size) => (size, "blocks"),
            How::Line(_) => (1, "lines"),
        };
        let (quiet, keeps_going) = (self.run.quiet, self.filter.keeps_going());
        if self.run.place == Deployment::Model {
            self.filter.admission().runs_after_all();
        }
        let mut runs = Runs::new(self.run, complaints.clone());
        let log = match self.log.map(|path| logged(path, &self.filter, complaints)).transpose() {
            Ok(log) => log,
            Err(failed) => return failed,
        };
        let filter = match &log {
            Some(log) => self.filter.logging(log.clone()),
            None => self.filter,
        };
        let (interrupts, line_end) = (runs.interrupts(), filter.line_end());
        listen(&interrupts, &filter, self.grace, quiet);
        let watched = interrupts.watch(input).map(Input::Watched);
        let (header, input) = match watched.and_then(|input| split_header(input, self.header, line_end, self.max_line))
        {
            Ok(split) => (split.header, split.rest),
            Err(error) => return failed_input(&advised(error), complaints),
        };
        let input = LineBlocks::with_size(input, size).longest(self.max_line).ended_by(line_end);
        let failure = input.failure();
        let filter = filter.with_header(header);
        let (admission, processes) = (filter.admission().clone(), filter.processes().clone());
        let input = Numbers::of(input, admission);
        let printed = Printed::into(output, keeps_going);
        let over = printed.over();
        let ran = match self.how {
            How::Block(_) => {
                let pipeline = blocks(self.jobs, filter);
                runs.run_hashing(
                    &pipeline,
                    input,
                    printed,
                    move |number, answer: &Answer| over.hashed(number, answer),
                    Printed::print,
                    |_| (),
                )
            }
            How::Line(patience) => {
                let talks = Arc::new(Talks::new(filter.clone(), patience, self.max_line, quiet));
                let pipeline = lines(self.jobs, talks.clone());
                let ran = runs.run_hashing(
                    &pipeline,
                    input,
                    printed,
                    move |number, answer: &Answer| over.hashed(number, answer),
                    Printed::print,
                    |_| (),
                );
                ran.map(|mut printed| {
                    if interrupts.first().is_some() {
                        // Only now do they learn that there is no more to do: the output may have been read slowly.
                        stop_late(&interrupts, &filter, self.grace, quiet);
                    }
                    if printed.is_over() {
                        // Their remaining work is not needed.
                        processes.stop_from(0);
                    }
                    let ends = talks.end();
                    if !printed.is_over() {
                        ends.iter().for_each(|(line, cause)| printed.failed(*line, cause));
                    }
                    printed
                })
            }
        };
        if let Some(error) = failure.take() {
            input::report(complaints, STDIN.as_ref(), &advised(error));
        }
        if let Some(error) = log.and_then(|log| log.failure()) {
            complaints.complain(&format!("--joblog: {}", cause(&error)));
        }
        match ran.map(|printed| printed.verdict(units)) {
            // The failure of a process that was stopped is not its fault.
            _ if interrupts.stopped() => runs.finish(),
            Err(error) => runs.fail(&error),
            Ok(Verdict::Failed(number, cause)) => runs.fail(&failed(number, cause)),
            Ok(Verdict::WentOn(what)) => {
                complaints.complain(&what);
                runs.finish()
            }
            Ok(Verdict::Well) => runs.finish(),
        }
    }
}

/// The first signal ends the input, and the command has `grace` to finish its work. The second one stops it.
fn listen(interrupts: &Interrupts, filter: &Filter, grace: Duration, quiet: bool) {
    let [processes, hung_up, left] = [(); 3].map(|()| filter.processes().clone());
    interrupts.when_stopped(move |now| processes.stop(now));
    // The processes have groups of their own, which the closing of a terminal does not reach. If no thread can be
    // started to send them SIGHUP, as a shell does, they notice when they read or write.
    let _ = when_hung_up(move || hung_up.leave(Signal::HUP));
    // Without a reader of their output, or room for it, their work is not needed.
    before_exit(move || left.leave(Signal::TERM));
    let ending = interrupts.clone();
    filter.admission().when_ended(move || ending.end_input());
    let (late, filter) = (interrupts.clone(), filter.clone());
    interrupts.when_drained(move || {
        if filter.admission().drain() && !quiet {
            say_soon("millstream pipe: draining; a second signal stops at once".to_owned());
        }
        stop_late(&late, &filter, grace, quiet);
    });
}

/// After a signal, stops the commands that are at work when this time is over. Without one, a run that goes on has an
/// output that is read slowly.
fn stop_late(interrupts: &Interrupts, filter: &Filter, grace: Duration, quiet: bool) {
    let (admission, name, grace_s) = (filter.admission().clone(), filter.name(), grace.as_secs());
    interrupts.stop_after(grace, move || {
        let late = admission.is_late();
        if late && !quiet {
            say_soon(format!("millstream pipe: {name} has not ended within {grace_s} s (--grace), and is stopped"));
        }
        late
    });
}

/// An empty log, or the outcome if it cannot be written.
fn logged(path: PathBuf, filter: &Filter, complaints: &Complaints) -> Result<Arc<JobLog>, Outcome> {
    JobLog::create(&path, filter.line()).map(Arc::new).map_err(|error| {
        complaints.complain(&format!("{}: {}", quoted(path.as_os_str()), cause(&error)));
        Outcome::InputOrOutputFailed
    })
}

fn failed_input(error: &Error, complaints: &Complaints) -> Outcome {
    complaints.complain(&message(STDIN.as_ref(), error));
    Outcome::InputOrOutputFailed
}

/// A failure at a number that was found in the output.
fn failed(number: u64, cause: String) -> Failed {
    Failed::Run(RunError::Stage { stage: STAGE.to_owned(), number: Some(SequenceNumber(number)), cause: cause.into() })
}

/// Adds advice to an error.
fn advised(error: Error) -> Error {
    match error.kind() {
        ErrorKind::InvalidData => Error::other(format!("{error}: raise --max-line")),
        _ => error,
    }
}
