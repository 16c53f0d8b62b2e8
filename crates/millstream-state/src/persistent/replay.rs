//! A look at a job at an earlier number.

use super::changed::{Versions, resumed};
use super::{Begins, JobError, Persistent};
use crate::resumable::{Trail, Trailing};
use crate::{Manifest, Resumable, SnapshotEntry, StateDir};
use millstream_core::{Arrow, Item, Val};
use millstream_exec::{Durable, JobRefExt, Lasting, Migrations, Rings, Runner, Sink, Snapshot, Source, source};
use serde_json::Value;
use std::collections::VecDeque;
use std::io;

/// The result of a [replay](replay).
#[derive(Debug)]
#[non_exhaustive]
pub struct Replayed<O> {
    /// The number of the stored snapshot with which the replay began.
    pub began: u64,
    /// The states at the number that the replay had to reach, or after the source's last value. Their types are known,
    /// so [`Snapshot::json`] shows them. If the source does not [recount](Resumable::recounts), the number in it counts
    /// the values of this replay, which may be cut in other places than those of the run.
    pub snapshot: Snapshot,
    /// The result of the sink, which got the pipeline's outputs for the numbers from `began` to that number.
    pub output: O,
}

/// The part of a job that is run again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Span {
    /// A number that the part must contain: it begins with the newest snapshot at or before this number. `None` means
    /// the number at which the part ends.
    pub from: Option<u64>,
    /// The number before which the part ends. `None` means the end of the source, at which the pipeline sees END.
    pub to: Option<u64>,
}

/// Runs a part of a stored job again, and stores nothing. It begins with the newest snapshot that the [span](Span)
/// allows; if no such snapshot is kept, at the source's beginning. Pass a sink of its own: the job's sink is not
/// touched. A replay may run while the job runs. [`replay_migrated`] is for another version of the pipeline.
///
/// A number is the job's own, or there is an error. Where the source [recounts](Resumable::recounts), every number can
/// be reached. Where it does not, as a followed file, whose cuts depend on when it was read, the replay begins at a
/// kept snapshot, and ends at one or at the end of the source: it processes exactly what the job did between the two.
///
/// ```
/// use millstream::{io::FileSink, prelude::*, state::{Cadence, Persistent, Span, StateDir, again, replay}};
///
/// # let directory = tempfile::tempdir()?;
/// # std::env::set_current_dir(&directory)?;
/// let sums = pipeline::<u64>().scan(0, |sum, x| { *sum += x; *sum }).named("sum");
/// let lines = sums.map(|sum| format!("{sum}\n"));
/// let job = Persistent::new(Rings::new(), StateDir::open("state", "sums")?);
/// job.snapshot_every(Cadence::Numbers(30)).run(&lines, again(|| 0..1000), FileSink::append("sums"))?;
///
/// let state = StateDir::read("state")?;
/// let half = Span { from: None, to: Some(500) };
/// let replayed = replay(&state, &Rings::new(), &lines, &again(|| 0..1000), half, sink::collect())?;
/// assert_eq!(replayed.snapshot.json("sum")?[0], (0..500).sum::<u64>());
/// assert_eq!(replayed.output.last(), Some(&format!("{}\n", (0..500).sum::<u64>())));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// If a stored state has no place in the pipeline; if the source cannot begin at its position, or ends before that
/// number; [`JobError::NotExact`] if the number cannot be found again; and as the run: a stage that fails again fails
/// with the same cause and, if the source recounts, the same number.
pub fn replay<T, P, X, K>(
    dir: &StateDir,
    rings: &Rings,
    pipeline: &P,
    values: &X,
    span: Span,
    sink: K,
) -> Result<Replayed<K::Output>, JobError>
where
    T: Item,
    P: Lasting + Arrow<In = Val<T>>,
    X: Resumable<T>,
    K: Sink<P::Out>,
{
    replay_migrated(dir, rings, &Migrations::new(), pipeline, values, span, sink)
}

