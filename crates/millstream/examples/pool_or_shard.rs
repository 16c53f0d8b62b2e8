//! A pool of workers and a shard do the same work with the same threads. The pool's outputs are in the order in which
//! they finished; the shard's are in the order of the input, in every run.

#![allow(clippy::print_stdout, reason = "an example prints its results")]

use millstream::prelude::*;
use std::collections::BTreeSet;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Mutex, mpsc};
use std::thread;

const RUNS: usize = 100;
const VALUES: u64 = 1000;

fn work(x: &u64) -> u64 {
    // Uneven, as real work is.
    (0..x % 7 * 100).fold(*x, |sum, y| sum.rotate_left(5) ^ y)
}

/// Two threads take values from one queue, and put their results into another.
fn pool() -> Vec<u64> {
    let (feed, values) = mpsc::sync_channel(16);
    let (put, outputs) = mpsc::sync_channel(16);
    let values = Mutex::new(values);
    thread::scope(|scope| {
        scope.spawn(move || (0..VALUES).for_each(|x| feed.send(x).expect("the receiver is alive")));
        for put in [put.clone(), put] {
            let values = &values;
            scope.spawn(move || {
                let next = || values.lock().expect("no thread panics").recv().ok();
                std::iter::from_fn(next).for_each(|x| put.send(work(&x)).expect("the receiver is alive"));
            });
        }
        outputs.iter().collect()
    })
}

fn shard() -> Result<Vec<u64>, RunError> {
    Queues::new().collect((&pipeline::<u64>().shard(2, |p| p.map(work))).from(0..VALUES))
}

fn hash(outputs: &[u64]) -> u64 {
    let mut hasher = DefaultHasher::new();
    outputs.hash(&mut hasher);
    hasher.finish()
}

fn main() -> Result<(), RunError> {
    let pooled: BTreeSet<u64> = (0..RUNS).map(|_| hash(&pool())).collect();
    let sharded: BTreeSet<u64> = (0..RUNS).map(|_| shard().map(|all| hash(&all))).collect::<Result<_, _>>()?;
    println!("pool:  {} different outputs in {RUNS} runs", pooled.len());
    println!("shard: {} different outputs in {RUNS} runs", sharded.len());
    assert_eq!(sharded.len(), 1);
    Ok(())
}
