//! `jq`: a filter over JSON, on all cores, with the output in the order of the input.
//!
//! The source cuts each file between values (`millstream_jq::JsonValues`) and passes blocks on; a `shard` of the filter
//! answers each of them with text; the sink writes the answers in order. A block is cut by what is read, so that a
//! value that is typed has its answer at once. Where the cuts are changes no output: a block of whole values has the
//! answers of its values.
//!
//! Messages have files, lines and numbers, which no block knows. An answer counts the lines and values of its block,
//! and the sink, which sees all answers in order, adds them up. It also decides where a file ends: at the first bytes
//! that are no JSON. What later blocks of that file answer is dropped, so that no more comes out than on one core.

mod inputs;
mod printed;

use crate::config::RunConfig;
use crate::deploy::Runs;
use crate::input::{FromFiles, Names, never_waits};
use crate::message::Complaints;
use crate::outcome::Outcome;
use crate::output::Output;
use crate::progress::{self, Writes};
use inputs::{Ended, Inputs, Work};
use millstream_core::{Arrow, Val, pipeline};
use millstream_exec::Everywhere;
use millstream_jq::{Filter, Input, Options};
use printed::{Printed, Reply};
use std::ffi::OsString;
use std::sync::Arc;

/// `jq`: JSON through a filter.
#[derive(Debug)]
pub(crate) struct Jq {
    pub(crate) filter: String,
    pub(crate) options: Options,
    pub(crate) input: Input,
    pub(crate) files: Names,
    pub(crate) exit_status: bool,
    pub(crate) max_value: usize,
    pub(crate) shards: usize,
    pub(crate) run: RunConfig,
}

/// The exit code for a filter that is none, as jq has it.
const NO_FILTER: u8 = 3;

/// Each block, answered by the filter.
fn filtered(
    shards: usize,
    filter: Filter,
    names: Arc<[OsString]>,
) -> impl Everywhere<In = Val<Work>, Out = Val<Reply>> {
    pipeline::<Work>().shard(shards, move |p| p.map(move |work: &Work| Reply::to(work, &filter, &names)).named("jq"))
}

impl Jq {
    pub(crate) fn run(self) -> Outcome {
        let complaints = Complaints::of("jq");
        let filter = match Filter::with(&self.filter, &self.options) {
            Ok(filter) => filter,
            Err(wrong) => {
                complaints.note(&wrong.to_string());
                return Outcome::Chosen(NO_FILTER);
            }
        };
        let read = if self.input == Input::Null { Vec::new() } else { self.files.files.clone() };
        progress::begin("jq", &read, self.run.quiet, Writes::AllTheTime);
        Output::opened(&complaints, |output| self.run_into(output, filter, &complaints))
    }

    fn run_into(self, output: Output, filter: Filter, complaints: &Complaints) -> Outcome {
        let mut runs = Runs::new(self.run, complaints.clone());
        let (interrupts, ended) = (runs.interrupts(), Ended::default());
        let mut opening = runs.opening(self.files.decompress);
        // `halt` ends a wait for input.
        opening.watched = true;
        let names: Arc<[OsString]> = self.files.files.clone().into();
        let waits = self.input != Input::Null && !self.files.files.iter().all(|name| never_waits(name));
        let input =
            Inputs::new(self.input, self.files.files, self.max_value, opening, ended.clone(), complaints.clone());
        let end_input = move || interrupts.end_input();
        let printed = Printed::into(output, names.clone(), ended, end_input, complaints.clone());
        let pipeline = filtered(self.shards, filter, names);
        let printed = match runs.run(&pipeline, FromFiles { values: input, waits }, printed, Printed::print) {
            Ok(printed) => printed,
            Err(error) => return runs.fail(&error),
        };
        let code = printed.code(self.exit_status);
        match (printed.halted(), runs.finish()) {
            (Some(code), Outcome::Done | Outcome::InputOrOutputFailed) => Outcome::Chosen(code),
            (None, Outcome::Done) if code != 0 => Outcome::Chosen(code),
            (_, outcome) => outcome,
        }
    }
}
