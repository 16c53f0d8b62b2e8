//! The places of replicas: which worker has which rank. Correctness does not depend on them: they hand out ranks, and
//! show operators which workers are alive.

use crate::{Log, LogError};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::hash::{BuildHasher, RandomState};
use std::time::{Duration, Instant};
use std::{fs, process};

/// The time between two signs of life of a worker.
pub(crate) const BEAT: Duration = Duration::from_millis(500);
/// A place whose record has not changed for this long is free.
const FREE_AFTER: Duration = Duration::from_secs(2);
/// The name of a machine that does not tell its own.
const UNKNOWN: &str = "unknown";

/// The record of a replica's place.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Place {
    /// The worker's id, which is new each time that its program starts.
    pub worker: String,
    /// The machine.
    pub host: String,
    /// The process on that machine.
    pub process: u32,
    /// The number of its signs of life.
    pub beat: u64,
    /// The last input batch that it has computed.
    pub position: u64,
    /// The last output batch that it knows to be in the edge.
    pub durable: u64,
    /// Whether this worker was the last to append.
    pub appends: bool,
    /// What it does.
    pub state: PlaceState,
    /// What it has tried in vain for some seconds, and why.
    #[serde(default)]
    pub waits: Option<String>,
}

/// What the worker of a place does.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PlaceState {
    /// It works, or it died without a report.
    Works,
    /// It stopped on request, or its machine lacks what its rings need.
    Left,
    /// The output is complete.
    Ended,
    /// It failed.
    Failed(String),
    /// The output edge has other bytes than it computed. Its machine does not get the place again before another
    /// machine has had it, or [the alarm is ended](Place::end_alarms): it might append such bytes.
    Diverged(String),
}

fn key(rank: u32) -> String {
    format!("place.{rank}")
}

impl Place {
    pub(crate) fn of_this_process() -> Self {
        let host = fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
        let host = Some(host.trim().to_owned()).filter(|host| !host.is_empty());
        Place {
            worker: format!("{:016x}", RandomState::new().hash_one(process::id())),
            host: host.unwrap_or_else(|| UNKNOWN.to_owned()),
            process: process::id(),
            beat: 0,
            position: 0,
            durable: 0,
            appends: false,
            state: PlaceState::Works,
            waits: None,
        }
    }

    /// The places that were ever taken, by rank, with the revisions of their records. If a revision changes, its worker
    /// is alive.
    ///
    /// # Errors
    ///
    /// If the log does not answer.
    pub fn all<L: Log>(log: &L, replicas: u32) -> Result<BTreeMap<u32, (Place, u64)>, LogError> {
        let places = (0..replicas).map(|rank| Ok((rank, read(log, rank)?)));
        let places: Vec<(u32, Option<(Place, u64)>)> = places.collect::<Result<_, LogError>>()?;
        Ok(places.into_iter().filter_map(|(rank, place)| Some((rank, place?))).collect())
    }

    /// Ends the alarms of workers whose output differed, so that workers of their machines may take these places again:
    /// for an operator, who has found the cause. Returns the ranks.
    ///
    /// # Errors
    ///
    /// If the log does not answer.
    pub fn end_alarms<L: Log>(log: &L, replicas: u32) -> Result<Vec<u32>, LogError> {
        let mut ended = Vec::new();
        for (rank, (place, revision)) in Self::all(log, replicas)? {
            if !matches!(place.state, PlaceState::Diverged(_)) {
                continue;
            }
            match write(log, rank, revision, &Place { state: PlaceState::Left, ..place }) {
                Ok(()) => ended.push(rank),
                // Another machine has taken the place, which ends it as well.
                Err(LogError::Conflict) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(ended)
    }

    /// Whether a worker of this machine has computed another output in this place.
    fn has_diverged_at(&self, host: &str) -> bool {
        matches!(self.state, PlaceState::Diverged(_)) && self.host == host && host != UNKNOWN
    }
}

fn read<L: Log>(log: &L, rank: u32) -> Result<Option<(Place, u64)>, LogError> {
    let Some(record) = log.get(&key(rank))? else { return Ok(None) };
    let place = serde_json::from_slice(&record.value);
    let place = place.map_err(|error| LogError::Refused(format!("the record {:?}: {error}", key(rank))))?;
    Ok(Some((place, record.revision)))
}

fn write<L: Log>(log: &L, rank: u32, revision: u64, place: &Place) -> Result<(), LogError> {
    let value = serde_json::to_vec(place).map_err(|error| LogError::Refused(error.to_string()))?;
    log.compare_and_set(&key(rank), revision, &value)
}

/// A place that was free.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Claim {
    pub(crate) rank: u32,
    /// Whether its worker died, or has stopped, without a report.
    pub(crate) silent: bool,
}

/// Looks for a free place.
#[derive(Debug, Default)]
pub(crate) struct Claims {
    /// The revision of each record, and when it was first seen.
    seen: BTreeMap<u32, (u64, Instant)>,
}

impl Claims {
    /// Takes the first free place, if there is one.
    pub(crate) fn claim<L: Log>(&mut self, log: &L, replicas: u32, place: &Place) -> Result<Option<Claim>, LogError> {
        for rank in 0..replicas {
            let (revision, silent) = match read(log, rank)? {
                None => (0, false),
                // An earlier try has arrived, and its answer was lost.
                Some((own, _)) if own.worker == place.worker => return Ok(Some(Claim { rank, silent: false })),
                Some((other, _)) if other.has_diverged_at(&place.host) => continue,
                Some((other, revision)) => {
                    let seen = self.seen.entry(rank).or_insert((revision, Instant::now()));
                    if seen.0 != revision {
                        *seen = (revision, Instant::now());
                    }
                    if other.state == PlaceState::Works && seen.1.elapsed() < FREE_AFTER {
                        continue;
                    }
                    (revision, other.state == PlaceState::Works)
                }
            };
            match write(log, rank, revision, place) {
                Ok(()) => return Ok(Some(Claim { rank, silent })),
                Err(LogError::Conflict) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(None)
    }
}

/// Gives a sign of life. Returns whether the place is still the worker's own. After a conflict, what was read was older
/// than the record, and nothing is written.
pub(crate) fn beat<L: Log>(log: &L, rank: u32, place: &Place) -> Result<bool, LogError> {
    match read(log, rank)? {
        Some((there, revision)) if there.worker == place.worker => write(log, rank, revision, place).map(|()| true),
        _ => Ok(false),
    }
}
