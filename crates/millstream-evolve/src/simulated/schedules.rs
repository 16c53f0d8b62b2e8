use super::{Simulation, Trouble, modelled, rounds};
use crate::{Batch, Tuning};
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::time::Duration;

fn tuning() -> impl Strategy<Value = Tuning> {
    let batch = prop_oneof![(1..8_usize).prop_map(Batch::Fixed), Just(Batch::Adaptive)];
    (batch, any::<bool>(), 1..6_u64).prop_map(|(batch, steal, backup_every)| Tuning {
        batch,
        steal,
        backup_every,
        ..Tuning::default()
    })
}

fn trouble() -> impl Strategy<Value = Trouble> {
    let now_and_then = || prop_oneof![Just(None), (40..400_u32).prop_map(Some)];
    (now_and_then(), now_and_then(), now_and_then(), now_and_then())
        .prop_map(|(deaths, hangs, rubbish, joins)| Trouble { deaths, hangs, rubbish, joins, garbled: None })
}

/// The same faults, but no more often than the workers can bear. The states of a lost worker evolve again from the last
/// backup. If workers are lost more often than that takes, a round never ends.
fn bearable(trouble: Trouble, states: u64, backup_every: u64, workers: usize) -> Trouble {
    // In each round since the backup, each state of a worker costs a message to it and one back.
    let between_backups = (2 * states * backup_every).div_ceil(workers as u64);
    let rarest = u32::try_from(between_backups).unwrap_or(u32::MAX);
    let no_more_often = |one_in: Option<u32>| one_in.map(|one_in| one_in.max(rarest));
    Trouble {
        deaths: no_more_often(trouble.deaths),
        hangs: no_more_often(trouble.hangs),
        rubbish: no_more_often(trouble.rubbish),
        ..trouble
    }
}

proptest! {
    #[test]
    fn every_schedule_has_the_models_result(
        tuning in tuning(),
        workers in prop_oneof![Just(1), Just(2), 3..20_usize, Just(100)],
        states in 0..60_u64,
        cost in prop_oneof![Just(20), Just(3_000)],
        number in 1..10_u64,
        delay in 1..3_000_u64,
        seed in any::<u64>(),
        trouble in trouble(),
    ) {
        let delay = Duration::from_micros(delay);
        let trouble = bearable(trouble, states, tuning.backup_every, workers);
        let mut simulation = Simulation::new(tuning, workers, seed, delay, trouble);
        prop_assert_eq!(rounds(&mut simulation, states, cost, number), modelled(states, cost, number));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 32, ..ProptestConfig::default() })]

    /// A damaged answer can be valid and wrong, so it may change a round's result or end it: a worker that knows the
    /// secret is trusted. But nothing panics, and every round ends.
    #[test]
    fn messages_with_wrong_bytes_crash_nothing(seed in any::<u64>(), one_in in 2..40_u32, backup_every in 1..5_u64) {
        use crate::EvolveMany;
        let trouble = Trouble { garbled: Some(one_in), joins: Some(50), ..Trouble::default() };
        let tuning = Tuning { backup_every, ..Tuning::default() };
        let mut simulation = Simulation::new(tuning, 5, seed, Duration::from_micros(200), trouble);
        let mut tokens = simulation.reset_states((0..40).map(|state| (500, state)).collect()).unwrap();
        for round in 0..5 {
            let named = tokens.iter().map(|token| (*token, round)).collect();
            let Ok(children) = simulation.evolve_many(named) else { break };
            tokens = children.values().flatten().map(|(token, _)| *token).collect();
        }
    }

    #[test]
    fn a_population_can_begin_again(seed in any::<u64>()) {
        let trouble = Trouble { deaths: Some(60), ..Trouble::default() };
        let mut simulation = Simulation::new(Tuning::default(), 5, seed, Duration::from_micros(200), trouble);
        let mut model = crate::Model::new(super::Uneven, 0);
        for number in [3, 0, 5] {
            prop_assert_eq!(rounds(&mut simulation, 30, 500, number), rounds(&mut model, 30, 500, number));
        }
    }
}

/// The number of rounds of a usual filter, on one worker and on a hundred.
#[test]
fn many_rounds_are_the_same_for_1_2_and_100_workers() {
    let expected = modelled(300, 300, 80);
    for workers in [1, 2, 100] {
        let quiet = Trouble::default();
        let mut simulation = Simulation::new(Tuning::default(), workers, 1, Duration::from_micros(50), quiet);
        assert_eq!(rounds(&mut simulation, 300, 300, 80), expected, "{workers} workers");
        assert_eq!(simulation.counts().again, 0);
    }
}

