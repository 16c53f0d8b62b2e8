//! The railway of "Journey to the fastest inter-thread data exchange": trains are arrays of a fixed size that go to and
//! fro between two stations, the producer's and the consumer's. Only the side at whose station a train is touches its
//! cargo. One sequence for each train states where it is. A train costs one hand-over, however full it is.
//!
//! Every producer has a railway of its own, and the consumer looks at all of them in turn.

use crate::many::{add, parts};
use crate::work::entry;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering::Acquire, Ordering::Release};
use std::sync::{Mutex, MutexGuard};
use std::thread::{scope, yield_now};

/// The trains of a railway, a power of two: while one is unloaded, others are filled or wait.
const TRAINS: usize = 16;

/// A train, on cache lines of its own.
#[repr(align(128))]
struct Train {
    /// The number of its departures: if it is even, the train is at the producer's station, else at the consumer's.
    departures: AtomicU64,
    /// The departures ensure that no two threads lock it. A lock for each train avoids `unsafe`.
    cargo: Mutex<Cargo>,
}

struct Cargo {
    entries: Box<[[u64; 3]]>,
    /// The number of loaded entries. Only the last train is not full.
    len: usize,
}

impl Train {
    fn new(size: usize) -> Self {
        let cargo = Cargo { entries: vec![[0; 3]; size].into(), len: 0 };
        Train { departures: AtomicU64::new(0), cargo: Mutex::new(cargo) }
    }

    /// The cargo, if the train is here after this number of departures.
    fn there(&self, departures: u64) -> Option<MutexGuard<'_, Cargo>> {
        if self.departures.load(Acquire) != departures {
            return None;
        }
        self.cargo.try_lock().ok()
    }

    fn leave(&self, cargo: MutexGuard<'_, Cargo>, departures: u64) {
        drop(cargo);
        self.departures.store(departures + 1, Release);
    }
}

/// The trains in their order, and the number of them that have come to one station.
struct Station<'a> {
    trains: &'a [Train],
    come: usize,
    /// 0 for the producer's station, 1 for the consumer's.
    side: u64,
}

impl Station<'_> {
    /// Passes the next train's cargo to `f`, if the train is here, and sends the train away.
    #[inline]
    fn with_next<R>(&mut self, f: impl FnOnce(&mut Cargo) -> R) -> Option<R> {
        let (train, round) = (&self.trains[self.come % TRAINS], self.come / TRAINS);
        let departures = 2 * round as u64 + self.side;
        let mut cargo = train.there(departures)?;
        let made = f(&mut cargo);
        train.leave(cargo, departures);
        self.come += 1;
        Some(made)
    }
}

/// Trains of `size` entries.
pub(crate) fn railways(producers: u64, items: u64, size: usize) -> u64 {
    let railways: Vec<Vec<Train>> = (0..producers).map(|_| (0..TRAINS).map(|_| Train::new(size)).collect()).collect();
    scope(|scope| {
        for (trains, part) in railways.iter().zip(parts(producers, items)) {
            scope.spawn(move || load(Station { trains, come: 0, side: 0 }, part));
        }
        let stations = railways.iter().map(|trains| Station { trains, come: 0, side: 1 }).collect();
        unload(stations, items / producers * producers)
    })
}

fn load(mut station: Station<'_>, mut part: Range<u64>) {
    while !part.is_empty() {
        let loaded = station.with_next(|Cargo { entries, len }| {
            *len = entries.len().min((part.end - part.start) as usize);
            let now = part.start..part.start + *len as u64;
            part.start = now.end;
            entries.iter_mut().zip(now).for_each(|(slot, x)| *slot = entry(x));
        });
        if loaded.is_none() {
            yield_now();
        }
    }
}

fn unload(mut stations: Vec<Station<'_>>, mut left: u64) -> u64 {
    let mut sum = 0;
    while left > 0 {
        let before = left;
        for station in &mut stations {
            station.with_next(|Cargo { entries, len }| {
                sum = entries[..*len].iter().copied().fold(sum, add);
                left -= *len as u64;
            });
        }
        if left == before {
            yield_now();
        }
    }
    sum
}
