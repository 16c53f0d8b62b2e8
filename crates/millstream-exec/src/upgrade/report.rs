//! What a change of a running pipeline did.

use millstream_core::SequenceNumber;
use millstream_core::plan::UpgradeCheck;
use std::fmt;
use std::time::{Duration, Instant};

/// A change of a running pipeline that was carried out.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct ChangeReport {
    /// The version of the pipeline since then; the first one is version 1.
    pub version: u32,
    /// The first number that went through it.
    pub at: SequenceNumber,
    /// Why, if the author of the upgrade [said](crate::Upgrade::because) it.
    pub reason: Option<String>,
    /// What became of each stage.
    pub stages: UpgradeCheck,
    /// The number of states that went from a tasklet of the old version to one of the new version.
    pub states_moved: usize,
    /// The pause of each stage of the old version, in pipeline order: the time for which it had taken nothing when the
    /// new version began. Meanwhile the stages after it worked on the values in their rings.
    pub pauses: Vec<StagePause>,
    /// How long the new version took to be wired and to get its states: the part of the pauses in which no stage
    /// worked.
    pub switched_in: Duration,
}

/// A change of a running pipeline that was not carried out: the version before it went on.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct RefusedChange {
    /// The number at which the new version was to begin; none if it was refused before that was known.
    pub at: Option<SequenceNumber>,
    /// Why it was wanted, if the author of the upgrade [said](crate::Upgrade::because) it.
    pub reason: Option<String>,
    /// What was wrong: the text of the [`UpgradeError`](crate::UpgradeError).
    pub why: String,
}

/// `at number 37: the pipeline was not replaced: ...`.
impl fmt::Display for RefusedChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(at) = self.at {
            write!(f, "at number {at}: ")?;
        }
        f.write_str(&self.why)?;
        self.reason.as_ref().map_or(Ok(()), |reason| write!(f, " (the reason for it: {reason})"))
    }
}

/// The time for which a stage took nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[expect(missing_docs, reason = "the names say it")]
pub struct StagePause {
    pub stage: String,
    pub pause: Duration,
}

impl ChangeReport {
    /// The longest pause of a stage.
    #[must_use]
    pub fn longest_pause(&self) -> Duration {
        self.pauses.iter().map(|stage| stage.pause).max().unwrap_or_default()
    }
}

/// `version 2 from number 37 on, longest pause 0.2 ms, 3 states moved`.
impl fmt::Display for ChangeReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ChangeReport { version, at, states_moved, .. } = self;
        let pause = self.longest_pause().as_secs_f64() * 1e3;
        let states = if *states_moved == 1 { "state" } else { "states" };
        write!(f, "version {version} from number {at} on, longest pause {pause:.3} ms, {states_moved} {states} moved")?;
        self.reason.as_ref().map_or(Ok(()), |reason| write!(f, ": {reason}"))
    }
}

pub(super) fn pauses(since: Vec<(String, Instant)>, now: Instant) -> Vec<StagePause> {
    since.into_iter().map(|(stage, since)| StagePause { stage, pause: now.saturating_duration_since(since) }).collect()
}
