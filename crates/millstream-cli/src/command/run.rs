//! `run`, `check` and `stages`: programs as text (`millstream_mill`).
//!
//! The text names its inputs and outputs. `run` opens the files of the sources one after the other, and all sinks
//! before it reads the first row. An output of the pipeline has the bytes for every sink and the rows that failed, by
//! number, so one sink on one thread writes them in the order of the input. `change` replaces the text of a run.

#[cfg(feature = "page")]
mod change;
pub(super) mod change_rules;
mod ends;
mod fetched;
#[cfg_attr(not(any(feature = "page", test)), expect(dead_code, reason = "a change comes by the page"))]
mod files;
mod keep;
#[cfg(feature = "serve")]
mod listening;
mod outputs;
#[cfg(feature = "serve")]
mod posting;
mod sink_file;
mod sources;
#[cfg(feature = "sqlite")]
mod sqlite;
mod text;

use crate::command::plan::{Planned, PlannedText};
use crate::command::stuck::stop_if_stuck;
use crate::command::verify::{Edge, MOST_SHARDS, verified};
use crate::config::RunConfig;
use crate::deploy::{Hashed, Runs};
use crate::flags::Tuning;
use crate::input::{FromFiles, Opening, never_waits};
use crate::message::Complaints;
use crate::outcome::Outcome;
use crate::output::Output;
use crate::progress::{self, Writes};
use millstream_core::Arrow;
use millstream_exec::Feed;
use millstream_jq::evaluations;
use millstream_mill::{Allowed, Program, Raw, Written};
use outputs::Outputs;
use sources::{Named, Sources, named};
use std::borrow::Cow;
use std::ffi::OsString;
use std::io::IsTerminal;
use std::path::Path;
use std::{io, thread};
pub(crate) use text::Text;
use text::shown_wrong;

/// The message if no expression comes back after a signal.
const STUCK: &str = "millstream run: an expression makes no answer, and the run is stopped";

/// `run`: a program as text.
#[derive(Debug)]
pub(crate) struct RunText {
    pub(crate) text: Text,
    /// The input of a source without a name.
    pub(crate) files: Vec<OsString>,
    /// The longest row.
    pub(crate) most: usize,
    pub(crate) shards: usize,
    /// Whether another text may replace this one.
    pub(crate) accepts: Option<Accepts>,
    /// The rules for the states of another text.
    pub(crate) allowed: Allowed,
    pub(crate) run: RunConfig,
}

/// Another text may replace the running one.
#[cfg_attr(not(feature = "page"), expect(dead_code, reason = "a change comes by the page"))]
#[derive(Clone, Debug)]
pub(crate) struct Accepts {
    /// The token that a request to change the text must have.
    pub(crate) token: Option<String>,
}

/// `check`: finds the mistakes in texts.
#[derive(Debug)]
pub(crate) struct Check {
    pub(crate) texts: Vec<Text>,
}

/// `stages`: lists the stages that texts can name.
#[derive(Debug)]
pub(crate) struct ListStages {
    pub(crate) json: bool,
}

/// The default number of tasklets of a stage without a state: one for each core.
pub(crate) fn shards_of(tuning: &Tuning) -> usize {
    tuning.shards.or(tuning.workers).unwrap_or_else(|| thread::available_parallelism().map_or(1, usize::from))
}

impl Hashed for Written {
    fn bytes(&self) -> Cow<'_, [u8]> {
        Written::bytes(self).into()
    }

    fn is_output(&self) -> bool {
        !self.is_empty()
    }
}

/// Lets what watches the run count the rows of this program.
fn count_rows(program: &Program) {
    let rows = program.rows().clone();
    crate::watching::count_rows(move |stage| rows.of(stage));
}

/// The pipeline of the program in a file.
pub(super) fn planned(file: &Path, shards: usize, complaints: &Complaints) -> Result<Planned, Outcome> {
    let of = Text::In(file.into());
    let text = of.read(complaints)?;
    let program = Program::load(&text, shards, false).map_err(|wrong| shown_wrong(&of, &text, wrong, complaints))?;
    let feed = Feed::source::<Raw, FromFiles<Sources>>();
    Ok(Planned { plan: program.pipeline.plan(), feed, text: Some(PlannedText { text, shards }) })
}

