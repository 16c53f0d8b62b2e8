//! How a bench is to be run.

use crate::demand::Demand;
use crate::progress::Progress;
use crate::rivals::Rivals;
use millstream::prelude::Rings;

/// How much patience there is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Effort {
    Quick,
    Normal,
    Full,
}

/// What the command line says to every bench.
#[derive(Debug)]
pub(crate) struct Setting {
    pub(crate) effort: Effort,
    pub(crate) items: Option<u64>,
    /// The library's own sizes, unless the command line says otherwise.
    pub(crate) rings: Rings,
    /// What the command line says of rings.
    pub(crate) ring: Option<usize>,
    /// And of batches.
    pub(crate) batch: Option<usize>,
    /// What generated traffic is like.
    pub(crate) demand: Demand,
    /// Whether there will be a picture of what happens over time.
    pub(crate) plotted: bool,
    pub(crate) rivals: Rivals,
    pub(crate) progress: Progress,
}

impl Setting {
    /// How many turns each contestant gets.
    pub(crate) fn turns(&self) -> usize {
        match self.effort {
            Effort::Quick => 3,
            Effort::Normal => 5,
            Effort::Full => 9,
        }
    }

    /// Rings for so many workers.
    pub(crate) fn rings(&self, workers: usize) -> Rings {
        self.rings.clone().workers(workers)
    }

    /// Rings of both sizes at which hand-overs between workers are judged, each as a case; or of the one that was asked
    /// for.
    pub(crate) fn ring_cases(&self) -> Vec<(&'static str, Rings)> {
        match self.ring {
            Some(_) => vec![("speed", self.rings.clone())],
            None => vec![("ring4096", self.rings.clone().ring(4096)), ("ring65536", self.rings.clone().ring(65_536))],
        }
    }

    /// How many items: what was asked for, or the bench's own number, less of it in a hurry.
    pub(crate) fn items(&self, usual: u64, quick: u64) -> u64 {
        self.items.unwrap_or(if self.effort == Effort::Quick { quick } else { usual })
    }
}
