//! Which workers are given up, and which are not.

use super::{Simulation, Trouble, go_on, modelled, rounds};
use crate::{EvolveMany, Tuning};
use proptest::prelude::*;
use std::cmp::Reverse;
use std::time::Duration;

const DELAY: Duration = Duration::from_micros(100);

fn impatient(steal: bool) -> Tuning {
    Tuning { patience: Duration::from_secs(5), steal, ..Tuning::default() }
}

impl Simulation {
    /// For each worker, the longest time without bytes from the master.
    pub(crate) fn silences(&self) -> Vec<Duration> {
        self.workers.iter().flatten().map(|one| one.silence.max(self.now - one.heard)).collect()
    }

    /// Makes this worker neither answer nor receive from now on.
    fn hang(&mut self, worker: usize) {
        self.workers[worker].as_mut().expect("it lives").hangs = true;
    }

    /// From now on lost workers are not replaced.
    fn replace_none(&mut self) {
        self.replaced = false;
    }

    /// Lets this time pass without a call of the program.
    fn rest(&mut self, time: Duration) {
        let until = self.now + time;
        while self.events.peek().is_some_and(|Reverse((at, ..))| *at <= until) {
            self.step();
        }
        self.now = until;
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    /// The other workers have finished, so the master has heard nothing from them for as long. Once it gives them the
    /// silent worker's states, their time for an answer begins.
    #[test]
    fn one_silent_worker_costs_itself_alone(workers in 2..9_usize, silent in 0..9_usize, steal in any::<bool>()) {
        let mut simulation = Simulation::new(impatient(steal), workers, 1, DELAY, Trouble::default());
        simulation.replace_none();
        let tokens = simulation.reset_states((0..60).map(|state| (3_000, state)).collect()).unwrap();
        simulation.hang(silent % workers);
        prop_assert_eq!(go_on(&mut simulation, tokens, 0..4), modelled(60, 3_000, 4));
        prop_assert_eq!(simulation.counts().lost, 1);
    }
}

/// No worker owes an answer between two populations, however long that is.
#[test]
fn a_population_that_begins_late_finds_its_workers() {
    let (slow, patience) = (Duration::from_secs(3), Duration::from_secs(20));
    let mut simulation = Simulation::new(Tuning { patience, ..Tuning::default() }, 3, 1, slow, Trouble::default());
    for _ in 0..3 {
        simulation.rest(Duration::from_secs(1_009));
        // The master's next look comes before any answer can arrive.
        rounds(&mut simulation, 30, 3_000, 1);
    }
    assert_eq!(simulation.counts().lost, 0);
}
