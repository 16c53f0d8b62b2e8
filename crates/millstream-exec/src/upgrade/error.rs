use super::shadow_end::ShadowEnd;
use crate::RunError;
use millstream_core::SequenceNumber;
use millstream_core::plan::{UpgradeCheck, Verdict};
use std::error::Error;
use std::fmt;

/// Why a run's pipeline was not replaced.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum UpgradeError {
    /// The run has ended, or its source: no number comes at which the pipeline could be replaced.
    Ended,
    /// The new pipeline reads other items, or yields another shape, than the run's.
    OtherEnds {
        /// The items of the run's source, and the shape that its sink takes.
        run: [&'static str; 2],
        /// The same of the new pipeline.
        next: [&'static str; 2],
    },
    /// The new pipeline was planned for [`Rings`](crate::Rings), and the run is on `Durable` rings, or the other way
    /// round.
    OtherRunner,
    /// The program takes the run's output itself, by an iterator or a stream.
    OutputTaken,
    /// Stages or states do not fit, by the plans: which fit, and why the others do not.
    Check(Box<UpgradeCheck>),
    /// The state of a stage does not fit, as was found at the number: its type has the name and the size of another
    /// type, or its migration panicked or is for other types. Or its keys change their lanes beside a snapshot that has
    /// their states, and cloning one panicked: then the run fails, since the old pipeline has lost some states.
    State(StateMismatch),
    /// The output of the new pipeline would not go on with the number that the sink gets next.
    OtherNumber {
        /// The number that the sink gets next.
        sink: SequenceNumber,
        /// The first number of the new pipeline's output.
        output: SequenceNumber,
    },
    /// The options do not allow it.
    Refused(Box<RunError>),
    /// The pipeline cannot run beside another version.
    NoShadow(String),
    /// The shadow is over, for this reason.
    Shadow(ShadowEnd),
    /// Another change is under way, or another version runs beside this one.
    UnderWay,
    /// The run is being drained.
    Draining,
    /// The user's code panicked while the new pipeline was wired: the `start` of a kernel, for example.
    Panicked(String),
    /// The pipeline was replaced, and the function that
    /// [`upgrade_and_snapshot`](crate::Upgrader::upgrade_and_snapshot) calls then panicked. The run fails.
    Begins(String),
}

impl fmt::Display for UpgradeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !matches!(self, UpgradeError::Begins(_)) {
            f.write_str("the pipeline was not replaced: ")?;
        }
        match self {
            UpgradeError::Ended => f.write_str("the run, or its source, was over already"),
            UpgradeError::OtherEnds { run: [gives, takes], next: [input, output] } => write!(
                f,
                "the new one takes `{input}` and yields `{output}`; \
                 the run's source yields `{gives}`, and its sink takes `{takes}`"
            ),
            UpgradeError::OtherRunner => {
                f.write_str("one of the two is for `Rings` and the other for `Durable` rings: use the same for both")
            }
            UpgradeError::OutputTaken => {
                f.write_str("the program reads the run's output itself; only a run with a sink can be upgraded")
            }
            UpgradeError::Check(check) => refusals(check, f),
            UpgradeError::State(mismatch) => mismatch.fmt(f),
            UpgradeError::OtherNumber { sink, output } => write!(
                f,
                "the sink gets number {sink} next, and the output of the new pipeline would begin at {output}"
            ),
            UpgradeError::Refused(why) => why.fmt(f),
            UpgradeError::NoShadow(why) => f.write_str(why),
            UpgradeError::Shadow(end) => end.fmt(f),
            UpgradeError::UnderWay => f.write_str("another change is under way: try again when it is over"),
            UpgradeError::Draining => f.write_str("the run is being drained"),
            UpgradeError::Panicked(why) => write!(f, "user code {why} while the new one was wired"),
            UpgradeError::Begins(why) => {
                write!(f, "the pipeline was replaced, and the function that is called then {why}")
            }
        }
    }
}

impl Error for UpgradeError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            UpgradeError::State(mismatch) => Some(mismatch),
            UpgradeError::Refused(why) => Some(why),
            _ => None,
        }
    }
}

/// Writes the parts that do not fit, and the remedy for states; several parts are a line each.
fn refusals(check: &UpgradeCheck, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let of_stages = check.refused().filter_map(|stage| match &stage.verdict {
        Verdict::Refused { why } => Some((format!("stage {:?}: {why}", stage.name), why.ends_with("to take it"))),
        _ => None,
    });
    let parts: Vec<_> = of_stages.chain(check.ends.iter().map(|why| (why.clone(), false))).collect();
    let remedy = parts.iter().any(|(_, dropped)| *dropped).then_some(REMEDY);
    if let [(part, _)] = &parts[..] {
        let remedy = remedy.map(|remedy| format!(" ({remedy})"));
        return write!(f, "{part}{}", remedy.unwrap_or_default());
    }
    write!(f, "{} parts of the new one do not fit", parts.len())?;
    remedy.iter().try_for_each(|remedy| write!(f, "; {remedy}"))?;
    f.write_str(":")?;
    parts.iter().try_for_each(|(part, _)| write!(f, "\n  {part}"))
}

/// What lets a run go on without a state.
const REMEDY: &str = "`Upgrade::to(next).dropping(stage)` lets a state be lost";

/// Why a state does not go on in the new pipeline.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct StateMismatch {
    /// The stage whose state does not fit.
    pub stage: String,
    why: String,
}

impl StateMismatch {
    pub(super) fn new(stage: &str, why: String) -> Self {
        StateMismatch { stage: stage.to_owned(), why }
    }

    pub(crate) fn why(&self) -> &str {
        &self.why
    }
}

impl fmt::Display for StateMismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "stage {:?} {}", self.stage, self.why)
    }
}

impl Error for StateMismatch {}
