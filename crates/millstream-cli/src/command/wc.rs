mod columns;
pub(crate) mod pipelines;

use super::Outcome;
use crate::config::RunConfig;
use crate::deploy::{BLOCKS, Failed, Runs};
use crate::input::{Names, never_waits, tell};
use crate::message::{Complaints, say};
use crate::output::Output;
use crate::progress::{self, Writes};
use columns::Columns;
use millstream_core::{AtEnd, Val};
use millstream_exec::Everywhere;
use millstream_exec::source::{few, ready};
use millstream_io::{Block, Blocks};
use pipelines::Counts;
use std::ffi::OsStr;

/// `wc`: one run for each file, and a total.
#[derive(Debug)]
pub(crate) struct Wc {
    /// None at all: standard input, without a name.
    pub(crate) files: Names,
    pub(crate) shards: usize,
    pub(crate) run: RunConfig,
}

impl Wc {
    pub(crate) fn run(self) -> Outcome {
        if self.shards == 1 {
            self.run_through(&pipelines::whole())
        } else {
            let sharded = pipelines::sharded(self.shards);
            self.run_through(&sharded)
        }
    }

    fn run_through<P: Everywhere<In = Val<Block>, Out = Val<Counts, AtEnd>>>(self, pipeline: &P) -> Outcome {
        let complaints = Complaints::of("wc");
        Output::opened(&complaints, |output| self.print_into(output, pipeline, &complaints))
    }

    fn print_into<P: Everywhere<In = Val<Block>, Out = Val<Counts, AtEnd>>>(
        self,
        mut output: Output,
        pipeline: &P,
        complaints: &Complaints,
    ) -> Outcome {
        let Names { files, decompress } = self.files;
        let columns = Columns::for_files(&files);
        let read = if files.is_empty() { &["-".into()][..] } else { &files };
        progress::begin("wc", read, self.run.quiet, Writes::Lines);
        let mut runs = Runs::new(self.run, complaints.clone());
        let names: Vec<Option<&OsStr>> =
            if files.is_empty() { vec![None] } else { files.iter().map(|name| Some(&**name)).collect() };
        let mut total = Counts::default();
        for (i, name) in names.iter().enumerate() {
            // The first has counts, be they 0, however early a signal comes.
            if i > 0 && runs.interrupted() {
                break;
            }
            match count(pipeline, &mut runs, complaints, *name, decompress) {
                Ok(Some(counts)) => {
                    total += counts;
                    output.write(&columns.line(counts, *name));
                }
                Ok(None) => {}
                Err(error) => return runs.fail(&error),
            }
        }
        if names.len() > 1 {
            output.write(&columns.line(total, Some("total".as_ref())));
        }
        if runs.interrupted() {
            say("millstream wc: interrupted: the counts are of what was read up to then");
        }
        runs.finish()
    }
}

/// The counts of one input as far as it can be read; none if it cannot be opened, or not before a signal comes.
fn count<P: Everywhere<In = Val<Block>, Out = Val<Counts, AtEnd>>>(
    pipeline: &P,
    runs: &mut Runs,
    complaints: &Complaints,
    name: Option<&OsStr>,
    decompress: bool,
) -> Result<Option<Counts>, Failed> {
    let complain = |error| tell(complaints, name.unwrap_or("standard input".as_ref()), &error);
    let input = match runs.opening(decompress).open(name.unwrap_or("-".as_ref())) {
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
    let counts = if never_waits(name.unwrap_or("-".as_ref())) {
        runs.run(pipeline, few::<BLOCKS, _>(ready(blocks)), None, keep)?
    } else {
        runs.run(pipeline, few::<BLOCKS, _>(blocks), None, keep)?
    };
    if let Some(error) = failure.take() {
        complain(error);
    }
    Ok(counts)
}
