//! `verify`: one input through all deployments, and whether the same comes out.

pub(crate) mod edges;
mod trace;
mod ways;

use super::Outcome;
use crate::input::Joined;
use crate::message::{Complaints, cause, say};
use crate::output::Output;
use crate::{flags::Program, panics};
use edges::{Edge, edges};
use millstream_exec::RunError;
use millstream_io::Block;
use std::ffi::OsString;
use std::fmt;
use trace::{Difference, Trace};
use ways::{Way, ways};

/// `verify`: the edges of a program's pipeline, each on all deployments.
///
/// An edge is hashed by running the pipeline up to it, since only its output is something that a deployment gives away.
/// So the first edge, in pipeline order, that is not the same everywhere is that of the stage to blame.
#[derive(Debug)]
pub(crate) struct Verify {
    pub(crate) program: Program,
    pub(crate) files: Vec<OsString>,
}

/// Two ways to run a pipeline that do not give the same.
pub(crate) struct Differs {
    edge: String,
    difference: Difference,
    here: Way,
    there: Way,
}

impl fmt::Display for Differs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Differs { edge, difference, here, there } = self;
        write!(f, "stage {edge:?}, {difference}: {there} and {here} do not give the same")
    }
}

/// Why an edge has no hash.
pub(crate) enum NotVerified {
    Differs(Box<Differs>),
    Failed(Way, RunError),
}

impl Verify {
    pub(crate) fn run(self) -> Outcome {
        let complaints = Complaints::of("verify");
        let mut output = match Output::open(&complaints) {
            Ok(output) => output,
            Err(error) => {
                complaints.complain(&cause(&error));
                return Outcome::InputOrOutputFailed;
            }
        };
        let reads = matches!(self.program, Program::Wc | Program::Uppercase);
        let input: Vec<Block> = if reads { Joined::new(self.files, complaints.clone()).collect() } else { Vec::new() };
        panics::quiet_in_pipelines();
        let program = self.program;
        match all(|shards| edges(program, shards, &input), |line| output.write(line.as_bytes())) {
            Ok(()) if complaints.any() => Outcome::InputOrOutputFailed,
            Ok(()) => Outcome::Done,
            Err(not) => not.tell(),
        }
    }
}

impl NotVerified {
    /// Says what was found, and how the program ends.
    pub(crate) fn tell(&self) -> Outcome {
        match self {
            NotVerified::Differs(differs) => {
                say(&format!("millstream: {differs}"));
                Outcome::CheckFailed
            }
            NotVerified::Failed(way, error) => {
                say(&format!("millstream: {error} ({way})"));
                Outcome::PipelineFailed
            }
        }
    }
}

/// Runs every edge every way, and gives a line for each that is the same everywhere, in pipeline order.
pub(crate) fn all(edges: impl Fn(usize) -> Vec<Edge>, mut line: impl FnMut(String)) -> Result<(), NotVerified> {
    let ways = ways();
    let pipelines: Vec<Vec<Edge>> = (0..=ways::MOST_SHARDS).map(|shards| edges(shards.max(1))).collect();
    let mut names: Vec<&str> = Vec::new();
    for edge in pipelines.iter().rev().flatten() {
        if !names.contains(&&*edge.name) {
            names.push(&edge.name);
        }
    }
    for name in names {
        let mut first: Option<(Way, Trace)> = None;
        for way in &ways {
            let Some(edge) = pipelines[way.shards].iter().find(|edge| edge.name == name) else { continue };
            let trace = panics::of_pipeline(|| edge.trace(way))
                .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
                .map_err(|error| NotVerified::Failed(*way, error))?;
            match &first {
                None => first = Some((*way, trace)),
                Some((there, model)) => {
                    if let Some(difference) = model.difference(&trace) {
                        let (edge, here, there) = (name.to_owned(), *way, *there);
                        return Err(NotVerified::Differs(Box::new(Differs { edge, difference, here, there })));
                    }
                }
            }
        }
        if let Some((_, trace)) = first {
            line(format!("{name} {trace}\n"));
        }
    }
    Ok(())
}