/// `verify` of the program in a file.
pub(super) fn verify(file: &Path, files: Vec<OsString>, most: usize, quiet: bool, complaints: &Complaints) -> Outcome {
    let text = Text::In(file.into());
    let loaded = (1..=MOST_SHARDS).map(|shards| text.load(shards, false, complaints));
    let programs = match loaded.collect::<Result<Vec<_>, _>>() {
        Ok(programs) => programs,
        Err(outcome) => return outcome,
    };
    let files = match named(&programs[0], files) {
        Ok(files) => files,
        Err(why) => {
            complaints.note(&why);
            return Outcome::WrongUse;
        }
    };
    if files.iter().any(|named| named.of.listen.is_some()) {
        complaints.note(
            "verify runs the same input several times, but the input of a source that listens cannot be repeated",
        );
        return Outcome::WrongUse;
    }
    let opening = Opening { decompress: true, ..Opening::default() };
    let sources = match Sources::new(files, most, opening, true, complaints) {
        Ok(sources) => sources,
        Err((why, outcome)) => {
            complaints.note(&why);
            return outcome;
        }
    };
    verified(complaints, quiet, || {
        let input: Vec<Raw> = sources.until_present_ends().collect();
        let edge = |program: Program| {
            let mut edge = Edge::new(program.pipeline, input.clone(), |written: &Written| written.bytes().into());
            edge.name = "output".to_owned();
            vec![edge]
        };
        Ok(programs.into_iter().map(edge).collect())
    })
}

impl RunText {
    pub(crate) fn run(self) -> Outcome {
        let complaints = self.run.complaints("run");
        if let Some(keep) = self.run.keep.clone() {
            return keep::run(self, keep, &complaints);
        }
        let program = match self.text.load(self.shards, io::stdout().is_terminal(), &complaints) {
            Ok(program) => program,
            Err(outcome) => return outcome,
        };
        let files = match files_of(&program, self.files, &self.text, &self.run.reports()) {
            Ok(files) => files,
            Err(why) => {
                complaints.note(&why);
                return Outcome::WrongUse;
            }
        };
        let read: Vec<OsString> = files.iter().flat_map(|named| named.files.clone()).collect();
        let begin = match files.iter().all(Named::reads_whole_files) {
            true => progress::begin,
            false => progress::begin_without_length,
        };
        begin("run", &read, self.run.quiet, Writes::AllTheTime);
        Output::opened(&complaints, |output| {
            let live = files.iter().any(Named::is_endless) || !all_there(&files);
            let Some(outputs) = Outputs::open(&program, live, output, &complaints) else {
                return Outcome::InputOrOutputFailed;
            };
            run_into(&program, files, self.most, (self.run, self.accepts), outputs, &complaints)
        })
    }
}

/// Whether a read never waits for another process.
fn all_there(files: &[Named]) -> bool {
    files.iter().flat_map(|named| &named.files).all(|name| never_waits(name))
}

/// The inputs of a program. Refuses a program that would overwrite one, or its text, or a report of the run.
fn files_of(
    program: &Program,
    files: Vec<OsString>,
    text: &Text,
    reports: &[(&str, OsString)],
) -> Result<Vec<Named>, String> {
    let files = named(program, files)?;
    if text.is_input() && files.iter().flat_map(|named| &named.files).any(|name| name == "-") {
        let why = "the text is standard input, which no source can read as well: name the files of the rows, or give \
                   the text by -e";
        return Err(why.to_owned());
    }
    let text = if let Text::In(file) = text { Some(file) } else { None };
    match outputs::overwritten(program, &files, text, reports) {
        Some(why) => Err(why),
        None => Ok(files),
    }
}

