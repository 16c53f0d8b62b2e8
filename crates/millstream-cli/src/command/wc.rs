//! `wc`: the counts of GNU's program, by folds.

mod characters;
mod columns;
mod kinds;
mod names;
pub(crate) mod pipelines;
mod tally;
mod width;

#[cfg(feature = "cluster")]
pub(crate) use columns::Columns;
pub(crate) use kinds::Kinds;
pub(crate) use names::Names;

use crate::config::{Keep, RunConfig};
use crate::deploy::{Answer, Failed, Runs, print_once};
use crate::flags::Total;
use crate::input::{self, FromFiles, Opening, never_waits, report};
use crate::message::{Complaints, quoted, say};
use crate::outcome::Outcome;
use crate::output::Output;
use crate::progress::{self, Writes};
#[cfg(not(feature = "cluster"))]
use columns::Columns;
use kinds::Counts;
use millstream_core::SequenceNumber;
use millstream_core::{AtEnd, Val};
use millstream_exec::{Everywhere, Lasting, sink};
use millstream_io::{Block, Blocks};
use millstream_state::JobError;
use names::Inputs;
use std::ffi::{OsStr, OsString};

/// `wc`: one run for each file, and a total.
#[derive(Debug)]
pub(crate) struct Wc {
    pub(crate) names: Names,
    pub(crate) decompress: bool,
    pub(crate) kinds: Kinds,
    pub(crate) total: Total,
    pub(crate) shards: usize,
    pub(crate) run: RunConfig,
}

impl Wc {
    pub(crate) fn run(self) -> Outcome {
        match (self.kinds == Kinds::USUAL, self.kinds, self.shards) {
            (true, _, 1) => self.run_through(&pipelines::whole()),
            (true, _, shards) => self.run_through(&pipelines::sharded(shards)),
            (false, kinds, 1) => self.run_through(&pipelines::chosen(kinds)),
            (false, kinds, shards) => self.run_through(&pipelines::chosen_sharded(kinds, shards)),
        }
    }

    fn run_through<P: Everywhere<In = Val<Block>, Out = Val<Counts, AtEnd>> + Lasting>(self, pipeline: &P) -> Outcome {
        let complaints = self.run.complaints("wc");
        if let Some(keep) = self.run.keep.clone() {
            return Output::opened(&complaints, |output| self.print_kept(&keep, output, pipeline, &complaints));
        }
        Output::opened(&complaints, |output| self.print_into(output, pipeline, &complaints))
    }

    /// The counts of one file, with their state kept.
    fn print_kept<P: Everywhere<In = Val<Block>, Out = Val<Counts, AtEnd>> + Lasting>(
        self,
        keep: &Keep,
        mut output: Output,
        pipeline: &P,
        complaints: &Complaints,
    ) -> Outcome {
        let Wc { names, decompress, kinds, total: when, run, .. } = self;
        let Some(inputs) = names.inputs(kinds, complaints) else { return Outcome::InputOrOutputFailed };
        let columns = if when == Total::Only { Columns::NARROW } else { inputs.columns };
        let Ok([name]) = <[_; 1]>::try_from(inputs.names) else {
            complaints.note("--state: `wc` reads one file: name exactly one");
            return Outcome::WrongUse;
        };
        let read = vec![name.clone().unwrap_or_else(|| "-".into())];
        progress::begin_without_length("wc", &read, run.quiet, Writes::Lines);
        let names = input::Names { files: read, decompress };
        let mut runs = Runs::new(run, complaints.clone());
        let shown = sink::each(|_: SequenceNumber, _: &Counts| ());
        let kept = match runs.keep_blocks(keep, pipeline, names, None, Answer, shown) {
            Ok(kept) => kept,
            Err(why) => {
                complaints.note(&why);
                return Outcome::WrongUse;
            }
        };
        match kept {
            Ok(counts) => {
                if let Some(counts) = counts.flatten().filter(|_| !runs.interrupted()) {
                    let line = columns.line(counts, name.as_deref().filter(|_| when != Total::Only));
                    if let Err(error) = print_once(&mut output, &keep.dir, &line) {
                        let why = "so a run after a kill may print this line again";
                        complaints.note(&format!("--state: what is printed cannot be noted, {why}: {error}"));
                    }
                }
                runs.finish()
            }
            Err(Failed::Job(JobError::OtherStates { .. })) => {
                let dir = quoted(keep.dir.as_os_str());
                let remedy = "use the flags with which it was begun, or another directory";
                complaints.note(&format!("--state: {dir} has the state of other counts: {remedy}"));
                Outcome::WrongUse
            }
            Err(error) => runs.fail(&error),
        }
    }

