//! What a run is asked for, and what it answers.

#[cfg(feature = "page")]
use crate::outcome::Outcome;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A text for a run, and what is said of states.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Asked {
    pub(crate) text: String,
    /// The name of its file, for messages.
    #[serde(default)]
    pub(crate) name: String,
    /// Whether nothing is to be changed.
    #[serde(default)]
    pub(crate) check: bool,
    #[serde(default)]
    pub(crate) keep: Vec<String>,
    #[serde(default)]
    pub(crate) drop: Vec<String>,
}

/// What a run answers.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Answered {
    /// The exit code of the command.
    pub(crate) code: u8,
    /// What goes to standard output.
    pub(crate) out: String,
    /// The same as data.
    pub(crate) report: Value,
    /// A message.
    pub(crate) error: String,
    /// The mistakes of the text, as they are shown.
    pub(crate) wrong: String,
}

#[cfg(feature = "page")]
impl Answered {
    /// The run goes on as before.
    pub(crate) fn refused(error: String) -> Self {
        Answered { code: Outcome::CheckFailed.code(), error, ..Answered::default() }
    }

    pub(crate) fn wrong_use(error: String) -> Self {
        Answered { code: Outcome::WrongUse.code(), error, ..Answered::default() }
    }
}
