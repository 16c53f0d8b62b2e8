use super::copying::{five, summed};
use super::hidden_clock::stamped;
use super::sleep::{NAP, sleep};
use super::{idle::idle, panic::panicking, pipe, spaces, uppercase::uppercase, wc::pipelines};
use crate::flags::{Program, ProgramName};
use crate::input::{FromFiles, Joined};
use crate::message::{Complaints, cause, quoted, say_no_shards};
use crate::outcome::Outcome;
use crate::output::Output;
use millstream_core::{Arrow, Plan};
use millstream_exec::source::Ready;
use millstream_exec::{Explanation, Feed, Rings};
use millstream_io::{Block, Blocks, LineBlocks};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io;
use std::ops::{Range, RangeInclusive};
use std::sync::mpsc::IntoIter;

/// `plan`: the parts of a program's pipeline.
#[derive(Debug)]
pub(crate) struct PlanCommand {
    pub(crate) program: ProgramName,
    pub(crate) shards: usize,
    pub(crate) how: HowToShow,
}

/// What to show of a plan, and how.
#[derive(Debug)]
pub(crate) struct HowToShow {
    pub(crate) json: bool,
    pub(crate) explain: bool,
    /// A file with a plan to compare with; `-` is standard input.
    pub(crate) diff: Option<OsString>,
    /// Whether to check the names of the states.
    pub(crate) durable: bool,
    pub(crate) rings: Rings,
}

impl PlanCommand {
    pub(crate) fn run(self) -> Outcome {
        let Planned { plan, feed, text } = match planned(&self.program, self.shards, "plan") {
            Ok(planned) => planned,
            Err(outcome) => return outcome,
        };
        if self.program == ProgramName::BuiltIn(Program::Copying) && self.shards > 1 {
            say_no_shards("plan", &plan);
        }
        self.how.show_with_text(plan, feed, text)
    }
}

/// The pipeline of a program.
pub(super) struct Planned {
    pub(super) plan: Plan,
    pub(super) feed: Feed,
    pub(super) text: Option<PlannedText>,
}

/// The text of a plan. It has what the plan has not: the parameters of the stages.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct PlannedText {
    pub(super) text: String,
    pub(super) shards: usize,
}

/// The pipeline of a program with this many shards, for a command. A text that is wrong has an outcome.
pub(super) fn planned(program: &ProgramName, shards: usize, command: &'static str) -> Result<Planned, Outcome> {
    match program {
        ProgramName::BuiltIn(program) => {
            Ok(Planned { plan: plan_of(*program, shards), feed: feed_of(*program), text: None })
        }
        #[cfg(feature = "run")]
        ProgramName::Text(file) => super::run::planned(file, shards, &Complaints::of(command)),
        #[cfg(not(feature = "run"))]
        ProgramName::Text(_) => unreachable!("{command}: no such name is parsed"),
    }
}

/// The feed of a program's pipeline.
fn feed_of(program: Program) -> Feed {
    match program {
        Program::Wc => Feed::source::<Block, FromFiles<Blocks<File>>>(),
        Program::Uppercase | Program::Spaces => Feed::source::<Block, FromFiles<Joined>>(),
        Program::Sleep | Program::Panic | Program::HiddenClock => Feed::source::<u64, Ready<RangeInclusive<u64>>>(),
        Program::Copying => Feed::source::<u64, Ready<Range<u64>>>(),
        Program::Pipe => Feed::source::<pipe::Numbered, pipe::Numbers<LineBlocks<File>>>(),
        Program::Idle => Feed::source::<u64, IntoIter<u64>>(),
    }
}

/// The plan of a program with this many shards.
fn plan_of(program: Program, shards: usize) -> Plan {
    match (program, shards) {
        (Program::Wc, 1) => pipelines::whole().plan(),
        (Program::Wc, shards) => pipelines::sharded(shards).plan(),
        (Program::Uppercase, shards) => uppercase(shards).plan(),
        (Program::Spaces, shards) => spaces::spaces(shards).plan(),
        (Program::Sleep, shards) => sleep(shards, NAP).plan(),
        // The stages do not depend on the number at which it fails.
        (Program::Panic, shards) => panicking(0, shards).plan(),
        (Program::Copying, _) => summed(five()).plan(),
        (Program::HiddenClock, shards) => stamped(shards).plan(),
        // The stages do not depend on the command.
        (Program::Pipe, shards) => pipe::blocks(shards, pipe::Filter::cat()).plan(),
        (Program::Idle, shards) => idle(shards).plan(),
    }
}

impl HowToShow {
    /// Prints the plan of a pipeline with this feed.
    pub(crate) fn show(&self, plan: Plan, feed: Feed) -> Outcome {
        self.show_with_text(plan, feed, None)
    }

    fn show_with_text(&self, plan: Plan, feed: Feed, text: Option<PlannedText>) -> Outcome {
        let plan = self.rings.planned(plan, feed);
        let complaints = Complaints::of("plan");
        let text = match &self.diff {
            None => {
                let explanation = self.explain.then(|| self.rings.explain(&plan, feed));
                if self.json { json(&plan, explanation, text) } else { words(&plan, explanation) }
            }
            Some(old) => match written(old) {
                Ok((old, _)) if self.json => pretty(&old.diff(&plan)),
                Ok((old, _)) => old.diff(&plan).to_string(),
                Err(why) => {
                    complaints.complain(&format!("{}: {why}", quoted(old)));
                    return Outcome::InputOrOutputFailed;
                }
            },
        };
        let missing = if self.durable { plan.check_durable().err() } else { None };
        Output::opened(&complaints, |mut output| {
            output.write(text.as_bytes());
            let Some(missing) = missing else { return Outcome::Done };
            missing.unnamed.iter().for_each(|state| complaints.complain(&state.to_string()));
            let twice = |name: &String| complaints.complain(&format!("the name {name:?} is set more than once"));
            missing.repeated.iter().for_each(twice);
            Outcome::CheckFailed
        })
    }
}

/// The plan in a file, and its text if it has one; `-` is standard input.
pub(super) fn written(file: &OsStr) -> Result<(Plan, Option<PlannedText>), String> {
    let text = if file == "-" { io::read_to_string(io::stdin()) } else { fs::read_to_string(file) };
    let text = text.map_err(|error| cause(&error))?;
    let read = || {
        let json: Value = serde_json::from_str(&text)?;
        let text = json.get("program").map(PlannedText::deserialize).transpose()?;
        Ok::<_, serde_json::Error>((serde_json::from_value(json)?, text))
    };
    read().map_err(|error| format!("it is not a plan as `plan --json` writes it: {error}"))
}

fn words(plan: &Plan, explanation: Option<Explanation>) -> String {
    explanation.map_or_else(|| plan.to_string(), |explanation| format!("{plan}\n{explanation}"))
}

fn json(plan: &Plan, explanation: Option<Explanation>, text: Option<PlannedText>) -> String {
    if explanation.is_none() && text.is_none() {
        return pretty(plan);
    }
    let mut value = serde_json::to_value(plan).expect(PLAIN);
    if let Some(explanation) = explanation {
        value["explain"] = serde_json::to_value(explanation).expect(PLAIN);
    }
    if let Some(text) = text {
        value["program"] = serde_json::to_value(text).expect(PLAIN);
    }
    format!("{value:#}\n")
}

const PLAIN: &str = "it is plain data with names for keys";

pub(super) fn pretty(value: &impl Serialize) -> String {
    serde_json::to_string_pretty(value).expect(PLAIN) + "\n"
}