/// The article's sizes: some 2000 states, 80 rounds, and 30 ms for a state, an hour and twenty minutes of one worker.
#[test]
fn an_hour_of_work_in_80_rounds_is_divided_among_100_workers() {
    use crate::{EvolveMany, Model};
    let (workers, quiet) = (100, Trouble::default());
    let mut simulation = Simulation::new(Tuning::default(), workers, 1, Duration::from_micros(50), quiet);
    let mut model = Model::new(super::Uneven, 0);
    let states: Vec<_> = (0..2000).map(|state| (30_000, state)).collect();
    let mut tokens = model.reset_states(states.clone()).unwrap();
    assert_eq!(simulation.reset_states(states).unwrap(), tokens);
    for round in 0..80 {
        let inputs: BTreeMap<_, _> = tokens.iter().map(|token| (*token, round)).collect();
        let children = model.evolve_many(inputs.clone()).unwrap();
        assert!(simulation.evolve_many(inputs).unwrap() == children, "round {round}");
        tokens = children.values().flatten().map(|(token, _)| *token).collect();
    }
    let worked: Duration = simulation.master.spent().map(|(_, working, ..)| working).sum();
    assert!(worked > Duration::from_secs(3_600), "{worked:?}");
    let took = simulation.now();
    assert!(took <= worked.mul_f64(1.1 / workers as f64), "{took:?} for {worked:?}");
}

#[test]
fn lost_states_are_recomputed_from_the_last_rounds_parents() {
    let trouble = Trouble { deaths: Some(100), ..Trouble::default() };
    let every_round = Tuning { backup_every: 1, ..Tuning::default() };
    let mut simulation = Simulation::new(every_round, 10, 3, Duration::from_micros(50), trouble);
    assert_eq!(rounds(&mut simulation, 200, 300, 20), modelled(200, 300, 20));
    let counts = simulation.counts();
    assert!(counts.lost > 10, "{counts:?}");
    // The states that were kept in the last round are sent again, and no earlier state evolves again.
    assert_eq!(counts.again, 0, "{counts:?}");
    let rarely = Tuning { backup_every: 7, ..Tuning::default() };
    let mut simulation = Simulation::new(rarely, 10, 3, Duration::from_micros(50), trouble);
    assert_eq!(rounds(&mut simulation, 200, 300, 20), modelled(200, 300, 20));
    assert!(simulation.counts().again > 0);
}

/// Keep-alives let a waiting worker distinguish a master that waits from one that was stopped.
#[test]
fn a_waiting_master_sends_keep_alives() {
    use crate::EvolveMany;
    let patient = Tuning { patience: Duration::from_secs(10_000), ..Tuning::default() };
    let mut simulation = Simulation::new(patient, 3, 1, Duration::from_micros(50), Trouble::default());
    // One state takes a quarter of an hour, and two workers have nothing to do meanwhile.
    let tokens = simulation.reset_states(vec![(900_000_000, 8)]).unwrap();
    simulation.evolve_many([(tokens[0], 0)].into()).unwrap();
    assert!(simulation.now() >= Duration::from_secs(900));
    let silences = simulation.silences();
    // The master looks every ten seconds, and sends a keep-alive after ten.
    assert!(silences.len() == 3 && silences.iter().all(|one| *one < Duration::from_secs(21)), "{silences:?}");
}

#[test]
fn states_are_spread_as_evenly_as_can_be() {
    use crate::EvolveMany;
    for (states, workers) in [(0, 3), (2, 3), (10, 3), (2000, 450)] {
        let mut simulation =
            Simulation::new(Tuning::default(), workers, 1, Duration::from_micros(50), Trouble::default());
        let tokens = simulation.reset_states(vec![(1, 1); states]).unwrap();
        assert_eq!(tokens.len(), states);
        let counts = simulation.states();
        assert_eq!(counts.iter().sum::<usize>(), states);
        assert!(counts.iter().max().unwrap() - counts.iter().min().unwrap() <= 1, "{counts:?}");
    }
}

#[test]
fn an_unknown_token_is_refused() {
    use crate::{EvolveError, EvolveMany, Token};
    let mut simulation = Simulation::new(Tuning::default(), 2, 1, Duration::from_micros(50), Trouble::default());
    let tokens = simulation.reset_states(vec![(1, 1); 20]).unwrap();
    let children = simulation.evolve_many(tokens.iter().map(|token| (*token, 0)).collect()).unwrap();
    assert!(children.values().any(|children| !children.is_empty()));
    for unknown in [tokens[0], Token::root(9, 9, 9)] {
        let refused = simulation.evolve_many([(unknown, 0)].into());
        assert!(matches!(refused, Err(EvolveError::Unknown(token)) if token == unknown), "{refused:?}");
    }
}
