//! `jq`: a filter over JSON, on all cores, with the output in the order of the input.
//!
//! The source cuts each file between values (`millstream_jq::JsonValues`) and passes blocks on; a `shard` of the filter
//! answers each block with text; the sink writes the answers in order. The source passes on what a read returns, so a
//! typed value has its answer at once. The places of the cuts do not change the output: the answer to a block is the
//! answers to its values.
//!
//! Messages name files, lines and numbers, which a block does not know. An answer counts the lines and values of its
//! block, and the sink, which receives all answers in order, adds them up. The sink also ends a file at the first bytes
//! that are not JSON: it drops the answers to later blocks of that file, so the output is the same as on one core.

mod inputs;
mod printed;

use crate::command::stuck::stop_if_stuck;
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
use millstream_jq::{Filter, Input, Options, evaluations};
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

/// The exit code for a wrong filter, the same as jq's.
const NO_FILTER: u8 = 3;

/// Each block, answered by the filter.
fn filtered(
    shards: usize,
    filter: Filter,
    names: Arc<[OsString]>,
) -> impl Everywhere<In = Val<Work>, Out = Val<Reply>> {
    let answer = move |work: &Work| Reply::to(work, &filter, &names);
    pipeline::<Work>().shard(shards, move |p| p.map(answer).named("jq"))
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
        let why = "millstream jq: the filter makes no answer, and is stopped";
        stop_if_stuck(interrupts.clone(), why, evaluations);
        let mut opening = runs.opening(self.files.decompress);
        // `halt` ends a wait for input.
        opening.watched = true;
        let names: Arc<[OsString]> = self.files.files.clone().into();
        let waits = self.input != Input::Null && !self.files.files.iter().all(|name| never_waits(name));
        let input =
            Inputs::new(self.input, self.files.files, self.max_value, opening, ended.clone(), complaints.clone());
        let left_out = ended.clone();
        let end_input = move || interrupts.end_input();
        let printed = Printed::into(output, names.clone(), ended, end_input, complaints.clone());
        let pipeline = filtered(self.shards, filter, names);
        let input = FromFiles { values: input, waits };
        let ran = runs.run_hashing(
            &pipeline,
            input,
            printed,
            move |number, reply: &Reply| reply.hashed(number, &left_out),
            Printed::print,
            |_| (),
        );
        let printed = match ran {
            Ok(printed) => printed,
            Err(error) => return runs.fail(&error),
        };
        let code = printed.code(self.exit_status);
        runs.finish_as(|outcome| match (printed.halted(), outcome) {
            (Some(0), Outcome::InputOrOutputFailed) if printed.lacks_input() => Outcome::InputOrOutputFailed,
            (Some(code), Outcome::Done | Outcome::InputOrOutputFailed) => Outcome::Chosen(code),
            (None, Outcome::Done) if code != 0 => Outcome::Chosen(code),
            (_, outcome) => outcome,
        })
    }
}
