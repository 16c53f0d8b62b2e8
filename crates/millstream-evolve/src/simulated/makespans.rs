use super::{Simulation, Trouble};
use crate::{EvolveMany, Token, Tuning};
use std::time::Duration;

const DELAY: Duration = Duration::from_micros(100);

/// The simulated time of one round whose states take these milliseconds.
fn makespan(costs: &[u64], workers: usize, tuning: Tuning) -> Duration {
    one_round(&mut Simulation::new(tuning, workers, 1, DELAY, Trouble::default()), costs)
}

fn one_round(simulation: &mut Simulation, costs: &[u64]) -> Duration {
    let states = costs.iter().map(|cost| (cost * 1000, 8)).collect();
    let tokens: Vec<Token> = simulation.reset_states(states).unwrap();
    let began = simulation.now();
    simulation.evolve_many(tokens.into_iter().map(|token| (token, 0)).collect()).unwrap();
    simulation.now() - began
}

/// The makespan if each free worker takes the next state, without messages.
fn free_scheduler(costs: &[u64], workers: usize) -> Duration {
    let mut free = vec![0; workers];
    for cost in costs {
        let next = (0..workers).min_by_key(|worker| free[*worker]).unwrap();
        free[next] += cost;
    }
    Duration::from_millis(free.into_iter().max().unwrap())
}

/// The article's ten states, one of which takes ten times as long as the others. All times are a tenth of the
/// article's.
#[test]
fn one_long_state_and_nine_short_ones_on_two_workers() {
    for long in 0..10 {
        let mut costs = [100; 10];
        costs[long] = 1000;
        let took = makespan(&costs, 2, Tuning::default());
        // States are taken in the order of their tokens.
        let token = |state: usize| Token::root(0, 0, state as u64);
        let first_on_its_worker = (long / 5 * 5..long / 5 * 5 + 5).all(|state| token(long) <= token(state));
        let most = if first_on_its_worker { 1050 } else { 1450 };
        assert!(took <= Duration::from_millis(most), "the long one at {long}: {took:?}");
    }
    let naive =
        makespan(&[1000, 100, 100, 100, 100, 100, 100, 100, 100, 100], 2, Tuning { steal: false, ..Tuning::default() });
    assert!(naive >= Duration::from_millis(1400), "{naive:?}");
}

#[test]
fn uneven_states_are_nearly_as_fast_as_without_any_messages() {
    use rand::Rng;
    let mut random = Token::root(5, 5, 5).random();
    let even = vec![30; 2000];
    let uneven = (0..2000).map(|_| random.random_range(1..60)).collect();
    let very_uneven = (0..2000).map(|_| (-30.0 * random.random::<f64>().ln()) as u64).collect();
    for (what, costs, bound) in [("even", even, 0.93), ("uneven", uneven, 0.9), ("very uneven", very_uneven, 0.9)] {
        let (ours, free) = (makespan(&costs, 450, Tuning::default()), free_scheduler(&costs, 450));
        let efficiency = free.as_secs_f64() / ours.as_secs_f64();
        assert!(efficiency >= bound, "{what}: {ours:?}, without messages {free:?}: {efficiency:.3}");
    }
}

/// A message takes 0.1 ms, so a worker that waits for another worker's answer waits 0.2 ms. A state in the reserve is
/// there at once.
#[test]
fn a_worker_without_work_finds_a_state_in_the_reserve() {
    use rand::Rng;
    let mut random = Token::root(5, 5, 5).random();
    let costs: Vec<_> = (0..2000).map(|_| (-30.0 * random.random::<f64>().ln()) as u64).collect();
    let mut simulation = Simulation::new(Tuning::default(), 450, 1, DELAY, Trouble::default());
    one_round(&mut simulation, &costs);
    let latency = simulation.latency();
    assert!(latency.total() > 100, "{latency}");
    assert!(latency.quantile(0.99) < DELAY, "{latency}");
}

#[test]
fn any_batch_ends_in_good_time() {
    let costs: Vec<u64> = (0..400).map(|i| 1 + (i * 7919) % 40).collect();
    let free = free_scheduler(&costs, 20);
    for batch in [1, 2, 5, 20, 100] {
        let tuning = Tuning { batch: crate::Batch::Fixed(batch), ..Tuning::default() };
        let took = makespan(&costs, 20, tuning);
        assert!(took <= free.mul_f64(1.15), "batches of {batch}: {took:?}, without messages {free:?}");
    }
}

/// The share of the time in which workers worked, over ten rounds. States have none, one or three children, so a
/// worker's number of states in the next round is unknown.
fn share_of_working(steal: bool) -> f64 {
    const WORKERS: usize = 20;
    let tuning = Tuning { steal, ..Tuning::default() };
    let mut simulation = Simulation::new(tuning, WORKERS, 1, DELAY, Trouble::default());
    super::rounds(&mut simulation, 2_000, 3_000, 10);
    let all = simulation.now();
    let worked: Duration = simulation.master.spent().map(|(_, working, ..)| working).sum();
    worked.as_secs_f64() / all.as_secs_f64() / WORKERS as f64
}

#[test]
fn uneven_numbers_of_children_leave_no_worker_idle() {
    let (ours, alone) = (share_of_working(true), share_of_working(false));
    assert!(ours >= 0.93 && alone <= 0.8, "{ours:.3} of the time, and {alone:.3} where states stay where they are");
}

/// The sum reaches up to the last answer of each worker, shortly before the end of the last round.
#[test]
fn working_and_waiting_times_sum_to_the_time() {
    let mut simulation = Simulation::new(Tuning::default(), 20, 1, DELAY, Trouble::default());
    super::rounds(&mut simulation, 400, 3_000, 10);
    let now = simulation.now();
    for (worker, working, waiting, _) in simulation.master.spent() {
        let reported = working + waiting;
        assert!(
            reported <= now && reported >= now.mul_f64(0.95),
            "worker {worker}: {working:?} and {waiting:?} of {now:?}"
        );
    }
}
