//! Random pipelines whose states are migrated and go to other shards while they run.
//!
//! Before a random pipeline is a stage that counts the values of each key inside each other key. A change of the run
//! migrates its states to another type, or gives it another number of shards. The stage adds to a value a number that
//! depends on the count, not on the type, so a lost, doubled or misplaced state shows in every later value.

use super::build::Built;
use super::upgrades::Part;
use super::value::Value;
use crate::check::Difference;
use crate::deployment::{Deployment, Slots, slots_of};
use crate::way::Way;
use millstream_core::{Arrow, Item, KeysExt, SequenceNumber, ToOwnedItem, Val, pipeline};
use millstream_exec::{Deployable, Migrations, RingShape, Rings, RunEnd, RunError, Snapshot, Upgrade, sink};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// The counts of two versions.
#[derive(Clone, Default)]
struct Narrow(u8);
#[derive(Clone, Default)]
struct Wide {
    count: u64,
}

trait Counts: Item + Clone + Default {
    fn next(&mut self) -> i64;
}

impl Counts for Narrow {
    fn next(&mut self) -> i64 {
        self.0 = self.0.wrapping_add(1);
        i64::from(self.0)
    }
}

impl Counts for Wide {
    fn next(&mut self) -> i64 {
        self.count += 1;
        (self.count % 256) as i64
    }
}

/// How many keys there are, and how many inside each.
const KEYS: [i64; 2] = [7, 3];

fn key(value: &Value) -> i64 {
    value.digest().rem_euclid(KEYS[0])
}

fn key_inside(value: &Value) -> i64 {
    value.digest().div_euclid(KEYS[0]).rem_euclid(KEYS[1])
}

fn counted(value: &Value, count: i64) -> Value {
    value.like(value.digest().wrapping_add(count))
}

/// The random pipeline, after the stage that counts.
fn behind<C: Counts, P>(part: Part<P>, shards: usize) -> impl Deployable<In = Val<Value>, Out = P::Out>
where
    P: Deployable + Arrow<In = Val<Value>, Out: RingShape> + Send + Sync,
{
    // With other shards the inner keys are in other lanes, too.
    let front = pipeline::<Value>().shard_by(key, shards, move |p| {
        let inside = p.shard_by(key_inside, 1 + shards % 2, |p| {
            p.scan(C::default(), |count: &mut C, value: &Value| counted(value, count.next())).named("front")
        });
        inside.named("front-keys-inside")
    });
    front.named("front-keys").then(part)
}

/// The outputs of the counting stage for these.
fn behind_counts(inputs: &[Value]) -> Vec<Value> {
    let mut counts = BTreeMap::<(i64, i64), u64>::new();
    let count = |value: &Value| {
        let count = counts.entry((key(value), key_inside(value))).or_default();
        *count += 1;
        counted(value, (*count % 256) as i64)
    };
    inputs.iter().map(count).collect()
}

/// At a number, the number of shards from there on. If that number stays the same, the states get the other type.
pub(super) type Changes = [(u64, usize)];

/// The slots of a run of the pipeline after the counting stage, which changes at these numbers.
pub(super) fn collect_changed<P>(
    pipeline: &Arc<P>,
    inputs: Vec<Value>,
    (deployment, changes): (Deployment, &Changes),
    done: &Arc<AtomicUsize>,
) -> Result<RunEnd<Slots<<P::Out as ToOwnedItem>::Owned>>, RunError>
where
    P: Deployable + Arrow<In = Val<Value>, Out: RingShape + ToOwnedItem> + Send + Sync,
{
    let part = || Part::counted(pipeline.clone(), done.clone());
    let (mut wide, mut shards) = (false, 1);
    let mut rings: Rings = deployment.rings();
    for (at, k) in changes {
        let at = SequenceNumber(*at);
        let migrates = *k == shards;
        (wide, shards) = (wide != migrates, *k);
        rings = match (wide, migrates) {
            (true, true) => {
                let next = Upgrade::to(behind::<Wide, _>(part(), shards));
                rings.upgrade_at(at, next.migrate("front", |old: Narrow| Wide { count: u64::from(old.0) }))
            }
            (false, true) => {
                let next = Upgrade::to(behind::<Narrow, _>(part(), shards));
                rings.upgrade_at(at, next.migrate("front", |old: Wide| Narrow((old.count % 256) as u8)))
            }
            (true, false) => rings.upgrade_at(at, behind::<Wide, _>(part(), shards)),
            (false, false) => rings.upgrade_at(at, behind::<Narrow, _>(part(), shards)),
        };
    }
    deployment.run_with(rings, &behind::<Narrow, _>(part(), 1), inputs, sink::collect_slots())
}

