//! `verify`: runs one input on all deployments, and compares the outputs.
//!
//! A deployment shows the output of a whole pipeline, and no value between two stages, which may be of any type. A
//! program is therefore written as its pipelines up to each of its stages (`edges.rs`), and each of these is run and
//! hashed on every deployment. The first, in pipeline order, that is not the same everywhere ends with the faulty
//! stage.
//!
//! A user's program names its edges, too (`Program::edge`). If an edge is missing, the message names all stages since
//! the last edge that is the same: `verify` does not guess.

mod edge;
mod edges;
mod trace;
mod ways;

pub(crate) use edge::Edge;

use crate::flags::{Program, ProgramName};
use crate::input::{Joined, Opening};
use crate::message::{Complaints, one_line, say_own};
use crate::outcome::Outcome;
use crate::output::Output;
use crate::{panics, progress};
use edges::edges;
use millstream_core::failure;
use millstream_exec::RunError;
use millstream_io::Block;
use std::ffi::OsString;
use std::fmt;
use std::panic::resume_unwind;
use trace::{Difference, Trace};
pub(crate) use ways::MOST_SHARDS;
use ways::{Way, ways};

/// `verify`: the edges of a program's pipeline, each on all deployments.
///
/// An edge is hashed by running the pipeline up to it, because a deployment shows only a pipeline's output. The first
/// edge, in pipeline order, that is not the same everywhere is therefore that of the faulty stage.
#[derive(Debug)]
pub(crate) struct Verify {
    pub(crate) program: ProgramName,
    pub(crate) files: Vec<OsString>,
    /// The limit for a line, for programs that have one.
    pub(crate) longest: usize,
    pub(crate) quiet: bool,
}

/// Two ways to run a pipeline whose outputs differ.
pub(crate) struct Differs {
    stage: String,
    /// Other stages that ran since the last edge that is the same.
    or: Vec<String>,
    difference: Difference,
    here: Way,
    there: Way,
}

impl fmt::Display for Differs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Differs { stage, or, difference, here, there } = self;
        write!(f, "stage {stage:?}")?;
        if let [one] = &or[..] {
            write!(f, " or {one:?}, which cannot be distinguished")?;
        } else if !or.is_empty() {
            let names: Vec<_> = or.iter().map(|name| format!("{name:?}")).collect();
            write!(f, " or one of {}, which cannot be distinguished", names.join(", "))?;
        }
        write!(f, ", {difference}: {there} and {here} differ")
    }
}

/// Why an edge was not verified.
pub(crate) enum NotVerified {
    Differs(Box<Differs>),
    /// The function that builds the pipeline panicked.
    NotBuilt(String),
    /// `None` means that it failed before the first run.
    Failed(Option<Way>, Box<RunError>),
}

impl Verify {
    pub(crate) fn run(self) -> Outcome {
        let complaints = Complaints::of("verify");
        let program = match self.program {
            ProgramName::BuiltIn(program) => program,
            #[cfg(feature = "run")]
            ProgramName::Text(file) => {
                return super::run::verify(&file, self.files, self.longest, self.quiet, &complaints);
            }
            #[cfg(not(feature = "run"))]
            ProgramName::Text(_) => unreachable!("no such name is parsed"),
        };
        verified(&complaints, self.quiet, || {
            let opening = Opening::default();
            let input: Vec<Block> = match program {
                Program::Spaces => Joined::lines(self.files, self.longest, opening, complaints.clone()).collect(),
                program if program.reads() => Joined::new(self.files, opening, complaints.clone()).collect(),
                _ => Vec::new(),
            };
            Ok((1..=MOST_SHARDS).map(|shards| edges(program, shards, &input)).collect())
        })
    }
}

