//! The command line.

use crate::benches::{self, Bench};
use crate::demand::Demand;
#[cfg(feature = "plot")]
use crate::figure::Results;
use crate::judges::Judges;
use crate::progress::Progress;
use crate::rivals::Rivals;
#[cfg(feature = "plot")]
use crate::save;
use crate::setting::{Effort, Setting};
use clap::Parser;
use millstream::prelude::Rings;
use std::path::PathBuf;

/// Measures Millstream, each bench beside a yardstick that takes turns with it in the same run.
///
/// Standard output gets lines `NAME.CASE.WHO VALUE UNIT` and `NAME.CASE.ratio.WHO MEDIAN x MIN MAX BOUND`, standard
/// error a table.
#[derive(Debug, Parser)]
#[command(name = "millstream-bench")]
pub(crate) struct Args {
    /// The benches to run, in this order; see --list
    #[arg(value_name = "NAME", required_unless_present_any = ["all", "list", "report"], value_parser = known)]
    pub(crate) names: Vec<String>,

    /// Run every bench; one that fails does not stop the others
    #[arg(long, conflicts_with = "names")]
    pub(crate) all: bool,

    /// 3 turns of fewer items
    #[arg(long, conflicts_with = "full")]
    quick: bool,

    /// 9 turns instead of 5; copying uses the article's number of items
    #[arg(long)]
    full: bool,

    /// Exit code 4 if a median misses its bound by more than 5%; or one of these medians, as in
    /// `--check=stop,speed.queue`: a case, or one ratio of a case. A named bench without a bound is an error
    #[arg(long, value_name = "CASE[.WHO]", num_args = 0.., require_equals = true, value_delimiter = ',')]
    check: Option<Vec<String>>,

    /// Keep the counts of `instructions` in the repository
    #[arg(long)]
    keep: bool,

    /// Also run the rivals' programs, if a bench has any; `cargo xtask bench` sets this
    #[arg(long, overrides_with = "rivals")]
    pub(crate) rivals: bool,

    /// The name of each bench, and what it measures
    #[arg(long)]
    pub(crate) list: bool,

    /// Write BENCHMARKS.md again, of its words and the newest runs that are kept
    #[arg(long, conflicts_with_all = ["names", "all"])]
    pub(crate) report: bool,

    /// The number of items (of wc: bytes), instead of the bench's own
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) items: Option<u64>,

    /// The slots of every ring, a power of two, instead of the library's default
    #[arg(long, value_name = "SLOTS")]
    pub(crate) ring: Option<usize>,

    /// The most items that a step moves, instead of the library's default
    #[arg(long, value_name = "N")]
    pub(crate) batch: Option<usize>,

    #[command(flatten)]
    demand: Demand,

    /// Write a chart of each bench into this directory, as SVG
    #[cfg(feature = "plot")]
    #[arg(long, value_name = "DIR")]
    pub(crate) plot: Option<PathBuf>,

    /// The directory for the JSON; each date and machine has a subdirectory, and a later run of one day replaces the
    /// earlier one. Without it, runs of the usual rings, batches and traffic and with rivals are kept in the repository
    #[arg(long, value_name = "DIR")]
    runs: Option<PathBuf>,
}

impl Args {
    /// The benches of the command line.
    pub(crate) fn benches(&self) -> impl Iterator<Item = &'static Bench> {
        let named = self.names.iter().filter_map(|name| benches::find(name));
        named.chain(benches::ALL.iter().filter(|_| self.all))
    }

    /// The bounds that decide on the exit code.
    pub(crate) fn judges(&self) -> Judges {
        match &self.check {
            None => Judges::None,
            Some(names) if names.is_empty() && self.all => Judges::All,
            Some(names) if names.is_empty() => Judges::Each,
            Some(names) => Judges::Named(names.clone()),
        }
    }

    pub(crate) fn effort(&self) -> Effort {
        match (self.quick, self.full) {
            (true, _) => Effort::Quick,
            (_, true) => Effort::Full,
            _ => Effort::Normal,
        }
    }

    /// The setting of the bench of this name.
    pub(crate) fn setting(&self, name: &'static str) -> Setting {
        let rings = self.ring.into_iter().fold(Rings::new(), Rings::ring);
        let rings = self.batch.into_iter().fold(rings, Rings::batch);
        let progress = Progress::of(name);
        let rivals = Rivals::new(self.rivals, progress);
        let (effort, items, ring, demand) = (self.effort(), self.items, self.ring, self.demand.clone());
        let (batch, keep, plotted) = (self.batch, self.keep, self.plotted());
        Setting { effort, items, keep, rings, ring, batch, demand, plotted, rivals, progress }
    }

    #[cfg(feature = "plot")]
    fn plotted(&self) -> bool {
        self.plot.is_some()
    }

    #[cfg(not(feature = "plot"))]
    fn plotted(&self) -> bool {
        false
    }

    /// The directory of this crate.
    pub(crate) fn home() -> PathBuf {
        let manifest = std::env::var_os("CARGO_MANIFEST_DIR");
        manifest.map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")), PathBuf::from)
    }

    /// Whether runs are kept in the repository.
    pub(crate) fn keeps_here(&self) -> bool {
        self.runs.is_none() && self.differs().is_none()
    }

    /// Why a run is not like those in the repository. There it would be the newest of its bench, and hide the others.
    fn differs(&self) -> Option<&'static str> {
        let usual = self.ring.is_none() && self.batch.is_none() && self.demand == Demand::default();
        match (usual, self.rivals) {
            (false, _) => Some("with other sizes they are not like those before"),
            (true, false) => Some("they are without rivals; `cargo xtask bench` has them"),
            (true, true) => None,
        }
    }

    /// Where the chart of these results goes, if one is drawn: beside the run, if that is kept with the others, and the
    /// chart has more than bars.
    #[cfg(feature = "plot")]
    pub(crate) fn charts(&self, results: &Results) -> Option<PathBuf> {
        let kept = self.runs().ok().filter(|_| self.keeps_here() && results.has_curves());
        self.plot.clone().or_else(|| kept.map(|runs| save::directory(&runs)))
    }

    /// The directory of runs, or why they are not kept.
    pub(crate) fn runs(&self) -> Result<PathBuf, &'static str> {
        match (&self.runs, self.differs()) {
            (Some(dir), _) => Ok(dir.clone()),
            (None, None) => Ok(Args::home().join("runs")),
            (None, Some(why)) => Err(why),
        }
    }
}

fn known(name: &str) -> Result<String, String> {
    if benches::find(name).is_some() {
        return Ok(name.to_owned());
    }
    let names: Vec<_> = benches::ALL.iter().map(|bench| bench.name).collect();
    Err(format!("the benches are {}", names.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_of_other_sizes_and_without_rivals_are_not_kept() {
        let runs = |args: &[&str]| Args::parse_from(["millstream-bench", "transport"].iter().chain(args)).runs();
        for usual in [&["--rivals"][..], &["--rivals", "--quick", "--items", "9"]] {
            assert_eq!(runs(usual), Ok(Args::home().join("runs")), "{usual:?}");
        }
        for other in [["--ring", "64"], ["--batch", "64"], ["--rate", "9"], ["--burst", "9"], ["--skew", "0"]] {
            assert!(runs(&[&other[..], &["--rivals"]].concat()).is_err_and(|why| why.contains("sizes")), "{other:?}");
        }
        assert!(runs(&[]).is_err_and(|why| why.contains("rivals")));
        assert_eq!(runs(&["--ring", "64", "--runs", "there"]), Ok(PathBuf::from("there")));
    }
}
