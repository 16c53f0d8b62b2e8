//! How a version that runs beside the running one ends.

use millstream_core::SequenceNumber;
use std::fmt;

/// Why a shadow is over.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ShadowEnd {
    /// The outputs of a number differ.
    Differs {
        /// The stage that writes the output.
        stage: String,
        /// The number.
        number: SequenceNumber,
        /// The running version's value, or that there is none.
        running: String,
        /// The shadow's.
        shadow: String,
    },
    /// For the same input one version has yielded more outputs than the other, so they cannot be compared any longer.
    OtherNumbers {
        /// The stage that writes the output.
        stage: String,
        /// The first number that only one of them has.
        number: SequenceNumber,
        /// Whether the shadow has it.
        more: bool,
    },
    /// A stage of the shadow failed.
    Failed {
        /// Its name.
        stage: String,
        /// The number, if it is known.
        number: Option<SequenceNumber>,
        /// Why.
        cause: String,
    },
    /// The program dropped it, or another pipeline replaced the running one.
    Dropped,
    /// It has taken the place of the running version.
    CutOver,
}

impl fmt::Display for ShadowEnd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ShadowEnd::Differs { stage, number, running, shadow } => write!(
                f,
                "stage {stage:?}, number {number}: the running version yields {running}, and the shadow {shadow}"
            ),
            ShadowEnd::OtherNumbers { stage, number, more } => {
                let more = if *more { "more" } else { "fewer" };
                write!(
                    f,
                    "stage {stage:?}, number {number}: \
                     the shadow yields {more} outputs for the same input than the running version"
                )
            }
            ShadowEnd::Failed { stage, number: Some(number), cause } => {
                write!(f, "stage {stage:?}, number {number}: the shadow failed: {cause}")
            }
            ShadowEnd::Failed { stage, number: None, cause } => {
                write!(f, "stage {stage:?}: the shadow failed: {cause}")
            }
            ShadowEnd::Dropped => f.write_str("the shadow was dropped"),
            ShadowEnd::CutOver => f.write_str("the shadow has replaced the running version"),
        }
    }
}

impl std::error::Error for ShadowEnd {}
