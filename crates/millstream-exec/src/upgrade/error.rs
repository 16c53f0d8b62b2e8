use crate::RunError;
use std::error::Error;
use std::fmt;

/// Why a run's pipeline was not replaced.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum UpgradeError {
    /// The run was over before.
    Ended,
    /// The new pipeline takes or gives something else than the run's.
    OtherEnds {
        /// What the run's source gives, and the shape that its sink takes.
        run: [&'static str; 2],
        /// The same of the new pipeline.
        next: [&'static str; 2],
    },
    /// The new pipeline was planned for [`Rings`](crate::Rings), and the run is on `Durable` rings, or the other way
    /// round.
    OtherRunner,
    /// The program takes the run's output itself, by an iterator or a stream.
    OutputTaken,
    /// The options, or the states at the number, do not allow it.
    Refused(Box<RunError>),
    /// The user's code panicked while the new pipeline was wired: the `start` of a kernel, for example.
    Panicked(String),
}

impl fmt::Display for UpgradeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the pipeline was not replaced: ")?;
        match self {
            UpgradeError::Ended => f.write_str("the run was over before"),
            UpgradeError::OtherEnds { run: [gives, takes], next: [input, output] } => write!(
                f,
                "the new one takes `{input}` and gives `{output}`; the run's source gives `{gives}`, and its sink takes \
                 `{takes}`"
            ),
            UpgradeError::OtherRunner => f.write_str(
                "the new one was planned for `Rings`, and the run is on `Durable` rings, or the other way round",
            ),
            UpgradeError::OutputTaken => {
                f.write_str("the program takes the run's output itself; a run with a sink can be upgraded")
            }
            UpgradeError::Refused(why) => why.fmt(f),
            UpgradeError::Panicked(why) => write!(f, "while the new one was wired, user code {why}"),
        }
    }
}

impl Error for UpgradeError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            UpgradeError::Refused(why) => Some(why),
            _ => None,
        }
    }
}
