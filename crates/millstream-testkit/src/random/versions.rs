//! Random pipelines that follow one another in one run.

use super::build::chain;
use super::edge::Boxed;
use super::kind::{Any, F, H, Kind, Whole};
use super::logs::Sinks;
use super::order::in_one_order;
use super::tree::Pipe;
use super::upgrades::Part;
use super::value::Value;
use super::{edge, join};
use crate::check::{Difference, ended, same};
use crate::deployment::{Deployment, Slots, slots_of};
use millstream_core::plan::UpgradeCheck;
use millstream_core::{Arrow, PartsExt, SequenceNumber, id};
use millstream_exec::{FreePipe, JobRefExt, Rings, RunError, Runner, Upgrade, UpgradeError, sink, source};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Versions of a random pipeline: the first one, and later ones, each of which replaces the one before at a number.
#[derive(Clone)]
pub struct Versions {
    versions: Vec<Version>,
}

#[derive(Clone)]
struct Version {
    at: u64,
    tree: Pipe,
    pipeline: Arc<Boxed<F, Any, FreePipe>>,
    /// The states of the previous version that are lost.
    dropped: Vec<String>,
}

impl Version {
    fn new(at: u64, tree: &Pipe) -> Self {
        let chain = join::as_ring(chain(tree, Kind::Whole(Whole::F), &Sinks::default()));
        // All versions have one shape of output.
        let output = edge::Chain::empty(chain.output);
        let output = match chain.output {
            Kind::Whole(Whole::F) => output.then(Boxed::new(id::<F>().any_edge())),
            _ => output.then(Boxed::new(id::<H>().any_edge())),
        };
        let pipeline = Arc::new(chain.followed_by(output).boxed_free());
        Version { at, tree: tree.clone(), pipeline, dropped: Vec::new() }
    }

    /// The version that the run goes on with. Counts that it does.
    fn upgrade(&self, done: &Arc<AtomicUsize>) -> Upgrade<Part<Boxed<F, Any, FreePipe>>> {
        let next = Upgrade::to(Part::counted(self.pipeline.clone(), done.clone()));
        self.dropped.iter().fold(next, Upgrade::dropping)
    }
}

impl Versions {
    /// The first version, whose states have [names](Pipe::versioned).
    #[must_use]
    pub fn of(first: &Pipe) -> Self {
        Versions { versions: vec![Version::new(0, first)] }
    }

    /// The tree of the last version.
    #[must_use]
    pub fn last(&self) -> &Pipe {
        &self.versions[self.versions.len() - 1].tree
    }

    /// The versions, and the number at which each begins.
    pub fn iter(&self) -> impl Iterator<Item = (u64, &Pipe)> {
        self.versions.iter().map(|version| (version.at, &version.tree))
    }

    /// Goes on with this version at the number, which must not be less than those before. Drops the states that only
    /// the previous version has.
    ///
    /// # Errors
    ///
    /// Why the plans do not allow it. The versions have not changed then.
    pub fn change(&mut self, at: u64, tree: &Pipe) -> Result<(), UpgradeCheck> {
        let (mut next, last) = (Version::new(at, tree), &self.versions[self.versions.len() - 1]);
        let (old, new) = (Arrow::plan(&*last.pipeline), Arrow::plan(&*next.pipeline));
        let lost = |name: &str| new.stages.iter().all(|stage| stage.name != name);
        let states = old.stages.iter().filter(|stage| stage.state.is_some() && lost(&stage.name));
        next.dropped = states.map(|stage| stage.name.clone()).collect();
        let check = next.upgrade(&Arc::default()).check(&old);
        if !check.is_allowed() {
            return Err(check);
        }
        self.versions.push(next);
        Ok(())
    }

    /// Runs all versions one after the other, and compares the output with these slots, END last. Returns how many of
    /// the changes before END did not take place.
    ///
    /// # Errors
    ///
    /// The difference.
    pub fn check(
        &self,
        inputs: &[Value],
        deployment: Deployment,
        model: Vec<Option<Value>>,
    ) -> Result<usize, Difference> {
        let done = Arc::<AtomicUsize>::default();
        let due = self.versions[1..].iter().filter(|version| version.at <= inputs.len() as u64).count();
        self.judge(model, self.run(inputs, deployment, &done)?, deployment.has_workers())?;
        Ok(due - done.load(Ordering::Relaxed))
    }

    fn run(
        &self,
        inputs: &[Value],
        deployment: Deployment,
        done: &Arc<AtomicUsize>,
    ) -> Result<Slots<Value>, Difference> {
        let (versions, inputs, done) = (self.versions.clone(), inputs.to_vec(), done.clone());
        ended(move || {
            let upgraded =
                |rings: Rings, version: &Version| rings.upgrade_at(SequenceNumber(version.at), version.upgrade(&done));
            let rings = versions[1..].iter().fold(deployment.rings(), upgraded);
            slots_of(deployment.run_with(rings, &*versions[0].pipeline, inputs, sink::collect_slots())?)
        })
    }
}

impl Versions {
    /// As [`check`](Versions::check), in a live run: its sender sends the values before the number of each version, and
    /// then the run is upgraded on demand. `model` gets the numbers at which that happened; a stream that a version has
    /// ended is not upgraded.
    ///
    /// # Errors
    ///
    /// The difference, and every failed upgrade.
    pub fn check_on_demand(
        &self,
        inputs: &[Value],
        deployment: Deployment,
        model: impl FnOnce(&[(u64, &Pipe)]) -> Vec<Option<Value>>,
    ) -> Result<(), Difference> {
        let (versions, inputs) = (self.versions.clone(), inputs.to_vec());
        let (deployed, numbers) = ended(move || {
            let (sender, receiver) = source::channel(deployment.ring);
            let job = versions[0].pipeline.from(receiver).to(sink::collect_slots());
            let run = deployment.rings().start(job)?;
            let (mut numbers, mut sent) = (vec![0], 0);
            for (before, version) in versions[1..].iter().enumerate() {
                let next = inputs.len().min(version.at as usize).max(sent);
                // A run whose stream has ended takes no further values.
                let _ = sender.send_all(inputs[sent..next].iter().cloned());
                sent = next;
                match run.upgrade(version.upgrade(&Arc::default())) {
                    Ok(number) => numbers.push(number.0),
                    Err(UpgradeError::Ended) if versions[..=before].iter().any(|version| version.tree.ends()) => break,
                    Err(error) => return Err(RunError::Upgrade(error)),
                }
            }
            let _ = sender.send_all(inputs[sent..].iter().cloned());
            drop(sender);
            Ok((slots_of(run.join())?, numbers))
        })?;
        let trees: Vec<(u64, &Pipe)> = numbers.into_iter().zip(self.iter().map(|(_, tree)| tree)).collect();
        self.judge(model(&trees), deployed, true)
    }

    /// If a version gives its order up, the order is compared only in runs without workers.
    fn judge(&self, model: Slots<Value>, deployed: Slots<Value>, has_workers: bool) -> Result<(), Difference> {
        match has_workers && self.iter().any(|(_, tree)| tree.gives_order_up()) {
            true => same(&in_one_order(model), &in_one_order(deployed)),
            false => same(&model, &deployed),
        }
    }
}

impl std::fmt::Display for Versions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.versions[0].tree)?;
        self.iter().skip(1).try_for_each(|(at, tree)| write!(f, ", and from {at} on {tree}"))
    }
}

impl std::fmt::Debug for Versions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        std::fmt::Display::fmt(self, f)
    }
}
