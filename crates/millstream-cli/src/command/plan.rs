use super::{Outcome, uppercase::uppercase, wc::pipelines};
use crate::flags::Program;
use crate::message::{Complaints, cause};
use crate::output::Output;
use millstream_core::{Arrow, Plan};

/// `plan`: what a program's pipeline consists of.
#[derive(Debug)]
pub(crate) struct PlanCommand {
    pub(crate) program: Program,
    pub(crate) json: bool,
    pub(crate) shards: usize,
    pub(crate) ring: usize,
}

impl PlanCommand {
    pub(crate) fn run(self) -> Outcome {
        let complaints = Complaints::of("plan");
        let plan = self.plan().with_capacity(self.ring);
        let text = if self.json { json(&plan) } else { plan.to_string() };
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
        }
    }
}

fn json(plan: &Plan) -> String {
    let mut text = serde_json::to_string_pretty(plan).expect("a plan is plain data with names for keys");
    text.push('\n');
    text
}
