//! The settings of a bench.

use crate::demand::Demand;
use crate::progress::Progress;
use crate::rivals::Rivals;
use millstream::prelude::Rings;

/// How long a run may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Effort {
    Quick,
    Normal,
    Full,
}

/// The options of the command line that apply to every bench.
#[derive(Debug)]
pub(crate) struct Setting {
    pub(crate) effort: Effort,
    pub(crate) items: Option<u64>,
    /// Whether counts of instructions are kept in the repository.
    pub(crate) keep: bool,
    /// Rings of the library's default sizes, unless the command line sets others.
    pub(crate) rings: Rings,
    /// The ring size of the command line.
    pub(crate) ring: Option<usize>,
    /// The batch size of the command line.
    pub(crate) batch: Option<usize>,
    /// The options of generated traffic.
    pub(crate) demand: Demand,
    /// Whether a chart over time is drawn.
    pub(crate) plotted: bool,
    pub(crate) rivals: Rivals,
    pub(crate) progress: Progress,
}

impl Setting {
    /// The number of turns of each contestant.
    pub(crate) fn turns(&self) -> usize {
        match self.effort {
            Effort::Quick => 3,
            Effort::Normal => 5,
            Effort::Full => 9,
        }
    }

    /// Rings with this number of workers.
    pub(crate) fn rings(&self, workers: usize) -> Rings {
        self.rings.clone().workers(workers)
    }

    /// Rings of both sizes for which hand-overs between workers are judged, each as a case; or the one size of the
    /// command line.
    pub(crate) fn ring_cases(&self) -> Vec<(&'static str, Rings)> {
        match self.ring {
            Some(_) => vec![("speed", self.rings.clone())],
            None => vec![("ring4096", self.rings.clone().ring(4096)), ("ring65536", self.rings.clone().ring(65_536))],
        }
    }

    /// The number of items: of the command line, or the bench's own, which is smaller with `--quick`.
    pub(crate) fn items(&self, usual: u64, quick: u64) -> u64 {
        self.items.unwrap_or(if self.effort == Effort::Quick { quick } else { usual })
    }
}