/// Prints a line for every edge that is the same everywhere, or the first difference. Then standard error says on how
/// many deployments, unless `quiet`. Item k of `pipelines` has the edges of the pipeline with k + 1 shards. It is an
/// error if the input fails as a pipeline does.
pub(crate) fn verified(
    complaints: &Complaints,
    quiet: bool,
    pipelines: impl FnOnce() -> Result<Vec<Vec<Edge>>, RunError>,
) -> Outcome {
    Output::opened(complaints, |mut output| {
        panics::quiet_in_pipelines();
        let pipelines = match panics::of_pipeline(pipelines) {
            Ok(Ok(pipelines)) => pipelines,
            Ok(Err(error)) => return NotVerified::Failed(None, error.into()).report(),
            Err(panic) => return NotVerified::NotBuilt(failure::message(panic.as_ref())).report(),
        };
        let all = all(&pipelines, quiet, |line| output.write(line.as_bytes()));
        progress::end();
        match all {
            Ok(_) if complaints.any() => Outcome::InputOrOutputFailed,
            Ok(deployments) => {
                if !quiet {
                    complaints.note(&format!("the same on {deployments} deployments"));
                }
                Outcome::Done
            }
            Err(not) => not.report(),
        }
    })
}

impl NotVerified {
    /// Prints the result, and returns the outcome.
    fn report(&self) -> Outcome {
        match self {
            NotVerified::Differs(differs) => {
                say_own(&differs.to_string());
                Outcome::CheckFailed
            }
            NotVerified::NotBuilt(why) => {
                say_own(&format!("the pipeline was not built: {}", one_line(why)));
                Outcome::PipelineFailed
            }
            NotVerified::Failed(way, error) => {
                let way = way.map_or(String::new(), |way| format!(" ({way})"));
                say_own(&format!("{}{way}", one_line(&error.to_string())));
                Outcome::PipelineFailed
            }
        }
    }
}

/// Runs every edge every way, and passes a line to `line` for each that is the same everywhere, in pipeline order.
/// Returns the number of ways.
fn all(pipelines: &[Vec<Edge>], quiet: bool, mut line: impl FnMut(String)) -> Result<usize, NotVerified> {
    let ways: Vec<Way> = ways().into_iter().filter(|way| way.shards <= pipelines.len()).collect();
    let mut names: Vec<&str> = Vec::new();
    // A pipeline with shards can have more edges than one without.
    for edge in pipelines.iter().rev().flatten() {
        if !names.contains(&&*edge.name) {
            names.push(&edge.name);
        }
    }
    let edges = |way: &Way| pipelines[way.shards - 1].len() as u64;
    progress::begin_count("verify", "runs", ways.iter().map(edges).sum(), quiet);
    let mut verified: Vec<&str> = Vec::new();
    for name in names {
        let mut first: Option<(Way, Trace)> = None;
        for way in &ways {
            let Some(edge) = pipelines[way.shards - 1].iter().find(|edge| edge.name == name) else { continue };
            let into = if first.is_none() { Trace::hashed() } else { Trace::default() };
            let trace = panics::of_pipeline(|| edge.trace(way, into))
                .unwrap_or_else(|panic| resume_unwind(panic))
                .map_err(|error| NotVerified::Failed(Some(*way), error.into()))?;
            progress::advance(1);
            let Some((there, before)) = &first else {
                first = Some((*way, trace));
                continue;
            };
            if let Some(difference) = before.difference(&trace) {
                let or = edge.stages.iter().filter(|stage| **stage != name && !verified.contains(&stage.as_str()));
                let (stage, or) = (name.to_owned(), or.cloned().collect());
                let differs = Differs { stage, or, difference, here: *way, there: *there };
                return Err(NotVerified::Differs(Box::new(differs)));
            }
        }
        if let Some((_, trace)) = first {
            line(format!("{name} {trace}\n"));
        }
        let of_name = pipelines.iter().flatten().filter(|edge| edge.name == name);
        verified.extend(of_name.flat_map(|edge| &edge.stages).map(String::as_str));
    }
    Ok(ways.len())
}
