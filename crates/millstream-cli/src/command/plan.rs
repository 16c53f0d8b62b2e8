use super::copying::{five, summed};
use super::hidden_clock::stamped;
use super::sleep::{NAP, sleep};
use super::{Outcome, idle::idle, panic::panicking, pipe, spaces, uppercase::uppercase, wc::pipelines};
use crate::deploy::BLOCKS;
use crate::flags::Program;
use crate::input::Joined;
use crate::message::{Complaints, say_no_shards};
use crate::output::Output;
use millstream_core::{Arrow, Plan};
use millstream_exec::source::{Few, Ready};
use millstream_exec::{Explanation, Feed, Rings};
use millstream_io::{Block, Blocks, LineBlocks};
use std::fs::File;
use std::ops::{Range, RangeInclusive};
use std::sync::mpsc::IntoIter;

/// `plan`: the parts of a program's pipeline.
#[derive(Debug)]
pub(crate) struct PlanCommand {
    pub(crate) program: Program,
    pub(crate) shards: usize,
    pub(crate) how: HowToShow,
}

/// What to show of a plan, and how.
#[derive(Debug)]
pub(crate) struct HowToShow {
    pub(crate) json: bool,
    pub(crate) explain: bool,
    pub(crate) rings: Rings,
}

impl PlanCommand {
    pub(crate) fn run(self) -> Outcome {
        let plan = plan_of(self.program, self.shards);
        if self.program == Program::Copying && self.shards > 1 {
            say_no_shards("plan", &plan);
        }
        self.how.show(plan, feed_of(self.program))
    }
}

/// The feed of a program's pipeline.
pub(crate) fn feed_of(program: Program) -> Feed {
    match program {
        Program::Wc => Feed::source::<Block, Few<Blocks<File>, BLOCKS>>(),
        Program::Uppercase | Program::Spaces => Feed::source::<Block, Few<Joined, BLOCKS>>(),
        Program::Sleep | Program::Panic | Program::HiddenClock => Feed::source::<u64, Ready<RangeInclusive<u64>>>(),
        Program::Copying => Feed::source::<u64, Ready<Range<u64>>>(),
        Program::Pipe => Feed::source::<pipe::Numbered, pipe::Numbers<LineBlocks<File>>>(),
        Program::Idle => Feed::source::<u64, IntoIter<u64>>(),
    }
}

/// The plan of a program with this many shards.
pub(crate) fn plan_of(program: Program, shards: usize) -> Plan {
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
        let plan = self.rings.planned(plan, feed);
        let explanation = self.explain.then(|| self.rings.explain(&plan, feed));
        let text = if self.json { json(&plan, explanation) } else { words(&plan, explanation) };
        Output::opened(&Complaints::of("plan"), |mut output| {
            output.write(text.as_bytes());
            Outcome::Done
        })
    }
}

fn words(plan: &Plan, explanation: Option<Explanation>) -> String {
    explanation.map_or_else(|| plan.to_string(), |explanation| format!("{plan}\n{explanation}"))
}

fn json(plan: &Plan, explanation: Option<Explanation>) -> String {
    let plain = "a plan is plain data with names for keys";
    let Some(explanation) = explanation else {
        return serde_json::to_string_pretty(plan).expect(plain) + "\n";
    };
    let mut value = serde_json::to_value(plan).expect(plain);
    value["explain"] = serde_json::to_value(explanation).expect(plain);
    format!("{value:#}\n")
}
