//! The start of a job from its snapshot, up to its end at the same number: 1 GB of keyed state, beside a loop that
//! reads the same keys and states from a file, decodes each and inserts it in a map.
//!
//! Case `full` starts from a full snapshot, case `chain` from the last of a chain of snapshots, each with the changes
//! since the one before.

use super::keyed_state::{KEYS, Numbers, START, SumFrom, Totals, totals};
use crate::failure::Failure;
use crate::figure::{Ratio, Results, Unit};
use crate::hash::Hash;
use crate::setting::Setting;
use crate::turns::{Contestant, Work, take_turns};
use hashbrown::HashMap;
use millstream::state::{Cadence, Persistent, StateDir};
use std::fs::File;
use std::hint::black_box;
use std::io::{BufWriter, Write};
use std::path::Path;
use std::time::Duration;

/// The share of the loop's speed.
const LOOP: f64 = 0.5;

/// The share of the speed from a full snapshot, from a chain.
const CHAIN: f64 = 1.0 / 1.25;

/// The number of snapshots in the chain with only the changes.
const INCREMENTS: u64 = 7;

pub(crate) fn run(setting: &Setting) -> Result<Results, Failure> {
    let keys = setting.items(10 * KEYS, KEYS);
    let home = tempfile::tempdir().map_err(Failure::io("a directory"))?;
    let at = |name: &str| home.path().join(name);
    // A tenth of the keys is touched between two snapshots of the chain.
    let every = (keys / 10).max(1);
    let filled = Numbers { keys, spread: 10, end: keys + 1, pause: pause(keys, keys) };
    let changed = Numbers { end: keys + (INCREMENTS + 1) * every + 1, pause: pause(keys, every), ..filled };
    setting.progress.say("making snapshots");
    stored(setting, filled, &at("full"), keys, 1)?;
    stored(setting, filled, &at("chain"), keys, 1)?;
    stored(setting, changed, &at("chain"), every, INCREMENTS + 1)?;
    write_pairs(keys, &at("pairs"))?;
    let [filled, changed] = [filled, changed].map(|numbers| Numbers { pause: None, ..numbers });
    let (full, chain) = (filled.expected_from(keys), changed.expected_from(changed.end - 1));
    let contestants = vec![
        Contestant::new("ours", 1, || Ok(u64::from(restored(setting, filled, &at("full"))? == full))),
        Contestant::new("chain", 1, || Ok(u64::from(restored(setting, changed, &at("chain"))? == chain))),
        Contestant::new("loop", 1, || Ok(u64::from(decoded(&at("pairs"))? == keys))),
    ];
    let speeds =
        take_turns(setting, Work { case: "full", unit: Unit::ItemsPerSecond, size: keys, goes: 1 }, contestants)?;
    let by_loop = speeds.ratio("loop", Some(LOOP));
    let chain = speeds.ratio_between(&["chain"], &["ours"], "full", Some(CHAIN));
    let chain = chain.map(|ratio| Ratio { case: "chain", ..ratio });
    Ok(speeds.results([by_loop, chain]))
}

/// Time to store a snapshot before the next one is due.
fn pause(keys: u64, every: u64) -> Option<(u64, Duration)> {
    Some((every, Duration::from_micros(keys) * 2))
}

/// Runs the job up to the end of its numbers, with a snapshot after every `every` of them.
fn stored(setting: &Setting, numbers: Numbers, path: &Path, every: u64, count: u64) -> Result<(), Failure> {
    let dir = StateDir::open(path, "restore")?;
    let job = Persistent::new(setting.rings.clone(), dir).snapshot_every(Cadence::Numbers(every));
    let (_, stored) = job.run(&totals(), numbers, SumFrom(0))?;
    match stored.last_failure {
        Some(why) => Err(Failure::Program("a snapshot".to_owned(), why)),
        None if stored.snapshots == count => Ok(()),
        None => Err(Failure::Answer("the job that makes snapshots", stored.snapshots as usize)),
    }
}

/// Starts the job, which has only its last number left. Returns the sum of its sink.
fn restored(setting: &Setting, numbers: Numbers, path: &Path) -> Result<u64, Failure> {
    let dir = StateDir::open(path, "restore")?;
    let job = Persistent::new(setting.rings.clone(), dir).snapshot_every(Cadence::OnCall);
    let ((sum, _), stored) = job.run(&totals(), numbers, SumFrom(0))?;
    if stored.began + 1 == numbers.end { Ok(sum) } else { Err(Failure::Answer("the restored job", 0)) }
}

/// Writes keys and states as the snapshot has them.
fn write_pairs(keys: u64, path: &Path) -> Result<(), Failure> {
    let mut pairs = BufWriter::new(File::create(path).map_err(Failure::io("create"))?);
    for key in 0..keys {
        let mut state = START;
        state[(key % 12) as usize] += key;
        postcard::to_io(&(key, state), &mut pairs)
            .map_err(|error| Failure::Program("pairs".into(), error.to_string()))?;
    }
    pairs.flush().map_err(Failure::io("write"))
}

/// Reads them, checks a checksum as the snapshot has one, and inserts each in a map. Returns how many there are.
fn decoded(path: &Path) -> Result<u64, Failure> {
    let bytes = std::fs::read(path).map_err(Failure::io("read"))?;
    let mut hash = Hash::default();
    hash.write_all(&bytes).map_err(Failure::io("hash"))?;
    black_box(hash.finish());
    let (mut map, mut rest) = (HashMap::new(), &*bytes);
    while !rest.is_empty() {
        let ((key, state), left) = postcard::take_from_bytes::<(u64, Totals)>(rest)
            .map_err(|error| Failure::Program("pairs".into(), error.to_string()))?;
        map.insert(key, state);
        rest = left;
    }
    Ok(black_box(&map).len() as u64)
}
