mod explain;

use super::{Outcome, idle::idle, panic::panicking, sleep::sleep, uppercase::uppercase, wc::pipelines};
use crate::flags::Program;
use crate::message::{Complaints, cause};
use crate::output::Output;
use explain::Explanation;
use millstream_core::{Arrow, Plan};
use millstream_exec::Wait;

/// `plan`: what a program's pipeline consists of.
#[derive(Debug)]
pub(crate) struct PlanCommand {
    pub(crate) program: Program,
    pub(crate) json: bool,
    pub(crate) shards: usize,
    pub(crate) ring: usize,
    pub(crate) explain: bool,
    /// None: as many as pay.
    pub(crate) workers: Option<usize>,
    pub(crate) wait: Wait,
}

impl PlanCommand {
    pub(crate) fn run(self) -> Outcome {
        let complaints = Complaints::of("plan");
        let plan = self.plan().with_capacity(self.ring);
        let explanation = self.explain.then(|| Explanation::of(&self, &plan));
        let text = if self.json { json(&plan, explanation) } else { words(&plan, explanation) };
        match Output::open(&complaints) {
            Ok(mut output) => {
                output.write(text.as_bytes());
                Outcome::Done
            }
            Err(error) => {
                complaints.complain(&cause(&error));
                Outcome::InputOrOutputFailed
            }
        }
    }

    fn plan(&self) -> Plan {
        match (self.program, self.shards) {
            (Program::Wc, 1) => pipelines::whole().plan(),
            (Program::Wc, shards) => pipelines::sharded(shards).plan(),
            (Program::Uppercase, shards) => uppercase(shards).plan(),
            (Program::Sleep, shards) => sleep(shards).plan(),
            // The stages are the same wherever it fails.
            (Program::Panic, shards) => panicking(0, shards).plan(),
            (Program::Idle, shards) => idle(shards).plan(),
        }
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
    value["explain"] = explanation.json();
    format!("{value:#}\n")
}