    fn print_into<P: Everywhere<In = Val<Block>, Out = Val<Counts, AtEnd>>>(
        self,
        mut output: Output,
        pipeline: &P,
        complaints: &Complaints,
    ) -> Outcome {
        let Wc { names, decompress, kinds, total: when, run, .. } = self;
        let Some(inputs) = names.inputs(kinds, complaints) else { return Outcome::InputOrOutputFailed };
        let columns = if when == Total::Only { Columns::NARROW } else { inputs.columns };
        let read: Vec<OsString> = inputs.names.iter().map(|name| name.clone().unwrap_or_else(|| "-".into())).collect();
        progress::begin("wc", &read, run.quiet, Writes::Lines);
        let mut runs = Runs::new(run, complaints.clone());
        let mut total = Counts::of(kinds);
        for (i, name) in inputs.names.iter().map(Option::as_deref).enumerate() {
            // The first input always has counts, even if a signal comes before it is read; they may be 0.
            if i > 0 && runs.interrupted() {
                break;
            }
            if let Some(refusal) = inputs.refusal(i + 1, name) {
                complaints.complain(&refusal);
                continue;
            }
            match count(pipeline, &mut runs, complaints, name, decompress) {
                Ok(Some(counts)) => {
                    total += counts;
                    if when != Total::Only {
                        output.write(&columns.line(counts, name));
                    }
                }
                Ok(None) => {}
                Err(error) => return runs.fail(&error),
            }
        }
        if let Some(name) = total_of(when, &inputs) {
            output.write(&columns.line(total, name));
        }
        if runs.interrupted() {
            say("millstream wc: interrupted: the counts cover the input that was read");
        }
        runs.finish()
    }
}

/// The name in the line of the total, if there is such a line.
fn total_of(when: Total, inputs: &Inputs) -> Option<Option<&'static OsStr>> {
    let there = match when {
        Total::Auto => inputs.names.len() > 1,
        Total::Always | Total::Only => true,
        Total::Never => false,
    };
    there.then(|| (when != Total::Only).then_some("total".as_ref()))
}

/// The counts of one input as far as it can be read; `None` if it cannot be opened, or if a signal comes before that.
fn count<P: Everywhere<In = Val<Block>, Out = Val<Counts, AtEnd>>>(
    pipeline: &P,
    runs: &mut Runs,
    complaints: &Complaints,
    name: Option<&OsStr>,
    decompress: bool,
) -> Result<Option<Counts>, Failed> {
    let complain = |error| report(complaints, name.unwrap_or("standard input".as_ref()), &error);
    let opening = Opening { answers_at_end: true, ..runs.opening(decompress) };
    let input = match opening.open(name.unwrap_or("-".as_ref())) {
        Ok(Some(input)) => input,
        Ok(None) => return Ok(None),
        Err(error) => {
            complain(error);
            return Ok(None);
        }
    };
    let blocks = Blocks::new(input);
    let failure = blocks.failure();
    let keep = |answer: &mut Option<Counts>, counts: &Counts| *answer = Some(*counts);
    let waits = !never_waits(name.unwrap_or("-".as_ref()));
    let counts = runs.run(pipeline, FromFiles { values: blocks, waits }, None, keep)?;
    if let Some(error) = failure.take() {
        complain(error);
    }
    Ok(counts)
}