/// As [`replay`], by another version of the pipeline: if an earlier version took the snapshot, the replay begins with
/// the states that these migrations make of it. Its states and outputs are then those of this version, which the job
/// may not have had at these numbers.
///
/// ```
/// use millstream::{io::FileSink, prelude::*, state::{Persistent, Span, StateDir, again, replay_migrated}};
///
/// # let directory = tempfile::tempdir()?;
/// # std::env::set_current_dir(&directory)?;
/// let old = pipeline::<u64>().scan(0_u32, |n, _| { *n += 1; format!("{n}\n") }).named("count");
/// let job = Persistent::new(Rings::new(), StateDir::open("state", "counts")?);
/// job.run(&old, again(|| 0..1000), FileSink::append("counts"))?;
///
/// let new = pipeline::<u64>().scan(0_u64, |n, _| { *n += 1; format!("{n}\n") }).named("count");
/// let (state, to) = (StateDir::read("state")?, Span { from: None, to: Some(1000) });
/// let wider = Migrations::new().migrate_written("count", |old: u32| u64::from(old));
/// let replayed = replay_migrated(&state, &Rings::new(), &wider, &new, &again(|| 0..1000), to, sink::collect())?;
/// assert_eq!(replayed.snapshot.json("count")?[0], 1000);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// As [`replay`].
pub fn replay_migrated<T, P, X, K>(
    dir: &StateDir,
    rings: &Rings,
    migrations: &Migrations,
    pipeline: &P,
    values: &X,
    span: Span,
    sink: K,
) -> Result<Replayed<K::Output>, JobError>
where
    T: Item,
    P: Lasting + Arrow<In = Val<T>>,
    X: Resumable<T>,
    K: Sink<P::Out>,
{
    let Span { from, to } = span;
    let most = [from, to].into_iter().flatten().min();
    let plan = pipeline.plan();
    let stored: Vec<Manifest> = dir.snapshots()?.iter().filter_map(SnapshotEntry::manifest).cloned().collect();
    let first = stored.iter().rposition(|manifest| most.is_none_or(|most| manifest.at <= most));
    let later = &stored[first.map_or(0, |first| first + 1)..];
    let begins = match first.map(|first| &stored[first]) {
        Some(manifest) => {
            let changed = Versions::of(migrations.clone()).changed_from(manifest, &plan)?;
            Begins { changed, ..Persistent::begins(dir, manifest)? }
        }
        // The beginning needs no snapshot.
        None => Begins::default(),
    };
    let began = begins.at;
    let not_exact = |number| {
        let before = stored.iter().map(|manifest| manifest.at).rfind(|at| *at <= number);
        let after = stored.iter().map(|manifest| manifest.at).find(|at| *at > number);
        JobError::NotExact { number, before, after }
    };
    let mut ends = None;
    if !values.recounts() {
        if let Some(number) = most.filter(|_| first.is_none() && !stored.is_empty()) {
            return Err(not_exact(number));
        }
        if let Some(to) = to.filter(|to| *to > began) {
            let end = later.iter().find(|manifest| manifest.at == to).ok_or_else(|| not_exact(to))?;
            ends = Some(&end.source["position"]);
        }
    }
    let trail = Trail::new(true);
    let trailing = match ends {
        None => Trailing::<T, X>::new(values, begins.position, began, trail, false),
        Some(end) => {
            let from = begins.position.map(|(_, position)| position);
            let between = values.between(from.as_ref(), end);
            between.and_then(|between| Trailing::of(values, between, began, began, trail, false))
        }
    };
    let mut rest = trailing.map_err(JobError::Source)?.into_values();
    let to_number = to.filter(|_| ends.is_none());
    // Up to the end, the values are the same, however they are counted.
    let checked = if to_number.is_some_and(|to| to > began) && values.recounts() { later } else { &[] };
    let mut checks = Checks::of(checked, began, |position| values.is_at(&rest.place(), position).is_some());
    let (rings, changed) = (rings.clone(), begins.changed);
    let rings = match begins.snapshot {
        Some(snapshot) => resumed(rings, snapshot, changed),
        None => rings,
    };
    let (sender, receiver) = source::channel(1024);
    let run = Durable::new(rings).start(pipeline.from(receiver).to(sink)).map_err(JobError::Run)?;
    let mut is_exact = true;
    for number in began..to_number.unwrap_or(u64::MAX) {
        match rest.next() {
            Some(value) => {
                is_exact = checks.pass(number + 1, |position| values.is_at(&rest.place(), position));
                if !is_exact || sender.send(value).is_err() {
                    // The run has failed.
                    break;
                }
            }
            None => {
                let error = values.failure();
                let early = || io::Error::other(format!("it ends at number {number}"));
                match error.or_else(|| to_number.map(|_| early())) {
                    Some(error) => return Err(JobError::Source(error)),
                    None => break,
                }
            }
        }
    }
    // The mark is laid after the values that were sent.
    let snapshot = run.snapshot();
    drop(sender);
    let ended = if to.is_some() { run.stop_now() } else { run.wait() };
    let (output, _) = ended.map_err(JobError::Run)?;
    let snapshot = snapshot.ok_or_else(|| JobError::Source(io::Error::other("the run ended before that number")))?;
    // Reads on to the next snapshot, to see whether the source is still cut as it was.
    if let (Some(to), true) = (to_number, is_exact) {
        let mut number = to.max(began);
        while is_exact && checks.is_before_next(number) {
            is_exact = rest.next().is_some();
            number += 1;
            is_exact = is_exact && checks.pass(number, |position| values.is_at(&rest.place(), position));
        }
    }
    if !is_exact {
        return Err(not_exact(to.unwrap_or(began)));
    }
    Ok(Replayed { began, snapshot, output })
}

/// The positions of the snapshots after the beginning, by their numbers, where a source is compared with them.
struct Checks<'m>(VecDeque<(u64, &'m Value)>);

impl<'m> Checks<'m> {
    /// None if the source needs no comparison.
    fn of(later: &'m [Manifest], began: u64, are_needed: impl Fn(&Value) -> bool) -> Self {
        let check = |manifest: &'m Manifest| {
            let number = manifest.source["number"].as_u64().filter(|number| *number > began)?;
            Some((number, &manifest.source["position"]))
        };
        Checks(later.iter().filter_map(check).filter(|(_, position)| are_needed(position)).collect())
    }

    fn is_before_next(&self, number: u64) -> bool {
        self.0.front().is_some_and(|(next, _)| number < *next)
    }

    /// Whether the source, which is at this number, is where it was.
    fn pass(&mut self, number: u64, is_at: impl Fn(&Value) -> Option<bool>) -> bool {
        while let Some((_, position)) = self.0.pop_front_if(|(next, _)| *next <= number) {
            if is_at(position) == Some(false) {
                return false;
            }
        }
        true
    }
}
