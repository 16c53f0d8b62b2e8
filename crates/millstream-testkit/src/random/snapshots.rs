//! Random pipelines that go on from their snapshots.

use super::build::Built;
use super::changes::{Restart, Restarted};
use super::order::in_one_order;
use super::value::Value;
use crate::check::{Difference, ended, same};
use crate::deployment::{Deployment, Slots};
use crate::way::Way;
use millstream_exec::{Rings, Snapshot};
use std::collections::BTreeMap;
use std::sync::atomic::AtomicUsize;
use std::sync::{Arc, Mutex, PoisonError};

/// The number of snapshots of one run to go on from: the first ones.
const RESUMED: usize = 3;

impl Built {
    /// Takes a snapshot after every `every` numbers of the source, and compares the output with the model, as
    /// [`check`](Built::check) does. Then runs the rest of the inputs from some of the snapshots: each output must be
    /// the rest of the model's. Returns how many snapshots there were.
    ///
    /// # Errors
    ///
    /// The first difference.
    pub fn check_snapshots(&self, inputs: &[Value], deployment: Deployment, every: u64) -> Result<usize, Difference> {
        let taken: Arc<Mutex<Vec<Snapshot>>> = Arc::default();
        let keep = taken.clone();
        let take = move |snapshot| keep.lock().unwrap_or_else(PoisonError::into_inner).push(snapshot);
        let model = self.model_slots(inputs.to_vec());
        let rings = deployment.rings().snapshot_every(every, take);
        let ran = self.watched(|| self.run_with(rings, inputs, deployment))?;
        self.judge_run(Way::Rings(deployment), inputs.to_vec(), &ran)?;
        let taken = std::mem::take(&mut *taken.lock().unwrap_or_else(PoisonError::into_inner));
        taken.iter().for_each(|snapshot| self.assert_one_number_a_clock(snapshot));
        for snapshot in taken.iter().take(RESUMED) {
            let at = snapshot.at().0 as usize;
            let output = snapshot.output_at().expect("the run has a sink").0 as usize;
            let rest = self.run_with(deployment.rings().resume(snapshot.clone()), &inputs[at..], deployment)?;
            if rest.len() < output {
                return Err(Difference::Length { model: model.len(), deployed: rest.len() });
            }
            let before = model[..output].iter().map(|_| None);
            let expected: Slots<Value> = before.chain(model[output..].iter().cloned()).collect();
            self.judge_slots(&expected, &rest, deployment)?;
        }
        Ok(taken.len())
    }

    /// Asserts that every stage has passed the mark at the number of its clock there.
    fn assert_one_number_a_clock(&self, snapshot: &Snapshot) {
        let (plan, mut numbers) = (self.plan(), BTreeMap::from([(0, snapshot.at())]));
        for (name, number) in snapshot.numbers() {
            let reads = match plan.stages.iter().find(|stage| stage.name == name) {
                Some(stage) => stage.reads.first(),
                None if name == "sink" => plan.output.first(),
                // The sink of dead letters.
                None => continue,
            };
            let clock = reads.map_or(0, |ring| plan.rings[*ring].clock);
            let of_clock = *numbers.entry(clock).or_insert(number);
            assert_eq!(of_clock, number, "stage {name} passes a mark at another number of clock {clock}: {snapshot:?}");
        }
    }

    pub(super) fn run_with(
        &self,
        rings: Rings,
        inputs: &[Value],
        deployment: Deployment,
    ) -> Result<Slots<Value>, Difference> {
        let (pipeline, inputs) = (self.runs().clone(), inputs.to_vec());
        ended(move || pipeline.collect_with(rings, inputs, deployment))
    }

    /// As `run_with`, for a pipeline that changes.
    pub(super) fn run_changed(
        &self,
        inputs: &[Value],
        deployment: Deployment,
        changes: Vec<(u64, usize)>,
        done: &Arc<AtomicUsize>,
    ) -> Result<Slots<Value>, Difference> {
        let (pipeline, inputs, done) = (self.runs().clone(), inputs.to_vec(), done.clone());
        ended(move || pipeline.collect_changed(inputs, (deployment, &changes), &done))
    }

    /// As `run_with`, for a pipeline that begins with a snapshot of another version; `None` if there was no snapshot.
    pub(super) fn run_restarted(
        &self,
        inputs: &[Value],
        deployment: Deployment,
        restart: Restart,
    ) -> Result<Option<Restarted<Value>>, Difference> {
        let (pipeline, inputs) = (self.runs().clone(), inputs.to_vec());
        ended(move || pipeline.collect_restarted(inputs, (deployment, restart)))
    }

    pub(super) fn judge_slots(
        &self,
        model: &Slots<Value>,
        deployed: &Slots<Value>,
        deployment: Deployment,
    ) -> Result<(), Difference> {
        if self.gives_order_up() && deployment.has_workers() {
            return same(&in_one_order(model.clone()), &in_one_order(deployed.clone()));
        }
        same(model, deployed)
    }
}
