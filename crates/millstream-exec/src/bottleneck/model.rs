//! The time a run takes by the loads of its parts, and with one more worker or shard.

use super::{DELAYED, Gain, Limit, Load, Loads, Scales};
use crate::placement::least_greatest;

/// A smaller gain is not worth a change.
const WORTH: f64 = 1.05;
/// Keys are distributed unevenly if a tasklet has this many times its share.
const SKEWED: f64 = 1.5;

/// The modelled time of a run, and what limits it.
pub(super) struct Model {
    pub(super) seconds: f64,
    pub(super) stage: usize,
    pub(super) limit: Limit,
}

impl Load {
    /// The load of its busiest tasklet, with `more` tasklets added, which share the divisible work evenly. How the
    /// stages of a loop would share its time is not known: at best they do evenly.
    fn greatest(&self, more: usize, workers: usize) -> f64 {
        if let Some(open) = self.open {
            return open;
        }
        if self.fused > 0 {
            return self.total() / (1 + self.fused) as f64;
        }
        let count = self.busy.len() + more;
        let at_once = if self.own_thread { count } else { count.min(workers) };
        let even = self.total() / at_once.max(1) as f64;
        match self.scales {
            Scales::Shard => even,
            _ => self.busy.iter().copied().fold(0.0, f64::max) * (self.busy.len() as f64 / count.max(1) as f64),
        }
    }

    /// Whether keys are distributed unevenly over its tasklets.
    fn is_skewed(&self) -> bool {
        let greatest = self.busy.iter().copied().fold(0.0, f64::max);
        self.scales == Scales::Keys && greatest * self.busy.len() as f64 > SKEWED * self.total()
    }
}

impl Loads {
    /// The changes that would help, the smallest first.
    pub(super) fn gains(&self, stage: usize, seconds: f64) -> Vec<Gain> {
        let load = &self.stages[stage];
        let can_shard =
            load.fused == 0 && (load.scales == Scales::Shard || load.scales == Scales::Keys && !load.is_skewed());
        // If other threads use the cores, none is free for another worker.
        let core_free = self.workers < self.cores && self.delayed().is_none_or(|delayed| delayed < DELAYED);
        let mut best = WORTH;
        let changes = [(1, 0), (0, 1), (1, 1)].into_iter().filter(|(workers, shards)| {
            (*workers == 0 || self.workers > 0 && core_free) && (*shards == 0 || can_shard)
        });
        changes
            .filter_map(|(workers, shards)| {
                let after = self.model(Some((workers, stage, shards)))?;
                let measured = self.measured(self.workers + workers).filter(|_| (workers, shards) == (1, 0));
                let factor = measured.unwrap_or(seconds / after.seconds);
                let at_most = measured.is_none() && !load.own_thread && (load.fused > 0 || !self.waits(load));
                (factor >= best).then(|| {
                    best = factor * WORTH;
                    Gain { workers, shards, factor, at_most, next: self.stages[after.stage].stage.clone() }
                })
            })
            .collect()
    }

    /// The modelled time of the run after adding workers, and shards of a stage.
    pub(super) fn model(&self, change: Option<(usize, usize, usize)>) -> Option<Model> {
        let (more_workers, changed, more_shards) = change.unwrap_or((0, 0, 0));
        let workers = (self.workers + more_workers).max(1);
        let more = |stage: usize| if stage == changed { more_shards } else { 0 };
        let loads = self.stages.iter().enumerate().filter(|(_, load)| load.open.is_none() || change.is_some());
        let (stage, seconds) = loads
            .map(|(stage, load)| (stage, load.greatest(more(stage), workers)))
            .max_by(|a, b| a.1.total_cmp(&b.1))
            .filter(|(_, seconds)| *seconds > 0.0)?;
        let limit = if self.stages[stage].is_skewed() { Limit::Skew } else { Limit::Tasklets };
        let shared = self.stages.iter().enumerate().filter(|(_, load)| !load.own_thread && load.open.is_none());
        let tasks: Vec<f64> = shared
            .clone()
            .flat_map(|(stage, load)| {
                let count = load.busy.len() + load.fused + more(stage);
                std::iter::repeat_n(load.total() / count.max(1) as f64, count)
            })
            .collect();
        let of_workers = least_greatest(&tasks, workers);
        // A worker with a single stage limits no more than that stage.
        if of_workers <= seconds * 1.01 {
            return Some(Model { seconds, stage, limit });
        }
        let heaviest = shared.max_by(|a, b| a.1.total().total_cmp(&b.1.total()))?.0;
        Some(Model { seconds: of_workers, stage: heaviest, limit: Limit::Workers })
    }
}
