//! The request to change a run's text, and the answer.

#[cfg(feature = "page")]
use crate::outcome::Outcome;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A text for a run, and the rules for states.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Asked {
    pub(crate) text: String,
    /// The name of its file, for messages.
    #[serde(default)]
    pub(crate) name: String,
    /// Whether this is only a check.
    #[serde(default)]
    pub(crate) check: bool,
    #[serde(default)]
    pub(crate) keep: Vec<String>,
    #[serde(default)]
    pub(crate) drop: Vec<String>,
}

/// The answer of a run.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Answered {
    /// The exit code of the command.
    pub(crate) code: u8,
    /// The text for standard output.
    pub(crate) out: String,
    /// The same report as data.
    pub(crate) report: Value,
    /// A message.
    pub(crate) error: String,
    /// The mistakes in the text, as they are shown.
    pub(crate) wrong: String,
}

#[cfg(feature = "page")]
impl Answered {
    /// A refusal: the run goes on as before.
    pub(crate) fn refused(error: String) -> Self {
        Answered { code: Outcome::CheckFailed.code(), error, ..Answered::default() }
    }

    pub(crate) fn wrong_use(error: String) -> Self {
        Answered { code: Outcome::WrongUse.code(), error, ..Answered::default() }
    }
}
