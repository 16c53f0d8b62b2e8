//! Once it is warm, the master's loop allocates nothing. This test has a binary of its own, since it counts the
//! allocations of the process. The workers are processes of their own, which this binary starts from itself.

use millstream_evolve::{Address, Batch, Evolve, EvolveMany, Options, Population, Random, Secret, Tuning, connect};
use stats_alloc::{INSTRUMENTED_SYSTEM, StatsAlloc};
use std::alloc::System;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

/// The variable with the master's address, in the environment of a worker's process.
const MASTER: &str = "MILLSTREAM_TEST_MASTER";

struct Count;

impl Evolve for Count {
    type State = u64;
    type Input = u64;
    type Output = u64;

    fn evolve(&self, state: &u64, input: &u64, _: &mut Random) -> Vec<(u64, u64)> {
        vec![(state + input, *state)]
    }
}

#[test]
fn the_masters_loop_allocates_nothing() {
    if let Ok(master) = std::env::var(MASTER) {
        let accepted = connect(&master.parse::<Address>().unwrap(), &Secret::new("s")).unwrap();
        return accepted.serve(&Count).unwrap();
    }
    for (batch, backup_every) in [(Batch::Fixed(1), 8), (Batch::Fixed(5), 1), (Batch::Fixed(2), 3)] {
        let dir = tempfile::tempdir().unwrap();
        let tuning = Tuning { batch, backup_every, ..Tuning::default() };
        let mut population = Population::<Count>::new(1, Options { tuning, ..Options::new(Secret::new("s")) }).unwrap();
        let at = population.listen(&Address::Unix(dir.path().join("master"))).unwrap();
        let name = "the_masters_loop_allocates_nothing";
        let exe = std::env::current_exe().unwrap();
        let start = || Command::new(&exe).args([name, "--exact"]).env(MASTER, at.to_string()).spawn().unwrap();
        let workers = [start(), start()];
        population.wait_for(2).unwrap();

        // The allocations at the first and at the last callback of a round.
        let seen = Arc::new([AtomicUsize::new(0), AtomicUsize::new(0)]);
        let seeing = Arc::clone(&seen);
        population.watch(Box::new(move |_| {
            let until_now = ALLOCATOR.stats().allocations + ALLOCATOR.stats().reallocations;
            let _ = seeing[0].compare_exchange(0, until_now, Ordering::Relaxed, Ordering::Relaxed);
            seeing[1].store(until_now, Ordering::Relaxed);
        }));
        let (mut tokens, mut before) = (population.reset_states((0..500).collect()).unwrap(), 0);
        let mut in_loop = 0;
        for round in 0..40 {
            seen[0].store(0, Ordering::Relaxed);
            let children = population.evolve_many(tokens.iter().map(|token| (*token, 1)).collect()).unwrap();
            tokens = children.values().flatten().map(|(token, _)| *token).collect();
            if round < 30 {
                before = population.counts().batches;
            } else {
                in_loop += seen[1].load(Ordering::Relaxed) - seen[0].load(Ordering::Relaxed);
            }
        }
        let batches = population.counts().batches - before;
        assert!(batches >= 500, "too few messages: {batches}");
        assert_eq!(in_loop, 0, "{batch:?}: allocations for {batches} batches");
        assert!(seen[0].load(Ordering::Relaxed) > 500, "no allocations are counted");
        drop(population);
        for mut worker in workers {
            assert!(worker.wait().unwrap().success());
        }
    }
}
