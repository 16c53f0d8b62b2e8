//! Who is given up, and who is not.

use super::{Simulation, Trouble, go_on, modelled, rounds};
use crate::{EvolveMany, Tuning};
use proptest::prelude::*;
use std::time::Duration;

const DELAY: Duration = Duration::from_micros(100);

fn impatient(steal: bool) -> Tuning {
    Tuning { patience: Duration::from_secs(5), steal, ..Tuning::default() }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    /// The others have done their part, and wait: the master has heard nothing of them for as long, and gives them what the
    /// silent one had. They have time for that from then on.
    #[test]
    fn one_silent_worker_costs_itself_alone(workers in 2..9_usize, silent in 0..9_usize, steal in any::<bool>()) {
        let mut simulation = Simulation::new(impatient(steal), workers, 1, DELAY, Trouble::default());
        simulation.replace_nobody();
        let tokens = simulation.reset_states((0..60).map(|state| (3_000, state)).collect()).unwrap();
        simulation.hang(silent % workers);
        prop_assert_eq!(go_on(&mut simulation, tokens, 0..4), modelled(60, 3_000, 4));
        prop_assert_eq!(simulation.counts().lost, 1);
    }
}

/// Nobody owes anything between two populations, however long that is.
#[test]
fn a_population_that_begins_late_finds_its_workers() {
    let (slow, patience) = (Duration::from_secs(3), Duration::from_secs(20));
    let mut simulation = Simulation::new(Tuning { patience, ..Tuning::default() }, 3, 1, slow, Trouble::default());
    for _ in 0..3 {
        simulation.rest(Duration::from_secs(1_009));
        // The next look comes before any answer can.
        rounds(&mut simulation, 30, 3_000, 1);
    }
    assert_eq!(simulation.counts().lost, 0);
}