pub(super) fn slots<T>(ended: Result<RunEnd<Slots<T>>, RunError>) -> Result<Slots<T>, RunError> {
    slots_of(ended?)
}

/// A restart from a snapshot by another version.
#[derive(Clone, Copy, Debug)]
pub struct Restart {
    /// The numbers of the source after which the snapshot is taken.
    pub every: u64,
    /// Whether the states of the counting stage get the other type.
    pub migrates: bool,
    /// The shards of the two versions.
    pub shards: [usize; 2],
}

/// The output of a run that began with a snapshot.
pub(super) struct Restarted<T> {
    /// The number of its first output.
    pub(super) output: u64,
    pub(super) slots: Slots<T>,
}

/// Runs the pipeline after the counting stage until it has taken a snapshot, and another version from there on. `None`
/// if it took no snapshot.
pub(super) fn collect_restarted<P>(
    pipeline: &Arc<P>,
    inputs: Vec<Value>,
    (deployment, Restart { every, migrates, shards: [before, after] }): (Deployment, Restart),
) -> Result<Option<Restarted<<P::Out as ToOwnedItem>::Owned>>, RunError>
where
    P: Deployable + Arrow<In = Val<Value>, Out: RingShape + ToOwnedItem> + Send + Sync,
{
    let part = || Part::counted(pipeline.clone(), Arc::default());
    let taken: Arc<Mutex<Option<Snapshot>>> = Arc::default();
    let keep = taken.clone();
    let take = move |snapshot| _ = keep.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(snapshot);
    let old = behind::<Narrow, _>(part(), before);
    let rings = deployment.rings().snapshot_every(every, take);
    slots_of(deployment.run_with(rings, &old, inputs.clone(), sink::collect_slots())?)?;
    let Some(snapshot) = taken.lock().unwrap_or_else(PoisonError::into_inner).take() else { return Ok(None) };

    let rest = inputs[snapshot.at().0 as usize..].to_vec();
    let output = snapshot.output_at().map_or(0, |number| number.0);
    let migrations = Migrations::new();
    let slots = if migrates {
        let migrations = migrations.migrate("front", |old: Narrow| Wide { count: u64::from(old.0) });
        let rings = deployment.rings().resume_changed(snapshot, old.plan(), migrations);
        deployment.run_with(rings, &behind::<Wide, _>(part(), after), rest, sink::collect_slots())?
    } else {
        let rings = deployment.rings().resume_changed(snapshot, old.plan(), migrations);
        deployment.run_with(rings, &behind::<Narrow, _>(part(), after), rest, sink::collect_slots())?
    };
    Ok(Some(Restarted { output, slots: slots_of(slots)? }))
}

impl Built {
    /// Runs the pipeline until it has taken a snapshot, and goes on from there with another version, in which the
    /// states of a stage before the pipeline have another type or another number of shards. Compares the output with
    /// the rest of the model's. Returns whether there was a snapshot.
    ///
    /// # Errors
    ///
    /// The difference.
    pub fn check_restart(
        &self,
        inputs: &[Value],
        deployment: Deployment,
        restart: Restart,
    ) -> Result<bool, Difference> {
        let model = self.model_slots(behind_counts(inputs));
        let Some(Restarted { output, slots }) = self.run_restarted(inputs, deployment, restart)? else {
            return Ok(false);
        };
        let output = output as usize;
        if slots.len() < output {
            return Err(Difference::Length { model: model.len(), deployed: slots.len() });
        }
        let expected = model[..output].iter().map(|_| None).chain(model[output..].iter().cloned());
        self.judge_slots(&expected.collect(), &slots, deployment)?;
        Ok(true)
    }

    /// Migrates the states of a stage before the pipeline, and gives it other numbers of shards, at these numbers.
    /// Compares the output with the model, as [`check`](Built::check) does. Returns how many of the changes before END
    /// did not take place.
    ///
    /// # Errors
    ///
    /// The difference.
    pub fn check_changes(
        &self,
        inputs: &[Value],
        deployment: Deployment,
        changes: &[(u64, usize)],
    ) -> Result<usize, Difference> {
        let mut changes = changes.to_vec();
        changes.sort_unstable();
        let done = Arc::<AtomicUsize>::default();
        let due = changes.iter().filter(|(at, _)| *at <= inputs.len() as u64).count();
        let ran = self.watched(|| self.run_changed(inputs, deployment, changes, &done))?;
        self.judge_run(Way::Rings(deployment), behind_counts(inputs), &ran)?;
        // The first version counts as a deployment, too.
        Ok(due + 1 - done.load(Ordering::Relaxed))
    }
}
