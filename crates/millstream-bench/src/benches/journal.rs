//! The journal: values of 100 bytes in groups, each group durable before the next is written, beside plain writes of as
//! many bytes to one file, each synced.
//!
//! Case `speed` is bytes of values a second. Cases `p50` and `p99` are the waits for one group; `bare` is what the disk
//! itself takes, in the same turn.

use crate::failure::Failure;
use crate::figure::{Ratio, Results, Unit};
use crate::hash::Hash;
use crate::latency::{Quantile, Waiter, compare};
use crate::setting::Setting;
use crate::turns::{Contestant, Work, take_turns};
use millstream::state::disk::RealDisk;
use millstream::state::journal::{Journal, JournalOptions};
use std::fs::File;
use std::io::Write;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

const VALUE: usize = 100;

/// The values of one group, in the cases of speed, and in those of waits.
const LARGE: u64 = 8192;
const SMALL: u64 = 32;

/// The bound of the speed: a share of the plain writes'.
const SPEED: f64 = 0.7;

/// The bound of the waits for a group, over those of a plain write.
const WAITS: [(&str, f64); 2] = [("p50", 1.3), ("p99", 1.5)];

pub(crate) fn run(setting: &Setting) -> Result<Results, Failure> {
    let home = tempfile::tempdir().map_err(Failure::io("a directory"))?;
    let n = setting.items(2_000_000, 500_000);
    let groups = (n / LARGE).max(1);
    let size = groups * LARGE * VALUE as u64;
    let expected = checksum(groups * LARGE);
    let contestants = vec![
        Contestant::away("ours", expected, || {
            let took = journal(&home.path().join("journal"), groups, LARGE)?.iter().sum();
            Ok((read_back(&home.path().join("journal"))?, Duration::from_nanos(took)))
        }),
        Contestant::away("bare", expected, || {
            let took = bare(&home.path().join("bare"), groups, LARGE)?.iter().sum();
            let bytes = std::fs::read(home.path().join("bare")).map_err(Failure::io("read"))?;
            Ok((hashed(bytes.chunks(VALUE)), Duration::from_nanos(took)))
        }),
    ];
    let speeds = take_turns(setting, Work { case: "speed", unit: Unit::BytesPerSecond, size, goes: 1 }, contestants)?;
    let ratio = speeds.ratio("bare", Some(SPEED));
    let speed = speeds.results([ratio]);

    let groups = setting.items(1000, 200);
    let quantiles = [Quantile { case: "p50", of: 0.5 }, Quantile { case: "p99", of: 0.99 }];
    let waiters = vec![
        Waiter::new("ours", || journal(&home.path().join("journal"), groups, SMALL)),
        Waiter::new("bare", || bare(&home.path().join("bare"), groups, SMALL)),
    ];
    let mut waits = compare(setting, &quantiles, waiters)?;
    for (case, bound) in WAITS {
        for ratio in waits.ratios.iter_mut().filter(|ratio| ratio.case == case) {
            *ratio = Ratio { bound: Some(1.0 / bound), ..ratio.clone() };
        }
    }
    Ok(Results::joined([speed, waits]))
}

/// The value at a number.
fn value(number: u64) -> [u8; VALUE] {
    let mut value = [b'.'; VALUE];
    value[..8].copy_from_slice(&number.to_le_bytes());
    value
}

fn checksum(values: u64) -> u64 {
    let mut hash = Hash::default();
    (0..values).for_each(|number| hash.write_all(&value(number)).expect("a hash takes everything"));
    hash.finish()
}

fn hashed<'a>(values: impl Iterator<Item = &'a [u8]>) -> u64 {
    let mut hash = Hash::default();
    values.for_each(|value| hash.write_all(value).expect("a hash takes everything"));
    hash.finish()
}

/// Writes groups to a new journal. Returns the nanoseconds of each.
fn journal(path: &Path, groups: u64, size: u64) -> Result<Vec<u64>, Failure> {
    if path.exists() {
        std::fs::remove_dir_all(path).map_err(Failure::io("the last run"))?;
    }
    let (mut journal, _) = Journal::open(Arc::new(RealDisk), path, JournalOptions::default(), 1)?;
    let mut group = |first: u64| {
        let began = Instant::now();
        for number in first..first + size {
            journal.append(number, &value(number))?;
        }
        journal.commit()?;
        Ok(began.elapsed().as_nanos() as u64)
    };
    (0..groups).map(|nth| group(nth * size)).collect()
}

fn read_back(path: &Path) -> Result<u64, Failure> {
    let (journal, _) = Journal::open(Arc::new(RealDisk), path, JournalOptions::default(), 2)?;
    let mut hash = Hash::default();
    for read in journal.read_from(0)? {
        hash.write_all(&read?.1).expect("a hash takes everything");
    }
    Ok(hash.finish())
}

/// The same bytes, one after the other in one file, which is synced as often.
fn bare(path: &Path, groups: u64, size: u64) -> Result<Vec<u64>, Failure> {
    let file = File::create(path).map_err(Failure::io("create"))?;
    let (mut bytes, mut offset) = (Vec::new(), 0);
    let mut group = |first: u64| {
        let began = Instant::now();
        bytes.clear();
        (first..first + size).for_each(|number| bytes.extend_from_slice(&value(number)));
        file.write_all_at(&bytes, offset).map_err(Failure::io("write"))?;
        file.sync_data().map_err(Failure::io("sync"))?;
        offset += bytes.len() as u64;
        Ok(began.elapsed().as_nanos() as u64)
    };
    (0..groups).map(|nth| group(nth * size)).collect()
}