fn run_into(
    program: &Program,
    files: Vec<Named>,
    most: usize,
    (run, accepts): (RunConfig, Option<Accepts>),
    mut outputs: Outputs,
    complaints: &Complaints,
) -> Outcome {
    let quiet = run.quiet;
    #[cfg(feature = "page")]
    let reports = run.reports();
    let mut runs = Runs::new(run, complaints.clone());
    let (first, its_files) = (program.clone(), outputs.files());
    // A run that is refused, as one whose address is in use, leaves them to the process that writes them.
    runs.when_begun(move || its_files.go_on(&first, &first));
    #[cfg(feature = "page")]
    let changes = change::Changes::offer(accepts);
    #[cfg(feature = "page")]
    if let Some(changes) = &changes {
        let (texts, complaints) = (ends::Texts::of(program.clone()), complaints.clone());
        let of = change::Of { texts, read: files.clone(), reports, quiet, complaints };
        let (changes, files) = (changes.clone(), outputs.files());
        runs.when_started(move |upgrader| changes.begin(of, change::OnRings { upgrader, files }));
    }
    #[cfg(not(feature = "page"))]
    let _ = accepts;
    let mut opening = runs.opening(true);
    let endless = files.iter().any(Named::is_endless);
    let waits = endless || !all_there(&files);
    let waits = waits || files.iter().any(Named::is_query);
    // The run is not drained then, but ends with its source, behind the rows that wait for a sample.
    let ends_itself = endless || (waits && files.iter().any(Named::samples));
    opening.watched |= ends_itself;
    let interrupts = runs.interrupts();
    stop_if_stuck(interrupts.clone(), STUCK, evaluations);
    let sources = match Sources::new(files, most, opening, quiet, complaints) {
        Ok(sources) => sources,
        Err((why, outcome)) => {
            complaints.note(&why);
            return outcome;
        }
    };
    if ends_itself {
        let stopper = sources.stopper();
        interrupts.when_drained(move || stopper.stop());
    }
    if waits {
        let endless_ones = sources.stopper();
        outputs.when_lost(endless, move || {
            endless_ones.lose();
            interrupts.end();
        });
    }
    let reached = sources.reached();
    count_rows(program);
    let ran = runs.run(&program.pipeline, FromFiles { values: sources, waits }, outputs, Outputs::write);
    #[cfg(feature = "page")]
    let texts = changes.as_ref().and_then(change::Changes::end);
    #[cfg(not(feature = "page"))]
    let texts = None;
    let texts = texts.unwrap_or_else(|| ends::Texts::of(program.clone()));
    match ran {
        Ok(outputs) => {
            outputs.finish(quiet);
            if !quiet {
                if runs.interrupted() {
                    ends::say_interrupted(&texts, reached.within().as_deref(), complaints);
                }
                ends::say_alone(&texts, complaints);
            }
            runs.finish()
        }
        Err(error) => runs.fail(&error),
    }
}

impl Check {
    pub(crate) fn run(self) -> Outcome {
        let complaints = Complaints::of("check");
        if self.texts.iter().filter(|text| text.is_input()).count() > 1 {
            complaints.note("standard input has one text, so `-` can be named once");
            return Outcome::WrongUse;
        }
        Output::opened(&complaints, |mut output| {
            let mut worst = Outcome::Done;
            for text in &self.texts {
                match text.load(1, false, &complaints) {
                    Ok(program) => {
                        let stages = program.pipeline.plan().stages.len();
                        let (sources, sinks) = (program.sources.len(), program.sinks.len());
                        let of = |n: usize, what| many(n as u64, what);
                        let (of_stages, of_sources, of_sinks) =
                            (of(stages, "stage"), of(sources, "source"), of(sinks, "sink"));
                        let line = format!("{}: {of_stages}, {of_sources}, {of_sinks}\n", text.name());
                        output.write(line.as_bytes());
                    }
                    // A wrong text decides, wherever it comes.
                    Err(outcome) if worst != Outcome::WrongUse => worst = outcome,
                    Err(_) => {}
                }
            }
            worst
        })
    }
}

fn many(n: u64, what: &str) -> String {
    if n == 1 { format!("1 {what}") } else { format!("{n} {what}s") }
}

impl ListStages {
    pub(crate) fn run(self) -> Outcome {
        let stages = Program::stages();
        let text = if self.json {
            crate::command::plan::pretty(&stages)
        } else {
            stages
                .iter()
                .map(|stage| {
                    let parameter = |parameter: &millstream_registry::ParameterInfo| {
                        let name = &parameter.name;
                        if parameter.optional { format!("[{name}]") } else { name.clone() }
                    };
                    let parameters: Vec<String> = stage.parameters.iter().map(parameter).collect();
                    let reads = stage.reads.join(", ");
                    let call = format!("{}({})", stage.name, parameters.join(", "));
                    format!("{call}\n    {reads} -> {}: {}\n", stage.output, stage.about)
                })
                .collect()
        };
        Output::opened(&Complaints::of("stages"), |mut output| {
            output.write(text.as_bytes());
            Outcome::Done
        })
    }
}
