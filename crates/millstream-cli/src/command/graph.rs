use super::plan::{Planned, planned};
use crate::flags::{GraphFormat, ProgramName};
use crate::message::Complaints;
use crate::outcome::Outcome;
use crate::output::Output;
use millstream_core::Plan;
use millstream_exec::{Feed, Rings};
use millstream_observe::Graph as Drawn;
use serde_json::json;

/// `graph`: a program's pipeline as a picture.
#[derive(Debug)]
pub(crate) struct Graph {
    pub(crate) program: ProgramName,
    pub(crate) shards: usize,
    pub(crate) how: HowToDraw,
}

/// The format, and the rings.
#[derive(Debug)]
pub(crate) struct HowToDraw {
    pub(crate) format: GraphFormat,
    pub(crate) rings: Rings,
}

impl Graph {
    pub(crate) fn run(self) -> Outcome {
        match planned(&self.program, self.shards, "graph") {
            Ok(Planned { plan, feed, .. }) => self.how.draw(plan, feed),
            Err(outcome) => outcome,
        }
    }
}

impl HowToDraw {
    /// Draws the plan of a pipeline with this feed.
    pub(crate) fn draw(&self, plan: Plan, feed: Feed) -> Outcome {
        let graph = Drawn::of(&self.rings.planned(plan, feed));
        let text = match self.format {
            GraphFormat::Svg => graph.svg(&graph.layout(), None),
            GraphFormat::Dot => graph.dot(),
            GraphFormat::Json => format!("{:#}\n", json!({ "graph": graph, "layout": graph.layout() })),
        };
        Output::opened(&Complaints::of("graph"), |mut output| {
            output.write(text.as_bytes());
            Outcome::Done
        })
    }
}
