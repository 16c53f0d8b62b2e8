//! Runs that were kept.

use super::pairs;
use crate::benches;
use crate::failure::Failure;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::Path;

/// A run of one bench.
#[derive(Debug, Deserialize)]
pub(super) struct Run {
    pub(super) bench: String,
    pub(super) date: String,
    pub(super) machine: Machine,
    pub(super) effort: String,
    /// The items of each turn, if the command line said how many.
    #[serde(default)]
    pub(super) items: Option<u64>,
    #[serde(default)]
    pub(super) others: Option<f64>,
    /// The nanoseconds in which a cache line went to another core and back.
    #[serde(default)]
    pub(super) round_trips: Vec<f64>,
    pub(super) figures: Vec<Figure>,
    pub(super) ratios: Vec<Ratio>,
    #[serde(default)]
    pub(super) counters: Vec<Counters>,
    #[serde(default)]
    pub(super) notes: Vec<String>,
    /// The directory of its file, below `runs`.
    #[serde(skip)]
    pub(super) directory: String,
    /// Whether a chart is beside its file.
    #[serde(skip)]
    pub(super) has_chart: bool,
}

#[derive(Debug, Deserialize)]
pub(super) struct Machine {
    pub(super) cpu: String,
    #[serde(default)]
    pub(super) family: Option<u32>,
    #[serde(default)]
    pub(super) model: Option<u32>,
    pub(super) cores: usize,
    #[serde(default)]
    pub(super) memory: Option<u64>,
    #[serde(default)]
    pub(super) kernel: String,
}

#[derive(Debug, Deserialize)]
pub(super) struct Figure {
    pub(super) case: String,
    pub(super) who: String,
    pub(super) value: f64,
    pub(super) unit: String,
}

#[derive(Debug, Deserialize)]
pub(super) struct Counters {
    pub(super) case: String,
    pub(super) who: String,
    pub(super) events: BTreeMap<String, f64>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Ratio {
    pub(super) case: String,
    pub(super) who: String,
    /// The two contestants, if they are not ours and `who`.
    #[serde(default)]
    pub(super) pair: Option<[String; 2]>,
    pub(super) median: f64,
    pub(super) min: f64,
    pub(super) max: f64,
    #[serde(default)]
    pub(super) bound: Option<f64>,
}

impl Run {
    pub(super) fn figure(&self, case: &str, who: &str) -> Option<&Figure> {
        self.figures.iter().find(|figure| figure.case == case && figure.who == who)
    }

    pub(super) fn ratio(&self, case: &str, who: &str) -> Option<&Ratio> {
        self.ratios.iter().find(|ratio| ratio.case == case && ratio.who == who)
    }
}

/// The newest run of each bench.
#[derive(Debug, Default)]
pub(super) struct Kept(BTreeMap<String, Run>);

impl Kept {
    /// Reads all runs below `runs`, and keeps the newest of each bench that still exists.
    pub(super) fn all(runs: &Path) -> Result<Self, Failure> {
        let cannot = |file: &Path| Failure::io(format!("cannot read {}", file.display()));
        let mut kept = Kept::default();
        for directory in std::fs::read_dir(runs).map_err(cannot(runs))? {
            let directory = directory.map_err(cannot(runs))?.path();
            if !directory.is_dir() {
                continue;
            }
            for file in std::fs::read_dir(&directory).map_err(cannot(&directory))? {
                let file = file.map_err(cannot(&directory))?.path();
                if file.extension().is_none_or(|ending| ending != "json") {
                    continue;
                }
                let json = std::fs::read_to_string(&file).map_err(cannot(&file))?;
                let mut run: Run = serde_json::from_str(&json).map_err(|error| cannot(&file)(error.into()))?;
                run.has_chart = file.with_extension("svg").exists();
                run.directory = directory.file_name().unwrap_or_default().to_string_lossy().into_owned();
                kept.add(run);
            }
        }
        Ok(kept)
    }

    /// Of two runs of one day, the one in the later directory counts, so the order of the files does not matter.
    pub(super) fn add(&mut self, mut run: Run) {
        if benches::find(&run.bench).is_none() {
            return;
        }
        for ratio in run.ratios.iter_mut().filter(|ratio| ratio.pair.is_none()) {
            ratio.pair = pairs::of(&run.bench, ratio);
        }
        let is_newer = |old: &Run| (&run.date, &run.directory) > (&old.date, &old.directory);
        if self.0.get(&run.bench).is_none_or(is_newer) {
            self.0.insert(run.bench.clone(), run);
        }
    }

    pub(super) fn of(&self, bench: &str) -> Option<&Run> {
        self.0.get(bench)
    }

    /// All runs, in the order of the benches.
    pub(super) fn runs(&self) -> impl Iterator<Item = &Run> {
        benches::ALL.iter().filter_map(|bench| self.of(bench.name))
    }
}
