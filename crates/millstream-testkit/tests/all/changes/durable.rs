//! The same on durable rings, for trees of stages with serializable states.

use super::slots_of;
use crate::lasting::{Lasting, Whole, lasting, whole};
use crate::reference::versions::changed;
use millstream_core::{Arrow, SequenceNumber};
use millstream_exec::{Durable, JobRefExt, Rings, RunError, Runner, Snapshot, Upgrade, source};
use millstream_testkit::random::{Pipe, Value};
use millstream_testkit::{Deployment, Feeding};
use std::sync::{Arc, Mutex};

/// A version, from its number on, with the states of the previous version that are lost.
struct Version {
    at: u64,
    pipeline: Whole,
    dropped: Vec<String>,
}

impl Version {
    fn upgrade(&self) -> Upgrade<Whole> {
        self.dropped.iter().fold(Upgrade::to(self.pipeline.clone()), Upgrade::dropping)
    }
}

/// Versions of a pipeline on durable rings.
pub(super) struct Versions {
    trees: Vec<(u64, Pipe)>,
    versions: Vec<Version>,
}

impl Versions {
    pub(super) fn of(first: &Pipe) -> Self {
        let mut versions = Versions { trees: Vec::new(), versions: Vec::new() };
        versions.change(0, lasting(first));
        versions
    }

    pub(super) fn last(&self) -> &Pipe {
        &self.trees[self.trees.len() - 1].1
    }

    /// Goes on with this tree at the number, unless the plans do not allow it.
    pub(super) fn change(&mut self, at: u64, tree: Pipe) -> bool {
        let mut next = Version { at, pipeline: whole(&tree), dropped: Vec::new() };
        if let Some(last) = self.versions.last() {
            let (old, new) = (last.pipeline.plan(), next.pipeline.plan());
            let lost = |name: &str| new.stages.iter().all(|stage| stage.name != name);
            let states = old.stages.iter().filter(|stage| stage.state.is_some() && lost(&stage.name));
            next.dropped = states.map(|stage| stage.name.clone()).collect();
            if !next.upgrade().check(&old).is_allowed() {
                return false;
            }
        }
        self.trees.push((at, tree));
        self.versions.push(next);
        true
    }

    /// Runs the versions from this one on, the first of them from a snapshot, if there is one.
    fn run(
        &self,
        first: usize,
        rings: Rings,
        inputs: &[Value],
        feeding: Feeding,
    ) -> Result<Vec<Option<Value>>, RunError> {
        let changed =
            |durable: Durable, version: &Version| durable.upgrade_at(SequenceNumber(version.at), version.upgrade());
        let durable = self.versions[first + 1..].iter().fold(Durable::new(rings), changed);
        let inputs: Vec<Lasting> = inputs.iter().cloned().map(Lasting).collect();
        let pipeline = &self.versions[first].pipeline;
        let slots = match feeding {
            Feeding::Channel => {
                let (sender, receiver) = source::channel(8);
                let feeding = std::thread::spawn(move || drop(sender.send_all(inputs)));
                let slots = durable.collect_slots(pipeline.from(receiver));
                feeding.join().expect("it sends numbers");
                slots
            }
            Feeding::Waiting => durable.collect_slots(pipeline.from(inputs)),
            _ => durable.collect_slots(pipeline.from(source::ready(inputs))),
        }?;
        Ok(slots.into_iter().map(|slot| slot.map(|value| value.0)).collect())
    }

    /// Compares a run with the equations, and then runs that go on from its snapshots, as bytes. Returns the number of
    /// those runs.
    pub(super) fn check(&self, inputs: &[Value], deployment: Deployment, every: u64) -> Result<usize, String> {
        let trees: Vec<(u64, &Pipe)> = self.trees.iter().map(|(at, tree)| (*at, tree)).collect();
        let model = changed(&trees, &slots_of(inputs));
        let same = |what: &str, from: usize, given: Result<Vec<Option<Value>>, RunError>| match given {
            Err(error) => Err(format!("{what} fails: {error}")),
            Ok(given) if given.len() != model.len() || given[from..] != model[from..] => {
                Err(format!("{what} gives {:?}, and not {:?}", &given[from..], &model[from..]))
            }
            Ok(_) => Ok(()),
        };
        let taken: Arc<Mutex<Vec<Snapshot>>> = Arc::default();
        let keep = taken.clone();
        let rings = deployment.rings();
        let taking = rings.clone().snapshot_every(every, move |snapshot| keep.lock().unwrap().push(snapshot));
        same("the run", 0, self.run(0, taking, inputs, deployment.feeding))?;
        let taken = std::mem::take(&mut *taken.lock().unwrap());
        // At the number of a change, a snapshot may be of either version.
        let between = |snapshot: &&Snapshot| self.versions[1..].iter().all(|version| version.at != snapshot.at().0);
        let mut resumed = 0;
        for snapshot in taken.iter().filter(between).take(3) {
            let at = snapshot.at().0;
            let bytes = snapshot.to_bytes().map_err(|error| error.to_string())?;
            let read = Snapshot::from_bytes(&bytes).map_err(|error| error.to_string())?;
            let version = self.versions.iter().rposition(|version| version.at < at).unwrap_or(0);
            let output = snapshot.output_at().map_or(0, |number| number.0 as usize);
            let rest = self.run(version, rings.clone().resume(read), &inputs[at as usize..], deployment.feeding);
            same(&format!("a run from {at} on"), output, rest)?;
            resumed += 1;
        }
        Ok(resumed)
    }
}

impl std::fmt::Display for Versions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.trees.iter().try_for_each(|(at, tree)| write!(f, "from {at} on {tree}; "))
    }
}
