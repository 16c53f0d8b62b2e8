//! `pipe`: standard input through a command, several of it at once, and the output in the order of the input.

mod answer;
mod filter;
mod lines;
mod processes;

pub(crate) use filter::Filter;

use super::Outcome;
use crate::config::RunConfig;
use crate::deploy::{Failed, Runs};
use crate::input::{self, Input, message};
use crate::message::Complaints;
use crate::output::Output;
use crate::progress::{self, Writes};
use answer::Answer;
use lines::Talks;
use millstream_core::{Arrow, Retry, SequenceNumber, Val, pipeline};
use millstream_exec::{Everywhere, RunError};
use millstream_io::{Block, LineBlocks};
use std::io::{Error, ErrorKind};
use std::sync::Arc;
use std::time::Duration;

/// `pipe`: a command that several processes run at once.
#[derive(Debug)]
pub(crate) struct Pipe {
    pub(crate) filter: Filter,
    pub(crate) jobs: usize,
    pub(crate) how: How,
    /// The longest line, in bytes.
    pub(crate) max_line: usize,
    pub(crate) run: RunConfig,
}

/// What a process is given.
#[derive(Clone, Copy, Debug)]
pub(crate) enum How {
    /// A block of whole lines of about so many bytes, and its end.
    Block(usize),
    /// One line after the other, each when the one before was answered; an answer may take so long before the process is
    /// told that no more lines come.
    Line(Duration),
}

/// Standard input's name.
const STDIN: &str = "-";

/// The stage's name.
const STAGE: &str = "pipe";

/// What a line is to the pipeline: its number, from 1, and its bytes.
type Line = (u64, Block);

/// Each block as a new process of the command answers it. Such a function waits, and it is not asked again.
pub(crate) fn blocks(jobs: usize, filter: Filter) -> impl Everywhere<In = Val<Block>, Out = Val<Answer>> {
    pipeline::<Block>()
        .shard(jobs, move |p| p.try_map_retry(Retry::times(0), move |block: &Block| filter.answer(block)).named(STAGE))
}

/// Each line as one of the processes answers it that are kept for this.
fn lines(jobs: usize, talks: Arc<Talks>) -> impl Everywhere<In = Val<Line>, Out = Val<Vec<u8>>> {
    pipeline::<Line>().shard(jobs, move |p| {
        p.try_map_retry(Retry::times(0), move |(number, line): &Line| talks.answer(*number, line)).named(STAGE)
    })
}

impl Pipe {
    pub(crate) fn run(self) -> Outcome {
        let complaints = Complaints::of("pipe");
        progress::begin("pipe", &[STDIN.into()], self.run.quiet, Writes::AllTheTime);
        Output::opened(&complaints, |output| match input::open(STDIN.as_ref(), false) {
            Ok(input) => self.run_over(input, output, &complaints),
            Err(error) => {
                complaints.complain(&message(STDIN.as_ref(), &error));
                Outcome::InputOrOutputFailed
            }
        })
    }

    fn run_over(self, input: Input, output: Output, complaints: &Complaints) -> Outcome {
        let size = match self.how {
            How::Block(size) => size,
            How::Line(_) => 1,
        };
        let quiet = self.run.quiet;
        let input = LineBlocks::with_size(input, size).longest(self.max_line);
        let failure = input.failure();
        let mut runs = Runs::new(self.run, complaints.clone());
        let processes = self.filter.processes().clone();
        runs.interrupts().when_stopped(move |now| processes.stop(now));
        let ran = match self.how {
            How::Block(_) => {
                let print = |output: &mut Output, answer: &Answer| answer.write_to(output);
                runs.run(&blocks(self.jobs, self.filter), input, output, print).map(drop)
            }
            How::Line(patience) => {
                let print = |output: &mut Output, bytes: &Vec<u8>| output.write(bytes);
                let talks = Arc::new(Talks::new(self.filter, patience, self.max_line, quiet));
                let ran = runs.run(&lines(self.jobs, talks.clone()), (1..).zip(input), output, print);
                ran.and_then(|_| talks.end().map_err(|(line, cause)| failed(line, cause)))
            }
        };
        if let Some(error) = failure.take() {
            complaints.complain(&message(STDIN.as_ref(), &advised(error)));
        }
        match ran {
            // What a process did that was stopped is not its fault.
            Err(error) if !runs.interrupts().stopped() => runs.fail(&error),
            Ok(()) | Err(_) => runs.finish(),
        }
    }
}

/// What came out only when a process was told that no more lines come. Line 1 is number 0.
fn failed(line: u64, cause: String) -> Failed {
    Failed::Run(RunError::Stage { stage: STAGE.to_owned(), number: Some(SequenceNumber(line - 1)), cause })
}

/// With what can be done about it.
fn advised(error: Error) -> Error {
    match error.kind() {
        ErrorKind::InvalidData => Error::other(format!("{error}: --max-line allows longer ones")),
        _ => error,
    }
}
